"""The charts of a page, drawn with matplotlib: rows of points with intervals, lines and points on axes, matrices."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.figures._style import GRID, INK, INK2, draw_legend, hide_frame
from oochub.report import format_numbers, theme, wording
from oochub.report.charts import PlaneChart, Trace
from oochub.report.report import Report
from oochub.section import ChartRow
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"in": theme.LIGHT["inn"], "out": theme.LIGHT["out"], "plain": INK, "chance": INK2}
COLORS |= {goal: theme.LIGHT[color] for goal, color in theme.GOALS.items()}
_MARKERS = theme.MARKERS | theme.GOAL_MARKERS
LISTED_GROUPS = 20


class HeatCell(NamedTuple):
    """A cell of a matrix: its text, the step of its heat (None for none), and whether it is outlined."""

    text: str
    step: int | None = None
    is_outlined: bool = False
    is_quiet: bool = False


def draw_point(
    ax: "Axes", y: float, estimate: Estimate, look: str | None, *, size: float, hollow: bool = False, scale: float = 100
) -> float:
    """One mark with its interval, to the right by its value; returns where it ends."""
    color, end = COLORS.get(look or "", INK2), scale * estimate
    if format_numbers.has_interval(estimate):
        end = scale * estimate.high
        ax.plot([scale * estimate.low, end], [y, y], color=color, linewidth=2, zorder=2)
    face = theme.LIGHT["bg"] if hollow else color
    marker = _MARKERS.get(look or "", "s")
    ax.plot(
        [scale * estimate], [y], marker=marker, markersize=size, color=color, markerfacecolor=face, linestyle="",
        zorder=3,
    )  # fmt: skip
    return end


def draw_rows(
    ax: "Axes",
    rows: Sequence[ChartRow],
    titles: Mapping[str, str],
    *,
    unit: str = "fraction",
    bars: bool = False,
    signed: bool = False,
) -> None:
    """A row for each number, the first on top, with its value in print; one that is undefined says why.

    Args:
        ax: Axes to draw on.
        rows: Rows of a section's chart.
        titles: What the benchmark calls the sides, for the legend.
        unit: Unit of the numbers.
        bars: Draws a bar from zero to each.
        signed: Whether the numbers are differences.
    """
    scale = format_numbers.SCALES.get(unit, 1)
    for y, row in enumerate(rows):
        if row.note or format_numbers.is_undefined(row.estimate):
            note(ax, y, row.note or f"n/a, {wording.name(row.estimate.reason or 'no value')}")
            continue
        if bars:
            ax.barh(y, scale * row.estimate, height=0.5, color=COLORS.get(row.side or "", INK2), alpha=0.3, zorder=1)
        end = draw_point(ax, y, row.estimate, row.side, size=7, hollow=row.is_hollow, scale=scale)
        label = format_numbers.points if signed else format_numbers.quantity
        note(ax, y, label(row.estimate, unit), at=end, right=7, color=INK)
    ax.set_yticks(
        range(len(rows)), [f"{row.title} (n = {format_numbers.count(row.n)})" if row.n else row.title for row in rows]
    )
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.margins(x=0.12)
    if bars:
        ax.set_xlim(left=0)
    ax.grid(axis="x", color=GRID, linewidth=1)
    shown = [side for side in theme.SIDES if titles and any(row.side == side for row in rows)]
    for side in shown:
        ax.plot([], [], color=COLORS[side], marker=theme.MARKERS[side], linestyle="", label=titles[side])
    if shown:
        draw_legend(ax, ncols=len(shown))
    hide_frame(ax, keep=("bottom",))


def note(ax: "Axes", y: float, text: str, *, at: float = 0.0, right: float = 4.0, **look: Any) -> None:
    """Words beside a place of a row."""
    ax.annotate(text, (at, y), (right, 0), textcoords="offset points", va="center", **{"color": INK2} | look)


def draw_plane(ax: "Axes", chart: PlaneChart) -> None:
    """Lines with their bands, and points with their intervals, on the axes of the record."""
    for trace in sorted(chart.traces, key=lambda trace: trace.look == "chance"):  # last in a legend
        _draw_trace(ax, trace)
    for dot in chart.dots:
        color = COLORS[dot.look]
        if dot.x_ends is not None:
            ax.hlines(dot.y, *dot.x_ends, color=color, linewidth=1, alpha=0.5, zorder=2)
        if dot.y_ends is not None:
            ax.vlines(dot.x, *dot.y_ends, color=color, linewidth=1, alpha=0.5, zorder=2)
    for look in dict.fromkeys(dot.look for dot in chart.dots):
        points = [(dot.x, dot.y) for dot in chart.dots if dot.look == look]
        ax.plot(*zip(*points, strict=True), _MARKERS[look], color=COLORS[look], markersize=5, zorder=3)
    for axis, which in ((chart.x, ax.xaxis), (chart.y, ax.yaxis)):
        which.set_ticks([place for place, _ in axis.ticks], [text for _, text in axis.ticks])
    ax.set_xlim(chart.x.low, chart.x.high)
    ax.set_ylim(chart.y.low, chart.y.high)
    ax.set_xlabel(chart.x.title)
    ax.set_ylabel(chart.y.title)
    hide_frame(ax, grid="both")


def _draw_trace(ax: "Axes", trace: Trace) -> None:
    color, points = COLORS[trace.look], list(zip(*trace.points, strict=True))
    look: dict[str, Any] = {"linewidth": 1.5}
    if trace.look == "chance":
        look = {"linewidth": 1, "linestyle": ":", "zorder": 1}
    if trace.has_marks:
        look |= {"marker": _MARKERS[trace.look], "clip_on": False}
    ax.plot(*points, color=color, label=f"{trace.title}{trace.note}" or "_nolegend_", **look)
    if trace.band:
        x, low, high = zip(*trace.band, strict=True)
        ax.fill_between(x, low, high, color=COLORS[trace.band_look or trace.look], alpha=0.16, linewidth=0, zorder=1)


def draw_matrix(
    ax: "Axes", rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[HeatCell]], **words: Any
) -> None:
    """A cell for each row and column, hotter by its step; the names of the columns stand above.

    Args:
        ax: Axes to draw on.
        rows: Names of the rows, from above.
        columns: Names of the columns.
        cells: The cells of each row.
        **words: How matplotlib sets the text of a cell.
    """
    from matplotlib.patches import Rectangle

    for y, row in enumerate(cells):
        for x, cell in enumerate(row):
            face = theme.LIGHT["surface"] if cell.step is None else theme.LIGHT[f"h{cell.step}"]
            ink = theme.LIGHT["hstrong"] if (cell.step or 0) > 3 else INK2 if cell.is_quiet else INK
            if cell.text != format_numbers.ABSENT:
                ax.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=face, edgecolor="none"))
            weight = "bold" if cell.is_outlined else None
            ax.text(x, y, cell.text, ha="center", va="center", color=ink, weight=weight, **words)
            if cell.is_outlined:
                corner = (x - 0.46, y - 0.43)
                ax.add_patch(Rectangle(corner, 0.92, 0.86, facecolor="none", edgecolor=INK, linewidth=1.6))
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    hide_frame(ax, keep=())


def label_metric(report: Report, metric: str) -> str:
    """Title, unit and direction of a metric: "AUC × 100 ↑ (higher is better)"."""
    described = report.description(metric)
    better = f"({described.direction} is better)" if described.direction != "none" else ""
    unit, arrow = format_numbers.unit_of(metric, described.unit), format_numbers.arrow(described.direction)
    return " ".join(filter(None, (wording.name(described.title), unit, arrow, better)))


def title_sides(report: Report) -> dict[str, str]:
    """What the benchmark calls the sides."""
    return {side: wording.title_side(report.benchmark, side) for side in theme.SIDES}
