"""Numbers of a report with confidence sequences, for rules that are checked again as rows are added.

A share of independent rows needs the report alone; clusters, other means of bounded numbers and changes need the
predictions beside it. What is no such mean stays undecided, and says why.
"""

from collections import Counter
from functools import cached_property
from pathlib import Path

import pyarrow.compute as pc

from oochub.checking.rule_rows import RuleRows, find_predictions, find_row_numbers, judge_mean, without_interval
from oochub.checking.rules import RuleNumber
from oochub.comparison.common_examples import RowsDiffer, read_keys
from oochub.data.declaration import find_declaration
from oochub.errors import OochubError, choose_wording
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

    Raises:
        OochubError: From its methods: the predictions by the recorded name have other answers, or give another number.
    """

    def __init__(self, report: Report, path: Path | None) -> None:
        self._report, self._path = report, path

    def of(self, number: RuleNumber) -> Estimate:
        """A number with its confidence sequence; without an interval where there is none, and why."""
        if number.metric == "gap":
            return self._judge_gap(number)
        evidence = self._find_evidence(number)
        return without_interval(number, evidence) if isinstance(evidence, str) else judge_mean(evidence)

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
        except RowsDiffer:
            raise
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
            evidence = self._find_evidence(side)
            if isinstance(evidence, str):
                return without_interval(number, evidence)
            sides.append(evidence)
        are_clusters = any(isinstance(side, MeanEvidence) and side.are_clusters for side in sides)
        change = make_difference(*sides, are_independent=gap.pairs is None and not are_clusters)
        if are_clusters or abs(change.value - number.estimate.value) <= _WHOLE:
            return change
        return without_interval(number, "the gap is not the difference of two means of rows")


def check_growth(earlier: tuple[Report, str, Path | None], report: tuple[Report, str, Path | None]) -> None:
    """Refuses an earlier look that breaks the promise for every look, if the predictions of both are beside them.

    Args:
        earlier: The earlier report, what it is called, and its path; None for one in memory.
        report: The same of the report that is checked.

    Raises:
        OochubError: Rows are missing, or a cluster has other rows than before; clusters without earlier predictions.
    """
    anytime = choose_wording("anytime=True", "--anytime")
    try:
        grown = find_predictions(report[0], report[2])
    except RowsDiffer:
        raise
    except OochubError:
        return
    cluster = find_declaration(grown).cluster
    try:
        before = find_predictions(earlier[0], earlier[2])
    except OochubError as error:
        if cluster is None and not isinstance(error, RowsDiffer):
            return
        raise OochubError(
            f"With {anytime}, clusters must not gain rows, which only the predictions of {earlier[1]} tell: {error}."
        ) from None
    old, new = (read_keys(part) for part in (before, grown))
    lost = len(old) - pc.sum(pc.is_in(old, value_set=new)).as_py()
    if lost:
        raise OochubError(
            f"{lost:,} rows of {earlier[1]} are missing in {report[1]}. With {anytime} each look must keep the rows of "
            "those before: evaluate all rows."
        )
    if cluster is not None:
        was, now = (Counter(map(str, part.column(cluster).tolist())) for part in (before, grown))
        changed = [name for name, rows in was.items() if now[name] != rows]
        if changed:
            raise OochubError(
                f"{len(changed):,} clusters of {earlier[1]} have more rows in {report[1]}, such as {cluster} "
                f"{changed[0]}: {was[changed[0]]}, then {now[changed[0]]}. {anytime} holds if new clusters are added, "
                "not rows of old ones: evaluate without these rows."
            )
