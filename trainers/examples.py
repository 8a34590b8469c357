"""The rows of a split as the training loop reads them, checked before anything slow happens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from oochub.errors import OochubError
from oochub.images import Pictures, uint8_cache
from oochub.preprocessing import Preprocessing


class Examples(Dataset[dict[str, torch.Tensor]]):  # type: ignore[misc]
    """Pixels, labels and environments of a split, by lists of row numbers.

    Args:
        dataset: A `datasets.Dataset` with the columns `image` and `label`.
        preprocessing: What to do with each picture.
        split: What an error calls the split.
        class_names: Names of the model's classes in order.
        environment_column: Column of the environments, None for none.

    Attributes:
        label: int64 (n,).
        environment: int64 (n,), all 0 without a column.
        environment_names: Names of the environments by number.

    Raises:
        OochubError: Not a map-style data set, no rows, a missing column, or labels that are not the model's classes.
    """

    def __init__(
        self,
        dataset: Any,
        preprocessing: Preprocessing,
        *,
        split: str,
        class_names: Sequence[str],
        environment_column: str | None = None,
    ) -> None:
        _check_form(dataset, split, ["image", "label", *([environment_column] if environment_column else [])])
        _check_classes(dataset, split, class_names)
        self.dataset, self.preprocessing = dataset, preprocessing
        self.label = torch.from_numpy(_labels(dataset, split, len(class_names)))
        codes, names = _environments(dataset, split, environment_column)
        self.environment, self.environment_names = torch.from_numpy(codes), names
        self._pixels: NDArray[np.uint8] | None = None
        self._pictures = Pictures(dataset.select_columns(_present(dataset, ["example_id", "image"])), preprocessing)

    def decode_once(self, cache_dir: str | Path) -> None:
        """Reads pixels from a file in `cache_dir` from now on, made first where it does not exist."""
        self._pixels = uint8_cache(self.dataset, self.preprocessing, cache_dir=cache_dir)

    def counts(self, of: torch.Tensor, number: int) -> list[int]:
        """Rows of each of `number` classes or environments."""
        return torch.bincount(of, minlength=number).tolist()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.label)

    def __getitems__(self, rows: list[int]) -> dict[str, torch.Tensor] | OochubError:
        """A batch: pixels uint8 (b, height, width, 3), label and environment int64 (b,); or a picture's error."""
        if self._pixels is not None:
            pixels = torch.from_numpy(self._pixels[rows])
        else:
            batch = self._pictures[rows]
            if isinstance(batch, OochubError):
                return batch
            pixels = batch.pixels
        return {"pixels": pixels, "label": self.label[rows], "environment": self.environment[rows]}


def column(dataset: Any, name: str) -> NDArray[Any]:
    """A column as an array: class names as text, anything else as it is.

    >>> features = datasets.Features({"group": datasets.ClassLabel(names=["sea", "land"])})
    >>> column(datasets.Dataset.from_dict({"group": [1, 0]}, features), "group").tolist()
    ['land', 'sea']
    """
    values = np.asarray(dataset.select_columns([name]).with_format("numpy")[:][name])
    feature = dataset.features[name]
    return np.array([*feature.names, None], object)[values] if isinstance(feature, datasets.ClassLabel) else values


def _present(dataset: Any, names: list[str]) -> list[str]:
    return [name for name in names if name in dataset.column_names]


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


def _check_classes(dataset: Any, split: str, class_names: Sequence[str]) -> None:
    feature = dataset.features["label"]
    if isinstance(feature, datasets.ClassLabel) and feature.num_classes != len(class_names):
        raise OochubError(
            f"The model has {len(class_names)} classes and the {split} set {feature.num_classes} "
            f"({', '.join(feature.names[:10])}). Make the model with num_labels={feature.num_classes}."
        )


def _labels(dataset: Any, split: str, classes: int) -> NDArray[np.int64]:
    values = np.asarray(dataset.select_columns(["label"]).with_format("numpy")[:]["label"])
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise OochubError(
            f"Labels of the {split} set must be class numbers, got {values.dtype} of shape {values.shape}."
        )
    wrong = (values < 0) | (values >= classes)
    if wrong.any():
        raise OochubError(
            f"{wrong.sum()} labels of the {split} set are not one of 0..{classes - 1}, first {values[wrong][0]} in row "
            f"{int(np.argmax(wrong))}. Drop such rows, for example dataset.filter(lambda row: row['label'] >= 0)."
        )
    return values.astype(np.int64)


def _environments(dataset: Any, split: str, name: str | None) -> tuple[NDArray[np.int64], list[str]]:
    if name is None:
        return np.zeros(len(dataset), np.int64), ["all"]
    values = column(dataset, name)
    feature = dataset.features[name]
    if values.ndim != 1 or values.dtype.kind == "f":
        raise OochubError(f"environment_column {name!r} must hold names or whole numbers, got {feature}.")
    if any(value is None for value in values.tolist()):
        raise OochubError(f"Some rows of the {split} set have no {name!r}. Drop them, or choose another column.")
    if isinstance(feature, datasets.ClassLabel):
        numbers = {each: number for number, each in enumerate(feature.names)}
        return np.array([numbers[value] for value in values], np.int64), list(feature.names)
    found, codes = np.unique(values.astype(str), return_inverse=True)
    return codes.astype(np.int64), found.tolist()
