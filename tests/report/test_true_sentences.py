"""Sentences that were untrue, or said nothing: each on rows for which it was so."""

import numpy as np
import reports

import oochub
from oochub.prediction.predictions import Predictions
from oochub.report.verdict import verdict
from oochub.report.wording import name_split

ROWS = np.arange(120)


def grouped(right, groups=("cat", "dog"), **columns):
    """Rows of two classes in groups, of which these are right."""
    label = ROWS % 2
    return Predictions.from_arrays(
        logits=4.0 * np.eye(2)[np.where(right, label, 1 - label)],
        label=label,
        class_names=["no", "yes"],
        group=[groups[k % len(groups)] for k in ROWS // 2],
        **columns,
    )


def forms(report):
    return {**reports.rendered(report), "notebook": report._repr_html_()}


def test_no_group_is_said_to_have_most_errors_where_none_has_one():
    """Before: "Most errors for cat: error 0.0%"."""
    report = oochub.evaluate(grouped(ROWS >= 0), resamples=100)
    assert verdict(report).on_what.answer == "No group has an error"
    for form, text in forms(report).items():
        assert "rror for" not in text and "Worst group: " not in text, form


def test_a_gap_of_100_points_and_one_of_5_are_told_apart():
    """Before: both "This model relies on context."; the small one is clear in no single group."""
    sides = {"challenge": np.where(ROWS < 60, "easy", "hard")}
    large = verdict(oochub.evaluate(grouped(ROWS < 60, **sides), metrics=["accuracy"], resamples=100))
    assert "The gap is \u2212100.0 points." in large.sentence and "no single group" not in large.sentence
    content = reports.set_gap(reports.spawrious_report(), (0.9, 0.88, 0.92), (-0.05, -0.08, -0.02), (0.85, 0.83, 0.87))
    for row in content["groups"]["rows"]:
        row["accuracy"] |= {"value": 0.9}
    small = verdict(reports.read(content))
    assert small.sentence.endswith("The gap is \u22125.0 points, and no single group is clearly lower.")


def test_the_same_rows_stand_once_in_a_table():
    """Before: "All examples of test" and "over all rows" held the same numbers; on Spawrious "Out of context" did."""
    report = oochub.evaluate(grouped(ROWS % 3 > 0), metrics=["accuracy", "worst_group"], resamples=100)
    table = reports.rendered(report)["markdown"]
    assert table.count("\n| All examples of test |") == 1 and "\n| Over all rows |" not in table
    assert report.slice("in_context").n == report.slice("all").n, "both are numbers of the report"
    content = reports.spawrious_report()
    out = next(part for part in content["slices"] if part["role"] == "out")
    out["examples"] = "same"
    content["slices"].insert(0, {**out, "name": "all", "role": "all", "title": "All of test"})
    once = reports.rendered(reports.read(content))["page"]
    assert "Out of context, all examples of test" in once and ">All examples of test" not in once


def test_the_split_of_a_single_file_is_not_called_train():
    """Of one Parquet file `datasets` calls the rows train, whatever they are."""
    report = oochub.evaluate(grouped(ROWS % 3 > 0, split="train"), resamples=100)
    assert "of train" not in "".join(forms(report).values())
    assert name_split(report.benchmark, "test") == " of test"
