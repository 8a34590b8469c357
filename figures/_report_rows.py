"""What the figures of one report share: a point with its interval, rows of points, and the label of a metric."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from oochub.figures._style import GRID, INK, INK2, draw_legend, hide_frame
from oochub.report import format_numbers, theme, wording
from oochub.report.report import Report
from oochub.section import ChartRow
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"in": theme.LIGHT["inn"], "out": theme.LIGHT["out"]}
LISTED_GROUPS = 20


def draw_point(
    ax: "Axes", y: float, estimate: Estimate, side: str | None, *, size: float, hollow: bool = False, scale: float = 100
) -> None:
    """One mark with its interval, to the right by its value."""
    color = COLORS.get(side or "", INK2)
    if format_numbers.has_interval(estimate):
        ax.plot([scale * estimate.low, scale * estimate.high], [y, y], color=color, linewidth=2, zorder=2)
    face = theme.LIGHT["bg"] if hollow else color
    marker = theme.MARKERS.get(side or "", "s")
    ax.plot(
        [scale * estimate], [y], marker=marker, markersize=size, color=color, markerfacecolor=face, linestyle="",
        zorder=3,
    )  # fmt: skip


def draw_rows(
    ax: "Axes", rows: Sequence[ChartRow], titles: Mapping[str, str], *, unit: str = "fraction", bars: bool = False
) -> None:
    """A row for each number, the first on top, with its value in print; one that is undefined says why.

    Args:
        ax: Axes to draw on.
        rows: Rows of a section's chart.
        titles: What the benchmark calls the sides, for the legend.
        unit: Unit of the numbers.
        bars: Draws a bar from zero to each.
    """
    scale = format_numbers.SCALES.get(unit, 1)
    for y, row in enumerate(rows):
        if format_numbers.is_undefined(row.estimate):
            ax.annotate(f"n/a, {wording.name(row.estimate.reason or 'no value')}", (0, y), va="center", color=INK2)
            continue
        if bars:
            ax.barh(y, scale * row.estimate, height=0.5, color=COLORS.get(row.side or "", INK2), alpha=0.3, zorder=1)
        draw_point(ax, y, row.estimate, row.side, size=7, scale=scale)
        end = row.estimate.high if format_numbers.has_interval(row.estimate) else row.estimate
        text = format_numbers.quantity(row.estimate, unit)
        ax.annotate(text, (scale * end, y), (7, 0), textcoords="offset points", va="center", color=INK)
    ax.set_yticks(range(len(rows)), [f"{row.title} (n = {format_numbers.count(row.n)})" for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.margins(x=0.12)
    if bars:
        ax.set_xlim(left=0)
    ax.grid(axis="x", color=GRID, linewidth=1)
    shown = [side for side in theme.SIDES if any(row.side == side for row in rows)]
    for side in shown:
        ax.plot([], [], color=COLORS[side], marker=theme.MARKERS[side], linestyle="", label=titles[side])
    if shown:
        draw_legend(ax, ncols=len(shown))
    hide_frame(ax, keep=("bottom",))


def label_metric(report: Report, metric: str) -> str:
    """Title, unit and direction of a metric: "AUC × 100 ↑ (higher is better)"."""
    described = report.description(metric)
    better = f"({described.direction} is better)" if described.direction != "none" else ""
    unit, arrow = format_numbers.unit_of(metric, described.unit), format_numbers.arrow(described.direction)
    return " ".join(filter(None, (wording.name(described.title), unit, arrow, better)))


def title_sides(report: Report) -> dict[str, str]:
    """What the benchmark calls the sides."""
    return {side: wording.title_side(report.benchmark, side) for side in theme.SIDES}
