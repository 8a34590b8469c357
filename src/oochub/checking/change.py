"""How much a number of one report differs from that of another, paired where the predictions of both are found.

The predictions of a report stand beside it, as `predictions.parquet` or by the name that the report has of them. They
are taken if their digest is the recorded one, so a report is never compared by answers that it is not made of. What is
found and contradicts is an error: rows of other examples, classes or labels, and numbers that the answers do not give.
"""

import math
from functools import cached_property
from pathlib import Path

import numpy as np

from oochub import catalog
from oochub.checking.rule_rows import RuleRows, find_predictions, without_interval
from oochub.checking.rules import RuleNumber
from oochub.comparison.common_examples import RowsDiffer, pair_rows
from oochub.comparison.model_difference import Pair, Rows, compute_numbers, compute_side_number, find_side
from oochub.errors import OochubError
from oochub.evaluation.slices import RowSet, make_row_sets, pair_sides
from oochub.records.sides import GroupsOfRows
from oochub.report.report import Report
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import difference
from oochub.stats.proportion import clopper_pearson

_ROUNDING = 1e-6  # of a number that is computed again; a report keeps every digit
_Opened = tuple[Report, str, Path | None]


class PairedChange:
    """The changes from one report to another on the same rows.

    Args:
        baseline: The report of the old model, what it is called, and its path; None for one in memory.
        report: The same of the new model.

    Raises:
        OochubError: Both are of other rows, classes or labels; the predictions by the recorded name are others.
    """

    def __init__(self, baseline: _Opened, report: _Opened) -> None:
        self._baseline, self._report = baseline[0], report[0]
        self._names = baseline[1], report[1]
        self._reason = ""
        self._pair: Pair | None = None
        self._sampling = {"resamples": self._report.provenance.resamples, "seed": self._report.provenance.seed}
        try:
            old, new = (find_predictions(opened, path) for opened, _, path in (baseline, report))
            pair = pair_rows(old, new, **self._sampling)
            self._check_rows(pair)
            self._pair = pair
        except RowsDiffer as error:
            raise OochubError(f"{report[1]} cannot be held to the baseline {baseline[1]}. {error}") from None
        except OochubError as error:
            self._check_reports()
            self._reason = f"not paired: {error}"

    def of(self, old: RuleNumber, new: RuleNumber) -> tuple[Estimate, str]:
        """The change of a number with its interval, and "paired" or why it is not.

        Args:
            old: The number of the baseline.
            new: The same number of the report.

        Raises:
            OochubError: The predictions give another change than the two reports.
        """
        if self._pair is None:
            return difference(new.estimate, old.estimate), self._reason
        try:
            change = self._measure(new)
        except OochubError as error:
            return difference(new.estimate, old.estimate), f"not paired: {error}"
        if change is None:
            is_worst = new.metric.startswith("worst_group")
            reason = "the worst groups of both may be two groups" if is_worst else f"{new.metric} is not of rows"
            return difference(new.estimate, old.estimate), f"not paired: {reason}"
        given = new.estimate.value - old.estimate.value
        if not math.isnan(given) and not math.isclose(change.value, given, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            place = f" of {new.place}" if new.place else ""
            raise OochubError(
                f"{new.metric}{place} changes by {given:.6g} from {self._names[0]} to {self._names[1]}, and by "
                f"{change.value:.6g} in their predictions, so one of the reports was edited or made by another version "
                "of oochub. Evaluate both predictions again."
            )
        return change, "paired"

    def _check_reports(self) -> None:
        """Refuses reports that say themselves that they are of other classes, or of as many other rows."""
        old, new = self._baseline, self._report
        classes = [report_opened.model.class_names for report_opened in (old, new)]
        examples = [report_opened.slices[0].examples for report_opened in (old, new)]
        as_many = old.slices[0].n == new.slices[0].n
        if all(classes) and classes[0] != classes[1]:
            what = "classes"
        elif None not in examples and examples[0] != examples[1] and as_many:
            what = "examples or labels"
        else:
            return
        raise OochubError(
            f"{self._names[1]} has other {what} than the baseline {self._names[0]}, so a change says nothing of the "
            "model. Predict with both models on the same data."
        )

    def _check_rows(self, pair: Pair) -> None:
        """Refuses predictions whose slices hold other rows than those of the reports, as of a report on some rows."""
        for part in make_row_sets(pair[0]):
            own = pair[0].examples.of(part.mask)
            for report in (self._baseline, self._report):
                examples = next((other.examples for other in report.slices if other.name == part.name), None)
                if examples not in (own, None):
                    raise OochubError(f"the report has other rows in {part.name} than its predictions")

    def at_any_look(self, number: RuleNumber) -> Estimate:
        """The change of a number with its confidence sequence; without an interval where there is none, and why.

        Args:
            number: The number of the report.
        """
        if self._pair is None:
            return without_interval(number, self._reason)
        return self._rows.compare_means(number, self._pair)

    @cached_property
    def _rows(self) -> RuleRows:
        assert self._pair is not None  # noqa: S101  for the type checker
        return RuleRows(self._pair[0])

    def _measure(self, number: RuleNumber) -> Estimate | None:
        base = number.metric.partition(".")[0]
        if number.metric == "gap":
            return self._measure_gap()
        if base == "worst_group":  # may be two groups, so nothing is paired
            return None
        if number.row is not None:
            rows = self._rows.find_group(number)
            return None if rows is None else self._measure_rows(base, number.metric, rows)
        if number.part is None or number.part.name not in self._rows.sets:
            return None
        return self._measure_set(self._rows.sets[number.part.name], number.metric)

    def _measure_rows(self, base: str, metric: str, rows: Rows) -> Estimate | None:
        assert self._pair is not None  # noqa: S101  for the type checker
        number = compute_numbers(base, catalog.get("metric", base), rows, self._pair).get(metric)
        if number is None or number.test != "exact McNemar":
            return None if number is None else number.difference
        old, new = (model.predictions.output.wrong(model.columns)[rows] for model in self._pair)
        fixed, broken = int((old & ~new).sum()), int((~old & new).sum())
        more, less = (fixed, broken) if base == "accuracy" else (broken, fixed)
        return join_exact_shares(number.difference, more, less)

    def _measure_set(self, rows: RowSet, metric: str) -> Estimate | None:
        assert self._pair is not None  # noqa: S101
        side = find_side(rows, self._pair[0])
        if isinstance(side, GroupsOfRows):
            return compute_side_number(rows, self._pair).difference
        return self._measure_rows(metric.partition(".")[0], metric, np.flatnonzero(rows.mask))

    def _measure_gap(self) -> Estimate | None:
        """That of the paired changes on both sides, as `oochub compare` has it."""
        sides = {rows.role: rows for rows in self._rows.sets.values()}
        if not {"in", "out"} <= set(sides):
            return None
        primary = self._report.benchmark.primary_metric
        inside, outside = (self._measure_set(sides[role], primary) for role in ("in", "out"))
        if inside is None or outside is None:
            return None
        pairs = pair_sides(catalog.get("metric", primary), sides, self._pair or ())
        return difference(outside, inside, correlation=0.0 if pairs is None else pairs.correlation)


def join_exact_shares(change: Estimate, more: int, less: int) -> Estimate:
    """The change of a share of paired rows, with the hull of its interval and of that of two exact shares.

    The adjusted Wald interval lies above the truth in 3 to 4% where nearly all rows that differ are lost ones, and the
    square-and-add of two Clopper-Pearson intervals in up to 3% where they are balanced; the hull in 2.5% at most, of
    either (docs/check.md).

    Args:
        change: The change with its adjusted Wald interval.
        more: Rows that only the new model counts.
        less: Rows that only the old model counts.

    >>> from oochub.stats.proportion import adjusted_wald
    >>> low, high = adjusted_wald(0, 5, 200, 0.025)
    >>> join_exact_shares(Estimate(-0.025, low=low, high=high, n=200, method="adjusted wald"), 0, 5)
    -0.025 [-0.057, 0.001] n=200
    """
    exact = difference(clopper_pearson(more, change.n), clopper_pearson(less, change.n))
    ends = {"low": min(change.low, exact.low), "high": max(change.high, exact.high)}
    return Estimate.from_dict({**change.to_dict(), **ends, "method": f"{change.method}, joined with exact shares"})
