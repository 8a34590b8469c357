"""The splits that are predicted, checked before anything slow: the columns that are read are there, none is lost."""

from collections.abc import Iterable, Mapping
from typing import Any

import datasets

from oochub.errors import OochubError, unknown_name

_MEDIA = (datasets.Image, datasets.Audio, datasets.Video)


def chosen_splits(dataset: Any, wanted: Iterable[str] | None) -> dict[str, Any]:
    """The splits to predict, by name.

    Args:
        dataset: A Dataset or IterableDataset, which is one split, or a DatasetDict.
        wanted: Names; None takes all but "train", or "train" where there is no other.

    Raises:
        OochubError: A split that is not there, or names for a data set that is one split.

    >>> list(chosen_splits({"train": 1, "validation": 2, "test": 3}, None))
    ['validation', 'test']
    """
    if not isinstance(dataset, Mapping):
        if wanted is not None:
            raise OochubError("splits chooses among those of a DatasetDict; this data set is a single split.")
        dataset = {str(getattr(dataset, "split", None) or "test"): dataset}
        wanted = list(dataset)
    names = list(wanted) if wanted is not None else [name for name in dataset if name != "train"] or list(dataset)
    for name in names:
        if name not in dataset:
            raise unknown_name("split", name, dataset)
    return {name: dataset[name] for name in dict.fromkeys(names)}


def checked_splits(parts: Mapping[str, Any], *, read: str, reserved: Iterable[str]) -> dict[str, Any]:
    """The splits without pictures, sounds and films that the model does not read.

    Args:
        parts: Splits by name.
        read: The column that the model reads.
        reserved: Columns that predictions write themselves.

    Raises:
        OochubError: A split without the column that is read, or with one that would be lost or taken for the model's.
    """
    for name, part in parts.items():
        present = part.column_names or ()
        if read not in present:
            raise OochubError(f"The split {name} has no column {read!r}, only {part.column_names}.")
        taken = [column for column in dict.fromkeys(reserved) if column in present]
        if taken:
            raise OochubError(
                f"The split {name} has the column {taken[0]!r}, which predictions write themselves. Rename it first: "
                f'dataset.rename_column("{taken[0]}", "own_{taken[0]}").'
            )
    return {name: _without_media(part, read) for name, part in parts.items()}


def _without_media(part: Any, read: str) -> Any:
    features = (part.features or {}).items()
    media = [name for name, feature in features if isinstance(feature, _MEDIA) and name != read]
    return part.remove_columns(media) if media else part
