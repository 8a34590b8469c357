"""Numbers that mislead at a glance: two intervals of one number are named, and a model at chance is told so first."""

import re

import numpy as np
import pytest
import reports

from oochub.evaluation.evaluate import evaluate
from oochub.prediction.predictions import Predictions
from oochub.report.verdict import verdict
from oochub.stats.proportion import clopper_pearson

SIMULTANEOUS = "The interval of a worst group is simultaneous"


def _grouped(**columns):
    """240 rows in four groups of 60, of which 54, 48, 42 and 30 are right."""
    right = np.concatenate([np.arange(60) < k for k in (54, 48, 42, 30)])
    label = np.arange(240) % 2
    logits = np.eye(2)[np.where(right, label, 1 - label)] * 3.0
    return Predictions.from_arrays(logits=logits, label=label, group=np.repeat(list("abcd"), 60), **columns)


def test_both_intervals_of_the_worst_group_are_named_in_every_form():
    """30 of 60 wrong: at once over four groups Clopper and Pearson's at level 1 - 0.05 / 4, alone Wilson's."""
    report = evaluate(_grouped(), metrics=["accuracy", "error_rate", "worst_group"], resamples=100)
    together = clopper_pearson(30, 60, confidence=1 - 0.05 / 4)
    at_once = f"{100 * together.low:.1f} to {100 * together.high:.1f}"
    worst = report["worst_group.error_rate"]
    assert (worst.low, worst.high) == pytest.approx((together.low, together.high), abs=1e-9)
    (row,) = (row for row in report.group_rows if row.group == "d")
    alone = f"{100 * row.error_rate.low:.1f} to {100 * row.error_rate.high:.1f}"
    assert alone != at_once
    for form, text in reports.rendered(report).items():
        flat = re.sub(r"\s+", " ", text)
        named = (
            (SIMULTANEOUS, "each interval is for that group alone")
            if form != "frame"
            else ("simultaneous over 4 groups",)
        )  # a column
        assert all(words in flat for words in named), form
    page = report.to_html()
    assert f"({at_once}, simultaneous over 4 groups, n = 60)" in page and alone in page
    assert "with a 95% interval for that group alone" in page
    assert "interval simultaneous over 4 groups" in page  # of the side out of context, the worst group
    assert f"error 50.0% ({at_once}, simultaneous over 4 groups)" in verdict(report).on_what.text


def test_one_interval_needs_no_name():
    """Planted fault seen: the sentence stood in every report with groups."""
    report = evaluate(_grouped(), metrics=["accuracy", "error_rate"], resamples=100)
    plain = evaluate(Predictions.from_arrays(logits=np.eye(2)[[0, 1] * 30], label=[0, 1] * 30), resamples=100)
    assert "simultaneous" not in plain.to_html() and SIMULTANEOUS not in plain.to_html()
    assert SIMULTANEOUS in report.to_html()  # the side out of context is the worst group, without the metric too


def _of(inside, gap, out, **more):
    content = reports.set_gap(reports.spawrious_report(), inside, gap, out)
    content["benchmark"] |= more
    return verdict(reports.read(content))


GAP = (-0.6, -0.64, -0.56)


@pytest.mark.parametrize(
    ("out", "words", "sentence"),
    [
        ((0.26, 0.22, 0.30), {}, "At chance out of context, this model relies on context."),
        (
            (0.26, 0.25, 0.30),
            {},
            "At chance out of context, this model relies on context.",
        ),  # an interval that touches it includes it
        ((0.26, 0.2501, 0.30), {}, "This model relies on context."),
        ((0.20, 0.18, 0.22), {}, "Below chance out of context, this model relies on context."),
        ((0.20, 0.18, 0.25), {}, "At chance out of context, this model relies on context."),
        ((0.0, 0.0, 0.319), {}, "No better than chance out of context, this model relies on context."),  # few clusters
        ((0.19, 0.10, 0.30), {}, "No better than chance out of context, this model relies on context."),
        ((0.39, 0.20, 0.60), {}, "At chance out of context, this model relies on context."),
        ((0.41, 0.20, 0.60), {}, "This model relies on context."),  # wide, and far above
        ((0.26, 0.22, 0.30), {"chance": 0.1}, "This model relies on context."),  # of ten classes
        ((0.26, 0.22, 0.30), {"chance": None}, "This model relies on context."),  # no such number
        ((None, None, None), {}, "This model relies on context."),
    ],
)
def test_a_model_at_chance_is_told_so_first(out, words, sentence):
    """Chance of four classes is 25%."""
    answer = _of((0.86, 0.84, 0.88), GAP, out, **words)
    assert answer.case == "relies" and answer.sentence.startswith(sentence)
    said = (
        ""
        if sentence.startswith("This")
        else f"Out of context the interval is {100 * out[1]:.1f} to {100 * out[2]:.1f}; chance is 25."
    )
    assert said in answer.how_sure.text and ("chance" in answer.how_sure.text) == bool(said)


def test_at_chance_without_a_cause_and_by_little():
    """No benchmark word for the cause: that the second side is worse. Planted fault seen: "relies on" with no cause."""
    words = {**reports.spawrious_report()["benchmark"]["words"], "cause": "", "outside_title": "in the worst group"}
    words |= {"inside_title": "over all rows"}
    answer = _of((0.86, 0.84, 0.88), GAP, (0.26, 0.22, 0.30), words=words)
    assert answer.headline == "At chance in the worst group, this model does worse there than over all rows."
    slight = _of((0.27, 0.26, 0.28), (-0.01, -0.015, -0.005), (0.26, 0.25, 0.27))
    assert slight.case == "slight"
    assert slight.headline == "At chance out of context, this model is slightly worse there than in context."
