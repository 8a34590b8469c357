"""What the charts of a report show, prepared once: the page draws it as SVG, `figures/` with matplotlib."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from oochub.records.report_records import Calibration, ConfidenceBin, GroupRow, Side
from oochub.report import numbers, wording
from oochub.report.findings import ranked_groups, shown_slices
from oochub.report.verdict import verdict
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report import Report

SIDES: tuple[Side, Side] = ("in", "out")
FEWEST = 20
"""Bins of confidence with fewer answers are not drawn: their Wilson interval is wider than a quarter of the axis."""
_SIDE_OF = {"in": "in", "out": "out", "hard_positive": "out", "hard_negative": "out"}


class ChartRow(NamedTuple):
    """One row of a chart: what it is, its number, the side that gives its color and mark, and how many rows it has."""

    title: str
    estimate: Estimate
    side: Side | None
    n: int


class GapChart(NamedTuple):
    """Both sides on one axis.

    Attributes:
        sides: The primary metric of each side that has it.
        titles: What the benchmark calls the sides.
        gap: Their difference.
        unit: Of all these numbers.
        chance: The primary metric of guessing; nan where there is none.
        perfect: The best that there is; nan where the metric has no upper bound.
        is_settled: False where the data do not settle the question: both marks are then hollow.
        sentence: The verdict.
    """

    sides: Mapping[Side, Estimate]
    titles: Mapping[Side, str]
    gap: Estimate
    unit: str
    chance: float
    perfect: float
    is_settled: bool
    sentence: str


class Curve(NamedTuple):
    """Share of right answers against confidence, on one side; `drawn` are the bins with enough answers."""

    side: Side
    title: str
    calibration: Calibration
    drawn: tuple[ConfidenceBin, ...]


def gap_chart(report: "Report") -> GapChart:
    """The chart at the head of the page."""
    estimates = {side: report.headline(side) for side in SIDES}
    answer, description = verdict(report), report.description(report.benchmark.primary_metric)
    unbounded = 1.0 if description.unit == "fraction" else math.nan
    return GapChart(
        sides={side: e for side, e in estimates.items() if e is not None and not numbers.is_undefined(e)},
        titles={side: wording.side_title(report.benchmark, side) for side in SIDES},
        gap=report.gap.estimate,
        unit=description.unit,
        chance=report.benchmark.chance,
        perfect=unbounded if description.maximum is None else description.maximum,
        is_settled=answer.is_shown,
        sentence=answer.sentence,
    )


def slice_rows(report: "Report") -> tuple[str, list[ChartRow]]:
    """One metric on every slice that has it: the primary one, or where a slice lacks that the error, or what there is.

    Returns:
        The metric and its rows; "" and none for a report without any number.
    """
    titled = shown_slices(report)
    parts = [part for _, part in titled]
    primary = report.benchmark.primary_metric
    names = list(dict.fromkeys(name for part in parts for name in part.metrics))
    everywhere = bool(parts) and not any(numbers.is_undefined(part.metrics.get(primary)) for part in parts)
    preferred = [primary] if everywhere else ["error_rate", primary]
    metric = next((name for name in (*preferred, *names) if name in names), "")
    rows = []
    for title, part in titled:
        if metric in part.metrics:
            side = next((side for side in SIDES if side == _SIDE_OF.get(part.role)), None)
            rows.append(ChartRow(title, part.metrics[metric], side, part.n))
    return metric, rows


def group_rows(report: "Report", *, by_pairing: bool = False) -> tuple[str, list[ChartRow]]:
    """The error of each group, or the metric of its kind of output, in the order of `ranked_groups`.

    Args:
        report: Any report.
        by_pairing: The four pairings of an object with its context stand in an order of their own.

    Returns:
        The metric and its rows; "" and none without groups.
    """
    metric, rows = ranked_groups(report)
    if by_pairing and report.benchmark.object is not None:
        rows.sort(key=lambda pair: _pairing(pair[0], report.benchmark.object))
    return metric, [ChartRow(wording.group_words(report.benchmark, row), e, row.role, row.n) for row, e in rows]


def reliability_curves(report: "Report") -> tuple[list[Curve], float]:
    """A curve for each side with answers, and where both axes begin, in [0, 1)."""
    curves = []
    for side in SIDES:
        calibration = (report.calibration or {}).get(side)
        if calibration is not None:
            drawn = tuple(part for part in calibration.bins if part.n >= FEWEST)
            curves.append(Curve(side, wording.side_title(report.benchmark, side), calibration, drawn))
    ends = [end for curve in curves for part in curve.drawn for end in (part.confidence, part.accuracy_low)]
    ends = [end for end in ends if math.isfinite(end)]
    return curves, min(max(math.floor(10 * min(ends, default=0.5)) / 10, 0.0), 0.9)


def _pairing(row: GroupRow, thing: str | None) -> int:
    """Both, object alone, context alone, neither."""
    order = [(True, "in"), (True, "out"), (False, "out"), (False, "in")]
    return order.index((row.label == thing, row.role)) if row.role else len(order)
