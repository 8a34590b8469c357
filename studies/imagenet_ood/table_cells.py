"""Cells of a study's tables: the mean over models with its spread, the best of a column, the paper's number."""

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

from oochub.comparison.comparison_table import Cell
from oochub.comparison.paper_numbers import ReportedNumbers
from oochub.report import format_numbers
from oochub.studies.imagenet_ood.measures import DIFFERENCE
from oochub.studies.imagenet_ood.plan import Pair
from oochub.studies.imagenet_ood.verdicts import Verdicts, chance_verdicts, difference_verdicts

if TYPE_CHECKING:
    import pandas as pd


class Entry(NamedTuple):
    """A cell of a block.

    Attributes:
        cell: The number; its `seeds` are the models that it is the mean of.
        text: Its text in print.
        spread: Its spread in print.
        bold: Whether it is among the best of its column.
        verdicts: What the models decide, one by one.
        reported: Whether it is the paper's.
    """

    cell: Cell
    text: str
    spread: str = ""
    bold: bool = False
    verdicts: Verdicts | None = None
    reported: bool = False


def measured_cell(name: str, part: "pd.DataFrame", detector: str, pair: Pair, metric: str) -> Entry | None:
    """A cell of what was measured; None where nothing was.

    Args:
        name: Name of the table.
        part: Rows of `oochub.studies.imagenet_ood.study.Study.frame`, of the models that the cell is of.
        detector: Its key.
        pair: (in distribution, out of it).
        metric: One of the table's.
    """
    signed = name == "differences" or (name == "gain" and metric != "gain_from_incorrect")
    key = f"{metric}{DIFFERENCE}" if signed else metric
    rows = part[
        (part["detector"] == detector) & (part["in"] == pair[0]) & (part["out"] == pair[1]) & (part["metric"] == key)
    ]
    if rows.empty:
        return None
    values = [float(value) for value in rows["value"]]
    reason = next((str(why) for why, value in zip(rows["reason"], values, strict=True) if math.isnan(value)), None)
    if len(values) == 1:
        low, high = float(rows["low"].iloc[0]), float(rows["high"].iloc[0])
        told = rows["reason"].iloc[0]
        why = reason or (told if isinstance(told, str) else None)
        cell = Cell(mean=values[0], low=low, high=high, seeds=1, reason=why)
    else:
        sd = statistics.stdev(values) if reason is None else math.nan
        cell = Cell(mean=statistics.fmean(values), sd=sd, seeds=len(values), reason=reason)
    verdicts = (
        difference_verdicts(rows) if name == "differences" else chance_verdicts(rows) if name == "random" else None
    )
    if metric == "gain_from_incorrect":
        return _share(cell, rows, part)
    text, spread = _format_texts(cell, signed)
    return Entry(cell, text, spread, verdicts=None if math.isnan(cell.mean) else verdicts)


def _share(cell: Cell, rows: "pd.DataFrame", part: "pd.DataFrame") -> Entry:
    """The mean part over the mean gain of several models: the smallest gains would rule a mean of ratios."""
    decided = int(rows["low"].notna().sum())
    if not decided:
        return Entry(cell, "gain not decided")
    if len(rows) == 1:
        return Entry(cell, *_format_texts(cell))
    keys = ["model", "detector", "in", "out"]
    gains = part[part["metric"] == f"auroc_new_class{DIFFERENCE}"]
    both = rows[[*keys, "value"]].merge(gains[[*keys, "value"]], on=keys, suffixes=("", "_gain"))
    total = float(both["value_gain"].sum())
    mean = float((both["value"] * both["value_gain"]).sum()) / total if total and not cell.reason else math.nan
    share = Cell(mean=mean, seeds=len(rows), reason=cell.reason)
    return Entry(share, format_numbers.fraction(mean), f"; {decided} of {len(rows)} gains decided")


def _format_texts(cell: Cell, signed: bool = False) -> tuple[str, str]:
    """The mean, and its spread in brackets."""
    form = format_numbers.points if signed else format_numbers.fraction
    if math.isnan(cell.mean):
        return format_numbers.UNDEFINED, ""
    if cell.seeds > 1:
        return form(cell.mean), f"({format_numbers.fraction(cell.sd)})"
    return form(cell.mean), "(no interval)" if math.isnan(cell.low) else f"({form(cell.low)} to {form(cell.high)})"


def mark_best(rows: list[list[Entry | None]], sign: int) -> None:
    """Sets in bold, in place, the best mean of each column of `rows` and those whose spread overlaps its.

    Args:
        rows: Cells by row and column.
        sign: 1 where higher is better, -1 where lower is.
    """
    for k in range(len(rows[0])):
        rivals = {
            row: rival
            for row, cells in enumerate(rows)
            if (rival := cells[k]) and not any(map(math.isnan, (rival.cell.mean, *rival.cell.spread)))
        }
        if len(rivals) < 2:
            continue
        low, high = max(rivals.values(), key=lambda rival: sign * rival.cell.mean).cell.spread
        for row, rival in rivals.items():
            if rival.cell.spread[0] <= high and rival.cell.spread[1] >= low:
                rows[row][k] = rival._replace(bold=True)


def printed_cell(reported: ReportedNumbers | None, detector: str, pair: Pair) -> Entry | None:
    """The paper's number of a set in distribution and a detector; None where it has none."""
    number = None if reported is None else reported.values.get((pair[0], detector))
    if number is None:
        return None
    cell = Cell(mean=number.mean)
    return Entry(cell, format_numbers.fraction(number.mean), reported=True)
