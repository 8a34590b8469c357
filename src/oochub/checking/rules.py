"""The rules of a check: read from TOML, which is data alone, and suggested from a report.

A rule that a report must keep, and what came of it: the records of `oochub check`.

The numbers of a report that a rule of `oochub check` is about, found by the names that the rule gives.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.records.report_records import GroupRow, MetricDescription, Slice
from oochub.records.schema import from_table, optional
from oochub.records.typed_values import Bounds, Name
from oochub.report import format_numbers
from oochub.report.report import Report
from oochub.stats.estimate import Estimate
from oochub.stats.p_values import interval_p_value
from oochub.storage.reading import TomlFile

State = Literal["pass", "fail", "undecided"]


Bound = Literal["at_least", "at_most", "at_most_worse"]


RuleCorrection = Literal["none", "holm"]
Looks = Literal["one", "any"]


BOUNDS: tuple[Bound, ...] = get_args(Bound)


_EXAMPLE = '[[rule]], then metric = "accuracy", slice = "out_of_context" and at_least = 0.7'


_GAPS = ("gap", "matched_gap")
"""The numbers that are of both sides."""


_SHARES = ("accuracy", "error_rate")
_OF_ROWS = ("wilson", "percentile bootstrap of rows")  # that are independent
_WHOLE = 1e-6  # so near a count is a whole number
_WORST = "worst_group"


_CONTEXT = "context/"


_SIDES = {"in": "in context", "out": "out of context"}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A bound on one number of a report, or on the same number of several slices or groups.

    Attributes:
        metric: Name of the number.
        slice: Name of the slice, with `*` for any part of a name; None for all rows.
        group: Name of the group, with `*` for any part of a name; None for no group.
        bound: What the limit is to the number.
        limit: The limit, in the unit of the metric: 0.7 is 70%.

    >>> Rule(metric="accuracy", slice="out_of_context", bound="at_least", limit=0.7).text
    'accuracy of out_of_context at_least 0.7'
    """

    metric: str
    slice: str | None = optional()
    group: str | None = optional()
    bound: Bound
    limit: float

    @property
    def text(self) -> str:
        """The rule as it is typed, on one line."""
        place = self.slice if self.group is None else f"group {self.group}"
        return " ".join([self.metric, *([f"of {place}"] if place else []), self.bound, f"{self.limit:g}"])


@dataclass(frozen=True, kw_only=True)
class RuleOutcome:
    """What came of a rule on one number.

    Attributes:
        rule: The rule, with the exact names of the slice or group that the number is of.
        report: Path of the report, as typed.
        place: What the number is of, where the rule names a slice or group; "" for all rows.
        described: What the number means.
        number: The number of the report.
        judged: What is held to the limit: the change from the baseline if there is one, else the number; a share of
            independent rows with its exact interval.
        baseline: The same number of the baseline; None without one.
        change: The report's number minus the baseline's; None without a baseline.
        paired: How the change was found: "paired", or why it is not. None without a baseline.
        state: What its interval says.
        reason: What an undecided rule lacks, or what limits the interval of the others; "" for nothing.
        needed: About how many rows would decide it, if they showed the same number; None if it is decided, or if that
            cannot be said.
    """

    rule: Rule
    report: str
    place: str
    described: MetricDescription
    number: Estimate
    judged: Estimate
    baseline: Estimate | None = optional()
    change: Estimate | None = optional()
    paired: str | None = optional()
    state: State
    reason: str
    needed: int | None = optional()

    @property
    def p_value(self) -> float:
        """p-value of a number that lies at the limit, two-sided; nan where there is none."""
        judged, (_, limit) = self.judged, place_limit(self.rule, self.described)
        low, high = judged.low - limit, judged.high - limit
        if math.isnan(low) or math.isnan(high):
            return math.nan
        return interval_p_value(Estimate(judged.value - limit, low=low, high=high, n=judged.n, method=judged.method))


@dataclass(frozen=True, kw_only=True)
class CheckRules:
    """The rules of one file.

    Attributes:
        name: Name of the file, or "the rules".
        rules: The rules, in the order of the file.
        correction: "holm" bounds the chance of one false fail among all of them; "none" leaves each at its own level.
        looks: "any" holds the level over all looks at a set that grows, "one" at one look.
    """

    name: str
    rules: tuple[Rule, ...]
    correction: RuleCorrection = "none"
    looks: Looks = "one"

    @property
    def needs_baseline(self) -> bool:
        """Whether a rule compares with a baseline."""
        return any(rule.bound == "at_most_worse" for rule in self.rules)


