"""What a model of arrays expects of them, as a file beside its weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.processors.stored_processor import StoredProcessor

_READ_TOGETHER = 256  # rows


@dataclass(frozen=True, kw_only=True)
class ArrayProcessor(StoredProcessor):
    """The arrays of one column: what a model of them is called with, and how they are normalized.

    Attributes:
        column: The column.
        shape: Of one row: (bands, height, width), or (d,) of a vector. A row of two dimensions is one band.
        mean: Of each band or entry of the vector, subtracted; empty subtracts nothing.
        std: Of each, divided by after that; empty divides by nothing.
        argument: What the model calls them.

    Raises:
        OochubError: A shape of two dimensions, a mean or deviation that is not one number a band, a deviation of 0.

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
            raise OochubError(f"An array is (bands, height, width) or a vector (d,), got the shape {self.shape}.")
        for name, values in (("mean", self.mean), ("std", self.std)):
            if values and (len(values) != self.bands or not np.isfinite(values).all()):
                raise OochubError(f"{name} must be a number for each of the {self.bands} bands, got {values}.")
        if any(value <= 0 for value in self.std):
            raise OochubError(f"std must be above 0, got {self.std}. Take 1 for a band that is the same everywhere.")

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
        for table in only.iter(_READ_TOGETHER):
            names = [f"row {row}" for row in range(first, first + len(table))]
            values = array_values(table, column, shape, names=names).astype(np.float64)
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
            raise OochubError(f"The column {column!r} has no row to take a shape from.")
        given: dict[str, Any] = {"argument": argument} if argument else {}
        if normalize:
            mean = total / count
            std = np.sqrt(np.maximum(squares / count - mean**2, 0))
            given |= {"mean": tuple((center + mean).tolist()), "std": tuple(np.where(std > 0, std, 1.0).tolist())}
        return cls(column=column, shape=shape, **given)

    @property
    def bands(self) -> int:
        """How many bands; of a vector, its length."""
        return self.shape[0]


def array_values(table: pa.Table, column: str, shape: tuple[int, ...] = (), *, names: Sequence[str]) -> NDArray[Any]:
    """A column of arrays of one shape, without a copy where it is one chunk of the table.

    Args:
        table: With the column: Array2D, Array3D, lists, or lists of lists, of numbers.
        column: Its name.
        shape: That each row must have; () takes that of the first row.
        names: What an error calls each row (n,).

    Returns:
        (n, bands, height, width) or (n, d); rows of two dimensions have one band.

    Raises:
        OochubError: A row without an array, of another shape, or with a number that is not finite.

    >>> array_values(pa.table({"array": [[[1, 2]], [[3, 4]]]}), "array", names=["row 0", "row 1"]).shape
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
        raise OochubError(f"{names[0]}: an array of {own}, and the model takes {shape}.")
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False).reshape(sizes[0], *own)
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        bad = int(np.argmax(~np.isfinite(numbers.reshape(len(numbers), -1)).all(1)))
        raise OochubError(f"{names[bad]}: an array with a number that is not finite. Mend or drop it.")
    return numbers
