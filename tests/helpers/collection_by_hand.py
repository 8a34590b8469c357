"""Which rows to collect, by hand: cells whose curves are a - b / sqrt(n), and one that cannot be told."""

import math

from oochub.repairs.collection import CellGain, Collection, CurvePoint
from oochub.stats.estimate import Estimate

MORE = 100


def cell_by_hand(name, value, low, high, *, side="out", rows=16, top=0.8):
    """A cell that should gain so much with 100 rows more, and whose accuracy is `top` now."""
    fall = value / (rows**-0.5 - (rows + MORE) ** -0.5)
    level = top + fall * rows**-0.5
    curve = tuple(CurvePoint(rows=n, accuracy=min(level - fall * n**-0.5, 1.0)) for n in (4.0, 8.0, 12.0))
    gain = Estimate(value, low=low, high=high, n=80, method="learning curve")
    return CellGain(name=name, side=side, rows=rows, more=MORE, gain=gain, curve=curve, level=level, fall=fall)


def untold_by_hand(name):
    """A cell with three rows."""
    gain = Estimate(math.nan, n=80, method="learning curve", reason="too few rows: 8 are needed")
    return CellGain(name=name, side="out", rows=3, more=3, gain=gain)


def collection_by_hand(*cells, **more):
    """The record of these cells."""
    return Collection(more=MORE, scored=80, scored_out=30, cells=cells, **more)
