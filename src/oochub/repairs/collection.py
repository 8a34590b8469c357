"""Which rows to collect: what more rows of each cell should gain, and the cells that gain the most.

Which rows to collect, in words and one table.

The learning curves of a collection as charts: what was measured, the fitted curve, and where it leads.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from markupsafe import Markup

from oochub.records.document import Block, Document
from oochub.records.report_records import Side
from oochub.records.schema import optional
from oochub.records.table import Table
from oochub.records.typed_values import Bounds, Count, Share
from oochub.report import format_numbers, svg, wording
from oochub.report.charts import Axis, Dot, PlaneChart, Trace
from oochub.report.footnotes import Footnotes, describe_interval
from oochub.stats.estimate import Estimate

FEWEST_POINTS = 0.005
"""A cell is named for collecting if its rows should gain this share or more."""
_NAMED = 3


_SHOWN = 24
_TEN = 10


_CHARTS = 6
_FRAME = svg.Frame(44, 14, 366, 190, height=230, has_columns=False)
_STEPS = 40
_ROOM = 0.03  # of accuracy above and below


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """One point of a learning curve.

    Attributes:
        rows: Mean number of the cell's rows that heads were fitted on.
        accuracy: Accuracy of these heads on the worse side.
    """

    rows: Annotated[float, Bounds(0, 2**53)]
    accuracy: Share


@dataclass(frozen=True, kw_only=True)
class CellGain:
    """A cell, which is a class in one context or on one side, and what more rows of it should gain.

    Attributes:
        name: The cell in words, such as "dachshund/sand".
        side: The side that its context is on: "in" or "out".
        rows: Rows of the cell that a head can be fitted on now.
        more: Rows that would be added: as many as are asked, and no more than there are.
        gain: Accuracy on the worse side with the additional rows, minus that without; nan with a reason if unknown.
        curve: The learning curve, fewest rows first; () if none was drawn.
        level: The a of the fitted curve  accuracy = a - b / sqrt(rows); None without one.
        fall: Its b.
    """

    name: str
    side: Side
    rows: Count
    more: Annotated[int, Bounds(1, 2**53)]
    gain: Estimate
    curve: tuple[CurvePoint, ...] = ()
    level: float | None = optional()
    fall: float | None = optional()

    @property
    def per_row(self) -> float:
        """Gain per row that is added; nan if unknown."""
        return float(self.gain) / self.more

    def predict(self, rows: float) -> float:
        """The fitted curve, kept inside [0, 1]; nan without one.

        >>> gain = Estimate(0.1, n=40, method="")
        >>> CellGain(name="a", side="out", rows=16, more=16, gain=gain, level=0.9, fall=0.8).predict(64)
        0.8
        """
        if self.level is None or self.fall is None:
            return math.nan
        return min(max(self.level - self.fall / math.sqrt(rows), 0.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class Collection:
    """What `oochub repair --collect` found.

    Attributes:
        more: Rows of a cell that would be added at most.
        head: The head that the curves are drawn with, in words.
        settings: Its hyperparameters, and whether only rows that the model was not trained on fit it.
        scored: Rows that the heads were scored on.
        scored_out: Number of these out of context.
        is_seen: Whether the model was trained on some of them, because there were too few others.
        cells: The cells, the largest gain per row first, those that cannot be told last.
        reason: One sentence that says why nothing can be told; "" if something can.
        ranked: Unlabeled images that were ranked; None without a ranking.
        notes: What is to be said of these, such as which could not be read.
    """

    more: Annotated[int, Bounds(1, 2**53)]
    head: str = ""
    settings: Mapping[str, float] | None = optional()
    scored: Count = 0
    scored_out: Count = 0
    is_seen: bool = False
    cells: tuple[CellGain, ...] = ()
    reason: str = ""
    ranked: Count | None = optional()
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> tuple[CellGain, ...]:
        """The cells to collect first: at most three, each with a gain of half a point or more."""
        return tuple(cell for cell in self.cells if cell.gain >= FEWEST_POINTS)[:_NAMED]


def describe_collection(collection: Collection) -> list[str]:
    """The cells to collect first, how the gain was predicted, and what was ranked; the first sentence says most."""
    if collection.reason:
        return [collection.reason, *_describe_ranking(collection)]
    more, first = format_numbers.count(collection.more), collection.first
    measured = [cell for cell in collection.cells if not format_numbers.is_undefined(cell.gain)]
    if first:
        sentences = [f"Collect these first: {wording.join_names([_name_gain(cell) for cell in first])}."]
        if not any(cell.gain.low > 0 for cell in first):
            sentences.append("No interval is above 0, so there is no clear evidence that more rows help.")
    elif measured:
        least = format_numbers.whole_points(FEWEST_POINTS)
        which = "any cell" if len(measured) == len(collection.cells) else "any cell whose gain can be told"
        sentences = [
            f"With up to {more} more rows of {which}, the worse side should gain less than {least} points. Collecting "
            "them promises little for a new last layer on these features."
        ]
    else:
        sentences = ["Cannot estimate which rows to collect: no cell has enough rows for a learning curve."]
    scored, out = map(format_numbers.count, (collection.scored, collection.scored_out))
    sentences.append(
        "A gain is that of the accuracy on the worse side, which is the lower of those in usual and in unusual "
        "contexts, at equal shares of the classes, if rows of a cell are added to those that fit: as many as there "
        f"are, {more} at most. It is predicted by learning curves: heads are fitted on growing numbers of the cell's "
        f"rows and scored by cross-validation on {scored} rows, {out} of them in unusual contexts. In worlds where the "
        "truth is known, such intervals held it in about four of five cells."
    )
    if collection.is_seen:
        sentences.append(
            "The model was trained on some of the rows that are scored, because there are too few others. It may know "
            "these by heart, so more rows may help more than this says."
        )
    return sentences + _describe_ranking(collection)


def _describe_ranking(collection: Collection) -> list[str]:
    if collection.ranked is None:
        return []
    notes = [format_numbers.counts_in_text(f"{note}.") for note in collection.notes]
    count = format_numbers.count(collection.ranked)
    if not collection.first:
        return [f"{count} unlabeled images were read, but no cell is named to rank them for.", *notes]
    return [f"{count} unlabeled images are ranked in collect.csv by how likely each belongs to such a cell.", *notes]


def make_collection_table(collection: Collection) -> Table:
    """Each cell with its rows and its predicted gain, the largest first."""
    notes, rows = Footnotes(), []
    shown = collection.cells[:_SHOWN]
    for cell in shown:
        rows.append(
            (
                wording.name(cell.name, 60),
                "unusual" if cell.side == "out" else "usual",
                format_numbers.count(cell.rows),
                format_numbers.count(cell.more),
                notes.cell(cell.gain, signed=True),
                format_numbers.points(_TEN * cell.per_row),
            )
        )
    left_out = len(collection.cells) - len(shown)
    more = (f"{left_out} more are in repair.json.",) if left_out else ()
    return Table(
        title="What more rows should gain on the worse side, in points",
        heads=("Cell", "context", "rows now", "added", "gain", f"gain per {_TEN} rows"),
        rows=tuple(rows),
        bold=frozenset((k, 4) for k, cell in enumerate(shown) if cell in collection.first),
        left=frozenset({0, 1}),
        footnotes=(*notes.lines, *more),
    )


def make_collection_document(collection: Collection) -> Document:
    """The table, where a cell was measured, and what is said of it."""
    table = make_collection_table(collection)
    return Document(blocks=(Block(table=table),) if table.rows else (), notes=tuple(describe_collection(collection)))


def _name_gain(cell: CellGain) -> str:
    gain = f"{format_numbers.points(cell.gain)} points, {describe_interval(cell.gain, signed=True)}"
    return f"{wording.name(cell.name, 60)} ({gain})"


def draw_learning_curves(collection: Collection) -> list[Markup]:
    """A chart for each of the first six cells that have a curve, all on one scale of accuracy.

    Args:
        collection: Which rows to collect.
    """
    cells = [cell for cell in collection.cells if _has_curve(cell)][:_CHARTS]
    if not cells:
        return []
    ends = [end for cell in cells for end in _list_ends(cell)]
    low, high = max(min(ends) - _ROOM, 0.0), min(max(ends) + _ROOM, 1.0)
    return [_draw(cell, low, high, number) for number, cell in enumerate(cells)]


def _has_curve(cell: CellGain) -> bool:
    has_fit = cell.level is not None and format_numbers.has_interval(cell.gain)
    is_known = not any(format_numbers.is_undefined(point.accuracy) for point in cell.curve)
    return bool(cell.curve) and is_known and has_fit and 0 < cell.curve[0].rows < cell.rows


def _list_ends(cell: CellGain) -> list[float]:
    now = cell.predict(cell.rows)
    ends = [now + float(limit) for limit in (cell.gain, cell.gain.low, cell.gain.high)]
    return [point.accuracy for point in cell.curve] + [now, *(min(max(end, 0.0), 1.0) for end in ends)]


def _draw(cell: CellGain, low: float, high: float, number: int) -> Markup:
    first, last = cell.curve[0].rows, float(cell.rows + cell.more)

    def trace(start: float, end: float, *, is_dashed: bool = False) -> Trace:
        points = [(math.log(n), cell.predict(n)) for n in _spread(start, end)]
        return Trace(cell.side, points, is_dashed=is_dashed)

    now, gain = cell.predict(cell.rows), cell.gain
    name = wording.name(cell.name, 60)
    rows = [(math.log(n), format_numbers.count(round(n))) for n in _choose_ticks(first, float(cell.rows), last)]
    shares = [(tick, f"{100 * tick:.4g}") for tick in svg.ticks(low, high, most=5)]
    dots = [Dot(cell.side, math.log(point.rows), point.accuracy, size=3.6) for point in cell.curve]
    ends = (now + gain.low, now + gain.high)
    chart = PlaneChart(
        x=Axis(math.log(first), math.log(last), rows, "rows of the cell"),
        y=Axis(low, high, shares, ""),
        sentence=f"{name}: {format_numbers.points(gain)} points with {cell.more} more rows",
        traces=[trace(first, cell.rows), trace(cell.rows, last, is_dashed=True)],
        dots=[*dots, Dot(cell.side, math.log(last), now + gain, y_ends=ends, is_hollow=True)],
    )
    drawn = svg.plane(chart, _FRAME, name=f"curve-{number}")
    return Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(name, drawn)


def _spread(first: float, last: float) -> list[float]:
    return [first * (last / first) ** (step / _STEPS) for step in range(_STEPS + 1)]


def _choose_ticks(first: float, now: float, last: float) -> list[float]:
    """Numbers of rows on the axis: the fewest, those now, and those with the additional ones, if they do not touch."""
    width = math.log(last / first)
    return [n for n in (first, now, last) if n == now or abs(math.log(n / now)) > 0.15 * width]
