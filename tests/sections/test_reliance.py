"""Relies, harder for all, cannot be told: what the verdict says of declared contexts, on fixed worlds worked by hand.

Planted faults seen: see each test.
"""

import numpy as np
import pytest
from own_worlds import HARDER, RELIES, USUAL, own_predictions, own_report

import oochub
from oochub.report.verdict import verdict
from oochub.stats.effect_of_side import effect_of_side
from oochub.stats.stratified_gap import stratified_gap

EASIER = {
    (y, c): (round(n * (0.95 if c == "night" else 0.7)), n) for (y, c), (_, n) in HARDER.items()
}  # and the night is usual for foxes alone, so unusual contexts are easier
REVERSED = {(y, c): (round(n * (0.7 if c in USUAL[y] else 0.95)), n) for (y, c), (_, n) in RELIES.items()}


def found_of(report):
    return report.findings["reliance"]


def test_a_model_that_relies_is_said_to():
    """Planted fault seen: any gap is reliance only if a context is harder for all."""
    report = own_report(RELIES)
    said = verdict(report)
    assert said.case == "relies" and said.sentence == "This model relies on context. The gap is −24.8 points."
    assert said.how_sure.answer == (
        "The interval excludes zero, and so does that of the gap for the same class and context."
    )
    assert found_of(report).gap.high < -0.15 and report["reliance/gap"] == found_of(report).gap


def test_a_context_that_is_harder_for_all_is_no_reliance():
    """Planted faults seen: the verdict by the gap alone; a context harder for the usual classes alone."""
    report = own_report(HARDER)
    said = verdict(report)
    assert report["gap"].high < -0.02  # the gap alone would be reliance
    assert said.case == "unclear" and not said.is_shown
    assert said.sentence == (
        "Examples with the context night are harder regardless of class; no reliance on context is shown. The gap is "
        "−10.5 points."
    )
    assert found_of(report).gap.low < 0 < found_of(report).gap.high
    assert next((each.name, each.status) for each in found_of(report).contexts) == ("night", "harder for all")


def test_contexts_that_are_easier_for_all_do_not_blame_the_labels():
    said = verdict(own_report(EASIER))
    assert said.case == "unclear" and "Check the labels" not in said.sentence
    assert (
        said.headline
        == "Examples with the context night are easier regardless of class; no reliance on context is shown."
    )


def test_a_model_that_does_better_out_of_context_is_said_to():
    """Planted fault seen: the sign of the interaction turned."""
    said = verdict(own_report(REVERSED))
    assert said.case == "reversed" and said.rest.startswith("Check the labels")


def test_what_cannot_be_told_says_which_rows_would_tell():
    """Foxes at night alone, dogs and cats never where the other is at home: dogs lack the house, or cats the park."""
    cells = {
        key: value for key, value in HARDER.items() if key[1] == "night" or key in (("dog", "park"), ("cat", "house"))
    }
    report = own_report(cells)
    said = verdict(report)
    assert said.case == "unclear" and not found_of(report).is_identified and np.isnan(found_of(report).gap)
    assert said.headline == (
        "This model does worse in unusual contexts, but whether it relies on context or these are harder for every "
        "class cannot be told."
    )
    wanted = set(found_of(report).wanted)
    assert wanted and not {tuple(each.split("/")) for each in wanted} & cells.keys()
    assert said.rest.endswith(" would tell.") and "Rows of " in said.rest
    assert "cannot be computed" in report.to_markdown()


def test_reliance_that_easier_contexts_hide_is_no_small_effect():
    """By hand: 540 of 800 are right in usual contexts, most of them foxes at night, and 404 of 600 in unusual ones.

    Of each class in each context nine in ten are right, or six at night, if it is usual, and eight or four if not.
    """
    right = {"park": (0.9, 0.8), "house": (0.9, 0.8), "night": (0.6, 0.42)}
    cells = {
        (y, c): (round(n * right[c][c not in USUAL[y]]), n)
        for (y, c), n in {key: 600 if key == ("fox", "night") else 100 for key in RELIES}.items()
    }
    report = own_report(cells)
    said = verdict(report)
    assert found_of(report).gap.high < 0 and said.case == "unclear"
    assert said.headline.startswith("There is no clear gap, but for the same class and context")


