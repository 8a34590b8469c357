"""Models by data sets: the gap of each, or another number of its report, with its interval and its n in every cell."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oochub.comparison.comparison_page import GAP, make_gap_matrix
from oochub.figures._style import INK, INK2, draw_title, hide_frame, make_axes
from oochub.report import format_numbers, theme, wording
from oochub.report.report import Report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT, _LETTER = 1.7, 0.62, 0.09  # inches of a cell, and of a letter beside it
_LONGEST = 18  # letters above a cell
_STRONG = 4  # the heat step from which on text is light


def benchmark_matrix(reports: Sequence[Report], *, number: str = GAP, ax: "Axes | None" = None) -> "Axes":
    r"""Draws one cell per model and data set: the number, its 95% interval and n; what was not evaluated is a dash.

    A cell of gaps is the darker the more points are lost out of context, in the steps of a report's page.

    Args:
        reports: At most one report per model and config.
        number: "gap", or what `report[number]` takes, such as "out_of_context/accuracy".
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: one column per data set, one row per model, in order of appearance from above.

    Raises:
        OochubError: matplotlib is missing, no reports, two of one cell, or a number that no report has.

    Source: the first table of `oochub compare --html`.

    >>> import oochub
    >>> predictions = oochub.Predictions.from_arrays(
    ...     logits=[[0.0, score] for score in (-2.0, 3.0, -1.0, 2.0, 0.5, 1.0, 1.5, 2.0)], label=[0, 1] * 4,
    ...     challenge=["easy"] * 4 + ["hard_negative", "hard_positive"] * 2, model="mine",
    ... )
    >>> [text.get_text().split("\n")[0] for text in benchmark_matrix([oochub.evaluate(predictions)]).texts]
    ['−25.0']
    """
    from matplotlib.patches import Rectangle

    matrix = make_gap_matrix(list(reports), number=number)
    rows, columns = matrix.models, matrix.benchmarks
    longest = max(len(wording.name(model, 40)) for model in rows)
    ax = make_axes(ax, 0.3 + _LETTER * longest + _WIDTH * len(columns), 1.0 + _HEIGHT * len(rows))
    width = theme.heat_width(cell.lost for cell in matrix.cells.values())
    for y, model in enumerate(rows):
        for x, column in enumerate(columns):
            cell = matrix.cells.get((model, column))
            if cell is None:
                ax.text(x, y, format_numbers.ABSENT, ha="center", va="center", color=INK2)
                continue
            step = None if format_numbers.is_undefined(cell.lost) else theme.heat_step(cell.lost, width)
            back = theme.LIGHT["surface"] if step is None else theme.LIGHT[f"h{step}"]
            ax.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=back, linewidth=0))
            ink = theme.LIGHT["hstrong"] if step is not None and step >= _STRONG else INK
            is_gap = number == GAP
            value = (format_numbers.points if is_gap else format_numbers.quantity)(cell.estimate, cell.unit)
            interval = (format_numbers.interval_points if is_gap else format_numbers.interval)(cell.estimate, cell.unit)
            below = interval or wording.name(cell.estimate.reason or "no interval", 24)
            n = format_numbers.count(cell.estimate.n)
            ax.text(x, y, f"{value}\n{below}\nn {n}", ha="center", va="center", color=ink,
                    fontsize="small", linespacing=1.25)  # fmt: skip
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    heads = [(*name.partition("/")[::2], matrix.metrics[name]) for name in columns]
    ax.set_xticks(range(len(columns)), ["\n".join(wording.name(word, _LONGEST) for word in head) for head in heads])
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(rows)), [wording.name(model, 40) for model in rows])
    draw_title(ax, f"{'Gap' if number == GAP else wording.name(number)} of each model")
    ax.set_xlabel("with 95% interval and n", color=INK2)
    hide_frame(ax, keep=())
    return ax


def _table(reports: Sequence[Report], *, number: str = GAP, **_: Any) -> "pd.DataFrame":
    """The cells at full precision, as `--plot` prints them."""
    import pandas as pd

    matrix = make_gap_matrix(list(reports), number=number)
    return pd.DataFrame(
        {"model": model, "data": column, "value": cell.estimate.value, "low": cell.estimate.low}
        | {"high": cell.estimate.high, "n": cell.estimate.n}
        for (model, column), cell in matrix.cells.items()
    )