@dataclass(frozen=True, kw_only=True)
class _RuleTable:
    metric: Name
    slice: Name | None = None
    group: Name | None = None
    at_least: float | None = None
    at_most: float | None = None
    at_most_worse: Annotated[float, Bounds(0)] | None = None


@dataclass(frozen=True, kw_only=True)
class _RuleFile:
    correction: RuleCorrection = "none"
    looks: Looks = "one"
    rule: tuple[_RuleTable, ...] = ()


def read_rules(rules: str | Path | Mapping[str, object]) -> CheckRules:
    """Reads rules and checks every key and value in them; names are looked up in a report later.

    Args:
        rules: A TOML file, or what such a file holds.

    Returns:
        The rules.

    Raises:
        OochubError: No such file or no TOML; an unknown key, near names given; no rule; a rule without a metric,
            without a bound or with several; a bound that is no finite number.

    >>> read_rules({"rule": [{"metric": "accuracy", "at_least": 0.7}]}).rules[0].text
    'accuracy at_least 0.7'
    >>> read_rules({"rule": [{"metric": "accuracy", "at_leest": 0.7}]})
    Traceback (most recent call last):
    oochub.errors.OochubError: the rules: No field of rule[0] named 'at_leest'. Did you mean 'at_least' or 'at_most'? \
Allowed: at_least, at_most, at_most_worse, group, metric, slice.
    """
    if isinstance(rules, Mapping):
        name, content, at = "the rules", rules, lambda *names: "the rules"
    elif isinstance(rules, str | Path):
        file = TomlFile(Path(rules).expanduser())
        name, content, at = file.file.name, file.content, file.at
    else:
        raise OochubError(
            f'Rules must be the path of a TOML file or a dict such as {{"rule": [{{"metric": "accuracy", "at_least": '
            f"0.7}}]}}, got a {type(rules).__name__}."
        )
    read = from_table(_RuleFile, content, at=at)
    if not read.rule:
        raise OochubError(f"{name} contains no rules. Add one, for example: {_EXAMPLE}.")
    numbers: dict[Rule, int] = {}
    for number, table in enumerate(read.rule, 1):
        rule = _make_rule(table, f"rule {number} of {name}")
        if numbers.setdefault(rule, number) != number:
            raise OochubError(f"Rule {number} of {name} stands there twice: {rule.text}. Take one of them out.")
    return CheckRules(name=name, rules=tuple(numbers), correction=read.correction, looks=read.looks)


def _make_rule(table: _RuleTable, name: str) -> Rule:
    if "*" in table.metric:
        raise OochubError(f"metric in {name} must be one name, got {table.metric!r}. Write a rule for each metric.")
    if table.slice is not None and table.group is not None:
        raise OochubError(f"{name} sets both slice and group. Remove one of them.")
    bounds = [(bound, limit) for bound in BOUNDS if (limit := getattr(table, bound)) is not None]
    if len(bounds) != 1:
        got = " and ".join(bound for bound, _ in bounds) or "none"
        raise OochubError(f"There must be one of {', '.join(BOUNDS)} in {name}, got {got}.")
    ((bound, limit),) = bounds
    return Rule(metric=table.metric, slice=table.slice, group=table.group, bound=bound, limit=limit)


def suggest_rules(report: Report, *, name: str, margin: float = 2.0) -> str:
    """A first file of rules: bounds at what a report shows today, less a margin.

    It has the primary metric on all rows and on both sides, the gap and the worst group, where the report has them. A
    number that today's rows would leave undecided says so in its comment.

    Args:
        report: The report.
        name: What the comments call it.
        margin: The margin in points; for metrics that are no fractions, in percent of the number.

    Returns:
        TOML.

    Raises:
        OochubError: The report has none of these numbers.
    """
    primary = report.benchmark.primary_metric
    sides = [part.name for part in (report.slice_of("in"), report.slice_of("out")) if part is not None]
    rules = [Rule(metric=primary, slice=place, bound="at_least", limit=0.0) for place in (None, *sides)]
    rules += [Rule(metric=metric, bound="at_least", limit=0.0) for metric in ("gap", "worst_group")]
    blocks = [block for rule in rules for block in _suggest_rule(report, rule, name=name, margin=margin)]
    if not blocks:
        raise OochubError(f"{name} has no number of {primary} to start from. Write rules by hand: docs/check.md.")
    printable = "".join(character if character.isprintable() else "\ufffd" for character in name)
    head = [
        f"# Rules for `oochub check`, derived from {printable} with a margin of {margin:g} points.",
        "# Bounds are in the metric's own unit: 0.7 is 70%. Adjust them to your release criteria.",
    ]
    worse = [
        "# With --baseline OLD.json, the new model must not be worse than the old one by more than this:",
        "# [[rule]]",
        f'# metric = "{primary}"',
        "# at_most_worse = 0.02",
    ]
    return "\n\n".join(["\n".join(head), *blocks, "\n".join(worse)]) + "\n"


