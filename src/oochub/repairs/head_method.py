"""What a way to fit a new last layer is, and the rows that it sees.

A weighted multinomial logistic regression, by scikit-learn.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.prediction.predictions_file import StoredHead

_ITERATIONS = 500


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
    """A way to fit a new last layer; a subclass is a file of `repairs/head_methods/`, and its name is the file's.

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


def fit_logistic(
    features: NDArray[np.float64], label: NDArray[np.int64], weight: NDArray[np.float64], *, classes: int, c: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight (classes, d) and bias (classes,) that minimize  c sum_i w_i CE(W x_i + b, y_i) + |W|^2 / 2.

    The bias is not penalized. A class without a row keeps weight 0 and a bias that never wins.

    Args:
        features: Standardized features (n, d).
        label: Class numbers (n,), of two classes or more.
        weight: Weight of each row (n,), 0 or larger.
        classes: Number of classes.
        c: Inverse strength of the penalty.

    >>> features, label = np.array([[-1.0], [1.0]]), np.array([0, 1])
    >>> weight, bias = fit_logistic(features, label, np.ones(2), classes=2, c=1.0)
    >>> (features @ weight.T + bias).argmax(axis=1).tolist()
    [0, 1]
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted: Any = LogisticRegression(C=c, max_iter=_ITERATIONS).fit(features, label, sample_weight=weight)
    own_weight, own_bias = fitted.coef_, fitted.intercept_
    if len(fitted.classes_) == 2:  # scikit-learn keeps one row of coefficients for two classes
        own_weight, own_bias = np.concatenate([-own_weight, own_weight]) / 2, np.concatenate([-own_bias, own_bias]) / 2
    all_weight, all_bias = np.zeros((classes, features.shape[1])), np.full(classes, own_bias.min() - 1e4)
    all_weight[fitted.classes_], all_bias[fitted.classes_] = own_weight, own_bias
    return all_weight, all_bias


def balance_groups(group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights (n,) at which each group has the same sum; their mean is 1.

    >>> balance_groups(np.array([0, 0, 0, 1])).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    _, place, counts = np.unique(group, return_inverse=True, return_counts=True)
    weights: NDArray[np.float64] = len(group) / len(counts) / counts[place]
    return weights
