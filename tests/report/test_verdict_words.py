"""The verdict on data without a context, on metrics of any choice, on numbers that decide nothing, found contexts."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from declared_reports import declarations, report_of
from found_rows import predictions_of as found_predictions
from found_rows import rows as found_rows

import oochub
from oochub.report.verdict import verdict
from oochub.stats.estimate import Estimate

# Case: in context, the gap, the smallest set out of context. Worked by hand from the table of `verdict`, d = 0.02
NUMBERS = {
    "too_few": ((0.913, 0.897, 0.931), (-0.127, -0.143, -0.109), 37),
    "no interval": ((0.913, 0.897, 0.931), (-0.127, None, None), 61),
    "no gap": ((0.913, 0.897, 0.931), (None, None, None), 61),
}
NUMBER = re.compile("(?<![\\w-])[\u2212+]?\\d[\\d\u202f]*(?:\\.\\d+)?(?:e[\u2212+]?\\d+)?(?![\\w-])")


def estimate(value, low, high):
    """Undefined where None."""
    value, low, high = (math.nan if each is None else each for each in (value, low, high))
    return Estimate(value, low=low, high=high, n=240, method="by hand", reason="a reason")


def in_case(report, inside, gap, smallest):
    """The report with these numbers of both sides and of the gap between them."""
    metric = report.benchmark.primary_metric
    outside = inside if gap[0] is None else tuple(value + gap[0] for value in inside)
    numbers = {"in": estimate(*inside), "out": estimate(*outside)}
    slices = [
        replace(part, metrics={**part.metrics, metric: numbers[part.role]}) if part.role in numbers else part
        for part in report.slices
    ]
    new = replace(report.gap, estimate=estimate(*gap), n_out_smallest=smallest)
    return replace(report, slices=tuple(slices), gap=new, matched_gap=None)


@pytest.mark.parametrize("metrics", [["ece", "f1_macro"], ["nll"], ["worst_group"]])
@pytest.mark.parametrize("side", ["challenge", "group"])
def test_the_lead_has_the_headline_metric_of_both_sides(metrics, side):
    """60 of 80 rows are right on one side and 20 of 40 on the other, by counting."""
    right = np.r_[np.arange(80) < 60, np.arange(40) < 20]
    label = np.arange(120) % 3
    logits = 9.0 * np.eye(3)[np.where(right, label, (label + 1) % 3)]
    columns = {"group": np.repeat(["a/sea", "b/land"], [80, 40])}
    if side == "challenge":
        columns["challenge"] = np.repeat(["easy", "hard"], [80, 40])
    found = oochub.evaluate(oochub.Predictions.from_arrays(logits=logits, label=label, **columns), metrics=metrics)
    assert (
        verdict(found).lead
        == {
            "challenge": "It is right 75 times in 100 on easy rows and 50 times on hard rows.",
            "group": "It is right 67 times in 100 over all rows and 50 times in the worst group.",
        }[side]
    )


@pytest.mark.parametrize("kind", ["classes", "number", "boxes"])
def test_own_data_without_a_context(kind):
    report = next(report_of(each) for each in declarations() if each.id == f"own {kind} 2, no context")
    said = verdict(report)
    assert said.headline == "This dataset does not define a context, so there is nothing to compare."
    assert said.how_much.text == "Size of the gap: n/a: no context is named." and "over all rows." in said.lead


def test_a_cause_stands_in_a_sentence():
    """As in "relies on the hospital": one thing has its article, several and what cannot be counted have none."""
    for benchmark in {repr(each.benchmark): each.benchmark for each in declarations() if each.benchmark}.values():
        cause = benchmark.words.cause
        assert cause in ("", "context") or cause.startswith("the ") or cause.endswith("s"), (benchmark.name, cause)


def test_what_decides_nothing_says_why():
    """Too few rows, no number, and a number without its interval are three things."""
    report = next(report_of(each) for each in declarations() if each.id == "wilds/camelyon17 classes")
    said = {case: verdict(in_case(report, *NUMBERS[case])) for case in ("too_few", "no gap", "no interval")}
    assert {case: each.headline for case, each in said.items()} == {
        "too_few": "There are too few examples at another hospital to tell.",
        "no gap": "The gap could not be measured, so there is no verdict.",
        "no interval": "The gap has no interval, so there is no verdict.",
    }
    # 37 of the 120 rows of that side are of the smaller set
    few = said["too_few"].how_sure.answer
    assert few == "37 examples at another hospital in the smaller set; at least 50 are needed."
    assert said["no interval"].how_sure.answer == "Cannot be computed: a reason."


@pytest.mark.parametrize(
    ("case", "status", "gap"),
    [
        ("relies", "shown", (-0.127, -0.143, -0.109)),
        ("slight", "shown", (-0.0113, -0.0167, -0.0061)),
        ("reversed", "shown", (0.127, 0.109, 0.143)),
        ("unclear", "not shown", (-0.0213, -0.0447, 0.0029)),
        ("too_few", "too few", (None, None, None)),
    ],
)
def test_verdicts_by_contexts_that_were_found(found, case, status, gap):
    """Every number is one of the finding, and no word speaks of images or objects: rows may be of any kind."""
    contexts = found.contexts
    first = replace(contexts.contexts[0], status=status, gap=estimate(*gap), reason="a reason")
    n_tests = 0 if status == "too few" else 1
    report = replace(found, contexts=replace(contexts, contexts=(first,), n_tests=n_tests))
    said = verdict(report)
    assert said.case == case
    text = " ".join([said.sentence, said.lead, *(fact.text for fact in said.facts)])
    assert not re.search(
        r"\b(nan|None(?! of the found)|inf|objects?|backgrounds?|images?|pictures?)\b|n/a(?!\.)|  ", text
    ), text
    everything = found.headline("all")
    values = [100 * float(value) for value in (*gap, first.accuracy_usual, first.accuracy_against) if value is not None]
    values += [100 * float(everything), first.adjusted_p_value, 0.001]
    counts = {100, 95, 1, contexts.n_tested, first.n_usual, first.n_against}
    for token in NUMBER.findall(text):
        plain = token.replace("\u2212", "-").replace("\u202f", "")
        digit = 10.0 ** -len(plain.partition(".")[2])
        is_known = any(abs(float(plain) - value) <= 0.51 * digit for value in values) or float(plain) in counts
        assert is_known, (token, text)


@pytest.fixture(scope="module")
def found():
    return oochub.evaluate(found_predictions(found_rows(3000)), resamples=100)
