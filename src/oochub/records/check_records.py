"""A rule that a report must keep, and what came of it: the records of `oochub check`."""

from dataclasses import dataclass
from typing import Literal

from oochub.records.report_records import MetricDescription
from oochub.records.schema import optional
from oochub.stats.estimate import Estimate

State = Literal["pass", "fail", "undecided"]
Bound = Literal["at_least", "at_most", "at_most_worse"]
RuleCorrection = Literal["none", "holm"]


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
        p_value: p-value of a number that lies at the limit, two-sided; nan where there is none.
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
    p_value: float
    state: State
    reason: str
    needed: int | None = optional()
