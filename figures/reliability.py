"""Share of right answers against the confidence that they were given with, in and out of context."""

from typing import TYPE_CHECKING

from oochub import catalog
from oochub.errors import OochubError
from oochub.figures._report_rows import COLORS
from oochub.figures._style import GRID, INK2, draw_legend, draw_title, hide_frame, make_axes
from oochub.report import format_numbers, theme
from oochub.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability(report: Report, *, ax: "Axes | None" = None) -> "Axes":
    """Draws a curve for each side, in ten equal bins of confidence, with the band of their Wilson intervals.

    Bins of fewer than 20 answers are not drawn.

    Args:
        report: A report with calibration.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: confidence in % to the right, right answers in % upward.

    Raises:
        OochubError: The report has no calibration, or no bin of it has 20 answers.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", Figure 1.

    >>> import oochub
    >>> predictions = oochub.Predictions.from_arrays(logits=[[3.0, 0.0], [0.0, 2.0]] * 20, label=[0, 0] * 20)
    >>> [text.get_text() for text in reliability(oochub.evaluate(predictions)).get_legend().get_texts()]
    ['over all rows, ECE 46.4% (n = 40)', 'ideal']
    """
    curves, low = catalog.get("section", "confidence")().chart(report)
    if not curves:
        raise OochubError(
            "This report has no calibration. Evaluate predictions with probabilities, or plot another kind."
        )
    if not any(curve.drawn for curve in curves):
        raise OochubError(
            f"No bin of confidence holds {theme.BIN_FROM} answers. Evaluate more rows, or plot another kind."
        )
    ax = make_axes(ax, 5.0, 6.2)
    for curve in curves:
        confidence, right = [100 * b.confidence for b in curve.drawn], [100 * b.accuracy for b in curve.drawn]
        low_ends, high_ends = [100 * b.accuracy_low for b in curve.drawn], [100 * b.accuracy_high for b in curve.drawn]
        color, n = COLORS[curve.side], sum(part.n for part in curve.calibration.bins)
        ax.fill_between(confidence, low_ends, high_ends, color=color, alpha=0.18, linewidth=0)
        label = f"{curve.title}, ECE {format_numbers.fraction(curve.calibration.ece)}% (n = {format_numbers.count(n)})"
        ax.plot(confidence, right, color=color, marker=theme.MARKERS[curve.side], label=label)
    ax.plot([100 * low, 100], [100 * low, 100], color=INK2, linewidth=1, linestyle=":", label="ideal")
    ax.set_xlim(100 * low, 101)
    ax.set_ylim(100 * low, 101)
    ax.set_aspect("equal")
    ax.set_xlabel("confidence, %")
    ax.set_ylabel("right, % (band: Wilson 95% interval)")
    ax.grid(color=GRID, linewidth=1)
    draw_legend(ax)
    draw_title(ax, "Right answers by confidence", legend_rows=len(curves) + 1)
    hide_frame(ax)
    return ax
