"""More splits or groups than a report compares are refused before the work; what a report cannot show is not opened."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import oochub
import oochub.evaluation.evaluate as evaluation
from oochub.checking.rules import Rule, find_numbers
from oochub.errors import OochubError
from oochub.leaderboard.board import _make_data_key
from oochub.records.schema import to_json
from oochub.report.group_findings import group_drops, write_headings
from oochub.report.page import render_page
from oochub.sections.group_errors import _build_table


def _predictions(n, **columns):
    rng = np.random.default_rng(0)
    return oochub.Predictions.from_arrays(logits=rng.normal(size=(n, 2)), label=rng.integers(0, 2, n), **columns)


@pytest.mark.parametrize("column", ["group", "groups"])
def test_a_column_of_ids_is_no_group(column):
    """Fault planted: no `check_limits`."""
    ids = [f"photo {row}" for row in range(50_001)]
    with pytest.raises(OochubError, match=f"column {column} has 50,001 values, like a column of ids.*at most 50,000"):
        oochub.evaluate(_predictions(50_001, **{column: ids if column == "group" else [[name] for name in ids]}))


def test_groups_whose_numbers_are_resampled_are_fewer(monkeypatch):
    """Clustered rows, and a comparison of two models. Planted faults seen: as many as of a mean, for each of them."""
    made = _predictions(4_002, group=[f"user {row // 2}" for row in range(4_002)])
    refusal = r"column group has 2,001 values.*at most 2,000"
    with pytest.raises(OochubError, match=refusal):
        oochub.compare(made, made)
    declared = evaluation.find_declaration
    monkeypatch.setattr(evaluation, "find_declaration", lambda part: replace(declared(part), cluster="group"))
    with pytest.raises(OochubError, match=refusal):
        oochub.evaluate(made)


@pytest.fixture(scope="module")
def of_many():
    """5,000 groups of 3 to 5 rows in the split test, and their accuracies."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(3, 6, 5_000)
    group = np.repeat([f"user {number}" for number in range(5_000)], sizes)
    label = rng.integers(0, 2, len(group))
    logits = rng.normal(size=(len(group), 2)) + 1.5 * np.stack([label == 0, label == 1], axis=1)
    made = oochub.Predictions.from_arrays(logits=logits, label=label, group=group.tolist())
    frame = pd.DataFrame({"group": group, "right": logits.argmax(axis=1) == label})
    return oochub.evaluate(made), frame.groupby("group")["right"].mean()


def test_of_thousands_of_groups_the_worst_and_the_best_are_kept(of_many, tmp_path):
    """By pandas; the worst group is the worst of all. Planted faults seen: the first ones; 1,000 worst ones twice."""
    report, accuracy = of_many
    kept = {row.group: float(row.accuracy) for row in report.group_rows}
    assert len(kept) == len(report.group_rows) == 2_000 and report.groups.left_out == 3_000
    ordered = np.sort(accuracy.to_numpy())
    assert sorted(kept.values()) == pytest.approx([*ordered[:1_000], *ordered[-1_000:]])
    assert all(value == pytest.approx(accuracy[group]) for group, value in kept.items())
    assert report.worst_group["accuracy"].estimate == pytest.approx(ordered[0])
    again = oochub.Report.load(report.save(tmp_path / "report.json"))
    assert again.groups.left_out == 3_000 and len(again.group_rows) == 2_000


def test_nothing_is_said_of_groups_that_are_not_listed(of_many):
    """No drops, which need every group of a class, and no heading of all groups; two models stand on one board."""
    report, _ = of_many
    sides = [replace(row, label="all", role="in" if k % 2 else "out") for k, row in enumerate(report.group_rows)]
    two_sided = replace(report, groups=replace(report.groups, rows=tuple(sides)))
    assert group_drops(two_sided) == [] and write_headings(two_sided).groups == "Groups"
    assert group_drops(replace(two_sided, groups=replace(two_sided.groups, left_out=0)))
    other = replace(report, groups=replace(report.groups, rows=report.group_rows[::-1][:-1], left_out=3_001))
    first, second = (_make_data_key(SimpleNamespace(report=each, rows="rows")) for each in (report, other))
    assert first == second


def test_what_a_report_leaves_out_is_said_and_no_rule_passes_over_it(of_many):
    """On page and terminal; a rule of all groups is refused. Planted fault seen: a rule of those that were kept."""
    report, _ = of_many
    assert "3\u202f000 between the worst and the best are left out of the report" in render_page(report)
    assert any("3\u202f000 between them are left out of the report" in line for line in _build_table(report).footnotes)
    for pattern in ("*", "user 1*"):
        rule = Rule(metric="accuracy", group=pattern, bound="at_least", limit=0.5)
        with pytest.raises(OochubError, match="the worst and the best 2,000 groups of 5,000, so a rule of"):
            find_numbers(report, rule, name="report.json")
    one = report.group_rows[0].group
    (number,) = find_numbers(
        report, Rule(metric="accuracy", group=one, bound="at_least", limit=0.5), name="report.json"
    )
    assert number.estimate == report.group_rows[0].accuracy


def test_a_split_a_row_is_no_split():
    with pytest.raises(
        OochubError,
        match=r"column split has 5,000 values.*at most 200\. Give all rows that belong together the same split",
    ):
        oochub.evaluate(_predictions(5_000, split=[str(row) for row in range(5_000)]))


@pytest.mark.slow
def test_a_report_with_more_than_can_be_shown_is_not_opened(tmp_path):
    """Fault planted: slices without `SHOWN`; the terminal took minutes."""
    content = to_json(oochub.evaluate(_predictions(40), metrics=["accuracy"]))
    content["slices"] += [content["slices"][0] | {"name": f"s{k}", "role": "split"} for k in range(60_000)]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(content))
    with pytest.raises(OochubError, match="slices must be a list of at most 5,000 items, not of 60,002"):
        oochub.Report.load(path)
