"""Cells of rows that may be collected together: each class on each side, and in each context."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.declaration import find_declaration
from oochub.head_repair.repair_rows import RepairRows
from oochub.records.report_records import Side


class CellRows(NamedTuple):
    """Rows that may be collected together: a class on one side, or in one context.

    Attributes:
        name: Its name: that of its group, else class and side.
        side: The side of its context.
        has: Whether each row (n,) belongs to it.
        is_part: Whether it is one context of several on its side.
    """

    name: str
    side: Side
    has: NDArray[np.bool_]
    is_part: bool


def list_cells(rows: RepairRows, some: NDArray[np.int64]) -> list[CellRows]:
    """The cells of some rows: each class on each side, and in each context if that tells more rows apart.

    Args:
        rows: All rows.
        some: Rows whose cells are listed.
    """
    column = find_declaration(rows.predictions).group_column
    named = rows.predictions.column(column).astype(str) if column in rows.predictions.column_names else None
    found: list[CellRows] = []
    for kind, group in rows.groups.items():
        for number in np.unique(group[some]):
            own = some[group[some] == number]
            side: Side = "out" if rows.is_out[own].mean() > 0.5 else "in"
            names = [] if named is None else np.unique(named[own]).tolist()
            label = rows.predictions.class_names[rows.label[own[0]]]
            whole = f"{label} in {'unusual' if side == 'out' else 'usual'} contexts"
            name = str(names[0]) if len(names) == 1 else whole
            if name not in [cell.name for cell in found]:  # a side with one context is that context
                found.append(CellRows(name, side, group == number, kind != "side"))
    return found