def _suggest_rule(report: Report, rule: Rule, *, name: str, margin: float) -> Iterator[str]:
    try:
        (number,) = find_numbers(report, rule, name=name)
    except OochubError:  # the report has no such number
        return
    estimate, described = number.estimate, number.described
    if format_numbers.is_undefined(estimate):
        return
    upward = improves_upward(described)
    step = margin / 100 if described.unit in ("fraction", "correlation") else margin / 100 * abs(estimate.value)
    bound = "at_least" if upward else "at_most"
    limit = estimate.value - step if upward else estimate.value + step
    limit = (math.floor if upward else math.ceil)(round(limit * 1000, 6)) / 1000
    if not number.allows(limit):
        return
    end = estimate.low if upward else estimate.high
    decided = end > limit if upward else end < limit  # False where there is no interval
    shown = f"{estimate.value:.3f}"
    if format_numbers.has_interval(estimate):
        shown += f", 95% interval {estimate.low:.3f} to {estimate.high:.3f}"
    short = "" if decided else ": too few rows to decide this bound"
    lines = [f"# current value {shown}, n = {estimate.n:,}{short}", "[[rule]]", f'metric = "{rule.metric}"']
    lines += [f'slice = "{rule.slice}"'] if rule.slice else []
    yield "\n".join([*lines, f"{bound} = {limit:.3f}"])


class RuleNumber(NamedTuple):
    """One number that a rule is about.

    Attributes:
        metric: Its name in the report: "accuracy", "worst_group.accuracy", "gap", "msp/a/b/auroc".
        part: The slice that it is of; None for a number that is of none.
        row: The group that it is of; None for a number that is of none.
        place: What a table says that it is of; "" for all rows.
        estimate: The number.
        described: What it means.
    """

    metric: str
    part: Slice | None
    row: GroupRow | None
    place: str
    estimate: Estimate
    described: MetricDescription

    @property
    def is_gap(self) -> bool:
        """Whether it is a difference between the two sides."""
        return is_gap(self.metric)

    @property
    def key(self) -> tuple[str, str | None, tuple[str, str, str | None] | None]:
        """What the same number of another report has too."""
        row = self.row
        group = None if row is None else (row.group, row.split, row.role)
        return self.metric, None if self.part is None else self.part.name, group

    @property
    def ones(self) -> int | None:
        """How many rows a share of independent rows counts; None for any other number."""
        estimate = self.estimate
        ones = estimate.value * estimate.n
        is_share = self.metric in _SHARES and estimate.method.startswith(_OF_ROWS) and estimate.n > 0
        return round(ones) if is_share and abs(ones - round(ones)) <= _WHOLE else None

    def allows(self, limit: float) -> bool:
        """Whether numbers on both sides of a limit are possible."""
        low, high = self.described.minimum, self.described.maximum
        return (low is None or limit > low) and (high is None or limit < high)


