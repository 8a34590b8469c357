"""What logits say row by row: the softmax, the answer with its probability and loss, how far two runs are apart.

`ClassProbability` is how evaluation holds the probabilities of classes: three numbers per row, however many classes
there are. `summarize_softmax` makes these numbers in one pass over the logits, without ever holding the probabilities:
accuracy is the mean of `prediction == label`, NLL the mean of `loss`, and the expected calibration error is
`ece(prediction == label, confidence, of="positive")`. `summarize_answers` does it a block of rows at a time.

`RightClasses` are classes that are right beside the label of a row, such as two things in one image.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_label, check_same_length

if TYPE_CHECKING:
    import torch


_TOGETHER = 1 << 16  # logits looked at together: they stay in the processor's cache
LIKE_PROBABILITIES = "the logits of each row lie in [0, 1] and sum to 1, as probabilities do, and were read as logits"
"""What is said of answers for which `are_probabilities` holds, given as logits."""
_OFF = 1e-3  # of the sum of probabilities
_SAFE = 60.0  # sums of exp(z) neither overflow nor vanish in float32: no need to subtract the largest
_LARGEST_LOSS = -float(np.log(np.finfo(np.float64).tiny))  # as in nll


class RightClasses(NamedTuple):
    """Classes that are right beside the label: pairs of a row and a class, sorted by row."""

    rows: NDArray[np.int64]
    classes: NDArray[np.int64]

    def select(self, rows: slice) -> "RightClasses":
        """Those of a block of rows, which are numbered from 0 there."""
        some = slice(*np.searchsorted(self.rows, (rows.start, rows.stop)))
        return RightClasses(self.rows[some] - rows.start, self.classes[some])


def count_as_label(answer: NDArray[np.int64], label: NDArray[np.int64], also: RightClasses | None) -> NDArray[np.int64]:
    """The answers (n,) with the label in place of each that is right beside it.

    Args:
        answer: Class numbers (n,).
        label: True classes (n,), -1 for rows without one.
        also: Classes that are right beside the label; None for none.

    >>> also = RightClasses(np.array([0, 1]), np.array([2, 2]))
    >>> count_as_label(np.array([2, 1, 2]), np.array([0, 0, 0]), also).tolist()
    [0, 1, 2]
    """
    if also is None:
        return answer
    rows = also.rows[(answer[also.rows] == also.classes) & (label[also.rows] >= 0)]
    counted = answer.copy()
    counted[rows] = label[rows]
    return counted


def are_probabilities(values: Array) -> bool:
    """Whether numbers (n, c) look like probabilities of classes: in [0, 1], each row sums to 1, and not all 0 or 1.

    >>> are_probabilities(np.array([[0.25, 0.75], [0.9, 0.1]])), are_probabilities(np.array([[1.0, 0.0]]))
    (True, False)
    """
    if values.ndim != 2 or values.shape[1] < 2 or not len(values):
        return False
    is_inside = bool((values >= 0).all() and (values <= 1).all())
    return is_inside and bool((np.abs(values.sum(axis=1) - 1) < _OFF).all()) and not np.isin(values, (0, 1)).all()


def softmax(logits: Array, allowed: Array | None = None) -> Array:
    """Probabilities float64 (n, c) in [0, 1] whose rows sum to 1.

    Args:
        logits: Finite numbers (n, c).
        allowed: Numbers of the classes (k,) that an answer may be: the others get 0; None allows all.

    >>> softmax(np.log([[1.0, 3.0, 4.0]]), np.array([0, 1])).round(6).tolist()
    [[0.25, 0.75, 0.0]]
    """
    if allowed is not None and len(allowed) < logits.shape[1]:
        among = np.zeros(logits.shape)
        among[:, allowed] = softmax(logits[:, allowed])
        return among
    return scipy.special.softmax(logits.astype(np.float64), axis=1)  # type: ignore[no-any-return]


class SoftmaxSummary(NamedTuple):
    """Per row of the logits: the class of the largest, its probability, and the loss of the true class."""

    prediction: Array
    confidence: Array
    loss: Array | None


def summarize_softmax(logits: Any, *, label: Any = None) -> SoftmaxSummary:
    """Predicted class, its softmax probability, and the negative log-likelihood of the true class.

        loss = log sum_k exp(z_k) - z_label

    Memory beyond the result does not grow with the rows. Sums are in the precision of the logits: of float32
    logits the loss is right to 1e-6.

    Args:
        logits: Real numbers (n, c), c >= 2; -inf is a class of probability 0. A single logit z of class 1 is the two
            columns 0 and z.
        label: The class of each row (n,), int; None leaves out the loss.

    Returns:
        prediction int (n,), the first of equal logits; confidence float64 (n,) in [1 / c, 1]; loss float64
        (n,) in nats, at most 708.4 as in nll, or None.

    Raises:
        OochubError: Another shape or type, NaN, a largest logit that is infinite, different lengths, or a
            label without a column.

    >>> summary = summarize_softmax(np.log([[1.0, 3.0], [4.0, 1.0]]), label=[1, 1])
    >>> summary.prediction.tolist(), summary.confidence.round(6).tolist(), np.exp(-summary.loss).round(6).tolist()
    ([1, 0], [0.75, 0.8], [0.75, 0.2])
    """
    logits = _check_logits(logits)
    n, classes = logits.shape
    prediction = np.empty(n, np.intp)
    top, total, base = np.empty(n, logits.dtype), np.empty(n, logits.dtype), np.zeros(n, logits.dtype)
    together = max(1, _TOGETHER // classes)
    shifted, ones = np.empty((together, classes), logits.dtype), np.ones(classes, logits.dtype)
    for start in range(0, n, together):
        rows = slice(start, start + together)
        block = logits[rows]
        block.argmax(axis=1, out=prediction[rows])
        top[rows] = block[np.arange(len(block)), prediction[rows]]
        part = shifted[: len(block)]
        if np.abs(top[rows]).max() < _SAFE:
            np.exp(block, out=part)
        else:
            base[rows] = top[rows]
            with np.errstate(invalid="ignore"):  # inf - inf, refused below
                np.exp(np.subtract(block, top[rows, None], out=part), out=part)
        np.dot(part, ones, out=total[rows])
    # An infinite largest logit gives inf - inf, a NaN stays one: either way its row has no sum.
    if not np.isfinite(total).all():
        bad = ~np.isfinite(total)
        raise OochubError(
            f"logits must be finite, got NaN or infinity in {int(bad.sum())} of {n} rows, the first at row "
            f"{int(np.argmax(bad))}. Find out why the model gave them, or remove these rows."
        )
    top, log_total = top.astype(np.float64), np.log(total.astype(np.float64)) + base
    confidence = np.minimum(np.exp(top - log_total), 1.0)
    if label is None:
        return SoftmaxSummary(prediction, confidence, None)
    label = check_label(label, classes=classes)
    check_same_length(logits=logits, label=label)
    loss = np.clip(log_total - logits[np.arange(n), label], 0.0, _LARGEST_LOSS)
    return SoftmaxSummary(prediction, confidence, loss)


def _check_logits(logits: Any) -> Array:
    array = np.asarray(logits)
    if array.ndim != 2 or array.shape[1] < 2 or len(array) == 0 or array.dtype.kind not in "fiu":
        raise OochubError(
            f"logits must be real numbers of shape (n, classes) with one row and two classes or more, got "
            f"{array.dtype} of shape {array.shape}. A single logit z of class 1 is the two columns 0 and z."
        )
    wanted = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    return np.ascontiguousarray(array, dtype=wanted)


def summarize_answers(
    blocks: Iterable[NDArray[np.float32]],
    label: NDArray[np.int64],
    *,
    allowed: NDArray[np.int64] | None = None,
    also: RightClasses | None = None,
) -> SoftmaxSummary:
    """The answer to each row, its probability, and the loss of its true class.

    If several classes of a row are right, an answer that is one of them counts as the label, and the loss is that of
    the probability of all of them together.

    Args:
        blocks: Logits (b, c) of all n rows in order.
        label: True classes (n,), -1 for rows without one.
        allowed: Class numbers that an answer may be; None allows all.
        also: Classes that are right beside the label; None for none.

    Returns:
        prediction int32 (n,), the first of equal logits; confidence float64 (n,); loss float64 (n,) in nats, nan for
        rows without a true class, and the largest possible where the true class is not allowed.

    >>> summary = summarize_answers([np.array([[0.0, 1.0], [3.0, 0.0]], np.float32)], np.array([1, -1]))
    >>> summary.prediction.tolist(), summary.confidence.round(3).tolist(), summary.loss.round(3).tolist()
    ([1, 0], [0.731, 0.953], [0.313, nan])
    """
    n = len(label)
    prediction, confidence, loss = np.empty(n, np.int32), np.empty(n), np.empty(n)
    start = 0
    for logits in blocks:
        rows = slice(start, start + len(logits))
        right = None if also is None else also.select(rows)
        prediction[rows], confidence[rows], loss[rows] = _summarize_block(logits, label[rows], allowed, right)
        start += len(logits)
    loss[label < 0] = np.nan
    return SoftmaxSummary(prediction, confidence, loss)


def _summarize_block(
    logits: NDArray[np.float32],
    label: NDArray[np.int64],
    allowed: NDArray[np.int64] | None,
    also: RightClasses | None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    exact = logits.astype(np.float64)
    if allowed is not None and len(allowed) < logits.shape[1]:
        among, exact = exact[:, allowed], np.full(logits.shape, -np.inf)
        exact[:, allowed] = among
    column = np.maximum(label, 0)
    if logits.shape[1] == 1:  # a single class is always the answer
        return np.zeros(len(logits), np.int64), np.ones(len(logits)), np.zeros(len(logits))
    summary = summarize_softmax(exact, label=column)
    assert summary.loss is not None  # noqa: S101  labels are given
    if also is None:
        return summary.prediction, summary.confidence, summary.loss
    loss = _lower_loss(summary.loss, exact, column, also)
    return count_as_label(summary.prediction, label, also), summary.confidence, loss


def _lower_loss(
    loss: NDArray[np.float64], logits: NDArray[np.float64], label: NDArray[np.int64], also: RightClasses
) -> NDArray[np.float64]:
    """The loss (n,) of the probability that all right classes of a row have together."""
    pairs = np.unique(np.stack(also), axis=1)
    rows, classes = pairs[:, label[pairs[0]] != pairs[1]]
    some, place = np.unique(rows, return_inverse=True)
    together = logits[some, label[some]]
    np.logaddexp.at(together, place, logits[rows, classes])
    lowered = loss.copy()
    lowered[some] = np.clip(scipy.special.logsumexp(logits[some], axis=1) - together, 0.0, _LARGEST_LOSS)
    return lowered


@dataclass(frozen=True, eq=False)
class ClassProbability:
    """What metrics read of the softmax (n, c) of n rows; the matrix itself is read when somebody asks for it.

    Indexed by a mask, a slice or row numbers it gives another one, of these rows. `numpy.asarray` gives the matrix of
    its rows, float64; so a metric that knows nothing of this class works with it.

    Attributes:
        label: The true class of each row (n,), -1 where it is none of them.
        prediction: The most probable class (n,), the first of equals.
        confidence: Its probability (n,), in [1 / c, 1].
        loss: Minus the log of the true class's probability (n,), or of that of all right ones, in nats, at most 708.4;
            nan where there is none.
        classes: How many classes c there are.
        matrix: Gives the matrix (k, c) of k rows, by their numbers or a slice.

    >>> matrix = np.array([[0.25, 0.75], [0.8, 0.2]])
    >>> numbers = np.array([1, 0]), np.array([1, 0]), np.array([0.75, 0.8]), -np.log([0.75, 0.8])
    >>> some = ClassProbability(*numbers, classes=2, matrix=lambda rows: matrix[rows])[1:]
    >>> some.confidence, np.asarray(some)
    (array([0.8]), array([[0.8, 0.2]]))
    """

    label: Array
    prediction: Array
    confidence: Array
    loss: Array
    classes: int
    matrix: Callable[[Any], Array] = field(repr=False)

    ndim = 2
    dtype = np.dtype(np.float64)

    def __getitem__(self, rows: Any) -> "ClassProbability":
        rows = np.flatnonzero(rows) if getattr(rows, "dtype", None) == np.bool_ else rows  # a mask is slower
        return ClassProbability(
            self.label[rows],
            self.prediction[rows],
            self.confidence[rows],
            self.loss[rows],
            self.classes,
            lambda some: self.matrix(np.arange(len(self))[rows][some]),
        )

    def is_of(self, label: Any) -> bool:
        """Whether `loss` is that of these labels (n,), none of them -1; else the matrix must be asked."""
        return (label is self.label or np.array_equal(label, self.label)) and bool((self.label >= 0).all())

    def __len__(self) -> int:
        return len(self.label)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, c)."""
        return len(self), self.classes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.matrix(slice(None)).astype(dtype or self.dtype, copy=False)


def logit_difference(logits: "torch.Tensor", reference: "torch.Tensor") -> float:
    """The largest difference of a logit as a share of the range of all: 0.02 is 2%; nan where one is not finite.

    Args:
        logits: float (n, c).
        reference: float (n, c), of the same rows the usual way; its range is the largest logit less the smallest.

    >>> import torch
    >>> logit_difference(torch.tensor([[0.0, 4.0]]), torch.tensor([[0.0, 5.0]]))
    0.2
    """
    difference = (logits.double() - reference.double()).abs().max().item()
    extent = (reference.max() - reference.min()).item()
    if extent == 0:
        return 0.0 if difference == 0 else math.inf
    return float(difference / extent)
