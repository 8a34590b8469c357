"""The gap of each context that nobody labelled, with its interval, and whether it is shown to matter."""

from typing import TYPE_CHECKING, Any

from oochub import catalog
from oochub.errors import OochubError
from oochub.figures._charts import draw_rows
from oochub.figures._style import INK, INK2, draw_legend, make_axes
from oochub.report import format_numbers, theme, wording
from oochub.report.report import Report
from oochub.section import ChartRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def context_gaps(report: Report, *, ax: "Axes | None" = None) -> "Axes":
    r"""Draws the accuracy against what is usual minus as usual, for each context that goes with a class.

    A full mark is a gap that is shown, a hollow one is not shown; a context with too few rows has none. One that is
    harder, or easier, for all classes says so.

    Args:
        report: Report on data with contexts that `oochub.contexts` found; at most twelve are drawn, those of the page.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: contexts downward as on the page, the gap in points to the right.

    Raises:
        OochubError: A report without found contexts, or of contexts of which none goes with a class; matplotlib is
            missing.

    Source: the section "Contexts associated with each class" of a report's page.

    >>> import tempfile
    >>> import oochub
    >>> from oochub.studies.demo.example import example
    >>> images, model = example(tempfile.mkdtemp() + "/example", size=32)
    >>> ax = context_gaps(oochub.audit(model, images, label="breed", contexts="properties"))
    >>> ax.get_yticklabels()[0].get_text().partition("\n")[0]
    'pale, usual for dachshund'
    """
    contexts = report.contexts
    if contexts is None:
        raise OochubError(
            "This report has no contexts that were found: plot another kind, or find them: oochub audit MODEL SOURCE "
            "--contexts METHOD."
        )
    chart = catalog.get("section", "contexts_that_matter")().chart(report)
    if not chart.rows:
        raise OochubError(
            "No context is usual for a class here, so there is no gap to draw. Find contexts by another method."
        )
    ax = make_axes(ax, 7.4, 1.6 + 0.5 * len(chart.rows))
    rows = []
    for context, role in chart.rows:
        alike = f", {context.status}" if context.is_alike else ""
        title = (
            f"{wording.words(context.name)}, {role if role.startswith('unusual') else f'usual for {role}'}{alike}\n"
            f"n = {format_numbers.count(context.n_usual)} + {format_numbers.count(context.n_against)}"
        )
        is_untested = context.status in ("too few", "no direction") or format_numbers.is_undefined(context.gap)
        why = "too few rows to test" if context.status == "too few" else context.status
        is_shown = context.status == "shown"
        rows.append(
            ChartRow(title, context.gap, "out" if is_shown else None, 0, not is_shown, why if is_untested else "")
        )
    draw_rows(ax, rows, {}, signed=True)
    ax.axvline(0, color=INK2, linewidth=1)
    ends: dict[str, tuple[str, str]] = {"shown": (theme.LIGHT["out"], theme.LIGHT["out"]), "not shown": (INK2, "none")}
    for status, (color, face) in ends.items():
        if any(context.status == status for context, _ in chart.rows):
            marker = theme.MARKERS["out"] if status == "shown" else "s"
            ax.plot([], [], marker=marker, color=color, markerfacecolor=face, linestyle="", label=status)
    if ax.get_legend_handles_labels()[0]:
        draw_legend(ax, ncols=2)
    words: dict[str, Any] = {"loc": "left", "fontsize": "medium", "fontweight": "bold"}
    ax.set_title(chart.sentence, color=INK, pad=26, wrap=True, **words)
    ax.set_xlabel(
        "Accuracy against minus as usual, in points, with 95% interval\n"
        f"n = rows as usual + against, of {format_numbers.count(contexts.n_tested)} that played no part in any choice\n"
        f"shown: p at most {contexts.level:g} after {chart.correction} over {contexts.n_tests}"
    )
    return ax
