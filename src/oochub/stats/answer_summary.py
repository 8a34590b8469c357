"""What evaluation needs of logits, row by row, a block of them at a time."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from oochub.stats.softmax_summary import SoftmaxSummary, softmax_summary


def answer_summary(
    blocks: Iterable[NDArray[np.float32]], label: NDArray[np.int64], *, allowed: NDArray[np.int64] | None = None
) -> SoftmaxSummary:
    """The answer to each row, its probability, and the loss of its true class.

    Args:
        blocks: Logits (b, c) of all n rows in order.
        label: True classes (n,), -1 for rows without one.
        allowed: Class numbers that an answer may be; None allows all.

    Returns:
        prediction int32 (n,), the first of equal logits; confidence float64 (n,); loss float64 (n,) in nats, nan for
        rows without a true class, and the largest possible where the true class is not allowed.

    >>> summary = answer_summary([np.array([[0.0, 1.0], [3.0, 0.0]], np.float32)], np.array([1, -1]))
    >>> summary.prediction.tolist(), summary.confidence.round(3).tolist(), summary.loss.round(3).tolist()
    ([1, 0], [0.731, 0.953], [0.313, nan])
    """
    n = len(label)
    prediction, confidence, loss = np.empty(n, np.int32), np.empty(n), np.empty(n)
    start = 0
    for logits in blocks:
        rows = slice(start, start + len(logits))
        prediction[rows], confidence[rows], loss[rows] = _of_block(logits, label[rows], allowed)
        start += len(logits)
    loss[label < 0] = np.nan
    return SoftmaxSummary(prediction, confidence, loss)


def _of_block(
    logits: NDArray[np.float32], label: NDArray[np.int64], allowed: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    exact = logits.astype(np.float64)
    if allowed is not None and len(allowed) < logits.shape[1]:
        among, exact = exact[:, allowed], np.full(logits.shape, -np.inf)
        exact[:, allowed] = among
    known = np.maximum(label, 0)
    if logits.shape[1] == 1:  # a single class is always the answer
        return np.zeros(len(logits), np.int64), np.ones(len(logits)), np.zeros(len(logits))
    summary = softmax_summary(exact, label=known)
    assert summary.loss is not None  # noqa: S101  labels are given
    return summary.prediction, summary.confidence, summary.loss
