"""The verdict on a report, in words: does the model rely on context, how much, on what, and how sure."""

from typing import TYPE_CHECKING, NamedTuple

from oochub.records.report_records import Fact, Side, SidePairs, Verdict, WorstValue
from oochub.report import format_numbers, wording
from oochub.report.footnotes import are_few, describe_interval, describe_reason, simultaneous
from oochub.report.group_findings import FEWEST, Judged, count_out, judge, match_title
from oochub.section import sections
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_FAILED = "This model has not learned the task."
UNMARKED = "No example is marked as in or out of context"
"""What is said of data whose contexts are named, and are on no side."""
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
    class, or it cannot be told, and the case is "unclear" (`oochub.report.group_findings`).

    A section that says so comes first: data without a context of their own are judged by the contexts that were found,
    a report of detectors without a row out of context by these (`oochub.section.Section.verdict`).

    Args:
        report: Any report; what it lacks is said, or left out.
    """
    for section in sections():
        answer = section.verdict(report)
        if answer is not None:
            return answer
    words, judged = _name_parts(report), judge(report)
    headline, rest = _write_headline(report, judged, words)
    return Verdict(
        case=judged.case,
        headline=headline,
        rest=rest,
        lead=_write_lead(report, words),
        how_much=_say_how_much(report, words),
        on_what=_say_on_what(report, judged),
        how_sure=_say_how_sure(report, judged, words),
    )


def is_undecided(report: "ReportRecord") -> bool:
    """Whether both sides of the report decide nothing: the case is "too_few"."""
    return judge(report).case == "too_few"


class _Words(NamedTuple):
    """What the sentences name: the metric, what the gap is put down to, both sides, their examples, a pair of them.

    The metric stands at the beginning of a sentence, and within one.
    """

    metric: str
    metric_within: str
    cause: str
    titles: dict[Side, str]
    examples: dict[Side, str]
    places: tuple[str, str]
    pair: str


def _name_parts(report: "ReportRecord") -> _Words:
    benchmark = report.benchmark
    metric = wording.name(report.description(benchmark.primary_metric).title)
    return _Words(
        metric,
        wording.put_in_sentence(metric),
        wording.name(benchmark.words.cause),
        {side: wording.title_side(benchmark, side) for side in _SIDES},
        {side: wording.name_side(benchmark, side, "examples") for side in _SIDES},
        (wording.name(benchmark.words.inside), wording.name(benchmark.words.outside)),
        wording.name(benchmark.words.pair),
    )


def _write_headline(report: "ReportRecord", judged: Judged, words: _Words) -> tuple[str, str]:
    """The sentence that answers the question, and what must be said with it."""
    benchmark, unit, case, gap = report.benchmark, report.unit, judged.case, judged.gap
    undecided, size = _explain_undecided(report, judged, words), _describe_size(report, judged)
    if not benchmark.out_of_context.is_declared:
        if judged.is_chance:
            return (_FAILED if case == "failed" else undecided), ""
        if report.errors is not None:
            return (
                f"{UNMARKED}, so there is nothing to compare.",
                "Contexts that are usual for one class and unusual for another would mark them.",
            )
        return (
            "This dataset does not define a context, so there is nothing to compare.",
            "Add a column named “group” or “challenge” to define one.",
        )
    practical = f"{format_numbers.whole_points(benchmark.practical_gap, unit)}{format_numbers.points_word(unit)}"
    ends = f"{format_numbers.points(gap.low, unit)} and {format_numbers.points(gap.high, unit)}"
    bounds = f"{ends}{format_numbers.points_word(unit)}"
    cause, outside = words.cause, words.titles["out"]
    worse = f"relies on {cause}" if cause else f"does worse {outside}"
    effect = f"effect of {cause}" if cause else "difference"
    sentences = {
        "failed": (_FAILED, "Its gap therefore tells us nothing."),
        "too_few": (undecided, ""),
        "relies": (f"This model {worse}.", size),
        "slight": (f"This model is slightly worse {outside}.", size),
        "no_effect": (f"Any {effect} is smaller than {practical}.", ""),
        "reversed": (f"This model does better {outside}.", "Check the labels and slices before trusting this."),
        "unclear": (
            f"There is no clear sign that this model {worse}.",
            f"The data are consistent with a gap between {bounds}.",
        ),
    }
    if judged.reliance is not None and judged.reliance.headline:
        return judged.reliance.headline, judged.reliance.rest
    level = judged.level
    if not level or case not in ("relies", "slight"):
        return sentences[case]
    if case == "relies" and cause:
        return f"{level} {outside}, this model {worse}.", size
    how = "is slightly worse" if case == "slight" else "does worse"
    return f"{level} {outside}, this model {how} there than {words.titles['in']}.", size


def _describe_size(report: "ReportRecord", judged: Judged) -> str:
    """How large the gap is, and that it is clear in no single group: a gap of 100 points is not one of 5."""
    gap, drops = judged.gap, judged.drops
    at = "" if gap is report.gap.estimate else f" at equal {match_title(report)}"
    is_spread = bool(drops) and not any(drop.is_clear and drop.value < 0 for drop in drops)
    no_group = ", and no single group is clearly lower" if is_spread else ""
    return (
        f"The gap is {format_numbers.points(gap, report.unit)}{format_numbers.points_word(report.unit)}{at}{no_group}."
    )


def _explain_undecided(report: "ReportRecord", judged: Judged, words: _Words) -> str:
    """Why the gap decides nothing: too few examples, no value, no interval."""
    if judged.is_chance:
        return f"There are too few {words.examples['in']} to tell whether this model has learned the task."
    if report.gap.n_out_smallest < FEWEST:
        return f"There are too few {words.examples['out']} to tell."
    lacks = "could not be measured" if format_numbers.is_undefined(judged.gap) else "has no interval"
    return f"The gap {lacks}, so there is no verdict."


def _write_lead(report: "ReportRecord", words: _Words) -> str:
    benchmark, metric, title, unit = report.benchmark, report.benchmark.primary_metric, words.metric, report.unit
    titles = words.titles
    estimates: dict[Side, Estimate | None] = {side: report.headline(side) for side in _SIDES}
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
        ((side, value),), other = values.items(), _SIDES["in" in values]
        why = _explain_missing(report, estimates[other])
        return f"{title} is {_format_of_100(value, unit)} {titles[side]}; {titles[other]} it {why}."
    if unit != "fraction":
        inside, outside = (_format_of_100(values[side], unit) for side in _SIDES)
        return f"{title} is {inside} {titles['in']} and {outside} {titles['out']}."
    inside, outside = format_numbers.times_in_100(values["in"], values["out"])
    here, there = words.places
    sides = tuple(values.values())
    if metric == "auc":
        if are_few(sides):
            counts = " and ".join(format_numbers.count(side.n) for side in sides)
            return f"{title} is {inside} of 100 {here} and {outside} {there}, from {counts} examples."
        shown = f"Shown {words.pair}, it picks the right one"
        return f"{shown} {inside} times in 100 {here}, and {outside} times {there}."
    if metric == "accuracy":
        inside, outside = _right_times(*sides)
        return f"It is right {inside} {here} and {outside} {there}."
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
    low, mean = _right_times(worst.estimate, average)
    mean = mean.removesuffix(" times")
    return f"Its worst group, {_describe_worst(report, worst)}, is right {low}; the average is {mean}."


def _right_times(first: Estimate, second: Estimate) -> tuple[str, str]:
    return format_numbers.right_times(first, second, (first.n, second.n), is_few=are_few((first, second)))


def _say_how_much(report: "ReportRecord", words: _Words) -> Fact:
    gap, title = report.gap, "Size of the gap"
    if format_numbers.is_undefined(gap.estimate):
        reason = gap.estimate.reason or "the gap could not be computed"
        return Fact(title, format_numbers.UNDEFINED, f": {reason}.")
    inner = describe_interval(gap.estimate, report.unit, signed=True)
    where = (
        f"{format_numbers.count(gap.n_in)} examples {words.titles['in']} against {count_out(report)} "
        f"{words.titles['out']}"
    )
    size = f"{format_numbers.points(gap.estimate, report.unit)}{format_numbers.points_word(report.unit)}"
    return Fact(title, size, f" of {words.metric_within} ({inner}), {where}.{_describe_pairs(gap.pairs)}")


def _describe_pairs(pairs: SidePairs | None) -> str:
    """How many things both sides show, and how many have no partner; "" if the sides share nothing."""
    if pairs is None:
        return ""
    column = wording.words(pairs.column)
    if not pairs.both:
        return f" No {column} appears on both sides, so rows are not paired."
    alone = pairs.only_in + pairs.only_out
    counts = "counts" if alone == 1 else "count"
    rest = f"; {format_numbers.count(alone)} without a partner {counts} unpaired" if alone else ""
    have = "has" if pairs.both == 1 else "have"
    return f" Paired by {column}: {format_numbers.count(pairs.both)} {have} rows on both sides{rest}."


def _say_on_what(report: "ReportRecord", judged: Judged) -> Fact:
    title, drops = "Where", judged.drops
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
        return _say_on_other_groups(report, judged)
    has_errors = not format_numbers.is_zero(worst.estimate)
    interval = describe_interval(worst.estimate, also=simultaneous(worst.estimate), level="")
    if not has_errors:
        return Fact(title, "No group has an error", f" ({interval}).")
    error = f"error {format_numbers.fraction(worst.estimate)}% ({interval})"
    return Fact(title, f"Highest error for {_describe_worst(report, worst)}", f": {error}.")


def _say_on_other_groups(report: "ReportRecord", judged: Judged) -> Fact:
    """The worst group where no metric names it: by errors, or by the metric of a kind of output that has none."""
    metric, rows = judged.ranked
    defined = [
        (row, estimate) for row, estimate in rows if row.role != "in" and not format_numbers.is_undefined(estimate)
    ]
    if not defined:
        return Fact("Where", "Groups were not measured.", "")
    (row, estimate), description = defined[0], report.description(metric)
    values = [float(value) for _, value in defined]
    is_worst = estimate in (min(values), max(values))  # else a group of few rows has a worse number by luck
    interval = describe_interval(estimate, description.unit, level="")
    group = wording.group_words(report.benchmark, row)
    if metric == "error_rate" and format_numbers.is_zero(estimate):
        return Fact("Where", "No group has an error", f" ({interval}).")
    if metric == "error_rate":
        title = f"Highest error for {group}" if is_worst else f"Worst by its interval: {group}"
        return Fact("Where", title, f": error {format_numbers.fraction(estimate)}% ({interval}).")
    title = wording.put_in_sentence(wording.name(description.title))
    detail = f": {title} {format_numbers.quantity(estimate, description.unit)} ({interval})."
    return Fact("Where", f"Worst for {group}" if is_worst else f"Worst by its interval: {group}", detail)


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
    return Fact("Where", f"{wording.words(thing)} (usual context: {usual})", detail)


def _say_how_sure(report: "ReportRecord", judged: Judged, words: _Words) -> Fact:
    benchmark, gap, inside = report.benchmark, report.gap, report.headline("in")
    case, drops = judged.case, judged.drops
    if inside is not None and (case == "failed" or (case == "too_few" and judged.is_chance)):
        chance = format_numbers.whole_points(benchmark.chance, report.unit)
        interval = f"{format_numbers.interval(inside, report.unit)}{_describe_limits(inside)}"
        answer = f"{wording.capitalize_sentence(words.titles['in'])} the interval is {interval}; chance is {chance}."
    elif not benchmark.out_of_context.is_declared:
        answer = "There is nothing to compare."
    elif case == "too_few" and gap.n_out_smallest < FEWEST:
        few = f"{format_numbers.count(gap.n_out_smallest)} {words.examples['out']}"
        smaller = " in the smaller set" if gap.n_out_smallest < gap.n_out else ""
        answer = f"{few}{smaller}; at least {FEWEST} are needed."
    elif case == "too_few":
        answer = f"Cannot be computed: {judged.gap.reason or 'the gap has no interval'}."
    elif case == "no_effect":
        d = format_numbers.whole_points(benchmark.practical_gap, report.unit)
        answer = f"The interval lies between \u2212{d} and +{d}{format_numbers.points_word(report.unit)}."
    else:
        answer = f"The interval {'includes' if judged.gap.low <= 0 <= judged.gap.high else 'excludes'} zero."
        if judged.reliance is not None and judged.reliance.answer in ("relies", "better"):
            answer = "The interval excludes zero, and so does that of the gap for the same class and context."
    if case in ("relies", "slight") and judged.level:
        there, chance = report.headline("out"), format_numbers.whole_points(benchmark.chance, report.unit)
        answer += f" {wording.capitalize_sentence(words.titles['out'])} the interval is "
        interval = "" if there is None else f"{format_numbers.interval(there, report.unit)}{_describe_limits(there)}"
        answer += f"{interval}; chance is {chance}."
    clear = sum(drop.is_clear and drop.value < 0 for drop in drops)
    groups = (
        f" Accuracy is clearly lower in {clear} of {len(drops)} groups (Holm, 5%)."
        if drops and case != "failed"
        else ""
    )
    covers = format_numbers.seeds(report.model.seeds, wording.name(benchmark.words.example))
    return Fact("Certainty", answer, f"{groups} {wording.capitalize_sentence(covers)}.{_find_caveat(report)}")


def _describe_limits(estimate: Estimate) -> str:
    return f" ({describe_reason(estimate)})" if estimate.reason else ""


def _find_caveat(report: "ReportRecord") -> str:
    """The first caveat that holds; one seed is said with the seeds."""
    training = report.provenance.training
    if len(report.model.seeds) > 1 and training is not None and "oracle" in (training.selection or ""):
        return " The model was chosen on test groups (oracle)."
    return ""
