"""How well the boxes that a detector draws match the true ones, image by image."""

from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array
from oochub.stats.image_boxes import RaggedRows, check_image_boxes


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
        accuracies[row] = _compute_accuracy(image.boxes[image.scores > threshold], image.true_boxes, iou)
    return accuracies


def _is_share(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= 1


def _compute_accuracy(found: Array, true: Array, iou: float) -> float:
    if not len(true) or not len(found):
        return float(len(true) == len(found))
    low = np.maximum(found[:, None, :2], true[:, :2])
    high = np.minimum(found[:, None, 2:], true[:, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=2)
    union = np.prod(found[:, 2:] - found[:, :2], axis=1)[:, None] + np.prod(true[:, 2:] - true[:, :2], axis=1) - both
    overlap = both / np.where(union > 0, union, 1)
    matched = len(np.unique(overlap.argmax(axis=1)[overlap.max(axis=1) >= iou]))
    return matched / (len(found) + len(true) - matched)  # TP + FP + FN: every box and every true box, the pairs once
