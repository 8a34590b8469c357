"""What a way to fit a new last layer is, and the rows that it sees."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.prediction.predictions_file import StoredHead


class HeadRows(NamedTuple):
    """Rows that a head is fitted on.

    Attributes:
        features: What the last layer sees, float32 (n, d).
        label: Class numbers (n,), from 0.
        group: Number of each row's group (n,): its class with its context, or with the side that the context is on.
        classes: Number of classes.
        head: The model's own last layer; None if it has none for these classes.
    """

    features: NDArray[np.float32]
    label: NDArray[np.int64]
    group: NDArray[np.int64]
    classes: int
    head: StoredHead | None = None

    def standardized(self) -> tuple[NDArray[np.float64], "FeatureScale"]:
        """The features with mean 0 and deviation 1, float64, and the scale that leads back."""
        features = self.features.astype(np.float64)
        scale = FeatureScale.of(features)
        return (features - scale.mean) / scale.deviation, scale


class FeatureScale(NamedTuple):
    """Mean and deviation (d,) of features; a feature that never changes has deviation 1."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @classmethod
    def of(cls, features: NDArray[np.float64]) -> "FeatureScale":
        """The scale of some features (n, d)."""
        deviation = features.std(axis=0)
        return cls(features.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def fold(self, weight: NDArray[np.float64], bias: NDArray[np.float64]) -> StoredHead:
        """The head on raw features that equals one on standardized features.

        >>> scale = FeatureScale(np.array([3.0]), np.array([2.0]))
        >>> head = scale.fold(np.array([[4.0]]), np.array([1.0]))
        >>> head.weight.tolist(), head.bias.tolist()  # 4 (x - 3) / 2 + 1
        ([[2.0]], [-5.0])
        """
        own = np.asarray(weight) / self.deviation
        return StoredHead(weight=own, bias=np.asarray(bias) - own @ self.mean)


class HeadMethod(ABC):
    """A way to fit a new last layer; a subclass is a file of `head_repair/head_methods/`, and its name is the file's.

    Its hyperparameters are keyword-only, with defaults.

    Attributes:
        title: What a page calls it.
        settings: The hyperparameters that are tried, each a mapping of keywords.
        uses_groups: Whether the result depends on the groups, so that it is tried with each kind of group.
        uses_own: Whether the result depends on the model's own head, so that it serves no model without one.
        citation: Its source.
    """

    title: ClassVar[str]
    settings: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    uses_groups: ClassVar[bool] = True
    uses_own: ClassVar[bool] = False
    citation: ClassVar[str] = ""

    @abstractmethod
    def fit(self, rows: HeadRows, *, seed: int) -> StoredHead:
        """The new head.

        Args:
            rows: Rows to fit it on; each class has one or more.
            seed: Random seed for what is drawn.
        """
