"""The rows of predictions that a number of their report is of, and its confidence sequence as rows are added.

A share of independent rows needs the report alone; clusters, other means of bounded numbers and changes need the
predictions beside it. What is no such mean stays undecided, and says why.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub import catalog
from oochub.checking.rules import RuleNumber
from oochub.comparison.common_examples import RowsDiffer, read_keys
from oochub.comparison.model_difference import Pair, Rows, find_side
from oochub.data.declaration import find_declaration
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation_rows import EvaluationRows, make_evaluation_rows
from oochub.evaluation.slices import RowSet, make_row_sets
from oochub.metric import read_facts
from oochub.prediction.predictions import Predictions
from oochub.records.sides import GroupsOfRows
from oochub.report.report import Report
from oochub.stats.confidence_sequence import Evidence, MeanEvidence, ShareEvidence, make_difference, make_interval
from oochub.stats.estimate import Estimate
from oochub.stats.mean_interval import RowNumbers

_BESIDE = "predictions.parquet"
_ROUNDING = 1e-6  # of a number that is computed again; a report keeps every digit
_BY_CLUSTER = "by the means of {n:,} clusters, each of which counts once"
_WHOLE = 1e-6  # of a difference that is computed again


class RuleRows:
    """The rows of predictions that numbers of their report are of.

    Args:
        evaluated: The predictions as `evaluate` sees them.
    """

    def __init__(self, evaluated: EvaluationRows) -> None:
        self._evaluated = evaluated

    @cached_property
    def sets(self) -> Mapping[str, RowSet]:
        """The sides and slices by name."""
        return {rows.name: rows for rows in make_row_sets(self._evaluated)}

    def find_group(self, number: RuleNumber) -> Rows | None:
        """The row numbers of the group on its side that a number is of; None if it is of none."""
        row = number.row
        part = next(
            (
                candidate
                for candidate in self.sets.values()
                if row is not None and candidate.role == (row.role or "all")
            ),
            None,
        )
        return None if row is None or part is None else self._evaluated.members(part.mask).get(row.group)

    def find_rows(self, number: RuleNumber) -> Rows | str:
        """The row numbers that a number is the mean of, or why it is the mean of none."""
        if number.row is not None:
            rows = self.find_group(number)
            return "its group is not in the predictions" if rows is None else rows
        part = None if number.part is None else self.sets.get(number.part.name)
        if part is None:
            return f"{number.metric} is not of rows"
        if isinstance(find_side(part, self._evaluated), GroupsOfRows):
            return f"{number.metric} of {part.name} is a statistic of groups, not a mean of rows"
        return np.flatnonzero(part.mask)

    def read_mean(self, number: RuleNumber) -> "Evidence | str":
        """What its rows say of a mean, or why the number is none; clusters count once each.

        Raises:
            RowsDiffer: The rows give another number than the report.
        """
        rows = "it cannot be computed" if math.isnan(number.estimate.value) else self.find_rows(number)
        values = rows if isinstance(rows, str) else _read_values(number, self._evaluated, rows)
        if isinstance(rows, str) or isinstance(values, str):
            return str(rows if isinstance(rows, str) else values)
        if abs(float(values.mean()) - number.estimate.value) > _ROUNDING:
            place = f" of {number.place}" if number.place else ""
            raise RowsDiffer(
                f"{number.metric}{place} is {number.estimate.value:.6g} in the report, and {values.mean():.6g} in its "
                "predictions, so the report was edited or made by another version of oochub. Evaluate the predictions "
                "again."
            )
        return _gather(values, number, self._evaluated, rows)

    def compare_means(self, number: RuleNumber, pair: Pair) -> Estimate:
        """The change of a mean from the first model to the second, row by row, with its confidence sequence."""
        rows = self.find_rows(number)
        if isinstance(rows, str):
            return without_interval(number, rows)
        old, new = (_read_values(number, model, rows) for model in pair)
        if isinstance(old, str) or isinstance(new, str):
            return without_interval(number, str(new))
        low, high = _read_bounds(number)
        return judge_mean(_gather(new - old, number, self._evaluated, rows, within=(low - high, high - low)))


def judge_mean(evidence: Evidence) -> Estimate:
    """The mean with its confidence sequence, and what it is of where clusters count."""
    interval = make_interval(evidence)
    is_of_clusters = isinstance(evidence, MeanEvidence) and evidence.are_clusters
    reason = _BY_CLUSTER.format(n=evidence.n) if is_of_clusters else None
    return Estimate.from_dict({**interval.to_dict(), "reason": reason})


def without_interval(number: RuleNumber, reason: str) -> Estimate:
    """The number without an interval that holds at every look, and why there is none."""
    method = "no confidence sequence"
    return Estimate(number.estimate.value, n=number.estimate.n, method=method, reason=f"--anytime: {reason}")


def _read_values(number: RuleNumber, evaluated: EvaluationRows, rows: Rows) -> NDArray[np.float64] | str:
    """One number for each row, whose mean the metric is, or why it is no mean of bounded numbers."""
    make = find_row_numbers(number)
    if isinstance(make, str):
        return make
    metric = catalog.get("metric", number.metric.partition(".")[0])
    return np.asarray(make(evaluated.arrays(metric, rows), **evaluated.options(metric)).values, dtype=np.float64)


def find_row_numbers(number: RuleNumber) -> Callable[..., RowNumbers] | str:
    """What makes the bounded numbers of rows that a number is the mean of, or why it is no such mean."""
    name = number.metric.partition(".")[0]
    facts = read_facts(catalog.get("metric", name)) if name in catalog.names("metric") else None
    if facts is None or facts.row_numbers is None or None in (number.described.minimum, number.described.maximum):
        return f"{number.metric} is not a mean of bounded numbers of rows"
    return facts.row_numbers


def _read_bounds(number: RuleNumber) -> tuple[float, float]:
    low, high = number.described.minimum, number.described.maximum
    assert low is not None and high is not None  # noqa: S101  `find_row_numbers` looked
    return low, high


def _gather(
    values: NDArray[np.float64],
    number: RuleNumber,
    evaluated: EvaluationRows,
    rows: Rows,
    within: tuple[float, float] | None = None,
) -> Evidence:
    low, high = within or _read_bounds(number)
    cluster = evaluated.cluster(rows)
    if cluster is not None:
        _, codes = np.unique(np.asarray(cluster), return_inverse=True)
        return MeanEvidence(np.bincount(codes, values) / np.bincount(codes), low, high, are_clusters=True)
    if within is None and np.isin(values, (0.0, 1.0)).all():
        return ShareEvidence(int(values.sum()), len(values))
    return MeanEvidence(values, low, high)


def find_predictions(report: Report, path: Path | None) -> Predictions:
    """The predictions that a report is made of.

    Raises:
        RowsDiffer: Those by the recorded name are others.
        OochubError: They are not beside it.
    """
    origin = report.provenance.predictions
    if path is None:
        raise OochubError("the report was not read from a file")
    candidates = [path.parent / name for name in dict.fromkeys((_BESIDE, Path(origin.file).name))]
    there = [file for file in candidates if file.suffix == ".parquet" and file.exists()]
    if not there:
        raise OochubError(f"no predictions beside {path}")
    for file in there:
        predictions = Predictions.load(file)
        if predictions.digest == origin.sha256:
            return predictions
    if there[-1].name == Path(origin.file).name:
        raise RowsDiffer(
            f"{there[-1]} is not what {path} was made of: it has other answers now. Evaluate it again, or move it away."
        )
    raise OochubError(f"{there[0]} is not what {path} was made of")


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
