"""OpenMax: logits recalibrated by how unusually far a row is from its classes, with one for the unknown."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._hyperparameters import check_count
from oochub.eval_modules.detectors._kept_rows import KeptRows
from oochub.eval_modules.detectors._moments import ClassSums
from oochub.eval_modules.detectors._softmax import log_partition, probability
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks

_SHIFT = 10_000.0  # libMR's: distances are moved so that the smallest of the tail lies here


class OpenMax(Detector):
    """s(x) = -P(unknown), P = softmax of [sum_c l_c w_c, l_1 (1 - w_1), ..., l_C (1 - w_C)].

    w_c = (alpha - i) / alpha Weibull_c(||l - mu_c||) for the class with the i-th largest logit, i = 0..alpha-1, and 0
    for all others. mu_c is the mean logit vector of the training rows of class c that are classified correctly, and
    Weibull_c is fitted to the `tail` largest Euclidean distances to it, as libMR does. The largest logit has the whole
    weight, as in the authors' code; in the paper's Algorithm 2 it is (alpha - 1) / alpha. The method reads the sign of
    a logit, so unlike a softmax it changes if all logits of a row move: it is meant for logits about zero.

    The fit reads the rows twice, in memory of (2 tail + C) C numbers: `fit` the arrays that it is given, batches of
    `partial_fit` a temporary file that holds their logits until `finalize`. The score is in [-1, 0].

    Args:
        tail: Number of distances per class to fit to, 2 or more. Default 20, as in the paper.
        alpha: Classes to recalibrate, 1 to C. Default 10, as in the paper.

    Attributes:
        means: mu, float64 (C, C).
        start: The smallest distance of each class's tail, float64 (C,).
        shape: Shape of each class's Weibull distribution, float64 (C,).
        log_scale: log(scale / 10,000) of each, float64 (C,).

    Raises:
        OochubError: tail is larger than the number of correct rows of a class, or alpha than that of classes: the
            largest allowed is given; a class whose largest distances are all equal; something missing or unfit.

    Source: Bendale and Boult 2016 (arXiv 1511.06233), Algorithms 1 and 2; ImageNet-OOD, Table 3.

    >>> rng = np.random.default_rng(0)
    >>> label = np.arange(200) % 2
    >>> logits = rng.normal(size=(200, 2)) + 8 * np.eye(2)[label]
    >>> detector = OpenMax(alpha=2).fit(logits=logits, label=label)
    >>> known, unknown = detector.score(logits=[[8.0, 0.0], [4.0, 4.0]])
    >>> bool(known > -0.1), bool(unknown < -0.9)
    (True, True)
    """

    fit_needs = ("logits", "label")
    score_needs = ("logits",)
    fitted = ("means float64 c c", "start float64 c", "shape float64 c", "log_scale float64 c")
    means: Array
    start: Array
    shape: Array
    log_scale: Array

    def __init__(self, *, tail: int = 20, alpha: int = 10) -> None:
        super().__init__()
        self.tail = check_count("tail", tail, least=2)
        self.alpha = check_count("alpha", alpha)

    def _empty(self) -> "_Correct":
        return _Correct(self._columns["logits"])

    def _finish(self, gathered: "_Correct") -> None:
        classes, count = self._columns["logits"], gathered.count
        if self.alpha > classes:
            raise OochubError(
                f"alpha is {self.alpha}, but there are {classes} classes: the largest allowed is {classes}."
            )
        count = np.concatenate([count, np.zeros(classes - len(count))]).astype(int)
        if count.min() < self.tail:
            least = int(count.argmin())
            advice = (
                f"the largest tail allowed is {count[least]}" if count[least] > 1 else "no tail can be fitted to it"
            )
            raise OochubError(
                f"tail is {self.tail}, but class {least} has {count[least]} correctly classified rows: {advice}. "
                "Fit on more rows or a better model, or set a smaller tail."
            )
        self.means = gathered.total / count[:, None]
        fits = [_fit_weibull(tail) for tail in gathered.tails(self.means, self.tail)]
        for number, fitted in enumerate(fits):
            if fitted is None:
                raise OochubError(
                    f"The {self.tail} largest distances of class {number} are all equal, so no distribution fits them. "
                    "Set a larger tail, or fit on more rows."
                )
        self.start, self.shape, self.log_scale = np.array(fits, np.float64).T.copy()

    def _score(self, rows: dict[str, Array]) -> Array:
        logits = rows["logits"]
        at = np.arange(len(logits))
        top = np.argsort(-logits, axis=1, kind="stable")[:, : self.alpha]
        revised, unknown = logits.copy(), np.zeros(len(logits))
        for i, of in enumerate(top.T):
            model = _Weibull(self.start[of], self.shape[of], self.log_scale[of])
            weight = (1 - i / self.alpha) * model(np.linalg.norm(logits - self.means[of], axis=1))
            moved = logits[at, of] * weight
            revised[at, of] -= moved
            unknown += moved
        return -probability(unknown - log_partition(revised))


class _Correct(ClassSums):
    """Sums of the logits of correctly classified rows by class, and these rows, to be read again."""

    def __init__(self, classes: int) -> None:
        super().__init__(classes)
        self.whole: list[tuple[Array, Array]] = []  # logits and labels given to `fit`, wrong rows among them
        self.kept = KeptRows()  # correct rows of batches: the label is where the largest logit is

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        logits, label = rows["logits"], rows["label"]
        for part in fit_blocks(*logits.shape):
            block, of = _correct(logits[part], label[part])
            if len(of):
                self.add(of, block.astype(np.float64))
                if not lasting:
                    self.kept.append(block, lasting=False)
            del block  # before the next, so that one is in memory
        if lasting:
            self.whole.append((logits, label))

    def merge(self, other: "_Correct") -> None:  # type: ignore[override]
        super().merge(other)
        self.whole += other.whole
        self.kept.extend(other.kept)

    def tails(self, means: Array, tail: int) -> Iterator[Array]:
        """The `tail` largest distances of each class's rows to its mean, class by class."""
        of, distance = np.empty(0, np.int64), np.empty(0)
        for block, new in self._reset_tails():
            of = np.concatenate([of, new])
            distance = np.concatenate([distance, np.linalg.norm(block - means[new], axis=1)])
            order = np.lexsort((-distance, of))
            of, distance = of[order], distance[order]
            largest = np.arange(len(of)) - np.searchsorted(of, of) < tail  # a place within the class
            of, distance = of[largest], distance[largest]
            del block
        yield from np.split(distance, np.flatnonzero(np.diff(of)) + 1)

    def _reset_tails(self) -> Iterator[tuple[Array, Array]]:
        for logits, label in self.whole:
            for part in fit_blocks(*logits.shape):
                yield _correct(logits[part], label[part])
        for block in self.kept.blocks():
            yield block, block.argmax(axis=1)


