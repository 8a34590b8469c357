"""The object of an image alone, its background alone, and the object on another background.

On whose background each object is put, a row of the same class or one of another, is drawn.

Source: Xiao, Engstrom, Ilyas and Madry 2020, "Noise or Signal: The Role of Image Backgrounds in Object Recognition",
    Section 2 (Only-FG, Only-BG-T, Mixed-Same and Mixed-Rand of the Backgrounds Challenge). There the object is cut out
    by GrabCut and stands alone on black; here its area is given, and gray is the color that is nobody's.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

GRAY = 128
"""The level of red, green and blue around an object alone."""
LEAST_BACKGROUND = 0.05
"""The share of the image that the rectangle of background must take with which an object is filled."""
_MOST_BOXES = 16

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]


class Box(NamedTuple):
    """Rows `top` to `bottom` and columns `left` to `right` of an image, the ends not included."""

    top: int
    bottom: int
    left: int
    right: int


def cut_object(pixels: Pixels, mask: Mask) -> Pixels:
    """The object on gray.

    Args:
        pixels: uint8 (h, w, 3).
        mask: (h, w), True on the object.

    >>> cut_object(np.full((1, 2, 3), 9, np.uint8), np.array([[True, False]]))[0, :, 0].tolist()
    [9, 128]
    """
    return np.where(mask[..., None], pixels, np.uint8(GRAY))


def paste_object(pixels: Pixels, mask: Mask, ground: Pixels) -> Pixels:
    """The object on another background, at its own place.

    The background is enlarged or reduced to cover the image, its shape kept, and cut to it from the middle.

    Args:
        pixels: uint8 (h, w, 3).
        mask: (h, w), True on the object.
        ground: uint8 (any height, any width, 3), without an object.
    """
    height, width = mask.shape
    if ground.shape[:2] != mask.shape:
        scale = max(height / ground.shape[0], width / ground.shape[1])
        size = max(width, round(scale * ground.shape[1])), max(height, round(scale * ground.shape[0]))
        left, top = (size[0] - width) // 2, (size[1] - height) // 2
        covering = Image.fromarray(ground).resize(size, Image.Resampling.BILINEAR)
        ground = np.asarray(covering.crop((left, top, left + width, top + height)))
    return np.where(mask[..., None], pixels, ground)


def remove_object(pixels: Pixels, mask: Mask) -> Pixels | None:
    """The image without its object: the boxes around the object's parts are filled by tiles of background.

    The tile is the largest rectangle that no box touches; of one box that is the strip above, below, left or right of
    it, as in the Backgrounds Challenge. It is laid over the whole image from its own place, and seen in the boxes
    alone. Boxes are filled, not the object's area, since an outline of what was there would tell what it was.

    Args:
        pixels: uint8 (h, w, 3).
        mask: (h, w), True on the object. If it has more than 16 parts, one box is put around all of them.

    Returns:
        uint8 (h, w, 3); None where no rectangle of background takes 5% of the image.

    >>> remove_object(np.arange(12, dtype=np.uint8).reshape(1, 4, 3), np.array([[False, False, True, True]]))[..., 0]
    array([[0, 3, 0, 3]], dtype=uint8)
    """
    boxes = _find_boxes(mask)
    if not boxes:
        return pixels
    tile = _find_largest_free(boxes, *mask.shape)
    if tile is None or (tile.bottom - tile.top) * (tile.right - tile.left) < LEAST_BACKGROUND * mask.size:
        return None
    filled = pixels.copy()
    for box in boxes:
        rows = tile.top + (np.arange(box.top, box.bottom) - tile.top) % (tile.bottom - tile.top)
        columns = tile.left + (np.arange(box.left, box.right) - tile.left) % (tile.right - tile.left)
        filled[box.top : box.bottom, box.left : box.right] = pixels[rows[:, None], columns]
    return filled


def _find_boxes(mask: Mask) -> list[Box]:
    """A box around each connected part of the object; none of an empty mask."""
    from scipy import ndimage

    found = ndimage.find_objects(ndimage.label(mask)[0])
    if len(found) > _MOST_BOXES:
        found = ndimage.find_objects(mask.astype(np.uint8))
    return [Box(rows.start, rows.stop, columns.start, columns.stop) for rows, columns in found]


def _find_largest_free(boxes: Sequence[Box], height: int, width: int) -> Box | None:
    """The largest rectangle that touches no box, the uppermost and then leftmost of equal ones; None where none is."""
    rows = sorted({0, height, *(end for box in boxes for end in box[:2])})
    columns = sorted({0, width, *(end for box in boxes for end in box[2:])})
    taken = np.zeros((len(rows) - 1, len(columns) - 1), bool)  # of the cells between the edges of the boxes
    for box in boxes:
        taken[rows.index(box.top) : rows.index(box.bottom), columns.index(box.left) : columns.index(box.right)] = True
    best, largest = None, 0
    for top in range(len(rows) - 1):
        free = np.ones(len(columns) - 1, bool)
        for bottom in range(top + 1, len(rows)):
            free &= ~taken[bottom - 1]
            edges = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int8)))
            for left, right in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
                area = (rows[bottom] - rows[top]) * (columns[right] - columns[left])
                if area > largest:
                    best, largest = Box(rows[top], rows[bottom], columns[left], columns[right]), area
    return best


class Donors(NamedTuple):
    """Numbers of rows (n,), -1 where there is none."""

    same: NDArray[np.int64]
    other: NDArray[np.int64]


def draw_donors(label: NDArray[np.int64], can_lend: NDArray[np.bool_], *, seed: int) -> Donors:
    """Draws for each row another row of its class, and a row of another class: first the class, then the row.

    Args:
        label: Class number of each row (n,).
        can_lend: Whether the background of a row is known (n,); only such rows are drawn.
        seed: Random seed for the draw.

    Returns:
        No row is drawn for itself, and `other` never has the row's class.

    Source: Xiao et al. 2020, Section 2, Mixed-Same and Mixed-Rand; there "Rand" may be the row's own class.

    >>> drawn = draw_donors(np.array([0, 0, 1]), np.array([True, False, True]), seed=0)
    >>> drawn.same.tolist(), drawn.other.tolist()
    ([-1, 0, -1], [2, 2, 0])
    """
    generator = np.random.default_rng([seed, 1])
    lending = {int(number): np.flatnonzero((label == number) & can_lend) for number in np.unique(label[can_lend])}
    same, other = np.full(len(label), -1), np.full(len(label), -1)
    for row, own in enumerate(label.tolist()):
        first, second, third = generator.random(3)  # as many a row, whichever can lend
        alike = lending.get(own, np.zeros(0, np.int64))
        alike = alike[alike != row]
        classes = [number for number in lending if number != own]
        if len(alike):
            same[row] = alike[int(first * len(alike))]
        if classes:
            among = lending[classes[int(second * len(classes))]]
            other[row] = among[int(third * len(among))]
    return Donors(same, other)
