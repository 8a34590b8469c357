"""Macro F1: the harmonic mean of precision and recall of each class, averaged over the classes.

    F1 = 1/|K| sum_(k in K) 2 TP_k / (2 TP_k + FP_k + FN_k),    K the classes that are the label of a row

Every class counts once, the rare ones too. A class that is nobody's label is left out of the average; answering it
costs the recall of the true class, and no precision of its own.

Interval: a percentile bootstrap of rows, or of whole clusters.

Limitations: A class of a few rows moves it as much as one of thousands. Values of sets with other classes do not
compare: the test set decides which classes are averaged.

Source: Koh et al. 2021, WILDS, Section 4.1.1 (iWildCam2020-wilds), and its code, scikit-learn's `f1_score` with
`average="macro"` and `labels=unique(label)`.
"""

from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import NO_CLASS, Array, check_answer, check_label, check_same_length
from oochub.stats.bootstrap import draw_sums, drop_no_width, note_few_rows, replicate_interval
from oochub.stats.estimate import Estimate, Sampling

_MANY = 10_000  # independent rows from here: rows with one label and one answer are drawn together, by the same law


def f1_macro(label: Any, prediction: Any) -> float:
    """Mean over the classes of F1.

    Args:
        label: The class of each row (n,), int or bool.
        prediction: The predicted class of each row (n,), int or bool; -1 is none of the classes, which costs the recall
            of the true one.

    Returns:
        A fraction in [0, 1], higher is better.

    Raises:
        OochubError: No rows, different lengths, negative or fractional classes.

    >>> f1_macro(label=[0, 0, 1, 2], prediction=[0, 1, 1, 7])  # F1 of 2/3, 2/3 and 0
    0.4444444444444444
    """
    state = _F1MacroState()
    state.update(label=label, prediction=prediction)
    return state.compute()


class _F1MacroState:
    """Per class: rows, answers, and correct rows (3, classes)."""

    def __init__(self) -> None:
        self._counts = np.zeros((3, 0), np.int64)

    def update(self, *, label: Any, prediction: Any) -> None:
        label, prediction = check_label(label), check_answer(prediction)
        check_same_length(label=label, prediction=prediction)
        classes = 1 + int(max(label.max(), prediction.max()))
        self._add(_count_outcomes(label.astype(np.int64), prediction.astype(np.int64), classes))

    def merge(self, other: "_F1MacroState") -> None:
        self._add(other._counts)

    def compute(self) -> float:
        if not self._counts[0].any():
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        return float(_mean(self._counts))

    def _add(self, counts: Array) -> None:
        grown = np.zeros((3, max(counts.shape[1], self._counts.shape[1])), np.int64)
        for table in (self._counts, counts):
            grown[:, : table.shape[1]] += table
        self._counts = grown


def _count_outcomes(label: Array, prediction: Array, classes: int) -> Array:
    parts = (label, prediction[prediction >= 0], label[label == prediction])  # "none of them" is no class of its own
    return np.stack([np.bincount(part, minlength=classes) for part in parts])


def _mean(counts: Array) -> Any:
    """The mean of F1 over the classes that have rows, of counts (..., 3, classes)."""
    rows, answers, right = np.moveaxis(counts, -2, 0)
    has_rows = rows > 0
    of_class = 2 * right / np.maximum(rows + answers, 1)
    return np.where(has_rows, of_class, 0.0).sum(axis=-1) / has_rows.sum(axis=-1)


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    label, answer = check_label(columns["label"]), check_answer(columns["prediction"])
    names, codes = np.unique(np.stack([label, np.where(answer < 0, label, answer)]), return_inverse=True)
    label, prediction = codes.reshape(2, -1)
    prediction = np.where(answer < 0, NO_CLASS, prediction)
    n, classes = len(label), len(names)
    value = float(_mean(_count_outcomes(label, prediction, classes)))
    cells: Array | None = None
    unit: Array = np.arange(n) if sampling.cluster is None else sampling.cluster
    check_same_length(label=label, cluster=unit)
    if sampling.cluster is None and n >= _MANY:  # rows of one label and one answer count as a cell
        (label, prediction), cells = np.unique(np.stack([label, prediction]), axis=1, return_counts=True)
        unit = np.arange(len(label))
    drawn = draw_sums(_count_by_unit(label, prediction, unit, classes), sampling, cells=cells)
    of_resamples = _mean(drawn.reshape(-1, 3, classes))
    estimate = drop_no_width(replicate_interval(of_resamples, value, n, sampling))
    return estimate if sampling.cluster is not None else note_few_rows(estimate)


def _count_by_unit(label: Array, prediction: Array, unit: Array, classes: int) -> Any:
    """`_count_outcomes` of each unit of rows, side by side (units, 3 x classes), as a sparse array."""
    from scipy import sparse

    parts = (label, prediction, label)
    kept = (np.full(len(label), True), prediction >= 0, label == prediction)
    column = np.concatenate(
        [place * classes + part[of] for place, (part, of) in enumerate(zip(parts, kept, strict=True))]
    )
    row = np.concatenate([unit[of] for of in kept])
    shape = (int(unit.max()) + 1, 3 * classes)
    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)


FACTS = MetricFacts(title="Macro F1", direction="higher", outputs=("classes", "choices"), interval=_estimate_interval)


class F1Macro(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "f1_macro"))
    >>> module.compute(references=[0, 0, 1, 1], predictions=[0, 0, 1, 0])
    {'f1_macro': 0.7333333333333334}
    """

    state = _F1MacroState
