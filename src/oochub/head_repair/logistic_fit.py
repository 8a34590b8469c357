"""A weighted multinomial logistic regression, by scikit-learn."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ITERATIONS = 500


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
