"""The id of each row: the data's own, else the name of its picture's file, else its number."""

from pathlib import PurePosixPath

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oochub.data.class_column import column_array, first_rows
from oochub.data.picture_column import picture_paths
from oochub.errors import OochubError


def example_ids(data: datasets.DatasetDict) -> dict[str, list[str]]:
    """The ids of each split, each once in its split.

    They are those of the column `example_id`; else the keys of a WebDataset; else the names of the pictures' files
    without suffix; else the numbers of the rows, from 0. The second and third only where no two are alike.

    Args:
        data: The splits; pictures are not read.

    Raises:
        OochubError: A row without its example_id, or two rows of a split with one.

    >>> data = datasets.DatasetDict(test=datasets.Dataset.from_dict({"n": [7, 8]}))
    >>> example_ids(data)
    {'test': ['0', '1']}
    """
    if all("example_id" in part.column_names for part in data.values()):
        return {split: _checked(column_array(part, "example_id"), split) for split, part in data.items()}
    if all("__key__" in part.column_names for part in data.values()):
        names = {split: column_array(part, "__key__").to_pylist() for split, part in data.items()}
    else:
        names = {split: _stems(part) for split, part in data.items()}
    if all(None not in each and len(set(each)) == len(each) for each in names.values()):
        return {split: [str(name) for name in each] for split, each in names.items()}
    return {split: [str(row) for row in range(len(part))] for split, part in data.items()}


def _stems(part: datasets.Dataset) -> list[str | None]:
    return [None if path is None else PurePosixPath(path.replace("\\", "/")).stem for path in picture_paths(part)]


def _checked(array: pa.Array, split: str) -> list[str]:
    missing = np.asarray(pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False), bool)
    if missing.any():
        raise OochubError(f"example_id has no value in {first_rows(missing)} of split {split}. Give each row one.")
    ids = [str(value) for value in array.to_pylist()]
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in seen:
            raise OochubError(
                f"Rows {seen[name]} and {row} of split {split} have one example_id, {name!r}. Give each row its own, "
                "or leave the column out."
            )
        seen[name] = row
    return ids
