"""Detection accuracy against plain loops in the words of WILDS' code, on boxes with ties and images without any."""

import math
import warnings

import numpy as np
import pytest
from metric_subjects import subject

from oochub.errors import OochubError
from oochub.eval_modules.metrics.detection_accuracy.detection_accuracy import detection_accuracy
from oochub.stats.estimation import estimate


def _overlap(a, b):
    """Intersection over union of two boxes."""
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def _picture(boxes, scores, true, iou, threshold):
    """As in the Matcher of torchvision: each box goes to the true box of its largest overlap; then WILDS counts."""
    kept = [box for box, score in zip(boxes, scores, strict=True) if score > threshold]
    if not true:
        return 0.0 if kept else 1.0
    if not kept:
        return 0.0
    matches = []
    for box in kept:
        overlaps = [_overlap(box, other) for other in true]
        best = overlaps.index(max(overlaps))
        matches.append(best if overlaps[best] >= iou else -1)
    hits = {match for match in matches if match != -1}
    false_positive = matches.count(-1) + (len(matches) - matches.count(-1) - len(hits))
    return len(hits) / (len(hits) + false_positive + len(true) - len(hits))


def _reference(columns, iou, threshold):
    sessions = {}
    for boxes, scores, true, group in zip(*columns.values(), strict=True):
        sessions.setdefault(group, []).append(_picture(list(boxes), list(scores), list(true), iou, threshold))
    return sum(sum(values) / len(values) for values in sessions.values()) / len(sessions)


@pytest.mark.parametrize("iou", [0.2, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.75])
def test_it_is_that_of_plain_loops(iou, threshold):
    """Scores lie at the threshold, and overlaps at iou."""
    for seed in range(4):
        columns = subject("detection_accuracy").columns(120, seed)
        expected = _reference(columns, iou, threshold)
        assert 0 < expected < 1
        assert detection_accuracy(**columns, iou=iou, threshold=threshold) == pytest.approx(expected, abs=1e-12)


def test_a_second_box_on_the_same_head_is_a_false_positive():
    """By hand: 2 boxes on one of 2 heads are TP 1, FP 1, FN 1."""
    head, other = [0, 0, 10, 10], [50, 50, 60, 60]
    rows = {"boxes": [[head, [0, 0, 10, 9]]], "scores": [[0.9, 0.8]], "true_boxes": [[head, other]]}
    assert detection_accuracy(**rows) == pytest.approx(1 / 3)
    assert detection_accuracy(**rows, threshold=0.8) == pytest.approx(1 / 2)


def test_sessions_weigh_the_same_whatever_their_size():
    """By hand: 3 images at 1 and 1 at 0 are 1/2, not 3/4."""
    box = [0, 0, 1, 1]
    rows = {"boxes": [[box]] * 3 + [[]], "scores": [[0.9]] * 3 + [[]], "true_boxes": [[box]] * 4}
    assert detection_accuracy(**rows, group=["a", "a", "a", "b"]) == 0.5
    assert detection_accuracy(**rows) == 0.75


def test_boxes_without_an_area_match_nothing():
    """By hand: a point on a point has no overlap, so each is wrong; and nothing is divided by 0."""
    point, box = [3, 3, 3, 3], [0, 0, 4, 4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert detection_accuracy([[point, box]], [[0.9, 0.9]], [[point, box]]) == pytest.approx(1 / 3)


def test_the_form_of_wilds_ignores_the_overlap_that_it_is_given():
    columns = subject("detection_accuracy").columns(60, 2)
    at_half = detection_accuracy(**columns)
    assert detection_accuracy(**columns, iou=0.9, form="wilds") == at_half != detection_accuracy(**columns, iou=0.9)
    strict = detection_accuracy(**columns, threshold=0.75)
    assert detection_accuracy(**columns, threshold=0.75, form="wilds") == strict != at_half


def test_the_interval_draws_sessions():
    """Against the variance of 40 sessions' means; images would give a third of the width."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 25)
    right = rng.random(1000) < np.repeat(rng.random(40), 25)
    boxes = np.empty(1000, object)
    boxes[:] = [((0.0, 0.0, 1.0, 1.0),) if each else () for each in right]
    true_boxes = np.empty(1000, object)
    true_boxes[:] = [((0.0, 0.0, 1.0, 1.0),)] * 1000
    scores = np.empty(1000, object)
    scores[:] = [(0.9,) if each else () for each in right]
    columns = {"boxes": boxes, "scores": scores, "true_boxes": true_boxes, "group": group}
    means = right.reshape(40, 25).mean(axis=1)
    expected = 2 * 1.96 * means.std(ddof=1) / math.sqrt(40)
    for cluster in (None, group):
        number = estimate(detection_accuracy, columns, cluster=cluster)
        assert number.value == pytest.approx(means.mean()) and number.n == 1000
        assert number.high - number.low == pytest.approx(expected, rel=0.1)
    split = estimate(detection_accuracy, columns, cluster=np.arange(1000))  # clusters inside of sessions change nothing
    assert (split.low, split.high) == (number.low, number.high) and number.reason is None
    paired = estimate(detection_accuracy, columns, cluster=group // 4)
    assert paired.low < paired.value < paired.high
    few = {name: column[:100] for name, column in columns.items()}
    assert estimate(detection_accuracy, few).reason == "only 4 groups: the interval may be too narrow"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"boxes": [[[0, 0, 1]]]}, r"lists of x1, y1, x2, y2, got shape \(1, 3\) at row 0"),
        ({"boxes": [[[5, 0, 1, 1]]]}, "not a width and a height"),
        ({"scores": [[0.5, 0.5]]}, r"scores must have one value per box, got shape \(2,\) for 1 boxes at row 0"),
        ({"scores": [[math.nan]]}, "scores must hold finite numbers"),
        ({"true_boxes": [["a"]]}, "true_boxes must hold numbers"),
        ({"boxes": [], "scores": [], "true_boxes": []}, "No rows yet"),
        ({"iou": 0}, r"iou is a number in \(0, 1\], got 0"),
        ({"threshold": 2}, r"threshold is a number in \[0, 1\], got 2"),
        ({"form": "coco"}, "form must be None or \"wilds\", got 'coco'"),
    ],
)
def test_what_it_does_not_take_is_said(change, words):
    rows = {"boxes": [[[0, 0, 1, 1]]], "scores": [[0.9]], "true_boxes": [[]]}
    with pytest.raises(OochubError, match=words):
        detection_accuracy(**rows | change)
