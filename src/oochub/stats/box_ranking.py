"""Which boxes of a detector match true ones, and the precision and recall of their ranking, as COCO measures them.

The boxes of an image are matched once. A ranking then gives its numbers for images that are there any number of times
each, so that a bootstrap of images only counts again.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from oochub.errors import unknown_name
from oochub.stats.array_checks import Array
from oochub.stats.image_boxes import ImageBoxes

IOUS = np.linspace(0.5, 0.95, 10)
"""COCO's thresholds of a match: 0.5, 0.55, ..., 0.95."""
ObjectSize = Literal["all", "small", "medium", "large"]
"""Sizes of objects whose boxes count, in COCO's words."""
MOST = 100
"""Boxes of one class in one image that count, those of the highest scores."""
_RECALLS = np.linspace(0.0, 1.0, 101)
_RANGES: dict[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
_JUST_BELOW_1 = 1 - 1e-10  # COCO's bound of a threshold


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
        for row, (found, best) in enumerate(zip(right, envelope, strict=True)):
            reached = np.searchsorted(found, wanted)
            means[row] = best[reached[reached < len(found)]].sum() / len(_RECALLS)
        return means

    def count_found(self, most: int) -> Array:
        """How many true boxes of each image are found by its first `most` boxes (n,), the mean over the thresholds."""
        first = self._place < most
        found = self._hit[:, first].mean(axis=0)
        counts: Array = np.bincount(self._image[first], found, minlength=len(self.true))
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
        mine, place = mine[place < MOST], place[place < MOST]
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
    overlap = _measure_overlap(boxes, true, crowd)
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
            found = is_open & (candidates[np.arange(len(IOUS)), best] >= thresholds)
            result[found, number] = True
            taken[found, part.stop - 1 - best[found]] = True
            is_open &= ~found


def _measure_overlap(boxes: Array, true: Array, crowd: Array) -> Array:
    """Intersection over union (m, k); over the area of the box for a crowd."""
    low = np.maximum(boxes[:, None, :2], true[:, :2])
    high = np.minimum(boxes[:, None, 2:], true[:, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=2)
    own = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)[:, None]
    union = np.where(crowd, own, own + np.prod(true[:, 2:] - true[:, :2], axis=1) - both)
    overlap: Array = both / np.where(union > 0, union, 1)
    return overlap
