"""False alarms: the share of images without an object in which a box is drawn.

    false alarms = (images with no true box and a box of a score above the threshold) / (images with no true box)

If the object's usual context is there and the object is not, a false alarm says that the context was enough.

Interval: Wilson's of images if fewer than ten have a false alarm, or fewer than ten have none; else their bootstrap.
With clusters, Clopper and Pearson's with the effective number of images.

Limitations: The rate depends on the threshold, and so on how scores are calibrated: a detector that draws nothing has
none. Objects that nobody annotated count as false alarms where they are found.

Source: Madras and Zemel 2021, "Identifying and Benchmarking Natural Out-of-Context Prediction Problems", Section 3 (the
hard negatives: context without the object), of a detector's boxes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.metric import MeanState, MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.image_boxes import RaggedRows, check_image_boxes
from oochub.stats.mean_interval import mean_estimate


def false_alarms(boxes: Any, scores: RaggedRows, true_boxes: RaggedRows, threshold: float = 0.5) -> float:
    """The share of images without a true box in which a box has a score above the threshold.

    Args:
        boxes: The boxes (m, 4) of each of n images, x1, y1, x2, y2 in pixels.
        scores: Their scores (m,) in each image.
        true_boxes: The true boxes (k, 4) of each image.
        threshold: A box counts when its score is above it, in [0, 1].

    Returns:
        A fraction in [0, 1], lower is better; nan if every image has a true box.

    Raises:
        OochubError: As `oochub.stats.image_boxes`; another threshold; no rows.

    >>> car = [0, 0, 10, 10]
    >>> false_alarms(boxes=[[car], [car], []], scores=[[0.9], [0.6], []], true_boxes=[[car], [], []])
    0.5
    """
    state = _FalseAlarmsState(threshold)
    state.update(boxes=boxes, scores=scores, true_boxes=true_boxes)
    return state.compute()


class _FalseAlarmsState(MeanState):
    """Counts the images without a true box, and all that were seen."""

    def __init__(self, threshold: float = 0.5) -> None:
        super().__init__()
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
            raise OochubError(f"threshold is a number in [0, 1], got {threshold!r}. A box counts above it.")
        self._threshold, self._seen = threshold, 0

    def update(self, *, boxes: RaggedRows, scores: RaggedRows, true_boxes: RaggedRows) -> None:
        values = self.values(boxes, scores, true_boxes)
        if not len(values):
            raise OochubError("There are no images, so the metric is undefined. Pass a row of boxes for each image.")
        self._seen += len(values)
        self._take(values[~np.isnan(values)])

    def values(self, boxes: RaggedRows, scores: RaggedRows, true_boxes: RaggedRows) -> Array:
        """1 for an image (n,) with a false alarm, 0 without, nan for one with a true box."""
        images = check_image_boxes(boxes, scores, true_boxes)
        return np.array(
            [np.nan if len(image.true_boxes) else float((image.scores > self._threshold).any()) for image in images]
        )

    def merge(self, other: "MeanState") -> None:
        super().merge(other)
        self._seen += other._seen if isinstance(other, _FalseAlarmsState) else 0

    def compute(self) -> float:
        return float("nan") if self._seen and not self._n else super().compute()


def _estimate_interval(columns: Mapping[str, Array], sampling: Sampling, threshold: float = 0.5) -> Estimate:
    values = _FalseAlarmsState(threshold).values(columns["boxes"], columns["scores"], columns["true_boxes"])
    empty = ~np.isnan(values)
    if not empty.any():
        return Estimate(np.nan, n=0, method="none", reason="every image has a true box")
    return mean_estimate(values[empty], sampling.of_rows(empty), are_shares=True, within=(0.0, 1.0))


FACTS = MetricFacts(title="False alarms", direction="lower", outputs=("boxes",), interval=_estimate_interval)


class FalseAlarms(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "false_alarms"))
    >>> module.compute(boxes=[[[0, 0, 9, 9]], []], scores=[[0.9], []], true_boxes=[[], []])
    {'false_alarms': 0.5}
    """

    state = _FalseAlarmsState