def _correct(logits: Array, label: Array) -> tuple[Array, Array]:
    """The rows whose largest logit is that of their label, and their labels."""
    right = logits.argmax(axis=1) == label
    return logits[right], label[right]


class _Weibull(NamedTuple):
    """w(d) = 1 - exp(-((d - start + 10,000) / scale)^shape), one or many at once.

    Attributes:
        start: The smallest distance of the tail.
        shape: Above 0.
        log_scale: log(scale / 10,000); the scale itself would lose the digits that count.
    """

    start: Array | float
    shape: Array | float
    log_scale: Array | float

    def __call__(self, distance: Array) -> Array:
        """The share of the distribution below each distance, in [0, 1]."""
        z = np.log1p(np.maximum((distance - self.start) / _SHIFT, np.finfo(np.float64).tiny - 1))
        with np.errstate(over="ignore"):  # exp(-inf) is the right answer
            share: Array = -np.expm1(-np.exp(self.shape * (z - self.log_scale)))
        return share


def _fit_weibull(tail: Array) -> _Weibull | None:
    """The Weibull distribution under which these distances (t,) are likeliest; None if they are all equal.

    With z = log(x / 10,000) of the moved distances x, the shape k solves

        sum z exp(k z) / sum exp(k z) - 1 / k = mean z

    and the scale follows. On unmoved distances this is the equation of every Weibull fit; the shift makes it nearly
    one of Gumbel distributions, so the score does not jump at the start of the tail.

    >>> fitted = _fit_weibull(np.array([1.0, 1.5, 2.0, 4.0]))
    >>> fitted(np.array([0.0, 2.0, 4.0, 9.0])).round(2).tolist()
    [0.1, 0.42, 0.94, 1.0]
    """
    start = float(tail.min())
    z = np.log1p((tail - start) / _SHIFT)
    spread = z.std()
    if spread <= 1e-9 * np.abs(tail).max() / _SHIFT:
        return None
    unit = (z - z.mean()) / spread

    def slope(shape: float) -> float:
        weights = np.exp(shape * (unit - unit.max()))
        return float(weights @ unit / weights.sum()) - 1 / shape

    high = 1.0
    while slope(high) < 0:
        high *= 2
    shape = brentq(slope, 1e-3, high, xtol=1e-14, rtol=1e-14)
    log_scale = np.log(np.exp(shape * (unit - unit.max())).mean()) / shape + unit.max()
    return _Weibull(start, shape / spread, log_scale * spread + z.mean())
