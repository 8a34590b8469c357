"""Which rows to collect: what more rows of each cell should gain, and the cells that gain the most."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from oochub.records.report_records import Side
from oochub.records.schema import Bounds, Count, Share, optional
from oochub.stats.estimate import Estimate

FEWEST_POINTS = 0.005
"""A cell is named for collecting if its rows should gain this share or more."""
_NAMED = 3


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
