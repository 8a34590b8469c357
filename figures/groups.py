"""The error of every group of a report with its interval, by the side of the comparison that it is on."""

from typing import TYPE_CHECKING

from oochub import catalog
from oochub.errors import OochubError
from oochub.figures._charts import LISTED_GROUPS, draw_rows, label_metric, title_sides
from oochub.figures._style import draw_title, make_axes
from oochub.report import wording
from oochub.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def groups(report: Report, *, ax: "Axes | None" = None) -> "Axes":
    """Draws a bar for the error of each group, at most 20: those out of context first, most errors first.

    Groups of numbers, which have no error, are marks on the axis of their first metric, the worst first.

    Args:
        report: A report with groups.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: groups downward, the error in % (or the metric) to the right.

    Raises:
        OochubError: The report has no groups.

    Source: the bars of the groups on a report's page.

    >>> import oochub
    >>> predictions = oochub.Predictions.from_arrays(
    ...     logits=[[0.0, score] for score in (-2.0, 3.0, -1.0, 2.0, 0.5, 1.0, 1.5, 2.0)], label=[0, 1] * 4,
    ...     challenge=["easy"] * 4 + ["hard_negative", "hard_positive"] * 2, group=["sea", "land"] * 4,
    ... )
    >>> [tick.get_text() for tick in groups(oochub.evaluate(predictions, metrics=["auc"])).get_yticklabels()]
    ['sea (n = 2)', 'land (n = 2)', 'land (n = 2)', 'sea (n = 2)']
    """
    metric, rows = catalog.get("section", "group_errors")().chart(report)
    if not rows:
        raise OochubError(
            "This report has no groups. Evaluate predictions with a `group` column, or plot another kind."
        )
    rows, is_error = rows[:LISTED_GROUPS], metric == "error_rate"
    ax = make_axes(ax, 7.0, 1.2 + 0.4 * len(rows))
    draw_rows(ax, rows, title_sides(report), unit=report.description(metric).unit, bars=is_error)
    label = "Error % ↓ (lower is better)" if is_error else label_metric(report, metric)
    ax.set_xlabel(f"{label}, with 95% interval")
    shown = "Error" if is_error else wording.name(report.description(metric).title)
    draw_title(ax, f"{shown} of each group", legend_rows=int(any(row.side for row in rows)))
    return ax
