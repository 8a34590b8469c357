"""Reads the images of some examples of a data set."""

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from oochub.errors import OochubError, unknown_name


def read_pictures(dataset: Any, split: str, ids: Sequence[str]) -> dict[str, Image.Image]:
    """The images of these examples by their example_id; no other is decoded.

    Args:
        dataset: A data set or its splits, with columns example_id and image.
        split: The split, where there are several.
        ids: Their example_id.

    Raises:
        OochubError: No such split, column or example; an image that is missing or cannot be read.
    """
    import datasets

    from oochub.inputs.pictures.preprocessing import decode
    from oochub.inputs.pictures.stored_pictures import picture_bytes

    if isinstance(dataset, Mapping) and split not in dataset:
        raise unknown_name("split of the data set", split, dataset)
    part = dataset[split] if isinstance(dataset, Mapping) else dataset
    for column in ("example_id", "image"):
        if column not in part.column_names:
            raise OochubError(f"The data set has no column {column!r}, only {', '.join(part.column_names)}.")
    row_of = {name: row for row, name in enumerate(part.select_columns(["example_id"])["example_id"])}
    missing = [name for name in ids if name not in row_of]
    if missing:
        raise OochubError(
            f"{len(missing)} of the {len(ids)} examples to show are not in the data set, first {missing[0]}. "
            f"Give the data set that was predicted, its split {split}."
        )
    rows = part.select([row_of[name] for name in ids]).select_columns(["image"])
    pictures = {}
    for name, row in zip(ids, rows.cast_column("image", datasets.Image(decode=False)), strict=True):
        where = f"split {split}, example {name}"
        pictures[name] = decode(picture_bytes(row["image"], where), where)
    return pictures
