"""Error rate: the share of rows whose predicted class is not the true one.

    error rate = 1/n sum_i [prediction_i != label_i] = 1 - accuracy

Interval: a percentile bootstrap; Wilson's where fewer than ten rows are right, or wrong.

Limitations: If classes are unbalanced, it mostly describes the largest; see worst_group.

Source: "Error" of NOOCH, Section 6.1; the released code predicts class 1 where the logit is above 0.
"""

from typing import Any

import numpy as np

from oochub.eval_modules.metrics.accuracy.accuracy import _correct
from oochub.metric import MeanState, MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.mean_interval import RowNumbers


def error_rate(label: Any, prediction: Any) -> float:
    """Share of wrong predictions.

    Args:
        label: The class of each row (n,), int or bool.
        prediction: The predicted class of each row (n,), int or bool; -1 is none of the classes, which is wrong. Scores
            and probabilities are an error: choose the class first.

    Returns:
        A fraction in [0, 1], lower is better.

    Raises:
        OochubError: No rows, different lengths, negative or fractional classes.

    >>> error_rate(label=[0, 1, 1, 2], prediction=[0, 1, 2, 2])
    0.25
    """
    rows = _mark_wrong(label, prediction)
    return int(np.count_nonzero(rows)) / len(rows)


def _mark_wrong(label: Any, prediction: Any) -> Array:
    return ~_correct(label, prediction)


class _ErrorRateState(MeanState):
    def update(self, *, label: Any, prediction: Any) -> None:
        self._take(_mark_wrong(label, prediction))


def _make_row_numbers(columns: dict[str, Array]) -> RowNumbers:
    return RowNumbers(_mark_wrong(**columns).astype(np.float64))


FACTS = MetricFacts(
    title="Error rate", direction="lower", row_numbers=_make_row_numbers, outputs=("classes", "choices")
)


class ErrorRate(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "error_rate"))
    >>> module.compute(references=[0, 1, 1, 2], predictions=[0, 1, 2, 2])
    {'error_rate': 0.25}
    """

    state = _ErrorRateState