def check_limits(rule: Rule, number: RuleNumber, *, name: str) -> None:
    """Refuses a bound that every number keeps, or that none can keep.

    Args:
        rule: The rule.
        number: The number that it is held to.
        name: What errors call the report.

    Raises:
        OochubError: A bound outside what the number can be, a bound of the gap on its harmless side, or at_most_worse
            for a number of which neither direction is better.
    """
    described = number.described
    if rule.bound == "at_most_worse":
        if described.direction not in ("higher", "lower"):
            raise OochubError(
                f"{rule.metric} in {name} has no better direction, so at_most_worse is not defined. Use at_least or "
                "at_most."
            )
        low, high = described.minimum, described.maximum
        if low is not None and high is not None and rule.limit >= high - low:
            raise OochubError(
                f"at_most_worse = {rule.limit:g} of {rule.metric} would pass any model: it lies between {low:g} and "
                f"{high:g}. Bounds are in the metric's own unit: 0.02 is 2 points."
            )
        return
    if not number.allows(rule.limit):
        ends = ((described.minimum, "above"), (described.maximum, "below"))
        words = " and ".join(f"{word} {end:g}" for end, word in ends if end is not None)
        raise OochubError(
            f"{rule.bound} of {rule.metric} must lie {words}, got {rule.limit:g}. Bounds are in the metric's own unit: "
            "0.7 is 70%."
        )
    if number.is_gap and (rule.bound == "at_least") != improves_upward(described):
        other, sign = ("at_least", "-") if improves_upward(described) else ("at_most", "")
        raise OochubError(
            f"{rule.bound} of {rule.metric} would pass a model that relies on context: the gap is out of context minus "
            f"in context, and {'below' if sign else 'above'} 0 for such a model. Write {other} = {sign}0.05, which "
            "allows 5 points."
        )


def is_gap(metric: str) -> bool:
    """Whether a number of that name is a difference between the two sides, or of a found context.

    >>> is_gap("gap"), is_gap("context/snow"), is_gap("accuracy")
    (True, True, False)
    """
    return metric in _GAPS or metric.startswith(_CONTEXT)


def improves_upward(described: MetricDescription) -> bool:
    """Whether a larger number is better; where a metric does not say, it is taken to be so."""
    return described.direction != "lower"


def place_limit(rule: Rule, described: MetricDescription) -> tuple[bool, float]:
    """Whether the good side is above, and where it begins; a change in the direction of the metric."""
    if rule.bound == "at_most_worse":
        upward = improves_upward(described)
        return upward, -rule.limit if upward else rule.limit
    return rule.bound == "at_least", rule.limit


def find_numbers(report: Report, rule: Rule, *, name: str) -> tuple[RuleNumber, ...]:
    """The numbers of a report that a rule is about, at least one.

    Args:
        report: The report.
        rule: The rule.
        name: What errors call the report.

    Raises:
        OochubError: A metric, slice or group that the report does not have, near names given.
    """
    if rule.group is not None:
        return tuple(_find_in_groups(report, rule, rule.group, name))
    if rule.slice is not None:
        return tuple(_find_in_slices(report, rule, rule.slice, name))
    head, slash, metric = rule.metric.rpartition("/")
    if slash and head in _index_slices(report):
        return find_numbers(report, replace(rule, slice=head, metric=metric), name=name)
    return (_find_anywhere(report, rule.metric, name),)


def _find_in_groups(report: Report, rule: Rule, pattern: str, name: str) -> Iterator[RuleNumber]:
    if not report.group_rows:
        raise OochubError(
            f"{name} has no groups, so a rule with a group cannot be checked. Remove group = {pattern!r}."
        )
    _refuse_whole(rule, "group")
    groups = {row.group for row in report.group_rows}
    chosen = set(_match(pattern, groups))
    left_out = report.groups_left_out
    if left_out and chosen != {pattern}:
        raise OochubError(
            f"{name} has the worst and the best {len(groups):,} groups of {len(groups) + left_out:,}, so a rule of "
            f"{pattern!r} would not see them all. Use the metric worst_group, or name one of those that it has."
        )
    if not chosen:
        raise unknown_name(f"group in {name}", pattern, groups)
    rows = [row for row in report.group_rows if row.group in chosen]
    metrics = dict.fromkeys(metric for row in rows for metric in _numbers_of_group(row))
    if rule.metric not in metrics:
        raise unknown_name(f"metric of groups in {name}", rule.metric, metrics)
    times = Counter(row.group for row in report.group_rows)
    for row in rows:
        absent = Estimate(np.nan, n=row.n, method="none", reason=f"{row.group} has no {rule.metric}")
        estimate = _numbers_of_group(row).get(rule.metric, absent)
        side = f" ({row.split}, {_SIDES[row.role]})" if times[row.group] > 1 and row.role else ""
        place = f"{row.group}{side}"
        yield RuleNumber(rule.metric, None, row, place, estimate, report.description(rule.metric))


