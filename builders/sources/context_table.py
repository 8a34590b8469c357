"""The table A(C, Y): how much more of an image each class takes than another, where that other is shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError, unknown_name

_BLOCK = 2**16  # images whose truth values stand as numbers at once


@dataclass(frozen=True, kw_only=True)
class ContextTable:
    """Which classes are context of which: row Y, column C, the mean of Area(C) - Area(Y) over images that show Y.

    Attributes:
        names: The c classes.
        surplus: (c, c) float64, fractions of the image in [-1, 1]; nan on the diagonal and in the rows of classes
            that no image shows.
        images: (c,) number of images that show each class.

    Source: Madras and Zemel, NOOCH, Section 3.2.1: C is an alpha-context of Y where A(C, Y) > alpha.

    >>> table = ContextTable.of(["car", "road"], present=[[1, 1], [0, 1]], area=[[0.1, 0.5], [0.0, 0.9]])
    >>> table.contexts("car", alpha=0.05)
    ['road']
    >>> round(float(table.surplus[0, 1]), 3)  # over the one image with a car
    0.4
    """

    names: Sequence[str]
    surplus: NDArray[np.float64]
    images: NDArray[np.int64]

    @classmethod
    def of(cls, names: Sequence[str], *, present: ArrayLike, area: ArrayLike) -> "ContextTable":
        """The table of some images, those of a training split.

        Args:
            names: The c classes.
            present: (n, c) truth values: is the class annotated in the image?
            area: (n, c) fraction of the image that it takes.

        Raises:
            OochubError: Shapes that do not go together.
        """
        shown = np.asarray(present, dtype=bool)
        areas = np.asarray(area, dtype=np.float64)
        if shown.shape != areas.shape or shown.ndim != 2 or shown.shape[1] != len(names):
            raise OochubError(
                f"present and area must be (n, {len(names)}), one column per class, got {shown.shape} and "
                f"{areas.shape}."
            )
        images = shown.sum(axis=0)
        together = np.zeros((len(names), len(names)))
        for start in range(0, len(shown), _BLOCK):
            block = slice(start, start + _BLOCK)
            together += shown[block].T.astype(np.float64) @ areas[block]
        with np.errstate(invalid="ignore"):
            mean = together / images[:, None]
        surplus = mean - np.diag(mean)[:, None]
        np.fill_diagonal(surplus, np.nan)
        return cls(names=tuple(names), surplus=surplus, images=images)

    def contexts(self, name: str, alpha: float = 0.05) -> list[str]:
        """The alpha-contexts of a class, the largest first; empty where it has none."""
        ranked = self.ranked(name)
        return [context for context, surplus in ranked.items() if surplus > alpha]

    def ranked(self, name: str) -> dict[str, float]:
        """Every other class with its surplus over `name`, the largest first; empty where no image shows it.

        Raises:
            OochubError: An unknown class.
        """
        if name not in self.names:
            raise unknown_name("class of this table", name, self.names)
        row = self.surplus[self.names.index(name)]
        order = np.argsort(-row, kind="stable")
        return {self.names[i]: float(row[i]) for i in order if not np.isnan(row[i])}

    def to_frame(self) -> pd.DataFrame:
        """The table with names on both sides."""
        return pd.DataFrame(self.surplus, index=list(self.names), columns=list(self.names))
