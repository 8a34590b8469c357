"""The rows of a split as the training loop reads them, checked before anything slow happens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch.nn import functional
from torch.utils.data import Dataset

from oochub.errors import OochubError
from oochub.input import Fetch, Input
from oochub.trainers.rows.targets import TOKENS, Task, read_targets


class Examples(Dataset[dict[str, torch.Tensor]]):  # type: ignore[misc]
    """Inputs, labels and environments of a split, by lists of row numbers.

    Args:
        dataset: A `datasets.Dataset` with the columns of `inputs` and `task`.
        inputs: How a row becomes the model's input.
        split: What an error calls the split.
        task: What is predicted.
        names: Names of the model's outputs in order.
        environment_column: Column of the environments, None for none.

    Attributes:
        label: int64 (n,), float32 (n, k) or float32 (n,), see `read_targets`.
        environment: int64 (n,), all 0 without a column.
        environment_names: Names of the environments by number.

    Raises:
        OochubError: Not a map-style data set, no rows, a missing column, labels that are not the model's classes, or a
            row without a label for each of its tokens.
    """

    def __init__(
        self,
        dataset: Any,
        inputs: Input,
        *,
        split: str,
        task: Task,
        names: Sequence[str],
        environment_column: str | None = None,
    ) -> None:
        _check_form(dataset, split, [inputs.column, task.column, *([environment_column] if environment_column else [])])
        if task.problem_type == TOKENS:
            _check_lengths(dataset, split, [inputs.column, task.column])
        self.dataset, self.inputs, self._of_tokens = dataset, inputs, task.problem_type == TOKENS
        self.label = read_targets(dataset, task, split=split, names=names)
        codes, self.environment_names = _read_environments(dataset, split, environment_column)
        self.environment = torch.from_numpy(codes)
        self._fetch: Fetch | None = None

    def open(self, cache_dir: Path | None) -> None:
        """Gets the rows ready to be read; with a folder, what is slow is done once and kept there."""
        self._fetch = self.inputs.fetch(self.dataset, cache_dir)

    def counts(self, of: torch.Tensor, number: int) -> list[int]:
        """Rows of each of `number` classes or environments."""
        return torch.bincount(of, minlength=number).tolist()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.label)

    def __getitems__(self, rows: list[int]) -> dict[str, torch.Tensor] | OochubError:
        """What `inputs` reads of a batch, with its label, environment and row (b,); or what is wrong with a row.

        Tokens are padded to the longest row of the split, as labels are: all batches and processes have one width.
        """
        assert self._fetch is not None  # noqa: S101  open() comes first
        batch = self._fetch(rows)
        if isinstance(batch, OochubError):
            return batch
        if self._of_tokens:
            missing = self.label.shape[1] - batch["input_ids"].shape[1]
            filling = {"input_ids": self.inputs.processor.padding, "attention_mask": 0}
            batch = {name: functional.pad(batch[name], (0, missing), value=value) for name, value in filling.items()}
        return batch | {"label": self.label[rows], "environment": self.environment[rows], "row": torch.tensor(rows)}


def read_column(dataset: Any, name: str) -> NDArray[Any]:
    """A column as an array: class names as text, anything else as it is.

    >>> features = datasets.Features({"group": datasets.ClassLabel(names=["sea", "land"])})
    >>> read_column(datasets.Dataset.from_dict({"group": [1, 0]}, features), "group").tolist()
    ['land', 'sea']
    """
    values = np.asarray(dataset.select_columns([name]).with_format("numpy")[:][name])
    feature = dataset.features[name]
    if not isinstance(feature, datasets.ClassLabel):
        return values
    codes = np.where(np.isnan(values), -1, values).astype(np.intp)  # where a row has none, it is nan
    return np.array([*feature.names, None], object)[codes]


def _check_form(dataset: Any, split: str, needed: list[str]) -> None:
    if not isinstance(dataset, datasets.Dataset):
        raise OochubError(
            f"The {split} set must be a datasets.Dataset, got {type(dataset).__name__}. Take one split of a "
            "DatasetDict; load without streaming=True."
        )
    missing = [name for name in needed if name not in dataset.column_names]
    if missing:
        raise OochubError(
            f"The {split} set has no column {', '.join(map(repr, missing))}, only {', '.join(dataset.column_names)}. "
            "Rename a column with dataset.rename_column, or choose environment_column among them."
        )
    if not len(dataset):
        raise OochubError(f"The {split} set is empty. Check the split and any filter.")


def _check_lengths(dataset: Any, split: str, names: list[str]) -> None:
    table = dataset.select_columns(names).with_format("arrow")[:]
    given, expected = (pc.fill_null(pc.list_value_length(table[name]), 0).to_numpy() for name in names)
    for row in np.flatnonzero(given != expected)[:1]:
        raise OochubError(
            f"Row {row} of the {split} set has {given[row]} {names[0]} but {expected[row]} {names[1]}. Give each of "
            f"its {names[0]} the token that comes next, -100 where nobody asks."
        )


def _read_environments(dataset: Any, split: str, name: str | None) -> tuple[NDArray[np.int64], list[str]]:
    if name is None:
        return np.zeros(len(dataset), np.int64), ["all"]
    values = read_column(dataset, name)
    feature = dataset.features[name]
    if values.ndim != 1 or values.dtype.kind == "f":
        raise OochubError(f"environment_column {name!r} must hold names or whole numbers, got {feature}.")
    if any(value is None for value in values.tolist()):
        raise OochubError(f"Some rows of the {split} set have no {name!r}. Drop them, or choose another column.")
    if isinstance(feature, datasets.ClassLabel):
        numbers = {name_of: number for number, name_of in enumerate(feature.names)}
        return np.array([numbers[value] for value in values], np.int64), list(feature.names)
    names, codes = np.unique(values.astype(str), return_inverse=True)
    return codes.astype(np.int64), names.tolist()
