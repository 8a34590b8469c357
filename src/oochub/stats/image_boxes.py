"""The boxes of images, checked: those that a detector drew with their scores, and the true ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_same_length

RaggedRows = Sequence[object] | Array
"""Rows of any length each."""
_LARGEST = float(np.finfo(np.float32).max)  # an area of such boxes is finite in 64 bits


class ImageBoxes(NamedTuple):
    """The boxes of one image.

    Attributes:
        boxes: Drawn boxes (m, 4), x1, y1, x2, y2.
        scores: Their scores (m,).
        categories: Numbers of their classes (m,).
        true_boxes: True boxes (k, 4).
        true_categories: Numbers of their classes (k,).
        crowd: Which true boxes hold a crowd (k,), bool.
        areas: Areas of the true objects (k,), in square pixels.
    """

    boxes: Array
    scores: Array
    categories: Array
    true_boxes: Array
    true_categories: Array
    crowd: Array
    areas: Array


def check_image_boxes(
    boxes: RaggedRows,
    scores: RaggedRows,
    true_boxes: RaggedRows,
    box_categories: RaggedRows | None = None,
    true_categories: RaggedRows | None = None,
    true_crowd: RaggedRows | None = None,
    true_areas: RaggedRows | None = None,
) -> list[ImageBoxes]:
    """The boxes of each of n images as arrays.

    Args:
        boxes: Boxes of each image (m, 4): x and y of the upper left corner, then of the lower right one.
        scores: Scores of the boxes of each image (m,).
        true_boxes: True boxes of each image (k, 4).
        box_categories: Whole numbers of the classes of the boxes (m,); None takes all boxes as of one class.
        true_categories: The same of the true boxes (k,).
        true_crowd: 1 for a true box that holds a crowd, else 0 (k,); None has no crowds.
        true_areas: Areas of the true objects (k,); None takes those of their boxes.

    Raises:
        OochubError: Other shapes, or numbers that are not finite; the first wrong row is named. Classes of one side
            only.

    >>> check_image_boxes([[[0, 0, 4, 2]]], [[0.5]], [[[0, 0, 4, 4], [1, 1, 2, 2]]])[0].areas.tolist()
    [16.0, 1.0]
    """
    check_same_length(
        boxes=boxes,
        scores=scores,
        true_boxes=true_boxes,
        box_categories=box_categories,
        true_categories=true_categories,
        true_crowd=true_crowd,
        true_areas=true_areas,
    )
    if (box_categories is None) != (true_categories is None):
        given, absent = ("true_categories", "box_categories")[:: 1 if box_categories is None else -1]
        raise OochubError(f"{given} needs {absent}, since a box matches true ones of its class. Give both, or neither.")
    images = []
    for row in range(len(boxes)):
        found, true = _check_boxes(boxes[row], "boxes", row), _check_boxes(true_boxes[row], "true_boxes", row)
        areas = None if true_areas is None else _check_values(true_areas[row], "true_areas", len(true), row)
        images.append(
            ImageBoxes(
                boxes=found,
                scores=_check_values(scores[row], "scores", len(found), row),
                categories=_check_whole(box_categories, "box_categories", len(found), row),
                true_boxes=true,
                true_categories=_check_whole(true_categories, "true_categories", len(true), row),
                crowd=_check_whole(true_crowd, "true_crowd", len(true), row, within=(0, 1)).astype(bool),
                areas=np.prod(true[:, 2:] - true[:, :2], axis=1) if areas is None else areas,
            )
        )
    return images


def _check_boxes(values: object, name: str, row: int) -> Array:
    array = _convert_to_floats(values, name, row)
    if array.shape[:1] == (0,):
        return array.reshape(0, 4)
    if array.ndim != 2 or array.shape[1] != 4:
        raise OochubError(
            f"{name} must be lists of x1, y1, x2, y2, got shape {array.shape} at row {row}. Give an array (m, 4) an "
            "image."
        )
    if (array[:, 2:] < array[:, :2]).any():
        raise OochubError(
            f"{name} must run from the upper left corner to the lower right one, got "
            f"{array[(array[:, 2:] < array[:, :2]).any(axis=1)][0].tolist()} at row {row}. A box is x1, y1, x2, y2, "
            "not a width and a height."
        )
    return array


def _check_values(values: object, name: str, count: int, row: int) -> Array:
    array = _convert_to_floats(values, name, row)
    if array.shape != (count,):
        raise OochubError(
            f"{name} must be one a box, got shape {array.shape} for {count} boxes at row {row}. Give an array (m,) an "
            "image."
        )
    return array


def _check_whole(
    rows: RaggedRows | None, name: str, count: int, row: int, within: tuple[int, int] | None = None
) -> Array:
    if rows is None:
        return np.zeros(count, np.int64)
    array = _check_values(rows[row], name, count, row)
    wrong = array != np.floor(array)
    if within is not None:
        wrong |= (array < within[0]) | (array > within[1])
    if wrong.any():
        form = "whole numbers" if within is None else f"{within[0]} or {within[1]}"
        raise OochubError(f"{name} must be {form}, got {array[wrong][0]:g} at row {row}. Number the classes from 0.")
    return array.astype(np.int64)


def _convert_to_floats(values: object, name: str, row: int) -> Array:
    try:
        array: Array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise OochubError(f"{name} must hold numbers, a list an image: {error}, at row {row}.") from None
    if not (np.abs(array) <= _LARGEST).all():
        raise OochubError(
            f"{name} must hold finite numbers of 32 bits, got another at row {row}. Leave out rows without truth."
        )
    return array
