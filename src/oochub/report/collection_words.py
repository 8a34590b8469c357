"""Which rows to collect, in words and one table."""

from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.collection import FEWEST_POINTS, CellGain, Collection
from oochub.report.footnotes import Footnotes, describe_interval

_SHOWN = 24
_TEN = 10


def describe_collection(collection: Collection) -> list[str]:
    """The cells to collect first, how the gain was predicted, and what was ranked; the first sentence says most."""
    if collection.reason:
        return [wording.clean(collection.reason), *_describe_ranking(collection)]
    more, first = format_numbers.count(collection.more), collection.first
    known = [cell for cell in collection.cells if not format_numbers.is_undefined(cell.gain)]
    if first:
        said = [f"Collect these first: {wording.join_names([_name_gain(cell) for cell in first])}."]
        if not any(cell.gain.low > 0 for cell in first):
            said.append("No interval lies above 0, so it is not shown that more rows help.")
    elif known:
        least = format_numbers.whole_points(FEWEST_POINTS)
        which = "any cell" if len(known) == len(collection.cells) else "any cell whose gain can be told"
        said = [
            f"With up to {more} more rows of {which}, the worse side should gain less than {least} points. Collecting "
            "them promises little for a new last layer on these features."
        ]
    else:
        said = ["Which rows to collect cannot be told: no cell has enough rows for a curve."]
    scored, out = map(format_numbers.count, (collection.scored, collection.scored_out))
    said.append(
        "A gain is that of the accuracy on the worse side, which is the lower of those in usual and in unusual "
        "contexts, at equal shares of the classes, if rows of a cell are added to those that fit: as many as there "
        f"are, {more} at most. It is predicted by learning curves: heads are fitted on growing numbers of the cell's "
        f"rows and scored by cross-validation on {scored} rows, {out} of them in unusual contexts. In worlds where the "
        "truth is known, such intervals held it in about four of five cells."
    )
    if collection.is_seen:
        said.append(
            "The model was trained on some of the rows that are scored, because there are too few others. It may know "
            "these by heart, so more rows may help more than this says."
        )
    return said + _describe_ranking(collection)


def _describe_ranking(collection: Collection) -> list[str]:
    if collection.ranked is None:
        return []
    notes = [format_numbers.counts_in_text(wording.clean(f"{note}.")) for note in collection.notes]
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


def _name_gain(cell: CellGain) -> str:
    gain = f"{format_numbers.points(cell.gain)} points, {describe_interval(cell.gain, signed=True)}"
    return f"{wording.name(cell.name, 60)} ({gain})"