def test_rows_of_no_side_are_counted():
    """By hand: 40 + 40 rows. Planted fault seen: they are counted as unusual."""
    report = own_report(HARDER, neither={("dog", "house"), ("cat", "park")})
    found = found_of(report)
    assert (found.n_usual, found.n_unusual, found.n_neither) == (480, 280, 80)
    assert report.notes == (
        "80 rows are in contexts that are neither usual nor unusual for their class, and on no side",
    )
    assert report.slice_of("in").n + report.slice_of("out").n == 760
    assert "80 rows are in a context that is neither" in report.to_markdown()


def test_rows_without_a_context_are_not_in_one_that_is_neither():
    """By hand: 7 + 1 rows without a context, 40 in one of no side. Planted fault seen: all are said to be in one."""
    nowhere = {("dog", None): (5, 7), ("fox", None): (0, 1)}
    report = own_report({**HARDER, **nowhere}, neither={*nowhere, ("dog", "house")})
    assert report.notes == (
        "8 rows have no context, and are on no side",
        "40 rows are in contexts that are neither usual nor unusual for their class, and on no side",
    )
    assert found_of(report).n_neither == 40
    one = own_report({**HARDER, ("dog", None): (1, 1)}, neither={("dog", None)})
    assert one.notes == ("1 row has no context, and is on no side",)


def test_rows_without_any_side_are_compared_by_groups():
    """Planted fault seen: both sides empty, and nothing said of what remains."""
    report = own_report(RELIES, neither=set(RELIES))
    said, text = verdict(report), report.to_markdown()
    assert said.headline == "This model does worse in the worst group." and "82 times in 100 over all rows" in said.lead
    assert "1,000 rows are in contexts that are neither usual nor unusual for their class" in report.notes[0]
    assert "names the usual contexts of a class" in report.notes[0]
    assert "no reliance on context can be told" in text and "Against other contexts" in text
    assert len(found_of(report).contexts) == 3


def test_one_side_alone_says_that_there_are_too_few():
    cells = {key: value for key, value in RELIES.items() if key[1] in USUAL[key[0]]}
    said = verdict(own_report(cells))
    assert said.case == "too_few" and said.headline == "There are too few examples in unusual contexts to tell."


def test_the_finding_is_that_of_the_estimators():
    """Reference: `effect_of_side` and `stratified_gap` on columns written here; clusters of five rows."""
    predictions = own_predictions(HARDER, cluster="shared")
    right = predictions.prediction == predictions.label
    names, context = np.array(predictions.class_names), predictions.column("context").astype(str)
    side = np.array([1 if c in USUAL[y] else -1 for y, c in zip(names[predictions.label], context, strict=True)])
    shared = predictions.column("shared").astype(str)
    found = found_of(oochub.evaluate(predictions, metrics=["accuracy"], resamples=100))
    expected = effect_of_side(right, predictions.label, context, side, cluster=shared)
    assert (found.gap, found.gap.low, found.gap.high) == (expected.gap, expected.gap.low, expected.gap.high)
    night = next(each for each in found.contexts if each.name == "night")
    assert night.having == stratified_gap(right, context == "night", predictions.label, cluster=shared).estimate
    assert night.accuracy == pytest.approx(right[context == "night"].mean())


def test_other_data_have_no_such_finding():
    """Challenges of a user's own without contexts, and sides that an author declares on other columns."""
    rng = np.random.default_rng(0)
    rows = oochub.Predictions.from_arrays(
        logits=rng.normal(size=(120, 2)), label=np.arange(120) % 2, challenge=["easy", "hard"] * 60
    )
    assert "reliance" not in (oochub.evaluate(rows, resamples=100).findings or {})
