"""Accuracy: the share of rows whose predicted class is the true one.

    accuracy = 1/n sum_i [prediction_i = label_i]

Interval: a percentile bootstrap; Wilson's where fewer than ten rows are right, or wrong.

Limitations: If classes are unbalanced, it mostly describes the largest; see worst_group.

Source: "average accuracy" of Spawrious, Section 5; WILDS, Table 1, which report it per data set.
"""

from typing import Any

import numpy as np

from oochub.metric import MeanState, MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_answer, check_label, check_same_length
from oochub.stats.mean_interval import RowNumbers


def accuracy(label: Any, prediction: Any) -> float:
    """Share of correct predictions.

    Args:
        label: The class of each row (n,), int or bool.
        prediction: The predicted class of each row (n,), int or bool; -1 is none of the classes, which is wrong. Scores
            and probabilities are an error: choose the class first.

    Returns:
        A fraction in [0, 1], higher is better.

    Raises:
        OochubError: No rows, different lengths, negative or fractional classes.

    >>> accuracy(label=[0, 1, 1, 2], prediction=[0, 1, 2, 2])
    0.75
    """
    rows = _correct(label, prediction)
    return int(np.count_nonzero(rows)) / len(rows)


def _correct(label: Any, prediction: Any) -> Array:
    label, prediction = check_label(label), check_answer(prediction)
    check_same_length(label=label, prediction=prediction)
    rows: Array = label == prediction
    return rows


class _AccuracyState(MeanState):
    def update(self, *, label: Any, prediction: Any) -> None:
        self._take(_correct(label, prediction))


def _make_row_numbers(columns: dict[str, Array]) -> RowNumbers:
    return RowNumbers(_correct(**columns).astype(np.float64))


FACTS = MetricFacts(title="Accuracy", direction="higher", row_numbers=_make_row_numbers, outputs=("classes", "choices"))


class Accuracy(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "accuracy"))
    >>> module.compute(references=[0, 1, 1, 2], predictions=[0, 1, 2, 2])
    {'accuracy': 0.75}
    """

    state = _AccuracyState
