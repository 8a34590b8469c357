"""The primary metric in and out of context on one axis, with the gap between them: the head of a report's page."""

from typing import TYPE_CHECKING

from oochub import catalog
from oochub.figures._charts import draw_point, label_metric
from oochub.figures._style import INK, INK2, hide_frame, make_axes
from oochub.report import format_numbers, theme
from oochub.report.group_findings import count_out
from oochub.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gap(report: Report, *, ax: "Axes | None" = None) -> "Axes":
    r"""Draws both sides with their intervals, chance, and the gap; both marks are hollow where it is not settled.

    A side that was not evaluated has no mark; the gap stands beside the axis then.

    Args:
        report: Any report.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: the primary metric, times 100, to the right.

    Raises:
        OochubError: matplotlib is missing.

    Source: the chart at the head of a report's page.

    >>> import oochub
    >>> predictions = oochub.Predictions.from_arrays(
    ...     logits=[[0.0, score] for score in (-2.0, 3.0, -1.0, 2.0, 0.5, 1.0, 1.5, 2.0)], label=[0, 1] * 4,
    ...     challenge=["easy"] * 4 + ["hard_negative", "hard_positive"] * 2, group=["sea", "land"] * 4,
    ... )
    >>> [text.get_text().partition("\n")[0] for text in gap(oochub.evaluate(predictions, metrics=["auc"])).texts]
    ['−25.0 points', 'on easy rows', 'on hard rows', 'chance']
    """
    chart, benchmark = catalog.get("section", "both_sides")().chart(report), report.benchmark
    ax = make_axes(ax, 7.0, 2.6)
    sides = chart.sides
    scale, unit = format_numbers.SCALES.get(chart.unit, 1), chart.unit
    size = f"{format_numbers.points(chart.gap, unit)}{format_numbers.points_word(unit)}"
    label = f"{size}\n{format_numbers.interval_points(chart.gap, unit)}"
    if len(sides) == 2:
        ends = [scale * estimate for estimate in sides.values()]
        ax.plot(ends, [0, 0], color=theme.LIGHT["rule"], linewidth=7, solid_capstyle="butt", zorder=1)
        at = (sum(ends) / 2, 0)
        ax.annotate(label, at, (0, 14), textcoords="offset points", ha="center", va="bottom", color=INK)
    else:
        ax.annotate(f"gap {label}", (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", color=INK)
    left = min(sides, key=lambda side: sides[side], default=None)
    for side, estimate in sides.items():
        draw_point(ax, 0, estimate, side, size=12, hollow=not chart.is_settled, scale=scale)
        value, interval = format_numbers.quantity(estimate, unit), format_numbers.interval(estimate, unit)
        text = f"{chart.titles[side]}\n{value}\n{interval}"
        align = "right" if side == left else "left"
        at = (scale * estimate, 0)
        ax.annotate(text, at, (0, -14), textcoords="offset points", ha=align, va="top", color=INK)
    words = (
        []
        if format_numbers.is_undefined(chart.perfect)
        else [f"perfect is {format_numbers.whole_points(chart.perfect, unit)}"]
    )
    lows = [estimate.low if format_numbers.has_interval(estimate) else estimate.value for estimate in sides.values()]
    if not format_numbers.is_undefined(chart.chance):
        ax.axvline(scale * chart.chance, color=INK2, linewidth=1, linestyle=":")
        ax.annotate("chance", (scale * chart.chance, 1), (3, -2), textcoords="offset points", va="top", color=INK2)
        words = [f"chance is {format_numbers.whole_points(chart.chance, unit)}", *words]
        lows.append(chart.chance)
    ax.set_title(chart.sentence, loc="left", color=INK, fontsize="medium", fontweight="bold", wrap=True)
    if words and chart.perfect == 1:
        ax.set_xlim(scale * (min(lows, default=0.0) - 0.03), scale * 1.03)
    ax.set_ylim(-1, 1)
    ax.set_yticks([])
    n = f"n = {format_numbers.count(report.gap.n_in)} {chart.titles['in']}, {count_out(report)} {chart.titles['out']}"
    about = "; ".join(filter(None, (label_metric(report, benchmark.primary_metric), ", ".join(words))))
    ax.set_xlabel(f"{about}\n{n}; with 95% intervals")
    hide_frame(ax, keep=("bottom",))
    return ax
