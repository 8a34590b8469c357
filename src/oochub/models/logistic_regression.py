"""Logistic regression on stored features, its penalty chosen on rows that it is not fitted on."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError

GRID = tuple(round(10 ** (half / 2), 6) for half in range(-8, 5))
"""Inverse penalties that are tried, the strongest penalty first."""
_SHARE = 0.2  # of the training rows, held out where there is no validation split
_ITERATIONS = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedProbe:
    """A linear layer on raw features: `features @ weight.T + bias` are the logits.

    Attributes:
        weight: float64 (c, d).
        bias: float64 (c,).
        c: The inverse penalty that was chosen, of `GRID`.
        accuracy: On the rows that it was chosen on.
        chosen_on: How many they are.
        has_converged: Whether the optimum was reached.
    """

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]
    c: float
    accuracy: float
    chosen_on: int
    has_converged: bool


def logistic_regression(
    features: NDArray[np.float32],
    label: NDArray[np.int64],
    *,
    classes: int,
    validation: tuple[NDArray[np.float32], NDArray[np.int64]] | None,
) -> FittedProbe:
    """A multinomial logistic regression with an L2 penalty on standardized features, the deviation folded back.

    The inverse penalty C is the one of `GRID` with the largest mean log-likelihood of the validation rows, the
    smaller of equals. Kornblith, Shlens and Le 2019 (arXiv 1805.08974, appendix A.6) and Radford et al. 2021 (arXiv
    2103.00020, appendix A.3) choose it on validation rows too, by accuracy, which on few rows ties and jumps. Without
    validation rows a fifth of each class is held out (a fixed draw), and the last fit is on all rows. Two classes have
    logits of -z / 2 and z / 2.

    Args:
        features: (n, d) of the training rows.
        label: Their classes (n,), 0 to `classes` - 1; every one occurs.
        classes: How many.
        validation: Features and labels of other rows; None holds some out.

    Raises:
        OochubError: Too few rows to hold some out.

    >>> features = np.array([[0.0], [1.0], [10.0], [11.0]] * 5, dtype=np.float32)
    >>> label = np.array([0, 0, 1, 1] * 5)
    >>> probe = logistic_regression(features, label, classes=2, validation=(features, label))
    >>> ((features @ probe.weight.T + probe.bias).argmax(1) == label).all(), probe.accuracy
    (np.True_, 1.0)
    """
    if validation is None:
        held = _held_out(label, classes)
        fits = _fits(features[~held], label[~held], classes)
        on = (features[held], label[held])
    else:
        fits, on = _fits(features, label, classes), validation
    likelihoods = [_log_likelihood(*fit[:2], *on) for fit in fits]
    best = int(np.argmax(likelihoods))
    if validation is None:
        weight, bias, has_converged = _fits(features, label, classes, grid=GRID[best : best + 1])[0]
        chosen_on_weight, chosen_on_bias, _ = fits[best]
    else:
        weight, bias, has_converged = fits[best]
        chosen_on_weight, chosen_on_bias = weight, bias
    right = (on[0] @ chosen_on_weight.T + chosen_on_bias).argmax(1) == on[1]
    return FittedProbe(
        weight=weight,
        bias=bias,
        c=GRID[best],
        accuracy=float(right.mean()),
        chosen_on=len(right),
        has_converged=has_converged,
    )


def _held_out(label: NDArray[np.int64], classes: int) -> NDArray[np.bool_]:
    held, generator = np.zeros(len(label), dtype=bool), np.random.default_rng(0)
    for number in range(classes):
        rows = np.flatnonzero(label == number)
        held[generator.permutation(rows)[: round(len(rows) * _SHARE)]] = True
    if not held.any():
        raise OochubError(
            f"A linear probe chooses its penalty on rows that it is not trained on, and {len(label)} rows of {classes} "
            "classes are too few to hold some out. Add a split validation, or more rows to train."
        )
    return held


def _fits(
    features: NDArray[np.float32], label: NDArray[np.int64], classes: int, grid: tuple[float, ...] = GRID
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], bool]]:
    """(weight, bias, whether it converged) for each C, on raw features."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(features.astype(np.float64))
    standardized, fits = scaler.transform(features.astype(np.float64)), []
    for c in grid:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = LogisticRegression(C=c, max_iter=_ITERATIONS).fit(standardized, label)
        weight, bias = fitted.coef_, fitted.intercept_
        if classes == 2:
            weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
        weight = weight / scaler.scale_
        fits.append((weight, bias - weight @ scaler.mean_, bool(fitted.n_iter_.max() < _ITERATIONS)))
    return fits


def _log_likelihood(
    weight: NDArray[np.float64], bias: NDArray[np.float64], features: NDArray[np.float32], label: NDArray[np.int64]
) -> float:
    from scipy.special import log_softmax

    return float(log_softmax(features @ weight.T + bias, axis=1)[np.arange(len(label)), label].mean())
