"""The verdict on every declaration, kind of output and case, read for words and numbers that do not belong there.

Planted faults seen: a cause without its article ("relies on hospital"), "in context" for data without context,
"patchs", "pearson", a number of the lead that is of neither side, points of a correlation, groups called not measured
that were, a gap that could not be measured called too few examples.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from declared_reports import declarations, report_of
from found_rows import predictions_of as found_predictions
from found_rows import rows as found_rows

import oochub
from oochub.report.group_findings import write_headings
from oochub.report.verdict import verdict
from oochub.stats.estimate import Estimate

DECLARED = [
    pytest.param(each, id=each.id, marks=pytest.mark.slow if each.kind == "choices" else ()) for each in declarations()
]
PLURALS = {
    "comment": "comments", "example": "examples", "file": "files", "image": "images", "molecule": "molecules",
    "pair": "pairs", "patch": "patches", "place": "places", "review": "reviews",
}  # fmt: skip
# Case: in context, the gap, the smallest set out of context. Worked by hand from the table of `verdict`, d = 0.02
NUMBERS = {
    "relies": ((0.913, 0.897, 0.931), (-0.127, -0.143, -0.109), 61),
    "slight": ((0.913, 0.897, 0.931), (-0.0113, -0.0167, -0.0061), 61),
    "no_effect": ((0.913, 0.897, 0.931), (0.0017, -0.0089, 0.0123), 61),
    "reversed": ((0.613, 0.597, 0.631), (0.127, 0.109, 0.143), 61),
    "unclear": ((0.913, 0.897, 0.931), (-0.0213, -0.0447, 0.0029), 61),
    "too_few": ((0.913, 0.897, 0.931), (-0.127, -0.143, -0.109), 37),
    "no interval": ((0.913, 0.897, 0.931), (-0.127, None, None), 61),
    "no gap": ((0.913, 0.897, 0.931), (None, None, None), 61),
}
NEVER = re.compile(r"\b(nan|None|inf|pearson)\b|n/a(?!:)|  | [,.;:]|[,.;:]{2}|\.\.|\(\)|[A-Z]{2}s\b|[a-z]_[a-z]")
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


def chance_case(report):
    """In context at the level of chance, which some metrics do not have."""
    chance = report.benchmark.chance
    if chance != chance:
        return None
    return in_case(report, (chance, chance - 0.03, chance + 0.03), (-0.127, -0.143, -0.109), 61)


def texts(report):
    """Each sentence or fact of the verdict by its name, with the headings of the page's sections."""
    said = verdict(report)
    parts = {"headline": said.headline, "rest": said.rest, "lead": said.lead}
    parts |= {"how_much": said.how_much.text, "on_what": said.on_what.text, "how_sure": said.how_sure.text}
    return {**parts, **{f"heading of {k}": text for k, text in enumerate(write_headings(report))}}


def misfits(report):
    """Words of the verdict that nothing in the declaration calls for."""
    benchmark = report.benchmark
    on_context = benchmark.words.cause == "context"
    fits = {
        "object": benchmark.object is not None,
        "objects": benchmark.object is not None,
        "context": on_context,
        "contexts": on_context,
        "usual": on_context,
        "unusual": on_context,
        "background": benchmark.name in ("spawrious", "waterbirds"),  # by their groups
        "backgrounds": benchmark.name in ("spawrious", "waterbirds"),
        "image": benchmark.words.example == "image",
        "images": benchmark.words.example == "image",
        "picture": False,
        "pictures": benchmark.name == "imagenet_ood",
        "points": report.unit == "fraction" or report.group_rows,
        "times": benchmark.primary_metric in ("accuracy", "auc"),
        "right": benchmark.primary_metric in ("accuracy", "auc"),
        "examples": True,
    }
    declared = " ".join(str(text) for text in vars(benchmark.words).values()).lower()
    fits = {word: is_fit or word in re.findall(r"[a-z]+", declared) for word, is_fit in fits.items()}
    for name, text in texts(report).items():
        # What says that there is none, and the metric of groups, which has a unit of its own
        text = text.replace("names no context", "").replace("no context is named", "").replace("points of accuracy", "")
        text = re.sub("A column named .group.*", "", text)
        if name.startswith("how") and report.unit != "fraction":
            assert "points" not in text, text
        for word in re.findall(r"[a-z]+", text.lower()):
            if word in fits and not fits[word]:
                yield name, word, text


@pytest.mark.parametrize("metrics", [["ece", "f1_macro"], ["nll"], ["worst_group"]])
@pytest.mark.parametrize("side", ["challenge", "group"])
def test_the_lead_has_the_headline_metric_of_both_sides(metrics, side):
    """60 of 80 rows are right on one side and 20 of 40 on the other, by counting.

    Planted fault seen: of groups "over all rows it was not evaluated", beside "Over all rows 66.7% are right".
    """
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


