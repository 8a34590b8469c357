"""Detection accuracy: the share of boxes and true boxes that match, averaged over sessions.

    TP / (TP + FP + FN) of each image, the mean of the images of each session, the mean of the sessions

A session is a group of images, such as those of a field on a day. Groups without rows do not count.

Interval: Student's t of whole groups; where clusters hold several groups, of these; of a single group, of its images
or clusters. There is none where all are equal.

Limitations: A box below the threshold is lost, however sure: the number depends on how scores are calibrated. Few
groups make the interval too narrow.

Source: Koh et al. 2021, WILDS, Appendix H.5 (GlobalWheat-WILDS: average domain accuracy); David et al. 2021, Global
Wheat Head Detection 2021.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_group, check_same_length, number_groups
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.image_boxes import detection_accuracies
from oochub.stats.mean_interval import mean_estimate, t_interval

_FEW = 40  # groups, with fewer of which the interval is said to be too narrow


def detection_accuracy(
    boxes: Any,
    scores: Any,
    true_boxes: Any,
    group: Any = None,
    iou: float = 0.5,
    threshold: float = 0.5,
    form: str | None = None,
) -> float:
    """The accuracy of detections in an image, averaged over the images of each group, then over groups.

    Args:
        boxes: The boxes (m, 4) of each of n images, x1, y1, x2, y2 in any unit that the true boxes share.
        scores: The scores (m,) of the boxes of each image.
        true_boxes: The true boxes (k, 4) of each image.
        group: The group of each image (n,), any hashable; None takes all images as one group.
        iou: A match overlaps at least so far, in (0, 1].
        threshold: A box counts when its score is above it, in [0, 1].
        form: "wilds" is the number of WILDS' code, whose `iou` is 0.5 whatever it is given; None honors `iou`.

    Returns:
        A fraction in [0, 1], higher is better.

    Raises:
        OochubError: As `oochub.stats.image_boxes`; groups that are NaN or not hashable; another form; no rows.

    >>> wheat, half = [0, 0, 10, 10], [0, 0, 10, 5]
    >>> rows = {"boxes": [[wheat], [half]], "scores": [[0.9], [0.9]], "true_boxes": [[wheat], [wheat]]}
    >>> detection_accuracy(**rows), detection_accuracy(**rows, iou=0.6), detection_accuracy(**rows, threshold=0.9)
    (1.0, 0.5, 0.0)
    """
    state = _DetectionAccuracyState(iou, threshold, form)
    state.update(boxes=boxes, scores=scores, true_boxes=true_boxes, group=group)
    return state.compute()


class _DetectionAccuracyState:
    """The sum and the number of the images of each group."""

    def __init__(self, iou: float = 0.5, threshold: float = 0.5, form: str | None = None) -> None:
        if form not in (None, "wilds"):
            raise OochubError(f'form must be None or "wilds", got {form!r}.')
        self._options = {"iou": 0.5 if form == "wilds" else iou, "threshold": threshold}
        self._groups: dict[Any, tuple[float, int]] = {}
        detection_accuracies([], [], [], **self._options)  # options that are wrong are said before the rows come

    def update(self, *, boxes: Any, scores: Any, true_boxes: Any, group: Any = None) -> None:
        self._add(_sum_by_group(self.values(boxes, scores, true_boxes), group))

    def values(self, boxes: Any, scores: Any, true_boxes: Any) -> Array:
        """The accuracy of the detections in each image."""
        return detection_accuracies(boxes, scores, true_boxes, **self._options)

    def merge(self, other: "_DetectionAccuracyState") -> None:
        self._add(other._groups)

    def _add(self, groups: Mapping[Any, tuple[float, int]]) -> None:
        for name, (total, count) in groups.items():
            before, rows = self._groups.get(name, (0.0, 0))
            self._groups[name] = (before + total, rows + count)

    def compute(self) -> float:
        if not self._groups:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        return _mean(self._groups)


def _mean(groups: Mapping[Any, tuple[float, int]]) -> float:
    return math.fsum(total / count for total, count in groups.values()) / len(groups)


def _sum_by_group(values: Array, group: Any) -> dict[Any, tuple[float, int]]:
    if group is None:
        return {None: (float(values.sum()), len(values))} if len(values) else {}
    groups = check_group(group)
    check_same_length(boxes=values, group=groups.codes)
    sums, counts = np.bincount(groups.codes, values), np.bincount(groups.codes)
    named = zip(groups.names, sums.tolist(), counts.tolist(), strict=False)
    return {name: (total, count) for name, total, count in named if count}


def _score_images(columns: Mapping[str, Array], **options: Any) -> Array:
    """The accuracy of each image (n,)."""
    state = _DetectionAccuracyState(**options)
    return state.values(columns["boxes"], columns["scores"], columns["true_boxes"])


def _estimate_interval(columns: Mapping[str, Array], sampling: Sampling, **options: Any) -> Estimate:
    values = _score_images(columns, **options)
    group = columns.get("group")
    codes = np.zeros(len(values), np.int64)
    if group is not None:
        codes = number_groups(check_group(group).codes)
    count = int(codes.max()) + 1
    if count == 1:
        return mean_estimate(values, sampling, are_shares=False, within=(0.0, 1.0))
    drawn = t_interval(np.bincount(codes, values) / np.bincount(codes), sampling.of_groups(codes), within=(0.0, 1.0))
    few = f"only {count} groups: the interval may be too narrow" if count < _FEW else None
    unit = f"{count} groups" if sampling.of_groups(codes).cluster is None else sampling.unit
    return Estimate(
        _mean(_sum_by_group(values, group)),
        low=drawn.low,
        high=drawn.high,
        n=len(values),
        method=f"t interval of {unit}",
        reason=drawn.reason if math.isnan(drawn.low) else few,
    )


FACTS = MetricFacts(
    title="Detection accuracy",
    direction="higher",
    outputs=("boxes",),
    interval=_estimate_interval,
    whole_groups=True,
    group_means=_score_images,
)


class DetectionAccuracy(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "detection_accuracy"))
    >>> box = [0, 0, 10, 10]
    >>> module.compute(boxes=[[box], []], scores=[[0.9], []], true_boxes=[[box], [box]], group=["may", "june"])
    {'detection_accuracy': 0.5}
    """

    state = _DetectionAccuracyState
