"""The object of an image alone, its background alone, and the object on another background.

On whose background each object is put, a row of the same class or one of another, is drawn.

Source: Xiao, Engstrom, Ilyas and Madry 2020, "Noise or Signal: The Role of Image Backgrounds in Object Recognition",
    Section 2 (Only-FG, Only-BG-T, Mixed-Same and Mixed-Rand of the Backgrounds Challenge). There the object is cut out
    by GrabCut and stands alone on black; here its area is given, and gray is the color that is nobody's.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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


def remove_object(
    pixels: Pixels, mask: Mask, fill: Callable[[Pixels, Mask], Pixels | None] | None = None
) -> Pixels | None:
    """The image without its object: the boxes around the object's parts are filled by tiles of background.

    The tile is the largest rectangle that no box touches; of one box that is the strip above, below, left or right of
    it, as in the Backgrounds Challenge. It is laid over the whole image from its own place, and seen in the boxes
    alone. Boxes are filled, not the object's area, since an outline of what was there would tell what it was.

    Args:
        pixels: uint8 (h, w, 3).
        mask: (h, w), True on the object. If it has more than 16 parts, one box is put around all of them.
        fill: Fills the boxes in place of tiles, given the image and the boxes' area (h, w); see `Inpainting`.

    Returns:
        uint8 (h, w, 3); None where no rectangle of background takes 5% of the image, or where `fill` gives None.

    >>> remove_object(np.arange(12, dtype=np.uint8).reshape(1, 4, 3), np.array([[False, False, True, True]]))[..., 0]
    array([[0, 3, 0, 3]], dtype=uint8)
    """
    boxes = _find_boxes(mask)
    if not boxes:
        return pixels
    if fill is not None:
        area = np.zeros_like(mask)
        for box in boxes:
            area[box.top : box.bottom, box.left : box.right] = True
        return fill(pixels, area)
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

    objects = ndimage.find_objects(ndimage.label(mask)[0])
    if len(objects) > _MOST_BOXES:
        objects = ndimage.find_objects(mask.astype(np.uint8))
    return [Box(rows.start, rows.stop, columns.start, columns.stop) for rows, columns in objects]


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
    """Numbers of rows (n, k), -1 where there is none: k draws for each row, or none of them."""

    same: NDArray[np.int64]
    other: NDArray[np.int64]


def draw_donors(
    label: NDArray[np.int64],
    can_lend: NDArray[np.bool_],
    *,
    cluster: NDArray[Any] | None = None,
    backgrounds: int,
    seed: int,
) -> Donors:
    """Draws for each row other rows of its class, and rows of other classes: first the class, then the row.

    The rows that may lend are put in random order and taken in turn, again from the first where there are fewer than
    draws; so are the other classes, and the rows of each.

    Args:
        label: Class number of each row (n,).
        can_lend: Whether the background of a row is known (n,); only such rows are drawn.
        cluster: What rows (n,) share, as crops of one photograph do; None where they share nothing.
        backgrounds: Number of draws of each kind.
        seed: Random seed for the draw.

    Returns:
        No row is drawn for itself or for a row of its cluster, and `other` never has the row's class.

    Source: Xiao et al. 2020, Section 2, Mixed-Same and Mixed-Rand; there "Rand" may be the row's own class.

    >>> drawn = draw_donors(np.array([0, 0, 1]), np.array([True, False, True]), backgrounds=2, seed=0)
    >>> drawn.same.tolist(), drawn.other.tolist()
    ([[-1, -1], [0, 0], [-1, -1]], [[2, 2], [2, 2], [0, 0]])
    """
    of = np.arange(len(label)) if cluster is None else np.unique(cluster, return_inverse=True)[1].reshape(-1)
    lending = {int(number): np.flatnonzero((label == number) & can_lend) for number in np.unique(label[can_lend])}
    same, other = (np.full((len(label), backgrounds), -1) for _ in range(2))
    for row, own in enumerate(label.tolist()):
        generator = np.random.default_rng([seed, 1, row])  # a row's draws do not depend on how many others take
        eligible = {number: lenders[of[lenders] != of[row]] for number, lenders in lending.items()}
        alike = eligible.pop(own, np.zeros(0, np.int64))
        if len(alike):
            same[row] = np.resize(generator.permutation(alike), backgrounds)
        classes = [number for number, lenders in eligible.items() if len(lenders)]
        if classes:
            turn = np.resize(generator.permutation(classes), backgrounds)
            for number in np.unique(turn).tolist():
                other[row, turn == number] = np.resize(generator.permutation(eligible[number]), (turn == number).sum())
    return Donors(same, other)
