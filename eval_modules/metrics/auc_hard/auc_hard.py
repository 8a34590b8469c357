"""AUC over the rows out of context: hard positives against hard negatives, easy rows left out.

A criterion (co-occurrence or gist of NOOCH, mismatch, ...) names each row easy, hard_positive, hard_negative or hard.
The AUC of all rows can be high while that of the hard ones is below one half: the model then reads the context and not
the object.

Interval: DeLong's on the logit scale (with clusters: Obuchowski's), of the hard rows.

Limitations: Values of two criteria are of different rows and do not compare. Hard rows are few: look at the interval.

Source: Madras and Zemel 2021, "Identifying and Benchmarking Natural Out-of-Context Prediction Problems" (NOOCH),
"AUC-Hard" of Section 6.1 and Tables 3 and 4 (2 and 3 in the version with the checklist; nooch.py of the released code:
hard = hard positives and hard negatives).
"""

from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.eval_modules.metrics._ranking import ScoreState
from oochub.eval_modules.metrics.auc.auc import auc
from oochub.metric import MetricFacts, MetricShell
from oochub.records.sides import CHALLENGES
from oochub.stats.array_checks import Array, check_label, check_same_length, check_score, check_vector, describe_array
from oochub.stats.delong import delong
from oochub.stats.estimate import Estimate, Sampling


def auc_hard(label: Any, score: Any, challenge: Any) -> float:
    """Area under the ROC curve of the rows that a criterion calls hard.

    Args:
        label: 0 or 1 (n,), int or bool.
        score: Any real number (n,), higher = more likely class 1.
        challenge: The names "easy", "hard_positive", "hard_negative" or "hard" (n,). Numbers are an error: a ClassLabel
            column gives names with `features["challenge"].int2str`.

    Returns:
        A fraction in [0, 1], higher is better, 0.5 is chance. nan if no row is hard, or the hard rows are all of one
        class.

    Raises:
        OochubError: No rows, different lengths, labels other than 0 and 1, NaN scores, an unknown challenge, a
            hard_positive of class 0, or a hard_negative of class 1.

    >>> label, score = [1, 1, 0, 0], [0.9, 0.2, 0.4, 0.1]
    >>> auc_hard(label=label, score=score, challenge=["easy", "hard_positive", "hard_negative", "hard_negative"])
    0.5
    >>> import oochub
    >>> oochub.get("metric", "auc")(label=label, score=score)
    0.75
    """
    label, score, hard = _check_inputs(label, score, challenge)
    return _auc_of_hard(label[hard], score[hard])


def _check_inputs(label: Any, score: Any, challenge: Any) -> tuple[Array, Array, Array]:
    label, score = check_label(label, classes=2), check_score(score)
    hard = _is_hard(challenge, label)
    check_same_length(label=label, score=score, challenge=hard)
    return label, score, np.flatnonzero(hard)


def _is_hard(challenge: Any, label: Array) -> Array:
    """Which rows (n,) are out of context, from the names of the `challenge` column and checked labels."""
    array = challenge if hasattr(challenge, "codes") else check_vector(challenge, "challenge")  # or a Categorical
    if array.dtype.kind not in "OUT":
        raise OochubError(
            f"challenge must hold names ({', '.join(CHALLENGES)}), got {describe_array(array)}. For a ClassLabel "
            "column, features['challenge'].int2str(numbers) gives the names."
        )
    is_named = {name: array == name for name in CHALLENGES}
    unknown = ~np.logical_or.reduce(list(is_named.values()))
    if unknown.any():
        raise OochubError(
            f"challenge must be one of {', '.join(CHALLENGES)}, got {array[unknown].tolist()[0]!r} at row "
            f"{int(np.argmax(unknown))} ({int(unknown.sum())} such rows)."
        )
    check_same_length(label=label, challenge=array)
    denied = (is_named["hard_positive"] & (label != 1)) | (is_named["hard_negative"] & (label != 0))
    if denied.any():
        at = int(np.argmax(denied))
        raise OochubError(
            f"challenge is {str(array[at])!r} but label is {int(label[at])} at row {at} ({int(denied.sum())} such "
            "rows). The two columns come from different tasks, or their rows are out of step."
        )
    return ~np.asarray(is_named["easy"])


def _auc_of_hard(label: Array, score: Array) -> float:
    return auc(label, score) if len(label) else float("nan")


class _State(ScoreState):
    metric = staticmethod(_auc_of_hard)

    def update(self, *, label: Any, score: Any, challenge: Any) -> None:
        label, score, hard = _check_inputs(label, score, challenge)
        self._batches.append((label[hard].astype(bool), score[hard]))


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    label, score, hard = _check_inputs(**columns)
    if not len(hard):
        return Estimate(np.nan, n=0, method="delong", reason="no row is hard")
    cluster = None if sampling.cluster is None else sampling.cluster[hard]
    return delong(label[hard], score[hard], cluster=cluster, confidence=sampling.confidence)


FACTS = MetricFacts(title="AUC-Hard", direction="higher", ranking=True, interval=_estimate_interval, compact=True)


class AucHard(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "auc_hard"))
    >>> module.compute(label=[1, 1, 0], score=[0.9, 0.2, 0.4], challenge=["easy", "hard_positive", "hard_negative"])
    {'auc_hard': 0.0}
    """

    state = _State
