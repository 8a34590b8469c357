"""Both AUROCs of every detector of a report with their intervals: new classes and failures, pair by pair of sets."""

from typing import TYPE_CHECKING

from oochub import catalog
from oochub.errors import OochubError, choose_wording
from oochub.figures._charts import COLORS, draw_point, note
from oochub.figures._style import GRID, INK, INK2, draw_legend, draw_title, hide_frame, make_axes
from oochub.report import format_numbers, theme, wording
from oochub.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OFFSET = 0.17  # of a row: new classes above its middle, failures below


def detection(report: Report, *, ax: "Axes | None" = None) -> "Axes":
    """Draws both goals of each detector, pair by pair, best for new classes first.

    Args:
        report: A report with detectors.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: detectors downward below the title of their pair, AUROC times 100 to the right.

    Raises:
        OochubError: The report has no detectors.

    Source: ImageNet-OOD, Section 4.3: new-class detection and failure detection.

    >>> import oochub
    >>> known = oochub.Predictions.from_arrays(logits=[[3.0, 0.0], [2.0, 0.0]], label=[0, 1], config="known")
    >>> new = oochub.Predictions.from_arrays(logits=[[1.0, 0.0], [0.5, 0.0]], label=[-1, -1], config="new")
    >>> [text.get_text() for text in detection(oochub.evaluate([known, new], detectors=["msp"])).texts]
    ['known against new, n = 2 (1 wrong) and 2', '100.0', '100.0']
    """
    pairs = catalog.get("section", "new_classes")().chart(report)
    if not pairs:
        raise OochubError(
            f"This report has no detectors. Evaluate with {choose_wording('detectors=[...]', '--detector')}, or plot "
            "another kind."
        )
    ax = make_axes(ax, 7.0, 1.2 + 0.42 * sum(len(pair.rows) + 1 for pair in pairs))
    y, names = 0, {}
    for pair in pairs:
        first = pair.rows[0]
        counts = f"n = {format_numbers.count(first.n_id)} ({format_numbers.count(first.n_incorrect)} wrong)"
        heading = f"{pair.title(' against ', 40)}, {counts} and {format_numbers.count(first.n_ood)}"
        box = {"facecolor": theme.LIGHT["bg"], "edgecolor": "none", "pad": 1}
        ax.annotate(
            heading, (0, y), xycoords=("axes fraction", "data"), va="center", color=INK, weight="bold", bbox=box
        )
        for row in pair.rows:
            y += 1
            names[y] = wording.name(row.detector, 40)
            for goal, offset in zip(theme.GOALS, (-_OFFSET, _OFFSET), strict=True):
                auroc = row.auroc(goal)
                if format_numbers.is_undefined(auroc):
                    note(ax, y + offset, f"n/a, {wording.name(auroc.reason or 'no value')}", at=50)
                    continue
                end = draw_point(ax, y + offset, auroc, goal, size=6)
                note(ax, y + offset, format_numbers.fraction(auroc), at=end, right=6, color=INK, fontsize="small")
        y += 1
    ax.set_yticks(list(names), list(names.values()))
    ax.set_ylim(y - 0.4, -0.6)
    ax.axvline(50, color=INK2, linewidth=1, linestyle=":", zorder=1)
    ax.grid(axis="x", color=GRID, linewidth=1)
    ax.margins(x=0.1)
    ax.set_xlabel("AUROC × 100 ↑ (higher is better), with 95% interval; 50 is chance")
    for goal, marker in theme.GOAL_MARKERS.items():
        ax.plot([], [], color=COLORS[goal], marker=marker, linestyle="", label=theme.GOAL_WORDS[goal])
    draw_legend(ax, ncols=2)
    draw_title(ax, "How well each detector ranks", legend_rows=1)
    hide_frame(ax, keep=("bottom",))
    return ax
