"""The boxes of images: those that a detector drew and the true ones, checked, matched image by image, and ranked.

Precision and recall of the ranking are those of COCO. The boxes of an image are matched once. A ranking then gives its
numbers for images that are there any number of times each, so that a bootstrap of images only counts again.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from oochub.errors import OochubError, unknown_name
from oochub.stats.array_checks import Array, check_same_length

RaggedRows = Sequence[object] | Array
"""Rows of any length each."""
_LARGEST = float(np.finfo(np.float32).max)  # an area of such boxes is finite in 64 bits


IOUS = np.linspace(0.5, 0.95, 10)
"""COCO's thresholds of a match: 0.5, 0.55, ..., 0.95."""
ObjectSize = Literal["all", "small", "medium", "large"]
"""Sizes of objects whose boxes count, in COCO's words."""
_MOST = 100
"""Boxes of one class in one image that count, those of the highest scores."""
_RECALLS = np.linspace(0.0, 1.0, 101)
_RANGES: dict[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
_JUST_BELOW_1 = 1 - 1e-10  # COCO's bound of a threshold


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
        present, absent = ("true_categories", "box_categories")[:: 1 if box_categories is None else -1]
        raise OochubError(
            f"{present} needs {absent}, since a box matches true ones of its class. Pass both, or neither."
        )
    images = []
    for row in range(len(boxes)):
        predicted, true = _check_boxes(boxes[row], "boxes", row), _check_boxes(true_boxes[row], "true_boxes", row)
        areas = None if true_areas is None else _check_values(true_areas[row], "true_areas", len(true), row)
        images.append(
            ImageBoxes(
                boxes=predicted,
                scores=_check_values(scores[row], "scores", len(predicted), row),
                categories=_check_whole(box_categories, "box_categories", len(predicted), row),
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
            f"{name} must be lists of x1, y1, x2, y2, got shape {array.shape} at row {row}. Pass one array (m, 4) "
            "per image."
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
            f"{name} must have one value per box, got shape {array.shape} for {count} boxes at row {row}. Pass one "
            "array (m,) per image."
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
            f"{name} must hold finite numbers of 32 bits, got another at row {row}. Remove rows without truth."
        )
    return array


def detection_accuracies(
    boxes: RaggedRows, scores: RaggedRows, true_boxes: RaggedRows, *, iou: float = 0.5, threshold: float = 0.5
) -> Array:
    """TP / (TP + FP + FN) of each image.

    A box counts when its score is above `threshold`. It goes to the true box that it overlaps most, the first of
    equals, and matches where their intersection over union is at least `iou`. TP are the true boxes that are matched;
    a second box on the same one is a false positive. An image without true boxes has 1 without a box, else 0.

    Args:
        boxes: Boxes of each of n images (m, 4): x and y of the upper left corner, then of the lower right one.
        scores: Scores of the boxes of each image (m,).
        true_boxes: True boxes of each image (k, 4).
        iou: The overlap of a match, in (0, 1].
        threshold: Score above which a box counts, in [0, 1].

    Returns:
        float64 (n,), in [0, 1], higher is better.

    Raises:
        OochubError: Other shapes, numbers that are not finite, or other arguments; the first wrong row is named.

    Source: Koh et al. 2021, WILDS, Appendix H.5; the matching is that of torchvision's `Matcher`.

    >>> wheat, other = [0, 0, 10, 10], [20, 20, 30, 30]
    >>> detection_accuracies([[wheat, [0, 0, 10, 9]], []], [[0.9, 0.8], []], [[wheat, other], []]).round(3).tolist()
    [0.333, 1.0]
    """
    if not _is_share(iou) or iou == 0:
        raise OochubError(f"iou is a number in (0, 1], got {iou!r}. WILDS' is 0.5.")
    if not _is_share(threshold):
        raise OochubError(f"threshold is a number in [0, 1], got {threshold!r}. WILDS' is 0.5.")
    images = check_image_boxes(boxes, scores, true_boxes)
    accuracies = np.empty(len(images))
    for row, image in enumerate(images):
        found, true = image.boxes[image.scores > threshold], image.true_boxes
        if not len(true) or not len(found):
            accuracies[row] = len(true) == len(found)
            continue
        overlap = measure_overlap(found, true)
        matched = len(np.unique(overlap.argmax(axis=1)[overlap.max(axis=1) >= iou]))
        accuracies[row] = matched / (len(found) + len(true) - matched)  # TP + FP + FN: every box, the pairs once
    return accuracies


def _is_share(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= 1


class BoxRanking:
    """The boxes of one class from the highest score down, over n images.

    Args:
        image: The row of the image of each box (d,).
        place: Number of boxes of its image before it (d,).
        hit: Whether the box matches a true one at each threshold (t, d).
        ignored: Whether it does not count at each threshold (t, d): it lies in a crowd, or is of another size.
        true: Number of true boxes of each image that count (n,).
    """

    def __init__(self, image: Array, place: Array, hit: Array, ignored: Array, true: Array) -> None:
        self.true = true
        self._image, self._place, self._hit, self._ignored = image, place, hit, ignored

    def measure_precision(self, times: Array) -> Array:
        """The average precision at each threshold (t,), nan without a true box.

        The mean over the recalls 0, 0.01, ..., 1 of the largest precision at that recall or a higher one.

        Args:
            times: How often each image is there (n,), whole numbers.
        """
        all_true = int(times @ self.true)
        if not all_true:
            return np.full(len(self._hit), np.nan)
        places, image, hit = self._hits
        if not len(places):
            return np.zeros(len(self._hit))
        right = np.cumsum(hit * times[image], axis=1)
        taken = np.cumsum(times[self._image[: places[-1] + 1]])[places] - self._count_ignored(times)
        precision = right / np.maximum(taken, 1)
        envelope = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        wanted = np.searchsorted(np.arange(all_true + 1) / all_true, _RECALLS)  # true boxes to be found, whole numbers
        means = np.empty(len(right))
        for row, (is_right, best) in enumerate(zip(right, envelope, strict=True)):
            reached = np.searchsorted(is_right, wanted)
            means[row] = best[reached[reached < len(is_right)]].sum() / len(_RECALLS)
        return means

    def count_found(self, most: int) -> Array:
        """How many true boxes of each image are found by its first `most` boxes (n,), the mean over the thresholds."""
        first = self._place < most
        share_found = self._hit[:, first].mean(axis=0)
        counts: Array = np.bincount(self._image[first], share_found, minlength=len(self.true))
        return counts

    @cached_property
    def _hits(self) -> tuple[Array, Array, Array]:
        """The places of boxes that match at any threshold, their images, and at which they match (t, h)."""
        places = np.flatnonzero(self._hit.any(axis=0))
        return places, self._image[places], self._hit[:, places].astype(np.int64)

    @cached_property
    def _ignores(self) -> tuple[Array, Array, Array]:
        """The images of boxes that any threshold ignores, which do (t, i), and how many stand before each hit."""
        places = np.flatnonzero(self._ignored.any(axis=0))
        before = np.searchsorted(places, self._hits[0], side="right")
        return self._image[places], self._ignored[:, places].astype(np.int64), before

    def _count_ignored(self, times: Array) -> Array | int:
        image, ignored, before = self._ignores
        if not len(image):
            return 0
        counts = np.cumsum(ignored * times[image], axis=1)
        return np.concatenate([np.zeros((len(counts), 1), counts.dtype), counts], axis=1)[:, before]


def rank_boxes(
    images: Sequence[ImageBoxes], image_id: Array | None = None, *, object_size: ObjectSize = "all"
) -> list[BoxRanking]:
    """The boxes of each class that has a true box or a drawn one, by the rules of COCO's own evaluation.

    A box goes to the true box of its class and image that it overlaps most, those of a higher score first; each true
    box is taken once, but for a crowd, whose boxes do not count. The 100 boxes of the highest scores in an image and
    class count.

    Args:
        images: The boxes of n images.
        image_id: By this number of the image (n,), boxes of equal score are ordered, as in COCO; None takes the order
            of the images.
        object_size: Size of the objects that count: "all", "small" (up to 32 x 32 pixels), "medium" (96 x 96), "large".

    Raises:
        OochubError: Another size.

    Source: Lin et al. 2014, "Microsoft COCO: Common Objects in Context"; pycocotools, `COCOeval`.

    >>> from oochub.stats.image_boxes import check_image_boxes
    >>> images = check_image_boxes([[[0, 0, 4, 4], [8, 8, 9, 9]]], [[0.9, 0.3]], [[[0, 0, 4, 3]]])
    >>> rank_boxes(images)[0].measure_precision(np.array([1])).tolist()  # an overlap of 0.75
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    if object_size not in _RANGES:
        raise unknown_name("object_size", object_size, get_args(ObjectSize))
    order = np.arange(len(images)) if image_id is None else np.argsort(np.argsort(image_id, kind="stable"))
    counts = np.array([len(image.scores) for image in images], np.int64)
    row = np.repeat(np.arange(len(images)), counts)
    score = np.concatenate([np.zeros(0), *(image.scores for image in images)])
    category = np.concatenate([np.zeros(0, np.int64), *(image.categories for image in images)])
    true_row = np.repeat(np.arange(len(images)), [len(image.areas) for image in images])
    true_category = np.concatenate([np.zeros(0, np.int64), *(image.true_categories for image in images)])
    size = np.concatenate([np.zeros(0), *(image.areas for image in images)])
    crowd = np.concatenate([np.zeros(0, bool), *(image.crowd for image in images)])
    box = np.concatenate([np.zeros((0, 4)), *(image.boxes for image in images)])
    true_box = np.concatenate([np.zeros((0, 4)), *(image.true_boxes for image in images)])
    low, high = _RANGES[object_size]
    left_out = crowd | (size < low) | (size > high)
    rankings = []
    for number in np.unique(np.concatenate([category, true_category])):
        mine = np.flatnonzero(category == number)
        mine = mine[np.lexsort((-score[mine], row[mine]))]  # stable: of equal scores, the first drawn
        place = np.arange(len(mine)) - np.searchsorted(row[mine], row[mine])
        mine, place = mine[place < _MOST], place[place < _MOST]
        wanted = np.flatnonzero(true_category == number)
        hit, ignored = np.zeros((2, len(IOUS), len(mine)), bool)
        starts = np.searchsorted(row[mine], np.arange(len(images) + 1))
        true_starts = np.searchsorted(true_row[wanted], np.arange(len(images) + 1))
        for image in np.flatnonzero((np.diff(starts) > 0) & (np.diff(true_starts) > 0)):
            part, truth = slice(starts[image], starts[image + 1]), wanted[true_starts[image] : true_starts[image + 1]]
            _match(box[mine[part]], true_box[truth], crowd[truth], left_out[truth], hit[:, part], ignored[:, part])
        if object_size != "all":
            drawn = np.prod(box[mine, 2:] - box[mine, :2], axis=1)
            ignored |= ~hit & ((drawn < low) | (drawn > high))
        ranked = np.lexsort((place, order[row[mine]], -score[mine]))
        counted = np.bincount(true_row[wanted[~left_out[wanted]]], minlength=len(images))
        rankings.append(BoxRanking(row[mine[ranked]], place[ranked], hit[:, ranked], ignored[:, ranked], counted))
    return rankings


def _match(boxes: Array, true: Array, crowd: Array, left_out: Array, hit: Array, ignored: Array) -> None:
    """Fills `hit` and `ignored` (t, m) for the boxes of one image and class, ordered by score."""
    order = np.argsort(left_out, kind="stable")  # true boxes that count come first
    true, crowd, counting = true[order], crowd[order], int((~left_out).sum())
    overlap = measure_overlap(boxes, true, crowd)
    thresholds = np.minimum(IOUS, _JUST_BELOW_1)
    taken = np.zeros((len(IOUS), len(true)), bool)
    for number in np.flatnonzero(overlap.max(axis=1) >= thresholds[0]):
        free = np.where(taken & ~crowd, -1.0, overlap[number])
        is_open = np.ones(len(IOUS), bool)
        for part, result in ((slice(0, counting), hit), (slice(counting, len(true)), ignored)):
            if part.start == part.stop:
                continue
            candidates = free[:, part][:, ::-1]  # of equal overlaps, the last
            best = candidates.argmax(axis=1)
            is_match = is_open & (candidates[np.arange(len(IOUS)), best] >= thresholds)
            result[is_match, number] = True
            taken[is_match, part.stop - 1 - best[is_match]] = True
            is_open &= ~is_match


def measure_overlap(boxes: Array, true: Array, crowd: Array | bool = False) -> Array:
    """Intersection over union (m, k); over the area of the box for a crowd.

    Args:
        boxes: x1, y1, x2, y2 of each box (m, 4).
        true: The same of each true box (k, 4).
        crowd: True for the true boxes of several objects (k,), or for all or none.

    >>> measure_overlap(np.array([[0.0, 0, 2, 1]]), np.array([[0.0, 0, 1, 1], [4, 4, 5, 5]])).tolist()
    [[0.5, 0.0]]
    """
    low = np.maximum(boxes[:, None, :2], true[:, :2])
    high = np.minimum(boxes[:, None, 2:], true[:, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=2)
    own = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)[:, None]
    union = np.where(crowd, own, own + np.prod(true[:, 2:] - true[:, :2], axis=1) - both)
    overlap: Array = both / np.where(union > 0, union, 1)
    return overlap
