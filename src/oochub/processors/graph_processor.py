"""What a model of graphs expects of them, as a file beside its weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.processors.stored_processor import StoredProcessor

_READ_TOGETHER = 1024  # rows
_FIELDS = ("nodes", "edges", "edge_features")


@dataclass(frozen=True, kw_only=True)
class GraphProcessor(StoredProcessor):
    """The graphs of one column: how many values each number of a node and of an edge has.

    A number counts from 0; one that training did not have is read as the last value, which is kept for such.

    Attributes:
        column: The column.
        node_sizes: How many values each number of a node has, with the one that is kept.
        edge_sizes: The same of an edge.

    Raises:
        OochubError: No number of a node or of an edge, or one without a value.

    >>> GraphProcessor(column="graph", node_sizes=(120,), edge_sizes=(5, 2)).edge_sizes
    (5, 2)
    """

    file_name = "graphs.json"

    column: str
    node_sizes: tuple[int, ...]
    edge_sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, sizes in (("node_sizes", self.node_sizes), ("edge_sizes", self.edge_sizes)):
            if not sizes or min(sizes) < 1:
                raise OochubError(f"{name} must say how many values each number has, 1 or more, got {sizes}.")

    @classmethod
    def of(cls, dataset: Any, column: str = "graph") -> "GraphProcessor":
        """The processor of a column: a value more for each number than its rows have.

        Args:
            dataset: A Dataset or IterableDataset.
            column: The column.

        Raises:
            OochubError: No row, no edge in any of them, or a row that is no graph.
        """
        only = dataset.select_columns([column]).with_format("arrow")
        largest: list[list[NDArray[Any]]] = [[], []]
        first = 0
        for table in only.iter(_READ_TOGETHER):
            names = [f"row {row}" for row in range(first, first + len(table))]
            nodes, _, features = graph_values(table, column, names=names)
            for values, found in ((nodes, largest[0]), (features, largest[1])):
                found += [each.max(axis=0) for each in values if len(each)]
            first += len(table)
        if not largest[0] or not largest[1]:
            raise OochubError(f"The column {column!r} has no row with a node and an edge to learn their numbers from.")
        node_sizes, edge_sizes = (tuple((np.max(each, axis=0) + 2).tolist()) for each in largest)
        return cls(column=column, node_sizes=node_sizes, edge_sizes=edge_sizes)


def graph_values(
    table: pa.Table, column: str, *, names: Sequence[str]
) -> tuple[list[NDArray[Any]], list[NDArray[Any]], list[NDArray[Any]]]:
    """The nodes (n, f), edges (e, 2) and numbers of the edges (e, g) of each row, whole numbers of 0 or more.

    Args:
        table: With the column: structs of `nodes`, `edges` and `edge_features`, lists of lists of whole numbers.
        column: Its name.
        names: What an error calls each row (n,).

    Raises:
        OochubError: A row without a graph or a node; numbers that are not whole, below 0, or of several lengths; an
            edge to a node that is not there; not as many numbers of edges as edges.
    """
    rows = table.column(column).combine_chunks()
    kind = rows.type
    if not pa.types.is_struct(kind) or any(kind.get_field_index(name) < 0 for name in _FIELDS):
        raise OochubError(f"The column {column!r} must hold structs of {', '.join(_FIELDS)}, got {kind}.")
    if rows.null_count:
        raise OochubError(f"{names[int(np.argmax(rows.is_null()))]}: there is no graph. Drop the row.")
    nodes, edges, features = (_lists(rows, name, names) for name in _FIELDS)
    for number, (own, pairs, kinds) in enumerate(zip(nodes, edges, features, strict=True)):
        fault = ""
        if not len(own):
            fault = "a graph without a node"
        elif len(pairs) and (pairs.shape[1] != 2 or pairs.max() >= len(own)):
            fault = f"an edge is two of its nodes 0..{len(own) - 1}, got {pairs[pairs.max(axis=1).argmax()].tolist()}"
        elif len(pairs) != len(kinds):
            fault = f"{len(pairs)} edges, and edge_features of {len(kinds)}"
        if fault:
            raise OochubError(f"{names[number]}: {fault}. Mend or drop it.")
    return nodes, edges, features


def _lists(rows: pa.StructArray, name: str, names: Sequence[str]) -> list[NDArray[Any]]:
    """A field of each row, int64 (m, d)."""
    outer = rows.field(name)
    if not pa.types.is_nested(outer.type):
        raise OochubError(f"{name} must be lists of lists of whole numbers, got {outer.type}.")
    lengths = np.asarray(outer.value_lengths()) if len(outer) else np.zeros(0, np.int64)
    if outer.null_count:
        raise OochubError(f"{names[int(np.argmax(outer.is_null()))]}: no {name}. Mend or drop it.")
    inner = outer.flatten()
    width = 0
    if not len(inner):  # of an unknown type, where no row has one
        return [np.zeros((0, 0), np.int64)] * len(outer)
    if pa.types.is_nested(inner.type):
        widths = np.asarray(inner.value_lengths())
        width = int(widths[0])
        if inner.null_count or (widths != width).any():
            raise OochubError(f"The lists of {name} must have one length. Drop the rows that have another.")
    numbers = inner.flatten() if width else inner
    if not width or not pa.types.is_integer(numbers.type) or numbers.null_count:
        raise OochubError(f"{name} must be lists of lists of whole numbers, got {outer.type}.")
    values = numbers.to_numpy(zero_copy_only=False).astype(np.int64).reshape(len(inner), width)
    ends = np.cumsum(lengths)
    if (values < 0).any():
        row = int(np.searchsorted(ends, int(np.argmax((values < 0).any(axis=1))), side="right"))
        raise OochubError(f"{names[row]}: {name} must be 0 or more. Mend or drop it.")
    return np.split(values, ends[:-1]) if len(ends) else []
