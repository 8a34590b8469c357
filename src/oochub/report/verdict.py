"""The verdict on a report, in words: does the model rely on context, how much, on what, and how sure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oochub.records.report_records import Case, Fact, Side, SidePairs, Verdict, WorstValue
from oochub.report import format_numbers, wording
from oochub.report.footnotes import describe_interval, describe_reason
from oochub.report.group_findings import (
    NEAR,
    Drop,
    count_out,
    group_drops,
    is_near_chance,
    judge_gap,
    match_title,
    may_be_chance,
    rank_groups,
    simultaneous,
)
from oochub.report.reliance_words import judge_reliance
from oochub.section import sections
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_FAILED = "This model has not learned the task."
FEWEST = 50
"""Examples that the smallest slice out of context must hold for a verdict."""
_SIDES: tuple[Side, Side] = ("in", "out")


def verdict(report: "ReportRecord") -> Verdict:
    """Put the head numbers of a report into words; numbers in, text out.

    The gap is out of context minus in context on the benchmark's primary metric, negative = worse out of context; at
    equal shares of the classes where the report has that, since classes of one side may alone be harder. The first of
    the cases below that fits wins; l and u bound the gap g, d is the benchmark's practical gap. An in-context interval
    wholly below chance counts as including it: neither is better than guessing. An end is near chance where it is at
    most a fifth of the way from there to 1: a wider interval says that the rows are few, and not what the model has
    learned.

    ========= =================================================================
    failed    the in-context interval includes chance and ends near it
    too_few   the in-context interval includes chance and more; a hard slice has fewer than 50 examples; or g or its
              interval is undefined
    relies    u < 0 and g <= -d
    slight    u < 0 and -d < g < 0
    no_effect l > -d and u < d
    reversed  l > 0 and g >= d
    unclear   otherwise
    ========= =================================================================

    If the number out of context is at chance (its interval includes it, and it is near), no better or below, that is
    said before what the model relies on.

    The sentences are put together of `report.benchmark.words`. Only where these name a cause do they say that the model
    relies on it; else they say that it does worse on the second side, and not why. A gap between usual and unusual
    contexts of own data must also be there for the same class and context: otherwise contexts are harder for every
    class, or it cannot be told, and the case is "unclear" (`oochub.report.reliance_words`).

    A section that says so comes first: data without a context of their own are judged by the contexts that were found,
    a report of detectors without a row out of context by these (`oochub.section.Section.verdict`).

    Args:
        report: Any report; what it lacks is said, or left out.
    """
    for section in sections():
        answer = section.verdict(report)
        if answer is not None:
            return answer
    case, drops = _find_case(report), group_drops(report)
    headline, rest = _write_headline(report, case, drops)
    return Verdict(
        case=case,
        headline=headline,
        rest=rest,
        lead=_write_lead(report),
        how_much=_say_how_much(report),
        on_what=_say_on_what(report, drops),
        how_sure=_say_how_sure(report, case, drops),
    )


def is_undecided(report: "ReportRecord") -> bool:
    """Whether both sides of the report decide nothing: the case is "too_few"."""
    return _find_case(report) == "too_few"


def _find_case(report: "ReportRecord") -> Case:
    case = _find_case_of_gap(report)
    judged = judge_reliance(report, case)
    return case if judged is None else judged.case


def _find_case_of_gap(report: "ReportRecord") -> Case:
    inside, gap, d = report.headline("in"), judge_gap(report), report.benchmark.practical_gap
    if inside is not None and may_be_chance(report):
        return "failed" if is_near_chance(inside, report.benchmark.chance) else "too_few"
    if any(map(format_numbers.is_undefined, (gap, gap.low, gap.high))) or report.gap.n_out_smallest < FEWEST:
        return "too_few"
    if gap.high < 0:
        return "relies" if gap <= -d else "slight"
    if gap.low > -d and gap.high < d:
        return "no_effect"
    return "reversed" if gap.low > 0 and gap >= d else "unclear"


def _write_headline(report: "ReportRecord", case: Case, drops: Sequence[Drop]) -> tuple[str, str]:
    """The sentence that answers the question, and what must be said with it."""
    benchmark, gap, unit = report.benchmark, judge_gap(report), report.unit
    practical = f"{format_numbers.whole_points(benchmark.practical_gap, unit)}{format_numbers.points_word(unit)}"
    ends = f"{format_numbers.points(gap.low, unit)} and {format_numbers.points(gap.high, unit)}"
    bounds = f"{ends}{format_numbers.points_word(unit)}"
    if not benchmark.out_of_context.is_declared:
        if may_be_chance(report):
            return (_FAILED if case == "failed" else _explain_undecided(report)), ""
        return (
            "This data set names no context, so there is nothing to compare.",
            "A column named “group” or “challenge” would supply one.",
        )
    cause, outside = wording.name(benchmark.words.cause), wording.title_side(benchmark, "out")
    worse = f"relies on {cause}" if cause else f"does worse {outside}"
    effect, size = f"effect of {cause}" if cause else "difference", _describe_size(report, drops)
    sentences = {
        "failed": (_FAILED, "Its gap therefore tells us nothing."),
        "too_few": (_explain_undecided(report), ""),
        "relies": (f"This model {worse}.", size),
        "slight": (f"This model is slightly worse {outside}.", size),
        "no_effect": (f"Any {effect} is smaller than {practical}.", ""),
        "reversed": (f"This model does better {outside}.", "Check the labels and slices before trusting this."),
        "unclear": (
            f"There is no clear sign that this model {worse}.",
            f"The data are consistent with a gap between {bounds}.",
        ),
    }
    judged = judge_reliance(report, _find_case_of_gap(report))
    if judged is not None and judged.headline:
        return judged.headline, judged.rest
    level = _describe_chance(report)
    if not level or case not in ("relies", "slight"):
        return sentences[case]
    if case == "relies" and cause:
        return f"{level} {outside}, this model {worse}.", size
    how = "is slightly worse" if case == "slight" else "does worse"
    return f"{level} {outside}, this model {how} there than {wording.title_side(benchmark, 'in')}.", size


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


def _describe_size(report: "ReportRecord", drops: Sequence[Drop]) -> str:
    """How large the gap is, and that it is clear in no single group: a gap of 100 points is not one of 5."""
    gap = judge_gap(report)
    at = "" if gap is report.gap.estimate else f" at equal {match_title(report)}"
    is_spread = bool(drops) and not any(drop.is_clear and drop.value < 0 for drop in drops)
    no_group = ", and no single group is clearly lower" if is_spread else ""
    return (
        f"The gap is {format_numbers.points(gap, report.unit)}{format_numbers.points_word(report.unit)}{at}{no_group}."
    )


def _explain_undecided(report: "ReportRecord") -> str:
    """Why the gap decides nothing: too few examples, no value, no interval."""
    if may_be_chance(report):
        return (
            f"There are too few {wording.name_side(report.benchmark, 'in', 'examples')} to tell whether this model has "
            "learned the task."
        )
    if report.gap.n_out_smallest < FEWEST:
        return f"There are too few {wording.name_side(report.benchmark, 'out', 'examples')} to tell."
    lacks = "could not be measured" if format_numbers.is_undefined(judge_gap(report)) else "has no interval"
    return f"The gap {lacks}, so there is no verdict."


def _write_lead(report: "ReportRecord") -> str:
    benchmark, metric, words = report.benchmark, report.benchmark.primary_metric, report.benchmark.words
    title, unit = wording.name(report.description(metric).title), report.unit
    titles = {str(side): wording.title_side(benchmark, side) for side in _SIDES}
    estimates = {str(side): report.headline(side) for side in _SIDES}
    values = {
        side: value for side, value in estimates.items() if value is not None and not format_numbers.is_undefined(value)
    }
    worst = _write_worst_group_lead(report) if metric.startswith("worst_group") else ""
    if worst:
        return worst
    if "in" in values and not benchmark.out_of_context.is_declared:
        return f"{title} is {_format_of_100(values['in'], unit)} {titles['in']}."
    if not values:
        here, there = (_explain_missing(report, estimate) for estimate in estimates.values())
        if here == there:
            return f"{title} {here} on either side."
        return f"{title} {here} {titles['in']} and {there} {titles['out']}."
    if len(values) == 1:
        (side, value), other = *values.items(), "out" if "in" in values else "in"
        why = _explain_missing(report, estimates[other])
        return f"{title} is {_format_of_100(value, unit)} {titles[side]}; {titles[other]} it {why}."
    if unit != "fraction":
        inside, outside = (_format_of_100(values[side], unit) for side in _SIDES)
        return f"{title} is {inside} {titles['in']} and {outside} {titles['out']}."
    inside, outside = format_numbers.times_in_100(values["in"], values["out"])
    here, there = wording.name(words.inside), wording.name(words.outside)
    if metric == "auc":
        shown = f"Shown {wording.name(words.pair)}, it picks the right one"
        return f"{shown} {inside} times in 100 {here}, and {outside} times {there}."
    if metric == "accuracy":
        return f"It is right {inside} times in 100 {here} and {outside} times {there}."
    return f"{title} is {inside} of 100 {titles['in']} and {outside} {titles['out']}."


def _explain_missing(report: "ReportRecord", estimate: Estimate | None) -> str:
    """Why a primary metric has no value on a side: an older report does not keep it, or it could not be measured."""
    has_rows = report.gap.n_in + report.gap.n_out > 0
    is_old = estimate is None and has_rows and report.benchmark.primary_metric not in report.metrics
    return "was not stored" if is_old else "could not be measured"


def _format_of_100(value: float, unit: str) -> str:
    return f"{format_numbers.fraction(value)} of 100" if unit == "fraction" else format_numbers.quantity(value, unit)


def _write_worst_group_lead(report: "ReportRecord") -> str:
    """Its accuracy beside the average; "" where one of them is missing."""
    worst, every = (report.worst_group or {}).get("accuracy"), report.slice_of("all")
    average = None if every is None else every.metrics.get("accuracy")
    if worst is None or average is None or any(map(format_numbers.is_undefined, (worst.estimate, average))):
        return ""
    low, mean = format_numbers.times_in_100(worst.estimate, average)
    return f"Its worst group, {_describe_worst(report, worst)}, is right {low} times in 100; the average is {mean}."


def _say_how_much(report: "ReportRecord") -> Fact:
    gap, title, benchmark = report.gap, "How much", report.benchmark
    metric = wording.put_in_sentence(wording.name(report.description(benchmark.primary_metric).title))
    if format_numbers.is_undefined(gap.estimate):
        reason = wording.clean(gap.estimate.reason or "the gap could not be computed")
        return Fact(title, format_numbers.UNDEFINED, f": {reason}.")
    inner = describe_interval(gap.estimate, report.unit, signed=True)
    where = (
        f"{format_numbers.count(gap.n_in)} examples {wording.title_side(benchmark, 'in')} against {count_out(report)} "
        f"{wording.title_side(benchmark, 'out')}"
    )
    size = f"{format_numbers.points(gap.estimate, report.unit)}{format_numbers.points_word(report.unit)}"
    return Fact(title, size, f" of {metric} ({inner}), {where}.{_describe_pairs(gap.pairs)}")


def _describe_pairs(pairs: SidePairs | None) -> str:
    """How many things both sides show, and how many have no partner; "" if the sides share nothing."""
    if pairs is None:
        return ""
    column = wording.words(pairs.column)
    if not pairs.both:
        return f" No {column} has rows on both sides, so nothing is paired."
    alone = pairs.only_in + pairs.only_out
    counts = "counts" if alone == 1 else "count"
    rest = f"; {format_numbers.count(alone)} without a partner {counts} unpaired" if alone else ""
    have = "has" if pairs.both == 1 else "have"
    return f" Paired by {column}: {format_numbers.count(pairs.both)} {have} rows on both sides{rest}."


def _say_on_what(report: "ReportRecord", drops: Sequence[Drop]) -> Fact:
    title = "On what"
    if report.benchmark.object is not None:
        return _say_on_object(report, report.benchmark.object)
    if drops:
        clear = [drop for drop in drops if drop.is_clear and drop.value < 0][:3]
        if not clear:
            return Fact(title, "No single group stands out.", "")
        named = wording.join_names([f"{drop.group} ({format_numbers.points(drop.value)})" for drop in clear])
        least = drops[-1]
        tail = f"; least for {least.group} ({format_numbers.points(least.value)})" if least not in clear else ""
        inside = wording.title_side(report.benchmark, "in")
        return Fact(title, f"Most for {named}", f", in points of accuracy compared with the same class {inside}{tail}.")
    worst = (report.worst_group or {}).get("error_rate")
    if worst is None or format_numbers.is_undefined(worst.estimate):
        return _say_on_other_groups(report)
    interval = describe_interval(worst.estimate, also=simultaneous(worst.estimate), level="")
    if format_numbers.is_zero(worst.estimate):
        return Fact(title, "No group has an error", f" ({interval}).")
    error = f"error {format_numbers.fraction(worst.estimate)}% ({interval})"
    return Fact(title, f"Highest error for {_describe_worst(report, worst)}", f": {error}.")


def _say_on_other_groups(report: "ReportRecord") -> Fact:
    """The worst group where no metric names it: by errors, or by the metric of a kind of output that has none."""
    metric, rows = rank_groups(report)
    known = [
        (row, estimate) for row, estimate in rows if row.role != "in" and not format_numbers.is_undefined(estimate)
    ]
    if not known:
        return Fact("On what", "Groups were not measured.", "")
    (row, estimate), description = known[0], report.description(metric)
    interval = describe_interval(estimate, description.unit, level="")
    group = wording.group_words(report.benchmark, row)
    if metric == "error_rate" and format_numbers.is_zero(estimate):
        return Fact("On what", "No group has an error", f" ({interval}).")
    if metric == "error_rate":
        return Fact(
            "On what", f"Highest error for {group}", f": error {format_numbers.fraction(estimate)}% ({interval})."
        )
    title = wording.put_in_sentence(wording.name(description.title))
    detail = f": {title} {format_numbers.quantity(estimate, description.unit)} ({interval})."
    return Fact("On what", f"Worst for {group}", detail)


def _describe_worst(report: "ReportRecord", worst: WorstValue) -> str:
    row = next((row for row in report.group_rows if row.group == worst.group), None)
    return wording.words(worst.group) if row is None else wording.group_words(report.benchmark, row)


def _say_on_object(report: "ReportRecord", thing: str) -> Fact:
    contexts = report.benchmark.contexts
    usual = wording.join_names([wording.words(context) for context in contexts]) or "none declared"
    errors = []
    for part in (report.slice_of("hard_positive"), report.slice_of("hard_negative")):
        error = None if part is None else part.metrics.get("error_rate")
        if part is not None and error is not None and contexts:
            pair = wording.name_pairing(thing, contexts, present=part.role == "hard_positive", role="out")
            errors.append(
                f"{format_numbers.fraction(error)}{'' if format_numbers.is_undefined(error) else '%'} on {pair}"
            )
    detail = f": error {', '.join(errors)}." if errors else "."
    return Fact("On what", f"{wording.words(thing)} (usual context: {usual})", detail)


def _say_how_sure(report: "ReportRecord", case: Case, drops: Sequence[Drop]) -> Fact:
    benchmark, gap, inside = report.benchmark, report.gap, report.headline("in")
    judged = judge_gap(report)
    if inside is not None and (case == "failed" or (case == "too_few" and may_be_chance(report))):
        chance = format_numbers.whole_points(benchmark.chance, report.unit)
        interval = f"{format_numbers.interval(inside, report.unit)}{_describe_limits(inside)}"
        answer = f"{_get_inside(report)} the interval is {interval}; chance is {chance}."
    elif not benchmark.out_of_context.is_declared:
        answer = "There is nothing to compare."
    elif case == "too_few" and gap.n_out_smallest < FEWEST:
        few = f"{format_numbers.count(gap.n_out_smallest)} {wording.name_side(benchmark, 'out', 'examples')}"
        smaller = " in the smaller set" if gap.n_out_smallest < gap.n_out else ""
        answer = f"{few}{smaller}; at least {FEWEST} are needed."
    elif case == "too_few":
        answer = f"Cannot be computed: {wording.clean(judged.reason or 'the gap has no interval')}."
    elif case == "no_effect":
        d = format_numbers.whole_points(benchmark.practical_gap, report.unit)
        answer = f"The interval lies between \u2212{d} and +{d}{format_numbers.points_word(report.unit)}."
    else:
        answer = f"The interval {'includes' if judged.low <= 0 <= judged.high else 'excludes'} zero."
        confirmed = judge_reliance(report, case)
        if confirmed is not None and confirmed.answer in ("relies", "better"):
            answer = "The interval excludes zero, and so does that of the gap for the same class and context."
    if case in ("relies", "slight") and _describe_chance(report):
        there, chance = report.headline("out"), format_numbers.whole_points(benchmark.chance, report.unit)
        answer += f" {wording.capitalize_sentence(wording.title_side(benchmark, 'out'))} the interval is "
        interval = "" if there is None else f"{format_numbers.interval(there, report.unit)}{_describe_limits(there)}"
        answer += f"{interval}; chance is {chance}."
    clear = sum(drop.is_clear and drop.value < 0 for drop in drops)
    groups = (
        f" Accuracy is clearly lower in {clear} of {len(drops)} groups (Holm, 5%)."
        if drops and case != "failed"
        else ""
    )
    covers = format_numbers.seeds(report.model.seeds, wording.name(benchmark.words.example))
    return Fact("How sure", answer, f"{groups} {wording.capitalize_sentence(covers)}.{_find_caveat(report)}")


def _describe_limits(estimate: Estimate) -> str:
    return f" ({describe_reason(estimate)})" if estimate.reason else ""


def _get_inside(report: "ReportRecord") -> str:
    return wording.capitalize_sentence(wording.title_side(report.benchmark, "in"))


def _find_caveat(report: "ReportRecord") -> str:
    """The first caveat that holds; one seed is said with the seeds."""
    training = report.provenance.training
    if len(report.model.seeds) > 1 and training is not None and "oracle" in (training.selection or ""):
        return " The model was chosen on test groups (oracle)."
    return ""