def _numbers_of_group(row: GroupRow) -> Mapping[str, Estimate]:
    named = {"accuracy": row.accuracy, "error_rate": row.error_rate, "nll": row.nll}
    return {metric: estimate for metric, estimate in named.items() if estimate is not None} | dict(row.metrics or {})


def _find_in_slices(report: Report, rule: Rule, pattern: str, name: str) -> Iterator[RuleNumber]:
    _refuse_whole(rule, "slice")
    index = _index_slices(report)
    parts = [index[pattern]] if pattern in index else [part for part in report.slices if _match(pattern, [part.name])]
    if not parts:
        raise unknown_name(f"slice in {name}", pattern, index)
    having = [(part, metric) for part in parts if (metric := _name_in_slice(part, rule.metric)) is not None]
    if not having:
        metrics = dict.fromkeys(metric for part in parts for metric in part.metrics)
        raise unknown_name(
            f"metric of {pattern} in {name}", rule.metric, metrics, _explain_absent(rule.metric, metrics)
        )
    for part, metric in having:
        yield RuleNumber(metric, part, None, part.name, part.metrics[metric], report.description(metric))


def _index_slices(report: Report) -> Mapping[str, Slice]:
    """Slices by their names, and the sides also by their titles."""
    sides = {part.title: part for part in report.slices if part.role in ("in", "out")}
    return sides | {part.name: part for part in report.slices}


def _name_in_slice(part: Slice, metric: str) -> str | None:
    """The name of a metric in a slice; for one that gives several numbers, that of its headline."""
    if metric in part.metrics:
        return metric
    return next((name for name in part.metrics if name.partition(".")[0] == metric), None)


def _find_anywhere(report: Report, metric: str, name: str) -> RuleNumber:
    gap = _describe_gap(report)
    if metric == "gap":
        return RuleNumber("gap", None, None, "", report.gap.estimate, gap)
    if metric == "matched_gap" and report.matched_gap is not None:
        return RuleNumber(metric, None, None, "", report.matched_gap.estimate, gap)
    whole = report.slices[0]
    own = _name_in_slice(whole, metric)
    if own is not None:
        return RuleNumber(own, whole, None, "", whole.metrics[own], report.description(own))
    worst = {f"{_WORST}.{key}": group.estimate for key, group in (report.worst_group or {}).items()}
    for each, estimate in worst.items():
        if metric in (_WORST, each):
            described = report.description(each.partition(".")[2])
            described = replace(described, title=f"{described.title} of the worst group")
            return RuleNumber(each, None, None, "", estimate, described)
    slices = tuple(f"{part.name}/" for part in report.slices)
    others = [key for key in report if "/" in key and not key.startswith(slices)]
    if metric in others:
        described = gap if metric.startswith(_CONTEXT) else _describe_key(report, metric)
        return RuleNumber(metric, None, None, "", report[metric], described)
    names = dict.fromkeys([*whole.metrics, "gap", *(["matched_gap"] if report.matched_gap else []), *worst, *others])
    names |= dict.fromkeys([_WORST] if worst else [])
    raise unknown_name(f"metric in {name}", metric, names, _explain_absent(metric, names))


def _describe_gap(report: Report) -> MetricDescription:
    """A gap lies between the two largest differences of its metric; its better direction is that of the metric."""
    of = report.description(report.benchmark.primary_metric)
    span = None if of.minimum is None or of.maximum is None else of.maximum - of.minimum
    return replace(of, title=f"Gap of {of.title}", minimum=span and -span, maximum=span)


def _describe_key(report: Report, key: str) -> MetricDescription:
    metric = key.rpartition("/")[2]
    described = report.description(metric)
    is_known = metric in report.metrics or metric.partition(".")[0] in catalog.names("metric")
    return described if is_known else replace(described, minimum=None, maximum=None)


def _explain_absent(metric: str, known: Iterable[str]) -> str:
    """What to do about a metric that the hub has and the report does not."""
    base = metric.partition(".")[0]
    if base in catalog.names("metric") and base not in known:
        return f"oochub has it: evaluate again with --metric {base}."
    return ""


def _refuse_whole(rule: Rule, key: str) -> None:
    if rule.metric in _GAPS or (rule.metric.partition(".")[0] == _WORST and key == "group"):
        raise OochubError(f"{rule.metric} is one number of a report, not one of each {key}. Remove {key}.")


def _match(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that a pattern matches, in which `*` alone is special."""
    form = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
    return [name for name in names if form.fullmatch(name)]
