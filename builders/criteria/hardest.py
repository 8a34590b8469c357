"""Out of context by an ensemble: one of its models gives the true class a small probability."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.builders.criteria.threshold import threshold
from oochub.errors import OochubError


def hardest(losses: ArrayLike, at: float = -math.log(0.15), label: ArrayLike | None = None) -> NDArray[np.str_]:
    """Which examples are hard because the largest loss of an ensemble reaches a threshold (ImageNet-A).

    Args:
        losses: (n, k) negative log-likelihood of the true class by each of k models, in nats; or (n,) of one model.
        at: The threshold, in nats; by default a model gives the true class a probability of at most 0.15.
        label: (n,) truth values, or 0 and 1, to tell hard positives from hard negatives.

    Returns:
        (n,) array of "easy" and "hard"; with `label`, of "easy", "hard_positive" and "hard_negative".

    Raises:
        OochubError: No model, a loss that is not a finite number, and what `threshold` refuses.

    Source: Madras and Zemel, NOOCH, Table 1: max NLL of ensemble, C >= -log(0.15). The images of ImageNet-A were also
    filtered by hand (Hendrycks et al. 2021, Section 3).

    >>> probability = np.array([[0.9, 0.2], [0.9, 0.1]])
    >>> hardest(-np.log(probability)).tolist()
    ['easy', 'hard']
    """
    matrix = np.asarray(losses)
    if matrix.ndim == 2 and not matrix.shape[1]:
        raise OochubError("losses has no column: give the losses of at least one model.")
    if matrix.ndim == 2 and np.issubdtype(matrix.dtype, np.number):
        matrix = matrix.max(axis=1)  # of nan and a number it is nan, which threshold refuses
    return threshold(matrix, at, label)
