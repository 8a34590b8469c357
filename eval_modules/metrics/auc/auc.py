"""Area under the ROC curve: probability that a positive row scores higher than a negative one; ties count one half.

    AUC = P(score+ > score-) + 1/2 P(score+ = score-)

It is the Mann-Whitney statistic divided by the number of pairs: exact, in float64, never an average over batches. A
strictly increasing change of the scores does not change it.

Interval: DeLong's on the logit scale (with clusters: Obuchowski's). DeLong, DeLong and Clarke-Pearson 1988, Biometrics
44:837-845.

Limitations: The AUC says nothing of a threshold or of calibration. With fewer than 30 rows of a class and an AUC near 1
its interval is too narrow; the estimate says so.

Source: Hanley and McNeil 1982, "The meaning and use of the area under a receiver operating characteristic (ROC) curve",
Radiology 143:29-36; "AUC" of NOOCH, Section 6.1.
"""

from typing import Any

import numpy as np

from oochub.eval_modules.metrics._ranking import ScoreState
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_label, check_same_length, check_score
from oochub.stats.delong import delong
from oochub.stats.estimate import Estimate, Sampling

_CHUNK = 65536  # rows packed together: temporaries stay in the processor's cache


def auc(label: Any, score: Any) -> float:
    """Area under the ROC curve of `score` for class 1 against class 0.

    float32 (and float16) scores take a faster path than float64 and integers; both are exact.

    Args:
        label: 0 or 1 (n,), int or bool.
        score: Any real number (n,), higher = more likely class 1; infinities are fine. -0.0 equals 0.0. Probabilities
            and logits give the same value, unless rounding makes ties of different logits.

    Returns:
        A fraction in [0, 1], higher is better, 0.5 is chance. nan if all rows are of one class.

    Raises:
        OochubError: No rows, different lengths, labels other than 0 and 1, or NaN scores.

    >>> auc(label=[0, 0, 1, 1], score=[0.1, 0.4, 0.35, 0.8])
    0.75
    >>> from oochub.stats.estimation import estimate
    >>> estimate(auc, {"label": [0, 1] * 50, "score": [i % 7 + i % 2 for i in range(100)]})
    0.635 [0.518, 0.741] n=100
    """
    label, score = _check_inputs(label, score)
    positive = label.astype(bool)
    m = int(np.count_nonzero(positive))
    n = len(positive) - m
    if m == 0 or n == 0:
        return float("nan")
    doubled = _count_wins_packed(positive, score) if score.dtype == np.float32 else _count_wins_by_sort(positive, score)
    return doubled / (2 * m * n)


def _check_inputs(label: Any, score: Any) -> tuple[Array, Array]:
    label, score = check_label(label, classes=2), check_score(score)
    check_same_length(label=label, score=score)
    return label, score


def _count_wins_by_sort(positive: Array, score: Array) -> int:
    """Twice the number of (positive, negative) pairs won, ties once."""
    ahead, behind = np.sort(score[positive]), np.sort(score[~positive])
    below = np.searchsorted(behind, ahead, side="left")
    not_above = np.searchsorted(behind, ahead, side="right")
    return int(below.sum()) + int(not_above.sum())


def _count_wins_packed(positive: Array, score: Array) -> int:
    """The same from one value sort of 33-bit integers: the float's rank bits, then the label."""
    packed = np.empty(len(score), np.uint64)
    for start in range(0, len(score), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        bits = (score[chunk] + np.float32(0)).view(np.uint32)  # + 0 turns -0.0 into 0.0
        # Negative floats order backwards: all bits flip; the others only get the sign bit set.
        bits ^= (bits.view(np.int32) >> 31).view(np.uint32) | np.uint32(1 << 31)
        packed[chunk] = bits
        packed[chunk] <<= np.uint64(1)
        packed[chunk] |= positive[chunk]
    packed.sort()
    places, tied_pairs, m = 0, 0, 0
    for start in range(0, len(packed), _CHUNK):
        rows = packed[start : start + _CHUNK + 1]  # one more: a tie may straddle two chunks
        at = np.flatnonzero(rows[:_CHUNK] & np.uint64(1))
        places += int(at.sum()) + start * len(at)
        m += len(at)
        # Negatives stand before the positives of the same score: the step between them flips one bit.
        ties = rows[1:][(rows[1:] ^ rows[:-1]) == 1]
        if len(ties):
            right, middle = np.searchsorted(packed, ties, "right"), np.searchsorted(packed, ties, "left")
            left = np.searchsorted(packed, ties - np.uint64(1), "left")
            tied_pairs += int(((right - middle) * (middle - left)).sum())
    not_above = places - m * (m - 1) // 2  # a positive's place, less the positives before it
    return 2 * not_above - tied_pairs


class _State(ScoreState):
    metric = staticmethod(auc)

    def update(self, *, label: Any, score: Any) -> None:
        label, score = _check_inputs(label, score)
        self._batches.append((label.astype(bool), score.copy()))


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    return delong(**columns, cluster=sampling.cluster, confidence=sampling.confidence)


FACTS = MetricFacts(title="AUC", direction="higher", ranking=True, interval=_estimate_interval)


class Auc(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "auc"))
    >>> module.add_batch(label=[0, 0], score=[0.1, 0.4])
    >>> module.add_batch(label=[1, 1], score=[0.35, 0.8])
    >>> module.compute()
    {'auc': 0.75}
    """

    state = _State
