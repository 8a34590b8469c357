"""What several ways to find contexts do with images and their arrays.

It holds where in an image contexts are looked for: on its rim, where things seldom are, or in all of it; opened images
as rows that the inputs of a model read; a column of a table as one array; truth values as lists, for each row the
numbers of the columns that are true.
"""

from collections.abc import Sequence

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.context_finder import OpenedPicture
from oochub.errors import unknown_name

_REGIONS = ("rim", "picture")


def mask_region(height: int, width: int, *, region: str, depth: float) -> NDArray[np.bool_]:
    """The pixels of an image that are looked at (height, width), bool.

    Args:
        height: Height of the image, in pixels.
        width: Width of the image, in pixels.
        region: `"rim"`, or `"picture"`, which is all of it.
        depth: Depth of the rim: the share of the height at top and bottom, and of the width left and right, below 1/2.
            The rim is at least one pixel deep.

    Raises:
        OochubError: Another region.

    >>> mask_region(6, 6, region="rim", depth=1 / 6).sum()
    np.int64(20)
    """
    if region not in _REGIONS:
        raise unknown_name("region of an image", str(region), _REGIONS)
    looked_at = np.ones((height, width), bool)
    if region == "rim":
        left, top, right, bottom = find_middle(height, width, depth=depth)
        looked_at[top:bottom, left:right] = False
    return looked_at


def find_middle(height: int, width: int, *, depth: float) -> tuple[int, int, int, int]:
    """The left, top, right and bottom of what is inside the rim of an image, see `mask_region`; it may be empty.

    >>> find_middle(6, 12, depth=1 / 6)
    (2, 1, 10, 5)
    """
    down, across = (max(1, round(side * depth)) for side in (height, width))
    return across, down, max(across, width - across), max(down, height - down)


def make_image_rows(pictures: Sequence[OpenedPicture]) -> datasets.Dataset:
    """A data set of the column `image`, of the bytes of the images.

    >>> make_image_rows([]).column_names
    ['image']
    """
    features = datasets.Features({"image": datasets.Image()})
    return datasets.Dataset.from_dict(
        {"image": [{"bytes": picture.content, "path": None} for picture in pictures]}, features
    )


def join_chunks(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array; a single chunk is not copied, as `combine_chunks` would.

    >>> join_chunks(pa.chunked_array([[1], [2]])).to_pylist()
    [1, 2]
    """
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def list_true_columns(truth: NDArray[np.bool_]) -> pa.ListArray:
    """The numbers of the true columns of each row, ascending.

    Args:
        truth: (n, k).

    >>> list_true_columns(np.array([[True, False, True], [False, False, False]])).to_pylist()
    [[0, 2], []]
    """
    ends = np.concatenate([[0], np.cumsum(truth.sum(1))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(np.nonzero(truth)[1], pa.int64()))
