"""One saliency map with the picture that it lies on, and what the model answered."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """What one model looked at in one picture.

    Attributes:
        example_id: Of the row.
        label: The name of its class.
        context: Of the row; None where the data have none.
        model: What the model is called.
        answer: The class that it answered with, which the map speaks for.
        probability: Of that answer, in [0, 1].
        shown: Whether the row is one of those to look at; the others are for the mean share alone.
        picture: uint8 (h, w, 3), as the model saw it: resized and cut.
        map: float32 (h, w) in [0, 1], see `oochub.attention.smooth_grad_cam`.
        mask: (h, w) True on the object; None where no mask was given.

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
        """The share of the picture that the object takes, what a map gives that is the same everywhere."""
        return None if self.mask is None else float(self.mask.mean())

    @property
    def share(self) -> float | None:
        """The sum of the map on the object over its sum; None without a mask, of a map that is all 0."""
        total = float(self.map.sum(dtype=np.float64))
        if self.mask is None or total == 0:
            return None
        return float(self.map[self.mask].sum(dtype=np.float64)) / total
