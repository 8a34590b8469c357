"""Saliency maps, each with the image that it lies on and what the model answered; their share on the object.

The share is a mean over maps, with its interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import mean_estimate


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """What one model looked at in one image.

    Attributes:
        example_id: Id of the row.
        label: The name of its class.
        context: Context of the row; None if the data have none.
        model: Name of the model.
        answer: The class that it answered with, which the map speaks for.
        probability: Probability of that answer, in [0, 1].
        shown: Whether the row is one of those to look at; the others are for the mean share alone.
        picture: The image, uint8 (h, w, 3), as the model saw it: resized and cut.
        map: float32 (h, w) in [0, 1], see `oochub.attention.smooth_grad_cam`.
        mask: (h, w) True on the object; None if no mask was given.

    >>> corner = np.zeros((4, 4), np.float32)
    >>> corner[:2, :2] = 0.5
    >>> seen = AttentionMap(
    ...     example_id="7", label="dog", context="snow", model="erm", answer="cat", probability=0.9, shown=True,
    ...     picture=np.zeros((4, 4, 3), np.uint8), map=corner, mask=np.eye(4, dtype=bool),
    ... )
    >>> seen.share, seen.area, seen.is_right
    (0.5, 0.25, False)
    """

    example_id: str
    label: str
    context: str | None
    model: str
    answer: str
    probability: float
    shown: bool
    picture: NDArray[np.uint8]
    map: NDArray[np.float32]
    mask: NDArray[np.bool_] | None

    @property
    def is_right(self) -> bool:
        """Whether the answer is the label."""
        return self.answer == self.label

    @property
    def area(self) -> float | None:
        """The share of the image that the object takes, what a map gives that is the same everywhere."""
        return None if self.mask is None else float(self.mask.mean())

    @property
    def share(self) -> float | None:
        """The sum of the map on the object over its sum; None without a mask, of a map that is all 0."""
        total = float(self.map.sum(dtype=np.float64))
        if self.mask is None or total == 0:
            return None
        return float(self.map[self.mask].sum(dtype=np.float64)) / total


Chosen = Literal["all", "wrong", "right"]


@dataclass(frozen=True, kw_only=True)
class ObjectShare:
    """How much of the attention lies on the object, over the images of one model.

    Attributes:
        model: Name of the model.
        rows: "all" images, or those that it got "wrong" or "right".
        share: The mean of the share of each map on the object, in [0, 1].
        area: The mean share of the image that the object takes: what attention that is the same everywhere gives.
        over_area: The mean of share less area, in [-1, 1]: 0 is attention without a look at the object.
        n_zero: Images left out of all three, since their map is all 0: nothing spoke for the answer.
        n_empty: Images left out since their mask is empty: the object is not there.
    """

    model: str
    rows: Chosen
    share: Estimate
    area: Estimate
    over_area: Estimate
    n_zero: int
    n_empty: int


def measure_object_shares(maps: Sequence[AttentionMap], sampling: Sampling = Sampling()) -> tuple[ObjectShare, ...]:  # noqa: B008
    """The shares of each model, over all images, those that it got wrong and those that it got right.

    Args:
        maps: Maps to measure; those without a mask are left out.
        sampling: resamples and seed of the percentile bootstrap over images.

    Returns:
        Three per model, in the order of the models; none where no map has a mask.
    """
    masked = [mapping for mapping in maps if mapping.mask is not None]
    facts = []
    for model in dict.fromkeys(mapping.model for mapping in masked):
        own = [mapping for mapping in masked if mapping.model == model]
        parts: dict[Chosen, list[AttentionMap]] = {
            "all": own,
            "wrong": [mapping for mapping in own if not mapping.is_right],
            "right": [mapping for mapping in own if mapping.is_right],
        }
        facts += [_compute_map(model, rows, part, sampling) for rows, part in parts.items()]
    return tuple(facts)


def _compute_map(model: str, rows: Chosen, part: Sequence[AttentionMap], sampling: Sampling) -> ObjectShare:
    there = [mapping for mapping in part if mapping.area]
    pairs = np.array(
        [(mapping.share, mapping.area) for mapping in there if mapping.share is not None], np.float64
    ).reshape(-1, 2)
    share, area, over = (_mean(values, sampling) for values in (*pairs.T, pairs[:, 0] - pairs[:, 1]))
    return ObjectShare(
        model=model,
        rows=rows,
        share=share,
        area=area,
        over_area=over,
        n_zero=len(there) - len(pairs),
        n_empty=len(part) - len(there),
    )


def _mean(values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", sampling: Sampling) -> Estimate:
    if not len(values):
        return Estimate(math.nan, n=0, method="none", reason="there is no such image with a map and an object")
    if len(values) == 1:
        return Estimate(float(values[0]), n=1, method="none", reason="one image says nothing about others")
    return mean_estimate(values, sampling, are_shares=False)
