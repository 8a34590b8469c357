"""Numbers of a report with confidence sequences, for rules that are checked again as rows are added.

A share of independent rows needs the report alone; clusters, other means of bounded numbers and changes need the
predictions beside it. What is no such mean stays undecided, and says why.
"""

from functools import cached_property
from pathlib import Path

from oochub.checking.rule_rows import RuleRows, find_predictions, find_row_numbers, judge_mean, without_interval
from oochub.checking.rules import RuleNumber
from oochub.data.declaration import find_declaration
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import make_evaluation_rows
from oochub.report.report import Report
from oochub.stats.confidence_sequence import Evidence, MeanEvidence, ShareEvidence, make_difference
from oochub.stats.estimate import Estimate

_WHOLE = 1e-6  # of a difference that is computed again


class AnytimeNumbers:
    """The numbers of a report, with intervals that hold at every look.

    Args:
        report: The report.
        path: The file that it was read from; None for one in memory, beside which no predictions are found.
    """

    def __init__(self, report: Report, path: Path | None) -> None:
        self._report, self._path = report, path

    def of(self, number: RuleNumber) -> Estimate:
        """A number with its confidence sequence; without an interval where there is none, and why."""
        if number.metric == "gap":
            return self._judge_gap(number)
        found = self._find_evidence(number)
        return without_interval(number, found) if isinstance(found, str) else judge_mean(found)

    def _find_evidence(self, number: RuleNumber) -> Evidence | str:
        if number.ones is not None:
            return ShareEvidence(number.ones, number.estimate.n)
        if number.metric.partition(".")[0] == "worst_group":
            return 'the rows themselves choose the worst group; write a rule with group = "*" instead'
        make = find_row_numbers(number)  # before any predictions are opened
        if isinstance(make, str):
            return make
        return self._rows if isinstance(self._rows, str) else self._rows.read_mean(number)

    @cached_property
    def _rows(self) -> RuleRows | str:
        try:
            predictions = find_predictions(self._report, self._path)
            return RuleRows(make_evaluation_rows(predictions, find_declaration(predictions))[0])
        except OochubError as error:
            return f"this number needs the predictions of the report: {error}"

    def _judge_gap(self, number: RuleNumber) -> Estimate:
        gap = self._report.gap
        sides = []
        for role in ("out", "in"):
            part = self._report.slice_of(role)
            if part is None or gap.metric not in part.metrics:
                return without_interval(number, "the report has no two sides")
            description = self._report.description(gap.metric)
            side = RuleNumber(gap.metric, part, None, part.name, part.metrics[gap.metric], description)
            found = self._find_evidence(side)
            if isinstance(found, str):
                return without_interval(number, found)
            sides.append(found)
        are_clusters = any(isinstance(each, MeanEvidence) and each.are_clusters for each in sides)
        change = make_difference(*sides, are_independent=gap.pairs is None and not are_clusters)
        if are_clusters or abs(change.value - number.estimate.value) <= _WHOLE:
            return change
        return without_interval(number, "the gap is not the difference of two means of rows")
