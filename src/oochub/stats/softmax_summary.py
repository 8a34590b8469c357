"""What metrics need of a softmax, in one pass over the logits and without ever holding the probabilities.

Accuracy is the mean of `prediction == label`, NLL the mean of `loss`, and the expected calibration error is
`ece(prediction == label, confidence, of="positive")`.
"""

from typing import Any, NamedTuple

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_label, check_same_length

_TOGETHER = 1 << 16  # logits looked at together: they stay in the processor's cache
_SAFE = 60.0  # sums of exp(z) neither overflow nor vanish in float32: no need to subtract the largest
_LARGEST_LOSS = -float(np.log(np.finfo(np.float64).tiny))  # as in nll


class SoftmaxSummary(NamedTuple):
    """Per row of the logits: the class of the largest, its probability, and the loss of the true class."""

    prediction: Array
    confidence: Array
    loss: Array | None


def softmax_summary(logits: Any, *, label: Any = None) -> SoftmaxSummary:
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

    >>> summary = softmax_summary(np.log([[1.0, 3.0], [4.0, 1.0]]), label=[1, 1])
    >>> summary.prediction.tolist(), summary.confidence.round(6).tolist(), np.exp(-summary.loss).round(6).tolist()
    ([1, 0], [0.75, 0.8], [0.75, 0.2])
    """
    logits = _checked(logits)
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
            f"{int(np.argmax(bad))}. Find out why the model gave them, or leave these rows out."
        )
    top, log_total = top.astype(np.float64), np.log(total.astype(np.float64)) + base
    confidence = np.minimum(np.exp(top - log_total), 1.0)
    if label is None:
        return SoftmaxSummary(prediction, confidence, None)
    label = check_label(label, classes=classes)
    check_same_length(logits=logits, label=label)
    loss = np.clip(log_total - logits[np.arange(n), label], 0.0, _LARGEST_LOSS)
    return SoftmaxSummary(prediction, confidence, loss)


def _checked(logits: Any) -> Array:
    array = np.asarray(logits)
    if array.ndim != 2 or array.shape[1] < 2 or len(array) == 0 or array.dtype.kind not in "fiu":
        raise OochubError(
            f"logits must be real numbers of shape (n, classes) with one row and two classes or more, got "
            f"{array.dtype} of shape {array.shape}. A single logit z of class 1 is the two columns 0 and z."
        )
    wanted = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    return np.ascontiguousarray(array, dtype=wanted)
