"""Residual: the norm of the features in the subspace that training features hardly use."""

from collections.abc import Mapping

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_count
from oochub.eval_modules.detectors._moments import with_gram
from oochub.eval_modules.detectors._residual_space import choose_dim, find_origin, find_residual, measure_residual
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import shift_blocks


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

    fit_needs = ("features", "weight", "bias")
    score_needs = ("features",)
    fitted = ("origin float64 d", "residual float64 d r")
    origin: Array
    residual: Array

    def __init__(self, *, dim: int | None = None) -> None:
        super().__init__()
        self.dim = None if dim is None else check_count("dim", dim)

    def _empty(self) -> "_Gram":
        choose_dim(self.dim, self._head[0].shape[1])
        return _Gram(find_origin(*self._head))

    def _finish(self, gathered: "_Gram") -> None:
        dim = choose_dim(self.dim, len(gathered.gram))
        self.origin, self.residual = gathered.origin, find_residual(gathered.gram, dim, gathered.count)

    def _score(self, rows: dict[str, Array]) -> Array:
        return -measure_residual(rows["features"] - self.origin, self.residual)


class _Gram:
    """The Gram matrix of features about u."""

    def __init__(self, origin: Array) -> None:
        d = len(origin)
        self.origin, self.gram, self.count = origin, np.zeros((d, d), order="F"), 0

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        self.count += len(rows["features"])
        for _, block in shift_blocks(rows["features"], self.origin):
            self.gram = with_gram(self.gram, block)

    def merge(self, other: "_Gram") -> None:
        self.gram += other.gram
        self.count += other.count
