"""How often a model says a row's class where the image's object or background was taken away or exchanged."""

from typing import TYPE_CHECKING, Any

from oochub import catalog
from oochub.errors import OochubError
from oochub.figures._charts import draw_rows
from oochub.figures._style import INK, make_axes
from oochub.report import format_numbers, wording
from oochub.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def background_probe(report: Report, *, ax: "Axes | None" = None) -> "Axes":
    """Draws the share of each kind of images for which the answer is the row's class, with its interval.

    Args:
        report: A report of `oochub audit --probe background`.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: the rows as they are, then each way in which they were altered; the share in % to the right.

    Raises:
        OochubError: A report without the probe; matplotlib is missing.

    Source: Xiao, Engstrom, Ilyas and Madry 2020, Figure 4 (accuracy on each set of the Backgrounds Challenge).

    >>> from oochub.records.finding_records import VariantRow
    >>> from oochub.stats.proportion import wilson
    >>> VariantRow(name="original", accuracy=wilson(9, 12)).accuracy
    0.750 [0.468, 0.911] n=12
    """
    probe = report.background
    if probe is None:
        raise OochubError(
            "This report has no background probe: plot another kind, or run oochub audit MODEL SOURCE --probe "
            "background."
        )
    ax = make_axes(ax, 8.4, 4.0)
    chart = catalog.get("section", "object_and_background")().chart(report)
    draw_rows(ax, chart.rows, {})
    ax.set_xlim(-2, 118)
    ax.set_xticks(range(0, 101, 20))
    words: dict[str, Any] = {"loc": "left", "fontsize": "medium", "fontweight": "bold"}
    ax.set_title(chart.sentence, color=INK, wrap=True, **words)
    gap, interval = probe.gap, format_numbers.interval_points(probe.gap)
    points = f"{format_numbers.points(gap)} points" + (f" ({interval})" if interval else "")
    ax.set_xlabel(
        f"{chart.says}, % of rows, with 95% interval\n"
        f"BG gap {points}, n = {format_numbers.count(gap.n)}, paired\n"
        f"rows of {wording.name(probe.split, 20)}, objects by {wording.name(probe.area, 30)}"
    )
    return ax
