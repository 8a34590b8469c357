"""What the metrics of ranked boxes share: the state that keeps every image, and the intervals by images."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_same_length, check_whole
from oochub.stats.bootstrap import FEW_ROWS, add_reason, draw_replicates, drop_no_width, replicate_interval
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.image_boxes import IOUS, BoxRanking, ImageBoxes, ObjectSize, RaggedRows, check_image_boxes, rank_boxes

Measure = Callable[[Array], Array]
"""Makes the numbers (k,) of a metric of how often each image is there (n,)."""


class BoxRowsState:
    """All images seen: a ranking needs their order.

    A subclass sets `measure`, which prepares the numbers of a metric of the rankings.

    Attributes:
        keys: Names of the numbers; none of a metric that is one number.
    """

    keys: tuple[str, ...] = ()
    measure: Callable[[Sequence[BoxRanking]], Measure]

    def __init__(self, *, object_size: ObjectSize = "all") -> None:
        rank_boxes([], object_size=object_size)  # an option that is wrong is said before the rows come
        self._object_size: ObjectSize = object_size
        self._images: list[ImageBoxes] = []
        self._ids: list[Array | None] = []

    def update(
        self,
        boxes: RaggedRows,
        scores: RaggedRows,
        true_boxes: RaggedRows,
        box_categories: RaggedRows | None = None,
        true_categories: RaggedRows | None = None,
        true_crowd: RaggedRows | None = None,
        true_areas: RaggedRows | None = None,
        image_id: RaggedRows | None = None,
    ) -> None:
        """Takes in images; see the metric."""
        images = check_image_boxes(boxes, scores, true_boxes, box_categories, true_categories, true_crowd, true_areas)
        ids = None if image_id is None else check_whole(image_id, name="image_id")
        check_same_length(boxes=images, image_id=ids)
        self._add(images, [ids])

    def merge(self, other: "BoxRowsState") -> None:
        """Takes in the images of `other`."""
        self._add(other._images, other._ids)

    def compute(self) -> Any:
        """The metric of all images.

        Raises:
            OochubError: There are no images.
        """
        if not self._images:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        return self.of_counts()(np.ones(len(self._images), np.int64))

    def of_counts(self) -> Callable[[Array], float | dict[str, float]]:
        """The metric as a function of how often each image is there (n,), see `MetricFacts.of_counts`."""
        measure = type(self).measure(self._rank())

        def compute(times: Array) -> float | dict[str, float]:
            numbers: list[float] = measure(times).tolist()
            return dict(zip(self.keys, numbers, strict=True)) if self.keys else numbers[0]

        return compute

    def estimate(self, sampling: Sampling) -> Any:
        """The metric of all images with its bootstrap of images, or of whole clusters: an Estimate, or a dict of them.

        Args:
            sampling: Clusters, resamples and seed.
        """
        rankings, n = self._rank(), len(self._images)
        measure = type(self).measure(rankings)
        values = measure(np.ones(n, np.int64))
        if any(ranking.true.any() for ranking in rankings):

            def measure_rows(row: Array) -> Array:
                return measure(np.bincount(row, minlength=n))  # matched once, not in every resample

            drawn = draw_replicates(measure_rows, {"row": np.arange(n)}, sampling)
            shown = int(np.any([ranking.true > 0 for ranking in rankings], axis=0).sum())
            estimates = [
                _estimate(numbers, value, n, shown, sampling) for value, numbers in zip(values, drawn.T, strict=True)
            ]
        else:
            estimates = [Estimate(np.nan, n=n, method="none", reason="no image has a true box") for _ in values]
        return dict(zip(self.keys, estimates, strict=True)) if self.keys else estimates[0]

    @classmethod
    def estimate_columns(
        cls, columns: Mapping[str, Array], sampling: Sampling, object_size: ObjectSize = "all"
    ) -> Estimate | dict[str, Estimate]:
        """`estimate` of columns, for `MetricFacts.interval`."""
        result: Estimate | dict[str, Estimate] = cls._of(columns, object_size).estimate(sampling)
        return result

    @classmethod
    def count_columns(
        cls, columns: Mapping[str, Array], object_size: ObjectSize = "all"
    ) -> Callable[[Array], float | dict[str, float]]:
        """`of_counts` of columns, for `MetricFacts.of_counts`."""
        return cls._of(columns, object_size).of_counts()

    @classmethod
    def _of(cls, columns: Mapping[str, Array], object_size: ObjectSize) -> "BoxRowsState":
        state = cls(object_size=object_size)
        state.update(**columns)
        return state

    def _rank(self) -> list[BoxRanking]:
        ids = None if self._ids[0] is None else np.concatenate([own for own in self._ids if own is not None])
        return rank_boxes(self._images, ids, object_size=self._object_size)

    def _add(self, images: list[ImageBoxes], ids: list[Array | None]) -> None:
        if len({own is None for own in [*self._ids, *ids]}) > 1:
            raise OochubError("image_id must come with every batch, or with none, got it with some. Give all.")
        self._images += images
        self._ids += ids


def measure_precision(rankings: Sequence[BoxRanking], times: Array) -> Array:
    """The average precision at each threshold (t,), the mean over the classes with a true box; nan if none has.

    Args:
        rankings: The ranked boxes of each class.
        times: How often each image is there (n,).
    """
    precisions = [ranking.measure_precision(times) for ranking in rankings if times @ ranking.true]
    return np.mean(precisions, axis=0) if precisions else np.full(len(IOUS), np.nan)


def _estimate(drawn: Array, value: float, n: int, shown: int, sampling: Sampling) -> Estimate:
    """The interval of one number; `shown` images have a true box."""
    unit = "images" if sampling.cluster is None else sampling.unit
    estimate = replicate_interval(drawn, float(value), n, sampling, unit=unit)
    if shown < FEW_ROWS and not np.isnan(estimate.low):
        estimate = add_reason(estimate, f"only {shown} images have a true box: the interval may be too narrow")
    return drop_no_width(estimate)
