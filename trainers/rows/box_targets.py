"""The true boxes of a data set as the tensor that the loss compares with."""

from typing import Any

import numpy as np
import torch

from oochub.errors import OochubError
from oochub.output import output_of

_NEEDED = ("width", "height")


def box_targets(dataset: Any, *, split: str) -> torch.Tensor:
    """Classes and boxes of the pictures, filled up with nan.

    Args:
        dataset: With `boxes`, x1, y1, x2, y2 in pixels, `width` and `height` of the pictures in pixels, and
            `categories`, the class numbers of the boxes; without these all are of class 0.
        split: What an error calls it.

    Returns:
        float32 (n, m, 5), m the most boxes of a picture: class number, x and y of the center, width and height as
        fractions of the picture.

    Raises:
        OochubError: A missing column, a row whose boxes are unknown, or whose categories are not one a box.

    >>> from datasets import Dataset
    >>> data = Dataset.from_dict({"boxes": [[[0, 0, 8, 4]], []], "width": [16, 16], "height": [8, 8]})
    >>> box_targets(data, split="train")[:, 0].tolist()
    [[0.0, 0.25, 0.25, 0.5, 0.5], [nan, nan, nan, nan, nan]]
    """
    missing = [name for name in _NEEDED if name not in dataset.column_names]
    if missing:
        raise OochubError(
            f"Boxes are in pixels, and the {split} set does not say how large its pictures are: it has no column "
            f"{' and '.join(missing)}. Add the columns width and height, in pixels."
        )
    kind, present = output_of("boxes"), "categories" in dataset.column_names
    columns = ["boxes", *_NEEDED, *(["categories"] if present else [])]
    table = dataset.select_columns(columns).with_format("arrow")[:]
    truth = kind.label(table, [])
    known = kind.known(truth)
    if not known.all():
        first = f"{(~known).sum()} rows of the {split} set, first row {int(np.argmin(known))}"
        raise OochubError(f"{first}, have no known boxes. Drop them.")
    classes = table.column("categories").to_pylist() if present else [[0] * len(boxes) for boxes in truth]
    targets = np.full((len(truth), max(map(len, truth), default=0) or 1, 5), np.nan, np.float32)
    sizes = np.stack([table.column(name).to_numpy() for name in _NEEDED], axis=1).astype(np.float64)
    for row, (boxes, own, size) in enumerate(zip(truth, classes, sizes, strict=True)):
        if len(own) != len(boxes):
            raise OochubError(f"Row {row} of the {split} set has {len(boxes)} boxes and {len(own)} categories.")
        if boxes:
            corners = np.array(boxes) / np.tile(size, 2)
            targets[row, : len(boxes), 0] = own
            targets[row, : len(boxes), 1:3] = (corners[:, :2] + corners[:, 2:]) / 2
            targets[row, : len(boxes), 3:] = corners[:, 2:] - corners[:, :2]
    return torch.from_numpy(targets)
