"""From a column to a batch: a kind of input read straight from its Arrow column, as a table has it; tokens padded."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.input import BrokenRow, Fetch, Input, InputBatch

if TYPE_CHECKING:
    import torch


class ArrowColumn(Input):
    """How such a kind reads its rows, in any order and in theirs; a subclass makes tensors of the column of a table.

    Arrow's files are mapped into memory as they are, so there is nothing to keep in a cache.

    Attributes:
        processor_type: Type of its processors.
    """

    processor_type: ClassVar[type]

    @classmethod
    def takes(cls, processor: Any) -> bool:
        """See `Input.takes`: one of its type."""
        return isinstance(processor, cls.processor_type)

    @abstractmethod
    def tensors(self, table: pa.Table, names: Sequence[str]) -> "dict[str, torch.Tensor]":
        """What `ready` takes of the rows of a table, each (n, ...).

        Args:
            table: Table with the column.
            names: What an error calls each row (n,).

        Raises:
            OochubError: A row that cannot be read.
        """

    def fetch(self, dataset: Any, cache_dir: Path | None) -> Fetch:
        """See `Input.fetch`."""
        return _Read(self, dataset.select_columns([self.column]).with_format("arrow"))

    def batches(
        self,
        part: Any,
        *,
        batch_size: int,
        device: "torch.device",
        zoom: float | None = None,
        broken: list[BrokenRow] | None = None,
    ) -> Iterator[InputBatch]:
        """See `Input.batches`; the column itself is not among the others."""
        import torch

        if self.column not in (part.column_names or ()):
            raise OochubError(f"The model reads the column {self.column!r}, but the split has {part.column_names}.")
        first = 0
        for table in part.with_format("arrow").iter(batch_size):
            columns = table.drop_columns([self.column]).to_pydict()
            rows = [f"row {row}" for row in range(first, first + len(table))]
            names = [f"example {name}" for name in columns["example_id"]] if "example_id" in columns else rows
            read = self.tensors(table, [f"split {part.split}, {name}" for name in names])
            there = {name: values.to(device) for name, values in read.items()}
            yield InputBatch(self.ready(there, augment="none", generator=torch.Generator()), columns)
            first += len(table)


class _Read:
    """Rows by their numbers; an object, which reaches worker processes that are started anew."""

    def __init__(self, inputs: ArrowColumn, dataset: Any) -> None:
        self._inputs, self._dataset = inputs, dataset

    def __call__(self, rows: list[int]) -> "dict[str, torch.Tensor] | OochubError":
        try:
            return self._inputs.tensors(self._dataset[rows], [f"row {row}" for row in rows])
        except OochubError as error:  # raised in a worker process it would arrive with that process's traceback
            return error


def pad_tokens(tokens: Sequence[NDArray[np.integer]], padding: int) -> "dict[str, torch.Tensor]":
    """int64 (n, longest) of arrays of numbers: `input_ids`, and `attention_mask`, 1 where there is a token."""
    import torch

    ids = torch.full((len(tokens), max(map(len, tokens))), padding, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for place, own in enumerate(tokens):
        ids[place, : len(own)] = torch.from_numpy(own)
        mask[place, : len(own)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def make_noise_tokens(vocabulary: int) -> "dict[str, torch.Tensor]":
    """Two rows of eight numbers of tokens below `vocabulary`, as `pad_tokens` gives them, to look at a model with."""
    import torch

    ids = torch.randint(vocabulary, (2, 8), generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
