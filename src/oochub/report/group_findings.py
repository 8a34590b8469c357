"""What a report says of its numbers only where an interval or a test carries it: falls, reliance, the matched gap."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from oochub.records.finding_records import Reliance
from oochub.records.origin_records import EvaluatedBenchmark
from oochub.records.report_records import Case, GroupRow, Slice
from oochub.report import format_numbers, theme, wording
from oochub.report.footnotes import describe_interval, describe_reason, simultaneous
from oochub.section import sections
from oochub.stats.estimate import Estimate
from oochub.stats.p_values import holm
from oochub.stats.stratified_gap import chi_square_p_value

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

Answer = Literal["relies", "harder", "easier", "better", "untold"]
_NAMED = 3  # contexts, groups
_SHOWN = {"relies": "relies", "slight": "slight", "reversed": "reversed"}
_ROUNDING = 1e-9
NEAR = 0.2
"""Of the way from chance to 1, or to 0: an interval that ends there says that nothing was learned."""
FEWEST = 50
"""Examples that the smallest slice out of context must hold for a verdict."""


class JudgedGap(NamedTuple):
    """What a gap by declared contexts is.

    Attributes:
        answer: "relies" and "better" if class and context alike still leave a gap, below or above zero; "harder" and
            "easier" if contexts are so for every class; "untold" otherwise.
        case: The case of the verdict: that of the gap where `answer` confirms it, else "unclear".
        headline: The sentence that answers, "" where the words of the gap hold.
        rest: What must be said with it.
    """

    answer: Answer
    case: Case
    headline: str
    rest: str


def judge_reliance(report: "ReportRecord", case: Case) -> JudgedGap | None:
    """Says what a clear gap by declared contexts is; None for other gaps and other data.

    A gap below zero is reliance if the interval of the interaction of class and context lies below zero too; it is
    difficulty if that does not, and a context is shown to be harder for every class; and it cannot be told else. A gap
    above zero likewise. Without a clear gap, an interaction that is clear is said, since contexts that are easier for
    every class can hide reliance.

    Args:
        report: Any report.
        case: The case that the gap alone would have.
    """
    reliance: Reliance | None = next(section for section in sections() if section.name == "reliance").found(report)
    if reliance is None or not reliance.has_sides or case in ("failed", "too_few", "detection"):
        return None
    is_worse = case in ("relies", "slight")
    if case in ("no_effect", "unclear"):
        if not reliance.gap.high < 0:
            return None
        headline = "There is no clear gap, but for the same class and context this model does worse if it is unusual."
        return JudgedGap("untold", "unclear", headline, describe_remaining(reliance))
    if (reliance.gap.high < 0) if is_worse else (reliance.gap.low > 0):
        return JudgedGap("relies" if is_worse else "better", case, "", "")
    kind: Answer = "harder" if is_worse else "easier"
    alike = [context.name for context in reliance.contexts if context.status == f"{kind} for all"]
    gap, unit = report.gap.estimate, report.unit
    size = f"The gap is {format_numbers.points(gap, unit)}{format_numbers.points_word(unit)}."
    if alike:
        names = [*map(wording.words, alike[:_NAMED]), *([f"{len(alike) - _NAMED} more"] if len(alike) > _NAMED else [])]
        own = report.benchmark.words
        place = own.place or f"with the {wording.words(own.context or 'context')}"
        where = f"{wording.name(report.benchmark.words.example).capitalize()}s {place} {wording.join_names(names)}"
        return JudgedGap(
            kind, "unclear", f"{where} are {kind} regardless of class; no reliance on context is shown.", size
        )
    how = "worse" if is_worse else "better"
    why = "it relies on context or these are harder" if is_worse else "that is the context or these are easier"
    headline = f"This model does {how} in unusual contexts, but whether {why} for every class cannot be told."
    return JudgedGap("untold", "unclear", headline, f"{size} {describe_wanted(report.benchmark, reliance)}".strip())


def describe_remaining(found: Reliance) -> str:
    """The gap that is left at the same class and context, in one sentence; why there is none otherwise."""
    if not found.has_sides:
        return (
            "No context is clearly usual or unusual for a class of these rows, so no reliance on context can be told."
        )
    if format_numbers.is_undefined(found.gap):
        return f"A gap for the same class and context cannot be computed: {found.gap.reason or ''}."
    size = f"{format_numbers.points(found.gap)}{format_numbers.points_word('fraction')}"
    return (
        f"For the same class and context, the gap is {size} of accuracy ({describe_interval(found.gap, signed=True)})."
    )


def describe_wanted(own: EvaluatedBenchmark, found: Reliance) -> str:
    """Which rows would tell reliance from difficulty, in one sentence; "" if none would, or it is told already."""
    if not found.wanted or not found.has_sides or found.gap.high < 0 or found.gap.low > 0:
        return ""
    names = []
    for label, _, context in (pair.partition("/") for pair in found.wanted):
        pair = f"{wording.words(label)} ({wording.say_context(own, context)})"
        names.append(wording.pair_words(own, label, context) if own.words.place else pair)
    more = "More rows" if found.is_identified else "Rows"
    return f"{more} of {wording.join_names(names)} would tell."


def describe_neither(found: Reliance) -> str:
    """How many rows are of no side, in one sentence; "" if none is."""
    if not found.n_neither:
        return ""
    is_one = found.n_neither == 1
    rows = "1 row is" if is_one else f"{format_numbers.count(found.n_neither)} rows are"
    whose = "its" if is_one else "their"
    return f"{rows} in a context that is neither usual nor unusual for {whose} class, and on no side."


def is_near_chance(estimate: Estimate, chance: float) -> bool:
    """Whether the upper end of an interval is at most a fifth of the way from chance to 1.

    >>> [is_near_chance(Estimate(0.5, low=0.3, high=high, n=10, method="wilson"), 0.5) for high in (0.6, 0.7)]
    [True, False]
    """
    return estimate.high <= chance + NEAR * (1 - chance)


def may_be_chance(report: "ReportRecord") -> bool:
    """Whether the rows in context do not tell the model from a guess, which of one class is right as well."""
    inside, chance = report.headline("in"), report.benchmark.chance
    return inside is not None and inside.low <= chance < 1


class Drop(NamedTuple):
    """One group out of context.

    Attributes:
        group: The group in words.
        value: Its accuracy less that of the same class in context, in [-1, 1]; negative = worse out of context.
        is_clear: Whether the two accuracies differ at 5% after Holm's correction over the groups.
    """

    group: str
    value: float
    is_clear: bool


class Judged(NamedTuple):
    """What the sentences are chosen by.

    Attributes:
        case: Case of the verdict.
        gap: Gap that it is read from.
        is_chance: Whether the rows in context do not tell the model from a guess.
        reliance: What a gap by declared contexts is.
        drops: Falls of the groups.
        ranked: Groups by what tells them apart, see `rank_groups`.
        level: How the number out of context lies: "At chance"; "" above chance.
    """

    case: Case
    gap: Estimate
    is_chance: bool
    reliance: JudgedGap | None
    drops: Sequence[Drop]
    ranked: tuple[str, list[tuple[GroupRow, Estimate]]]
    level: str


def judge(report: "ReportRecord") -> Judged:
    """Judge a report by its gap, its chance and its groups; the cases are those of `oochub.report.verdict`."""
    gap, is_chance = judge_gap(report), may_be_chance(report)
    case, level = _find_case(report, gap, is_chance=is_chance), _describe_chance(report)
    ranked, drops = rank_groups(report), group_drops(report)
    reliance = judge_reliance(report, case)
    return Judged(case if reliance is None else reliance.case, gap, is_chance, reliance, drops, ranked, level)


def _find_case(report: "ReportRecord", gap: Estimate, *, is_chance: bool) -> Case:
    inside, d = report.headline("in"), report.benchmark.practical_gap
    if inside is not None and is_chance:
        return "failed" if is_near_chance(inside, report.benchmark.chance) else "too_few"
    if any(map(format_numbers.is_undefined, (gap, gap.low, gap.high))) or report.gap.n_out_smallest < FEWEST:
        return "too_few"
    if gap.high < 0:
        return "relies" if gap <= -d else "slight"
    if gap.low > -d and gap.high < d:
        return "no_effect"
    return "reversed" if gap.low > 0 and gap >= d else "unclear"


def _describe_chance(report: "ReportRecord") -> str:
    """How the number out of context lies; "" above chance, and where a wide interval leaves that open.

    "Below chance": so does its interval. Else that includes chance, and the number is within a fifth of the way from
    there to 0 and to 1, "At chance", or lower, "No better than chance".
    """
    chance, there = report.benchmark.chance, report.headline("out")
    if (
        there is None
        or any(map(format_numbers.is_undefined, (chance, there, there.low, there.high)))
        or there.low > chance
    ):
        return ""
    if there.high < chance:
        return "Below chance"
    if there < chance * (1 - NEAR):
        return "No better than chance"
    return "At chance" if there <= chance + NEAR * (1 - chance) else ""


class ShownSlice(NamedTuple):
    """A row of the table of slices: its title in words, and its numbers."""

    title: str
    part: Slice


def select_slices(report: "ReportRecord") -> list[ShownSlice]:
    """The slices in their order, rows that stand in two of them once.

    All rows of the evaluation split may be one of its sides: the row then bears both titles and the numbers of both.
    """
    parts = sorted(report.slices, key=lambda part: theme.ROLES.index(part.role))
    every = next((part for part in parts if part.role == "all"), None)
    side = next((part for part in parts if every and part.role in ("in", "out") and _have_same_rows(part, every)), None)
    shown = []
    for part in parts:
        title = wording.slice_words(report.benchmark, part)
        if every is not None and part is side:
            own, whole = getattr(report.benchmark, _FIELDS[part.role]), wording.slice_words(report.benchmark, every)
            is_whole = part.role == "in" and not own.where
            title = whole if is_whole else f"{title}, {wording.put_in_sentence(whole)}"
            worst = {**(every.worst_groups or {}), **(part.worst_groups or {})}
            part = replace(part, metrics={**every.metrics, **part.metrics}, worst_groups=worst or None)
        if side is None or part is not every:
            shown.append(ShownSlice(title, part))
    return shown


def select_metrics(report: "ReportRecord") -> list[str]:
    """The metrics that a slice has, the primary one first."""
    names = [metric for metric in report.metrics if any(metric in part.metrics for part in report.slices)]
    return sorted(names, key=lambda metric: metric != report.benchmark.primary_metric)


def title_gap(report: "ReportRecord") -> str:
    """The head of a column of gaps: "Gap, points", or "Gap" where they are no fractions."""
    return "Gap, points" if report.unit == "fraction" else "Gap"


_FIELDS = {"in": "in_context", "out": "out_of_context"}


def _have_same_rows(one: Slice, other: Slice) -> bool:
    return one.examples is not None and (one.split, one.n, one.examples) == (other.split, other.n, other.examples)


def group_drops(report: "ReportRecord") -> list[Drop]:
    """Compare every group out of context with all groups of its class in context, largest drop first.

    The test is that of the evaluation, which knows the clusters of the rows (`oochub.stats.stratified_gap`), corrected
    by Holm over the groups. An older report has none: then it is the chi-square test of the counts.

    Args:
        report: Any report. One with an object has a single task, and no drops.

    Returns:
        The drops; empty where no class stands on both sides, and of a report that leaves groups out.
    """
    if report.benchmark.object is not None or report.groups_left_out:
        return []
    rows = [
        row for row in report.group_rows if row.accuracy is not None and not format_numbers.is_undefined(row.accuracy)
    ]
    pairs = []
    for row in (row for row in rows if row.role == "out"):
        same = [other for other in rows if other.role == "in" and other.label == row.label]
        if same:
            n, m = row.n, sum(other.n for other in same)
            right, right_inside = n * (row.accuracy or 0.0), sum(other.n * (other.accuracy or 0.0) for other in same)
            p_value = row.drop_p_value
            if p_value is None:
                p_value = chi_square_p_value((right, right_inside), (n, m))
            pairs.append((row, right / n - right_inside / m, p_value))
    clear = holm([p for _, _, p in pairs])
    drops = [
        Drop(wording.group_words(report.benchmark, row), value, is_clear)
        for (row, value, _), is_clear in zip(pairs, clear, strict=True)
    ]
    return sorted(drops, key=lambda drop: drop.value)


class Headings(NamedTuple):
    """The heading of each section; the neutral name where no finding is clear."""

    slices: str
    groups: str
    confidence: str


def write_headings(report: "ReportRecord") -> Headings:
    """Choose each heading of the page from closed templates.

    slices: "Missing context hurts more than misleading context" when the rise of the error from both to object alone
    exceeds that from neither to context alone, with its interval, and is itself above zero; or the reverse.
    groups: every unseen pair above every seen one, else the one worst group, when no intervals touch.
    confidence: "Out of context, the model is overconfident" when confidence - accuracy is above 0 with its interval; of
    worst group, which is chosen, when it is so on rows that did not choose it.

    Intervals of differences of disjoint groups are made from the groups' own (MOVER: Zou and Donner 2008, Section 2).
    """
    errors = [
        (row, row.error_rate)
        for row in report.group_rows
        if row.error_rate is not None and not format_numbers.is_undefined(row.error_rate)
    ]
    errors = [(row, error) for row, error in errors if format_numbers.has_interval(error)]
    return Headings(
        _write_slices_heading(report, errors), _write_groups_heading(report, errors), _write_confidence_heading(report)
    )


def _write_slices_heading(report: "ReportRecord", errors: Sequence[tuple[GroupRow, Estimate]]) -> str:
    thing = report.benchmark.object
    cells = {(row.label == thing, row.role): error for row, error in errors}
    if thing is None or len(errors) != 4 or set(cells) != {(p, r) for p in (True, False) for r in ("in", "out")}:
        return "Slices"
    missing = [(1, cells[True, "out"]), (-1, cells[True, "in"])]
    misleading = [(1, cells[False, "out"]), (-1, cells[False, "in"])]
    low, high = _describe_difference(missing + [(-sign, estimate) for sign, estimate in misleading])
    if low > 0 and _describe_difference(missing)[0] > 0:
        return "Missing context hurts more than misleading context"
    if high < 0 and _describe_difference(misleading)[0] > 0:
        return "Misleading context hurts more than missing context"
    return "Slices"


def _describe_difference(terms: Sequence[tuple[int, Estimate]]) -> tuple[float, float]:
    total = sum(sign * e for sign, e in terms)
    down = [e - e.low if sign > 0 else e.high - e for sign, e in terms]
    up = [e.high - e if sign > 0 else e - e.low for sign, e in terms]
    return total - math.hypot(*down), total + math.hypot(*up)


def _write_groups_heading(report: "ReportRecord", errors: Sequence[tuple[GroupRow, Estimate]]) -> str:
    if report.groups_left_out:
        return "Groups"
    unseen = [error for row, error in errors if row.trained is False]
    seen = [error for row, error in errors if row.trained is True]
    if unseen and seen and min(e.low for e in unseen) > max(e.high for e in seen):
        return "Every pair unseen in training has a higher error than every pair seen in training"
    ranked = sorted(errors, key=lambda pair: pair[1], reverse=True)
    if len(ranked) > 1 and ranked[0][1].low > max(error.high for _, error in ranked[1:]):
        return f"Highest error: {wording.group_words(report.benchmark, ranked[0][0])}"
    return "Groups"


def _write_confidence_heading(report: "ReportRecord") -> str:
    out = (report.calibration or {}).get("out")
    if out is None or not out.overconfidence.low > 0:
        return "Confidence"
    if report.benchmark.out_of_context.form == "worst_group" and out.groups is None:
        return "Confidence"  # of before: the group was chosen by the rows that measure it
    return f"{wording.capitalize_sentence(wording.title_side(report.benchmark, 'out'))}, the model is overconfident"


def describe_intervals(report: "ReportRecord") -> str:
    """That the worst group has two intervals, and which is where; "" where it has one.

    The worst group was chosen by its number, so the interval of that number allows for the choice; among the groups
    each has the interval of itself alone.
    """
    sides = [part.metrics.values() for part in report.slices]
    worst = [group.estimate for group in (report.worst_group or {}).values()]
    chosen = [
        estimate for estimates in (*sides, worst) for estimate in estimates if format_numbers.has_interval(estimate)
    ]
    if not report.group_rows or not any(map(simultaneous, chosen)):
        return ""
    return (
        "The interval of a worst group is simultaneous: it accounts for the choice among the groups. In the list of "
        "groups, each interval is for that group alone."
    )


def describe_worst_group(report: "ReportRecord") -> str:
    """Which group each worst-group error is of, and the worst of how many, in one sentence; "" where there is none.

    If the list of groups gives the same number another interval, both are named.

    The worst of all groups is that of Sagawa et al. and WILDS; NOOCH's is the worse of those out of context.
    """
    rows = {row.group: row for row in report.group_rows}
    named = []
    for title, part in select_slices(report):
        worst, error = (
            (part.worst_groups or {}).get("worst_group.error_rate"),
            part.metrics.get("worst_group.error_rate"),
        )
        if worst is not None and not format_numbers.is_zero(error):
            row = rows.get(worst.name)
            group = wording.words(worst.name) if row is None else wording.group_words(report.benchmark, row)
            where = wording.put_in_sentence(title)
            named.append(f"{group}, among {format_numbers.count(worst.among)} groups ({where})")
    first = f"Worst group by error: {'; '.join(named)}." if named else ""
    return f"{first} {describe_intervals(report)}".strip()


def describe_matched_gap(report: "ReportRecord") -> str:
    """The matched gap of a report beside the raw one, in one sentence; "" where none was asked for."""
    matched, raw = report.matched_gap, report.gap.estimate
    if matched is None:
        return ""
    value, where = matched.estimate, f"at equal {match_title(report)}"
    if format_numbers.is_undefined(value):
        return f"{wording.capitalize_sentence(where)}, the gap could not be measured: {describe_reason(value)}."
    unit, word = report.unit, format_numbers.points_word(report.unit)
    if matched.column == "label" and math.isclose(value, raw, abs_tol=_ROUNDING) and matched.share_out == 1:
        return f"The gap is the same {where}."
    before, after = format_numbers.points(raw, unit), format_numbers.points(value, unit)
    inner = describe_interval(value, unit, signed=True)
    if not format_numbers.is_undefined(raw) and raw * value >= 0 and abs(value) <= abs(raw):
        sentence = f"The gap is {before}{word}, of which {after} remain {where} ({inner})."
    else:
        sentence = f"The gap of {before}{word} becomes {after} {where} ({inner})."
    if matched.share_out < 1:
        examples = wording.name_side(report.benchmark, "out", "examples")
        share = f"{format_numbers.fraction(matched.share_out)}% of the {examples}"
        sentence += f" It covers the {share} that have a counterpart {wording.title_side(report.benchmark, 'in')}."
    return sentence


def judge_gap(report: "ReportRecord") -> Estimate:
    """The gap that the verdict is read from: at equal shares of the classes where the report has that.

    If both sides hold the classes alike already, the two are the same number, and the plain one has the better
    interval: a bootstrap of rows that are all right or all wrong has none.
    """
    matched, plain = report.matched_gap, report.gap.estimate
    is_of_groups = report.benchmark.out_of_context.form != "rows"
    if (
        matched is None
        or is_of_groups
        or matched.column != "label"
        or math.isclose(matched.estimate, plain, abs_tol=_ROUNDING)
    ):
        return plain
    return matched.estimate


def match_title(report: "ReportRecord") -> str:
    """What the matched gap is matched on, in words: "object size" for the area of an object; "" without such a gap."""
    if report.matched_gap is None:
        return ""
    column = report.matched_gap.column
    if column == "label":
        return "shares of the classes"
    return "object size" if column == "area" and report.benchmark.object is not None else wording.words(column)


def rank_groups(report: "ReportRecord") -> tuple[str, list[tuple[GroupRow, Estimate]]]:
    """The groups by what tells them apart, those out of context first, the worst first, undefined ones last.

    The worst is the one with the worst better end of its interval, so that a group of one row is not first by luck.

    Returns:
        "error_rate", or for a kind of output without errors its first metric, "" without groups; the groups with it.
    """
    headlines = [(row, *row.headline) for row in report.group_rows if row.headline is not None]
    metric = headlines[0][1] if headlines else ""
    sign = 1 if metric != "error_rate" and report.description(metric).direction != "lower" else -1
    rows = [(row, estimate) for row, name, estimate in headlines if name == metric]

    def get_place(pair: tuple[GroupRow, Estimate]) -> tuple[bool, list[float]]:
        row, estimate = pair
        ends = (sign * (estimate.low if sign < 0 else estimate.high), sign * estimate.value)
        return row.role != "out", [math.inf if format_numbers.is_undefined(end) else end for end in ends]

    return metric, sorted(rows, key=get_place)


def count_out(report: "ReportRecord") -> str:
    """How many examples are out of context: positives + negatives where the hard slices say so."""
    positive, negative = report.slice_of("hard_positive"), report.slice_of("hard_negative")
    if positive is not None and negative is not None:
        return f"{format_numbers.count(positive.n)} + {format_numbers.count(negative.n)}"
    return format_numbers.count(report.gap.n_out)