def numbers_of(report):
    """By part of the verdict the numbers that it may hold: fractions and values, and counts, which are exact."""
    gap, inside = report.gap.estimate, report.headline("in")
    sides = [value for value in (inside, report.headline("out")) if value is not None]
    groups, all_of_them = [], report.slice_of("all")
    for row in report.group_rows:
        for value in (row.accuracy, row.error_rate, *(row.metrics or {}).values()):
            groups += [] if value is None else [float(value), value.low, value.high]
        same = [r for r in report.group_rows if r.role == "in" and r.label == row.label and r.accuracy is not None]
        if same and row.accuracy is not None:
            groups.append(row.accuracy - sum(r.n * r.accuracy for r in same) / sum(r.n for r in same))
    for worst in (report.worst_group or {}).values():
        groups += [float(worst.estimate), worst.estimate.low, worst.estimate.high]
    hard = [part.n for part in map(report.slice_of, ("hard_positive", "hard_negative")) if part]
    errors = [part.metrics["error_rate"] for part in report.slices if "error_rate" in part.metrics]
    pairs = report.gap.pairs
    paired = [] if pairs is None else [pairs.both, pairs.only_in + pairs.only_out]
    d, bounds = report.benchmark.practical_gap, [gap.low, gap.high]
    ends = [end for value in sides for end in (value.low, value.high)]  # the second side, where it is at chance
    lead = [*map(float, sides), *(float(value) for value in (all_of_them.metrics if all_of_them else {}).values())]
    return {
        "headline": ([d], []),
        "rest": ([float(gap), *bounds], []),
        "lead": (lead, [100]),
        "how_much": ([float(gap), *bounds], [95, report.gap.n_in, report.gap.n_out, *hard, *paired]),
        "on_what": ([*groups, *map(float, errors)], _sizes(report)),
        "how_sure": ([d, -d, *ends, report.benchmark.chance], [report.gap.n_out_smallest, 50, *_holm_counts(report)]),
    }


def _sizes(report):
    """How many groups stand behind an interval of the worst of them: those of all rows, and those of each role."""
    roles = [row.role for row in report.group_rows]
    return {len(roles), *(roles.count(role) for role in set(roles))}


def _holm_counts(report):
    """5%, and "in 2 of 4 groups": of the groups out of context whose class also stands in context."""
    inside = {row.label for row in report.group_rows if row.role == "in"}
    n = sum(row.role == "out" and row.label in inside for row in report.group_rows)
    return [5, *range(n + 1)] if n else []


FEW = re.compile(r"only \d+( to \d+)? (rows|clusters): the interval may be too narrow")


def strangers(report):
    """Numbers in the verdict that its part does not have, each compared at the digits in which it is printed."""
    allowed = numbers_of(report)
    reasons = {reason for each in report.to_pandas()["reason"].dropna() for reason in (each, *each.split("; "))}
    names = {each for row in report.group_rows for each in (row.group, row.context) if each}
    names |= {name.replace("_", " ") for name in names}  # as they are shown
    names |= {"ImageNet-1K", "F1"} | reasons
    names = sorted(names, key=len, reverse=True)
    for name, text in texts(report).items():
        values, counts = allowed.get(name, ([], []))
        for word in names:
            text = text.replace(word, "")
        text = FEW.sub("", text)
        for token in NUMBER.findall(text):
            plain = token.replace("\u2212", "-").replace("\u202f", "")
            digit = 10.0 ** -len(plain.partition(".")[2].partition("e")[0])
            scales = {100} if report.unit == "fraction" else {1, 100}  # accuracies of groups stand beside others
            near = any(abs(float(plain) - by * value) <= 0.51 * digit for value in values for by in scales)
            if not near and float(plain) not in counts:
                yield name, token, text


def read(report):
    """Every fault of one verdict."""
    for name, text in texts(report).items():
        found = NEVER.search(text.replace("`", ""))
        assert not found, (name, found, text)
        assert not text or text[0].isupper() or text[0].isdigit(), text
        assert not text or name.startswith("heading") or text.endswith("."), text
    assert not list(misfits(report))
    assert not list(strangers(report))
    cause = report.benchmark.words.cause
    assert ("relies on" in verdict(report).headline) <= bool(cause)
    example = report.benchmark.words.example
    assert f"the interval covers test {PLURALS[example]}, not training." in verdict(report).how_sure.text.replace(
        "One model", ""
    )


@pytest.mark.parametrize("declared", DECLARED)
def test_every_verdict_has_words_and_numbers_that_fit(declared):
    """As evaluated from rows, then with the numbers of each case; which case each is was worked out by hand."""
    report = report_of(declared)
    read(report)
    has_gap = report.gap.estimate == report.gap.estimate
    assert has_gap != declared.id.endswith("no context")
    if not has_gap:
        said = verdict(report)
        assert said.headline == "This data set names no context, so there is nothing to compare."
        assert said.how_much.text == "How much: n/a: no context is named." and "over all rows." in said.lead
        return
    for case, given in NUMBERS.items():
        made = in_case(report, *given)
        read(made)
        assert verdict(made).case == ("too_few" if case.startswith("no ") else case)
    failed = chance_case(report)
    if failed is not None:
        read(failed)
        assert verdict(failed).case == "failed"
    groups = any(row.role != "in" and row.headline is not None for row in report.group_rows)
    assert ("not measured" in verdict(report).on_what.text) == (not groups)


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
    assert not re.search(r"\b(nan|None|inf|objects?|backgrounds?|images?|pictures?)\b|n/a(?!\.)|  ", text), text
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
