"""ViM: an additional logit from the part of the features that the training set hardly uses."""

from collections.abc import Mapping

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_count
from oochub.eval_modules.detectors._moments import with_gram
from oochub.eval_modules.detectors._residual_space import choose_dim, find_origin, find_residual, measure_residual
from oochub.eval_modules.detectors._sample import RowSample
from oochub.eval_modules.detectors._softmax import log_partition
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import shift_blocks

_SAMPLED = 4096  # training rows that alpha is the ratio of, at the least
_SAMPLED_VALUES = 1 << 21  # of narrow features more rows, up to this many numbers


class Vim(Detector):
    """s(x) = -alpha ||R'(f - u)|| + log sum_c exp(l_c), u = -W^+ b, alpha = sum_i max_c l_ic / sum_i ||R'(f_i - u)||.

    R are the d - dim eigenvectors of (1/N) sum_i (f_i - u)(f_i - u)' with the smallest eigenvalues, from a float64
    Gram matrix and `eigh`: the smallest directions are the ones that float32 gets wrong. The score is any real number.

    The fit is one pass, in memory of d^2 numbers. alpha needs R and rows at once: it is taken over all training rows
    if there are at most max(4096, 2,097,152 // d), else over that many of them, chosen by a hash of their features, so
    that batches, processes and one call choose the same.

    Args:
        dim: Directions that count as used, 1 to d - 1. None: 1000 if d >= 2048, 512 if d >= 768, else d // 2. The
            paper's text puts the first cut at 1500, its code at 2048; below 768 both leave it open.

    Attributes:
        origin: u, float64 (d,).
        residual: R, float64 (d, d - dim).
        alpha: float.
        alpha_rows: Number of training rows that alpha is taken over.

    Raises:
        OochubError: dim out of range, or so large that the training set has nothing outside: the largest allowed is
            given; something missing or unfit.

    Source: Wang, Li, Feng and Zhang 2022 (arXiv 2203.10807), Section 4; ImageNet-OOD, Section 4.

    >>> W, b = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2)
    >>> features = np.array([[2.0, 0.1], [-2.0, 0.1], [3.0, 0.1], [-3.0, 0.1]])
    >>> detector = Vim(dim=1).fit(features=features, logits=features @ W.T, weight=W, bias=b)
    >>> x = np.array([[2.0, 0.0], [2.0, 1.0]])  # alpha = 10 / 0.4; the second row lies 1 off the axis
    >>> detector.score(features=x, logits=x @ W.T).round(2).tolist()
    [2.02, -22.98]
    """

    fit_needs = ("features", "logits", "weight", "bias")
    score_needs = ("features", "logits")
    fitted = ("origin float64 d", "residual float64 d r", "alpha float64", "alpha_rows int64")
    origin: Array
    residual: Array
    alpha: float
    alpha_rows: int

    def __init__(self, *, dim: int | None = None) -> None:
        super().__init__()
        self.dim = None if dim is None else check_count("dim", dim)

    def _empty(self) -> "_Gathered":
        weight, bias = self._head
        choose_dim(self.dim, weight.shape[1])
        return _Gathered(find_origin(weight, bias))

    def _finish(self, gathered: "_Gathered") -> None:
        dim = choose_dim(self.dim, len(gathered.gram))
        self.origin, self.residual = gathered.origin, find_residual(gathered.gram, dim, gathered.sample.seen)
        rows, total = gathered.sample.rows, 0.0
        for _, block in shift_blocks(rows, self.origin):
            total += float(measure_residual(block, self.residual).sum())
        self.alpha = float(gathered.sample.largest.sum()) / total
        self.alpha_rows = gathered.sample.count

    def _score(self, rows: dict[str, Array]) -> Array:
        return log_partition(rows["logits"]) - self.alpha * measure_residual(
            rows["features"] - self.origin, self.residual
        )


class _Gathered:
    """The Gram matrix of features about u, and a sample of features with their largest logits."""

    def __init__(self, origin: Array) -> None:
        d = len(origin)
        self.origin, self.gram = origin, np.zeros((d, d), order="F")
        self.sample = RowSample(max(_SAMPLED, _SAMPLED_VALUES // d))

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        features, logits = rows["features"], rows["logits"]
        for part, block in shift_blocks(features, self.origin):
            self.sample.update(features[part], logits[part])
            self.gram = with_gram(self.gram, block)

    def merge(self, other: "_Gathered") -> None:
        self.gram += other.gram
        self.sample.merge(other.sample)
