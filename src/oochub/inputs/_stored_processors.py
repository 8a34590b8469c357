"""Processors of our own, JSON files beside a model's weights that are read and written as those of transformers are.

Each says what its model expects: tokens that the data set has as numbers already, in place of a tokenizer; arrays;
graphs.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.records.schema import from_json, optional, to_json
from oochub.remote.remote_repository import fetch_model_folder
from oochub.storage.files import write_whole
from oochub.storage.reading import read_json


class StoredProcessor:
    """The base of a frozen dataclass that is a model's processor; `file_name` is the file's.

    >>> import tempfile
    >>> from oochub.inputs._stored_processors import TokenProcessor
    >>> Path(TokenProcessor(padding=1).save_pretrained(tempfile.mkdtemp())[0]).name
    'tokens.json'
    """

    file_name: ClassVar[str]

    @classmethod
    def from_pretrained(cls, source: str | Path) -> Self:
        """Reads the file of a model.

        Args:
            source: Folder or Hub id.

        Raises:
            OSError: There is no such file.
            OochubError: The file is not of this form.
        """
        from transformers.utils.hub import cached_file

        file = Path(cached_file(fetch_model_folder(str(source)), cls.file_name))
        return from_json(cls, read_json(file), what=str(file))

    def save_pretrained(self, folder: str | Path) -> list[str]:
        """Writes the file into a folder, whole or not at all, and returns its path."""
        target = Path(folder) / self.file_name
        with write_whole(target) as draft:
            draft.write_text(json.dumps(to_json(self), indent=2) + "\n", "utf-8")
        return [str(target)]


@dataclass(frozen=True, kw_only=True)
class TokenProcessor(StoredProcessor):
    """How rows of tokens become what a model is called with.

    Attributes:
        vocabulary: The text of each token by its number, with the spaces around it; empty where nobody knows it. It
            changes nothing that the model sees: reports show it.
        padding: The number that stands after the end of a row that is shorter than its batch's longest.

    Raises:
        OochubError: Padding that is no number of a token.

    >>> TokenProcessor(padding=1)
    TokenProcessor(padding=1, vocabulary=())
    """

    file_name = "tokens.json"

    padding: int = 0
    vocabulary: tuple[str, ...] = optional(())

    def __post_init__(self) -> None:
        if not 0 <= self.padding < 2**31:
            raise OochubError(f"padding must be a token id, 0 or more and below 2^31, got {self.padding}.")


_ARRAYS_TOGETHER = 256  # rows


@dataclass(frozen=True, kw_only=True)
class ArrayProcessor(StoredProcessor):
    """The arrays of one column: what a model of them is called with, and how they are normalized.

    Attributes:
        column: The column.
        shape: Shape of one row: (bands, height, width), or (d,) for a vector. A row of two dimensions is one band.
        mean: Mean of each band or entry of the vector, subtracted; empty subtracts nothing.
        std: Deviation of each, divided by after that; empty divides by nothing.
        argument: Name by which the model takes them.

    Raises:
        OochubError: A shape of two dimensions, a mean or deviation that is not one number per band, a deviation of 0.

    >>> ArrayProcessor(column="array", shape=(2, 4, 4), mean=(0.5, 3.0), std=(0.1, 2.0)).bands
    2
    """

    file_name = "arrays.json"

    column: str
    shape: tuple[int, ...]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    argument: str = "pixel_values"

    def __post_init__(self) -> None:
        if len(self.shape) not in (1, 3) or min(self.shape) < 1:
            raise OochubError(f"An array must be (bands, height, width) or a vector (d,), got the shape {self.shape}.")
        for name, values in (("mean", self.mean), ("std", self.std)):
            if values and (len(values) != self.bands or not np.isfinite(values).all()):
                raise OochubError(f"{name} must be a number for each of the {self.bands} bands, got {values}.")
        if any(value <= 0 for value in self.std):
            raise OochubError(f"std must be above 0, got {self.std}. Use 1 for a band that is constant.")

    @classmethod
    def of(
        cls, dataset: Any, column: str = "array", *, normalize: bool = False, argument: str = ""
    ) -> "ArrayProcessor":
        """The processor of a column, its shape that of the first row.

        Args:
            dataset: A Dataset or IterableDataset.
            column: The column.
            normalize: Take mean and deviation (ddof 0) of each band over all rows, in float64; a band that is the
                same everywhere keeps a deviation of 1.
            argument: What the model calls them; "" takes the default.

        Raises:
            OochubError: No row, or rows that are not numbers of one shape.

        >>> from datasets import Dataset
        >>> rows = Dataset.from_dict({"array": [[1.0, 5.0], [3.0, 5.0]]})
        >>> processor = ArrayProcessor.of(rows, normalize=True)
        >>> processor.shape, processor.mean, processor.std
        ((2,), (2.0, 5.0), (1.0, 1.0))
        """
        only = dataset.select_columns([column]).with_format("arrow")
        shape: tuple[int, ...] = ()
        first, count, total, squares, center = 0, 0, np.zeros(1), np.zeros(1), np.zeros(1)
        for table in only.iter(_ARRAYS_TOGETHER):
            names = [f"row {row}" for row in range(first, first + len(table))]
            values = read_arrays(table, column, shape, names=names).astype(np.float64)
            first += len(table)
            shape = values.shape[1:]
            if not normalize:
                break
            axes = (0, *range(2, values.ndim))
            if not count:
                center = values.mean(axes)  # sums around it keep their digits
            offset = values - center.reshape(-1, *[1] * (values.ndim - 2))
            total, squares = total + offset.sum(axes), squares + np.square(offset).sum(axes)
            count += values.size // values.shape[1]
        if not shape:
            raise OochubError(f"The column {column!r} has no rows to take a shape from.")
        options: dict[str, Any] = {"argument": argument} if argument else {}
        if normalize:
            mean = total / count
            std = np.sqrt(np.maximum(squares / count - mean**2, 0))
            options |= {"mean": tuple((center + mean).tolist()), "std": tuple(np.where(std > 0, std, 1.0).tolist())}
        return cls(column=column, shape=shape, **options)

    @property
    def bands(self) -> int:
        """Number of bands; for a vector, its length."""
        return self.shape[0]


def read_arrays(table: pa.Table, column: str, shape: tuple[int, ...] = (), *, names: Sequence[str]) -> NDArray[Any]:
    """A column of arrays of one shape, without a copy where it is one chunk of the table.

    Args:
        table: Table with the column: Array2D, Array3D, lists, or lists of lists, of numbers.
        column: Name of the column.
        shape: Shape that each row must have; () takes that of the first row.
        names: What an error calls each row (n,).

    Returns:
        (n, bands, height, width) or (n, d); rows of two dimensions have one band.

    Raises:
        OochubError: A row without an array, of another shape, or with a number that is not finite.

    >>> read_arrays(pa.table({"array": [[[1, 2]], [[3, 4]]]}), "array", names=["row 0", "row 1"]).shape
    (2, 1, 1, 2)
    """
    chunks = table.column(column)
    rows = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
    values = rows.storage if isinstance(rows, pa.ExtensionArray) else rows
    if values.null_count:
        raise OochubError(f"{names[int(np.argmax(values.is_null()))]}: there is no array. Drop the row.")
    sizes = [len(values)]
    while pa.types.is_nested(values.type):
        lengths = np.asarray(values.value_lengths()) if len(values) else np.zeros(0, int)
        if len(set(lengths.tolist())) > 1:
            odd = int(np.argmax(lengths != lengths[0])) * sizes[0] // len(values)
            raise OochubError(f"{names[odd]}: arrays of {column!r} must have one shape. Drop the row.")
        sizes.append(int(lengths[0]) if len(lengths) else 0)
        values = values.flatten()
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_boolean(values.type)):
        raise OochubError(f"The column {column!r} must hold arrays of numbers, got {values.type}.")
    own = (1, *sizes[1:]) if len(sizes) == 3 else tuple(sizes[1:])
    if shape and own != shape:
        raise OochubError(f"{names[0]}: the array is {own}, but the model takes {shape}.")
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False).reshape(sizes[0], *own)
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        bad = int(np.argmax(~np.isfinite(numbers.reshape(len(numbers), -1)).all(1)))
        raise OochubError(f"{names[bad]}: the array has a number that is not finite. Correct or drop it.")
    return numbers


_GRAPHS_TOGETHER = 1024  # rows
_GRAPH_FIELDS = ("nodes", "edges", "edge_features")


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
        for table in only.iter(_GRAPHS_TOGETHER):
            names = [f"row {row}" for row in range(first, first + len(table))]
            nodes, _, features = read_graphs(table, column, names=names)
            for values, found in ((nodes, largest[0]), (features, largest[1])):
                found += [value.max(axis=0) for value in values if len(value)]
            first += len(table)
        if not largest[0] or not largest[1]:
            raise OochubError(
                f"The column {column!r} has no row with a node and an edge from which to count their numbers."
            )
        node_sizes, edge_sizes = (tuple((np.max(sizes, axis=0) + 2).tolist()) for sizes in largest)
        return cls(column=column, node_sizes=node_sizes, edge_sizes=edge_sizes)


def read_graphs(
    table: pa.Table, column: str, *, names: Sequence[str]
) -> tuple[list[NDArray[Any]], list[NDArray[Any]], list[NDArray[Any]]]:
    """The nodes (n, f), edges (e, 2) and numbers of the edges (e, g) of each row, whole numbers of 0 or more.

    Args:
        table: Table with the column: structs of `nodes`, `edges` and `edge_features`, lists of lists of whole numbers.
        column: Name of the column.
        names: What an error calls each row (n,).

    Raises:
        OochubError: A row without a graph or a node; numbers that are not whole, below 0, or of several lengths; an
            edge to a node that is not there; not as many numbers of edges as edges.
    """
    rows = table.column(column).combine_chunks()
    kind = rows.type
    if not pa.types.is_struct(kind) or any(kind.get_field_index(name) < 0 for name in _GRAPH_FIELDS):
        raise OochubError(f"The column {column!r} must hold structs of {', '.join(_GRAPH_FIELDS)}, got {kind}.")
    if rows.null_count:
        raise OochubError(f"{names[int(np.argmax(rows.is_null()))]}: there is no graph. Drop the row.")
    nodes, edges, features = (_read_lists(rows, name, names) for name in _GRAPH_FIELDS)
    for number, (own, pairs, kinds) in enumerate(zip(nodes, edges, features, strict=True)):
        fault = ""
        if not len(own):
            fault = "a graph without nodes"
        elif len(pairs) and (pairs.shape[1] != 2 or pairs.max() >= len(own)):
            fault = f"an edge is two of its nodes 0..{len(own) - 1}, got {pairs[pairs.max(axis=1).argmax()].tolist()}"
        elif len(pairs) != len(kinds):
            fault = f"{len(pairs)} edges, but edge_features for {len(kinds)}"
        if fault:
            raise OochubError(f"{names[number]}: {fault}. Correct or drop it.")
    return nodes, edges, features


def _read_lists(rows: pa.StructArray, name: str, names: Sequence[str]) -> list[NDArray[Any]]:
    """A field of each row, int64 (m, d)."""
    outer = rows.field(name)
    if not pa.types.is_nested(outer.type):
        raise OochubError(f"{name} must be lists of lists of whole numbers, got {outer.type}.")
    lengths = np.asarray(outer.value_lengths()) if len(outer) else np.zeros(0, np.int64)
    if outer.null_count:
        raise OochubError(f"{names[int(np.argmax(outer.is_null()))]}: no {name}. Correct or drop it.")
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
        raise OochubError(f"{names[row]}: {name} must be 0 or more. Correct or drop it.")
    return np.split(values, ends[:-1]) if len(ends) else []
