"""The rows of predictions that a number of their report is of, and the mean that the number is, at every look."""

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.checking.rules import RuleNumber
from oochub.comparison.common_examples import RowsDiffer
from oochub.comparison.model_difference import Pair, Rows, find_side
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.slices import RowSet, make_row_sets
from oochub.metric import read_facts
from oochub.prediction.predictions import Predictions
from oochub.records.sides import GroupsOfRows
from oochub.report.report import Report
from oochub.stats.confidence_sequence import Evidence, MeanEvidence, ShareEvidence, make_interval
from oochub.stats.estimate import Estimate
from oochub.stats.mean_interval import RowNumbers

_BESIDE = "predictions.parquet"
_ROUNDING = 1e-6  # of a number that is computed again; a report keeps every digit
_BY_CLUSTER = "by the means of {n:,} clusters, each of which counts once"


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
