"""What a chart shows, as numbers and words: `svg` draws the records on a page, `oochub.figures` with matplotlib."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from oochub.records.report_records import Calibration, ConfidenceBin, Side
from oochub.stats.estimate import Estimate

Look = Literal["in", "out", "plain", "shown", "bare", "square", "chance", "auroc_new_class", "auroc_failure"]
"""What a mark or a line is of: a side, a goal of detection, or none of these."""


class GapChart(NamedTuple):
    """Both sides on one axis.

    Attributes:
        sides: The primary metric of each side that has it.
        titles: Titles that the benchmark gives the sides.
        gap: Their difference.
        unit: Unit of all these numbers.
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


class Axis(NamedTuple):
    """An axis of a chart: its ends, its ticks as (place, text), and what it is of."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    title: str


class Trace(NamedTuple):
    """A line of a chart.

    Attributes:
        look: Its color; one of chance is dotted.
        points: Its points (x, y).
        band: The ends of its band, as (x, low, high); empty without one.
        band_look: The color of the band, if it is another.
        is_dashed: Whether it is predicted, not measured.
        has_marks: Whether each point has a mark.
        title: What it is called.
        note: What a legend adds to that.
    """

    look: Look
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()
    band_look: Look | None = None
    is_dashed: bool = False
    has_marks: bool = False
    title: str = ""
    note: str = ""


class Dot(NamedTuple):
    """A point of a chart, with its intervals to the right and upward; None where it has none."""

    look: Look
    x: float
    y: float
    x_ends: tuple[float, float] | None = None
    y_ends: tuple[float, float] | None = None
    size: float = 4
    is_hollow: bool = False


class PlaneChart(NamedTuple):
    """Lines and points on two axes; `sentence` is read out in place of the image."""

    x: Axis
    y: Axis
    sentence: str
    traces: Sequence[Trace] = ()
    dots: Sequence[Dot] = ()
