"""Share of right answers against the confidence that they were given with, in and out of context."""

from typing import TYPE_CHECKING

from oochub import catalog
from oochub.errors import OochubError
from oochub.figures._charts import draw_plane
from oochub.figures._style import draw_legend, draw_title, make_axes
from oochub.report import theme
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
    chart = catalog.get("section", "confidence")().chart(report)
    if not report.calibration:
        raise OochubError(
            "This report has no calibration. Evaluate predictions with probabilities, or plot another kind."
        )
    curves = [trace for trace in chart.traces if trace.has_marks]
    if not curves:
        raise OochubError(
            f"No bin of confidence holds {theme.BIN_FROM} answers. Evaluate more rows, or plot another kind."
        )
    ax = make_axes(ax, 5.0, 6.2)
    draw_plane(ax, chart)
    ax.set_aspect("equal")
    ax.set_ylabel(f"{chart.y.title} (band: Wilson 95% interval)")
    draw_legend(ax)
    draw_title(ax, "Right answers by confidence", legend_rows=len(curves) + 1)
    return ax
