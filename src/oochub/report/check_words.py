"""The words of a check: an outcome as cells of a table, and what limits the numbers."""

from collections import Counter
from collections.abc import Iterator, Sequence

from oochub.records.check_records import RuleOutcome
from oochub.report import format_numbers, wording
from oochub.report.rule_numbers import is_gap

SHOWN = 2_000
"""How many outcomes of one report a table shows."""
_BOUNDS = {"at_least": "\u2265 {}", "at_most": "\u2264 {}", "at_most_worse": "\u2264 {} worse"}


def describe_outcome(outcome: RuleOutcome) -> tuple[str, str, str, str, str]:
    """An outcome as the cells of a table: what it is of, its value, the interval, the bound and the rows.

    Fractions stand in hundredths with a percent sign, differences of them in points, with a plus or minus.
    """
    rule, judged, unit = outcome.rule, outcome.judged, outcome.described.unit
    of_gap = is_gap(rule.metric)
    is_difference = of_gap or outcome.change is not None
    sign = "%" if unit == "fraction" and not is_difference else ""
    if is_difference:
        value, interval = format_numbers.points(judged, unit), format_numbers.interval_points(judged, unit)
    else:
        value, interval = format_numbers.quantity(judged, unit), format_numbers.interval(judged, unit)
        value += sign if value != format_numbers.UNDEFINED else ""
    is_signed = of_gap and rule.bound != "at_most_worse"
    limit = format_numbers.points(rule.limit, unit) if is_signed else format_numbers.quantity(rule.limit, unit)
    names = [rule.metric, *([wording.name(outcome.place, 60)] if outcome.place else [])]
    names += ["new \u2212 old"] if outcome.change is not None else []
    bound = _BOUNDS[rule.bound].format(limit + sign)
    return ", ".join(names), value, interval or format_numbers.ABSENT, bound, format_numbers.count(judged.n)


def is_of_points(outcome: RuleOutcome) -> bool:
    """Whether its value is a difference of fractions, which is shown in points."""
    is_difference = is_gap(outcome.rule.metric) or outcome.change is not None
    return is_difference and outcome.described.unit == "fraction"


def describe_limits(outcomes: Sequence[RuleOutcome]) -> Iterator[str]:
    """A line for each outcome that says why it is undecided, or what limits its interval, and what was not paired."""
    for each in outcomes[:SHOWN]:
        once = "would decide it, if they show the same: collect them in one go, then check once"
        needed = f"; about {each.needed:,} rows in all {once}" if each.needed else ""
        if each.reason:
            yield wording.clean(f"{each.rule.text}: {each.reason}{needed}.")
    unpaired = Counter(each.paired for each in outcomes if each.paired not in (None, "paired"))
    for reason, n in unpaired.items():
        yield wording.clean(f"{n} {'change is' if n == 1 else 'changes are'} {reason}".rstrip(".") + ".")
