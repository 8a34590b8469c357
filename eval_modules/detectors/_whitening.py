"""Turns rows so that their covariance is the identity."""

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

from oochub.stats.array_checks import Array


def compute_whitener(covariance: Array, least: float) -> Array:
    """A matrix times its transpose is the pseudo-inverse of the upper triangle's, without eigenvalues up to `least`.

    If all are larger, which 1 / trace(inverse) shows, it is the inverse of Cholesky's factor: a tenth of the work.

    >>> compute_whitener(np.diag([4.0, 0.0]), 1e-9).round(6).tolist()
    [[0.5], [0.0]]
    """
    factor, is_singular = dpotrf(covariance, clean=1)
    if not is_singular:
        inverse: Array = dtrtri(factor)[0]
        if least * (inverse**2).sum() < 1:
            return inverse
    values, vectors = np.linalg.eigh(covariance, UPLO="U")
    kept = values > least
    whitener: Array = vectors[:, kept] / np.sqrt(values[kept])
    return whitener


def whiten(centered: Array, whitener: Array) -> Array:
    """The product of both, float64; `centered` may be overwritten. Cholesky's factor takes half the work of another.

    >>> whiten(np.array([[4.0, 1.0]]), np.array([[0.5], [0.0]])).tolist()
    [[2.0]]
    """
    if len(whitener) != whitener.shape[1] or np.tril(whitener, -1).any():
        return np.asarray(centered @ whitener)
    product: Array = dtrmm(1.0, whitener, centered.T, trans_a=True, overwrite_b=True)  # (W'x')' in place
    return product.T
