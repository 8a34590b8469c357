"""One metric on every slice of a report with its interval: the primary one, or where a slice lacks it the error."""

from typing import TYPE_CHECKING

from oochub import catalog
from oochub.errors import OochubError
from oochub.figures._charts import draw_rows, label_metric, title_sides
from oochub.figures._style import draw_title, make_axes
from oochub.report import wording
from oochub.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def slices(report: Report, *, ax: "Axes | None" = None) -> "Axes":
    """Draws the primary metric on every slice; the error where a slice lacks it, and else a metric that is there.

    Args:
        report: Any report with a number.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: slices downward in the order of every table, the metric to the right.

    Raises:
        OochubError: No slice has a number.

    Source: the table of slices on a report's page.

    >>> import oochub
    >>> predictions = oochub.Predictions.from_arrays(
    ...     logits=[[0.0, score] for score in (-2.0, 3.0, -1.0, 2.0, 0.5, 1.0, 1.5, 2.0)], label=[0, 1] * 4,
    ...     challenge=["easy"] * 4 + ["hard_negative", "hard_positive"] * 2, group=["sea", "land"] * 4,
    ... )
    >>> ax = slices(oochub.evaluate(predictions, metrics=["accuracy"]))
    >>> [text.get_text() for text in ax.texts], ax.get_yticklabels()[0].get_text()
    (['75.0', '100.0', '50.0', '100.0', '0.0'], 'All examples of test (n = 8)')
    """
    metric, rows = catalog.get("section", "every_slice")().chart(report)
    if not rows:
        raise OochubError("No slice of this report has a number. Evaluate with a metric, or plot another kind.")
    ax = make_axes(ax, 7.0, 1.2 + 0.45 * len(report.slices))
    draw_rows(ax, rows, title_sides(report), unit=report.description(metric).unit)
    ax.set_xlabel(f"{label_metric(report, metric)}, with 95% interval")
    shown = wording.name(report.description(metric).title)
    draw_title(ax, f"{shown} of each slice", legend_rows=int(any(row.side for row in rows)))
    return ax
