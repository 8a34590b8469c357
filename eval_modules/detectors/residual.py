"""Residual: the norm of the features in the subspace that training features hardly use."""

from typing import ClassVar

import numpy as np
from scipy.linalg import lstsq

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._hyperparameters import check_count
from oochub.eval_modules.detectors._moments import CenteredGram
from oochub.stats.array_checks import Array


class Residual(Detector):
    """s(x) = -||R'(f - u)||, u = -W^+ b, the part of `vim` that does not read the logits.

    R are the d - dim eigenvectors of (1/N) sum_i (f_i - u)(f_i - u)' with the smallest eigenvalues, from a float64 Gram
    matrix. The fit is one pass, in memory of d^2 numbers. The score is 0 or less.

    Args:
        dim: Directions that count as used, 1 to d - 1; None is what `vim` takes for such features.

    Attributes:
        origin: u, float64 (d,).
        residual: R, float64 (d, d - dim).

    Raises:
        OochubError: dim out of range, or so large that the training set has nothing outside: the largest allowed is
            given; something missing or unfit.

    Source: Wang, Li, Feng and Zhang 2022 (arXiv 2203.10807), the detector that they call Residual.

    >>> features = [[2.0, 0.1], [-2.0, 0.1], [3.0, 0.1], [-3.0, 0.1]]
    >>> detector = Residual(dim=1).fit(features=features, weight=[[1.0, 0.0], [-1.0, 0.0]], bias=[0.0, 0.0])
    >>> detector.score(features=[[2.0, 0.0], [2.0, 1.0]]).round(6).tolist()
    [-0.0, -1.0]
    """

    fit_needs: ClassVar[tuple[str, ...]] = ("features", "weight", "bias")
    score_needs: tuple[str, ...] = ("features",)
    fitted: ClassVar[tuple[str, ...]] = ("origin float64 d", "residual float64 d r")
    origin: Array
    residual: Array

    def __init__(self, *, dim: int | None = None) -> None:
        super().__init__()
        self.dim = None if dim is None else check_count("dim", dim)

    def _empty(self) -> CenteredGram:
        _choose_dim(self.dim, self._head[0].shape[1])
        return CenteredGram(_find_origin(*self._head))

    def _finish(self, gathered: CenteredGram) -> None:
        dim = _choose_dim(self.dim, len(gathered.gram))
        self.origin, self.residual = gathered.origin, _find_residual(gathered.gram, dim, gathered.count)

    def _score(self, rows: dict[str, Array]) -> Array:
        return -self._measure(rows["features"] - self.origin)

    def _measure(self, moved: Array) -> Array:
        """The length of the part of each row (n, d) that lies in the residual directions, (n,)."""
        part = moved @ self.residual
        length: Array = np.sqrt(np.einsum("ij,ij->i", part, part))
        return length


def _find_origin(weight: Array, bias: Array) -> Array:
    """-W^+ b, float64 (d,): the point of least length whose logits are as near to zero as any.

    >>> _find_origin(np.array([[2.0, 0.0]]), np.array([4.0])).round(6).tolist()
    [-2.0, 0.0]
    """
    # gelsy is a pivoted QR: the pseudo-inverse's solution in a quarter of the time of an SVD.
    cut = max(weight.shape) * np.finfo(np.float64).eps
    origin: Array = lstsq(weight, -bias, cond=cut, lapack_driver="gelsy")[0]
    return origin


def _choose_dim(dim: int | None, d: int) -> int:
    """How many directions count as used: `dim`, or for None what ViM's authors take for features of that width.

    Raises:
        OochubError: None is left; the largest allowed is given.

    >>> [_choose_dim(None, d) for d in (2048, 1280, 64)]
    [1000, 512, 32]
    """
    chosen = dim or (1000 if d >= 2048 else 512 if d >= 768 else max(1, d // 2))
    if chosen >= d:
        raise OochubError(
            f"dim is {chosen}, but the features have {d} columns: the largest dim allowed is {d - 1}, so that "
            "something is left outside."
        )
    return chosen


def _find_residual(gram: Array, dim: int, rows: int) -> Array:
    """The d - dim eigenvectors of a Gram matrix with the smallest eigenvalues, float64 (d, d - dim).

    Args:
        gram: The Gram matrix of features about the origin, float64 (d, d), of which only the upper triangle counts.
        dim: Directions that count as used.
        rows: Number of these features, for the error.

    Raises:
        OochubError: The rows have nothing outside; the largest dim allowed is given.

    >>> np.abs(_find_residual(np.diag([9.0, 1.0]), 1, 2)).tolist()
    [[0.0], [1.0]]
    """
    values, vectors = np.linalg.eigh(gram, UPLO="U")
    rank = int((values > len(values) * np.finfo(np.float64).eps * values[-1]).sum())
    if rank <= dim:
        advice = f"the largest dim allowed is {rank - 1}" if rank > 1 else "no dim leaves something outside"
        raise OochubError(
            f"dim is {dim}, but the {rows} training rows span {rank} directions: {advice}. "
            "Set a smaller dim, or fit on more rows."
        )
    return np.ascontiguousarray(vectors[:, : len(values) - dim])
