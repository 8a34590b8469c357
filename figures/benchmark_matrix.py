"""Models by data sets: the gap of each, or another number of its report, with its interval and its n in every cell."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oochub.comparison.comparison_page import GAP, make_gap_matrix
from oochub.figures._charts import HeatCell, draw_matrix
from oochub.figures._style import INK2, draw_title, make_axes
from oochub.report import format_numbers, theme, wording
from oochub.report.report import Report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT, _LETTER = 1.7, 0.62, 0.09  # inches of a cell, and of a letter beside it
_LONGEST = 18  # letters above a cell


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
    matrix = make_gap_matrix(list(reports), number=number)
    rows, columns = matrix.models, matrix.benchmarks
    longest = max(len(wording.name(model, 40)) for model in rows)
    ax = make_axes(ax, 0.3 + _LETTER * longest + _WIDTH * len(columns), 1.0 + _HEIGHT * len(rows))
    width = theme.heat_width(cell.lost for cell in matrix.cells.values())
    heads = [(*name.partition("/")[::2], matrix.metrics[name]) for name in columns]
    draw_matrix(
        ax,
        [wording.name(model, 40) for model in rows],
        ["\n".join(wording.name(word, _LONGEST) for word in head) for head in heads],
        [[_fill(matrix.cells.get((model, column)), number == GAP, width) for column in columns] for model in rows],
        fontsize="small",
        linespacing=1.25,
    )
    draw_title(ax, f"{'Gap' if number == GAP else wording.name(number)} of each model")
    ax.xaxis.set_label_position("bottom")
    ax.set_xlabel("with 95% interval and n", color=INK2)
    return ax


def _fill(cell: Any, is_gap: bool, width: float) -> HeatCell:
    if cell is None:
        return HeatCell(format_numbers.ABSENT, is_quiet=True)
    value = (format_numbers.points if is_gap else format_numbers.quantity)(cell.estimate, cell.unit)
    interval = (format_numbers.interval_points if is_gap else format_numbers.interval)(cell.estimate, cell.unit)
    below = interval or wording.name(cell.estimate.reason or "no interval", 24)
    step = None if format_numbers.is_undefined(cell.lost) else theme.heat_step(cell.lost, width)
    return HeatCell(f"{value}\n{below}\nn {format_numbers.count(cell.estimate.n)}", step)


def _table(reports: Sequence[Report], *, number: str = GAP, **_: Any) -> "pd.DataFrame":
    """The cells at full precision, as `--plot` prints them."""
    import pandas as pd

    matrix = make_gap_matrix(list(reports), number=number)
    return pd.DataFrame(
        {"model": model, "data": column, "value": cell.estimate.value, "low": cell.estimate.low}
        | {"high": cell.estimate.high, "n": cell.estimate.n}
        for (model, column), cell in matrix.cells.items()
    )
