"""The numbers of a report that a rule of `oochub check` is about, found by the names that the rule gives."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.records.check_records import Rule
from oochub.records.report_records import GroupRow, MetricDescription, Slice
from oochub.report.report import Report
from oochub.stats.estimate import Estimate

GAPS = ("gap", "matched_gap")
"""The numbers that are of both sides."""
_WORST = "worst_group"
_CONTEXT = "context/"
_SIDES = {"in": "in context", "out": "out of context"}


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

    def allows(self, limit: float) -> bool:
        """Whether numbers on both sides of a limit are possible."""
        low, high = self.described.minimum, self.described.maximum
        return (low is None or limit > low) and (high is None or limit < high)


def is_gap(metric: str) -> bool:
    """Whether a number of that name is a difference between the two sides, or of a found context.

    >>> is_gap("gap"), is_gap("context/snow"), is_gap("accuracy")
    (True, True, False)
    """
    return metric in GAPS or metric.startswith(_CONTEXT)


def improves_upward(described: MetricDescription) -> bool:
    """Whether a larger number is better; where a metric does not say, it is taken to be so."""
    return described.direction != "lower"


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
        raise OochubError(f"{name} has no groups, so a rule with a group says nothing. Leave out group = {pattern!r}.")
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
    known = dict.fromkeys(metric for row in rows for metric in _numbers_of_group(row))
    if rule.metric not in known:
        raise unknown_name(f"metric of groups in {name}", rule.metric, known)
    times = Counter(row.group for row in report.group_rows)
    for row in rows:
        absent = Estimate(np.nan, n=row.n, method="none", reason=f"{row.group} has no {rule.metric}")
        estimate = _numbers_of_group(row).get(rule.metric, absent)
        side = f" ({row.split}, {_SIDES[row.role]})" if times[row.group] > 1 and row.role else ""
        place = f"{row.group}{side}"
        yield RuleNumber(rule.metric, None, row, place, estimate, report.description(rule.metric))


def _numbers_of_group(row: GroupRow) -> Mapping[str, Estimate]:
    named = {"accuracy": row.accuracy, "error_rate": row.error_rate, "nll": row.nll}
    return {metric: each for metric, each in named.items() if each is not None} | dict(row.metrics or {})


def _find_in_slices(report: Report, rule: Rule, pattern: str, name: str) -> Iterator[RuleNumber]:
    _refuse_whole(rule, "slice")
    index = _index_slices(report)
    parts = [index[pattern]] if pattern in index else [part for part in report.slices if _match(pattern, [part.name])]
    if not parts:
        raise unknown_name(f"slice in {name}", pattern, index)
    having = [(part, metric) for part in parts if (metric := _name_in_slice(part, rule.metric)) is not None]
    if not having:
        known = dict.fromkeys(metric for part in parts for metric in part.metrics)
        raise unknown_name(f"metric of {pattern} in {name}", rule.metric, known, _explain_absent(rule.metric, known))
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
    return next((each for each in part.metrics if each.partition(".")[0] == metric), None)


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
    worst = {f"{_WORST}.{key}": each.estimate for key, each in (report.worst_group or {}).items()}
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
    known = dict.fromkeys([*whole.metrics, "gap", *(["matched_gap"] if report.matched_gap else []), *worst, *others])
    known |= dict.fromkeys([_WORST] if worst else [])
    raise unknown_name(f"metric in {name}", metric, known, _explain_absent(metric, known))


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
    if rule.metric in GAPS or (rule.metric.partition(".")[0] == _WORST and key == "group"):
        raise OochubError(f"{rule.metric} is one number of a report, not one of each {key}. Leave out {key}.")


def _match(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that a pattern matches, in which `*` alone is special."""
    form = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
    return [name for name in names if form.fullmatch(name)]
