"""Whether something is a data set of `datasets`, or splits of one, before anything slow reads it."""

from collections.abc import Mapping
from typing import Any

from oochub.errors import OochubError


def checked_data_set(data: Any) -> Any:
    """The data as they were given.

    Args:
        data: A Dataset or IterableDataset, or a DatasetDict or other mapping of them by split.

    Raises:
        OochubError: A list, a frame, a path or anything else; no split; a split without a row.

    >>> checked_data_set([{"text": "a"}])
    Traceback (most recent call last):
    oochub.errors.OochubError: The data must be a Dataset, or a DatasetDict of splits, got a list. Make one of a list \
with datasets.Dataset.from_list(rows), of a frame with Dataset.from_pandas(frame), or load a path with oochub.load.
    """
    from datasets import Dataset, IterableDataset

    parts = data if isinstance(data, Mapping) else {"": data}
    if not parts:
        raise OochubError("The data have no split. Give a Dataset, or a DatasetDict with a split or more.")
    for split, part in parts.items():
        if not isinstance(part, Dataset | IterableDataset):
            place = f" as the split {split!r}" if split else ""
            raise OochubError(
                f"The data must be a Dataset, or a DatasetDict of splits, got a {type(part).__name__}{place}. Make one "
                "of a list with datasets.Dataset.from_list(rows), of a frame with Dataset.from_pandas(frame), or load "
                "a path with oochub.load."
            )
    return data
