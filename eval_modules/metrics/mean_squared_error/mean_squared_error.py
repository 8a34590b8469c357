"""Mean squared error: the mean of the squared distances of the predicted numbers from the true ones.

    MSE = 1/n sum_i (prediction_i - label_i)^2

Interval: Student's t of rows or whole clusters, corrected for skewness. If there are fewer than 100 rows, or if few
rows make most of the spread, it may be too narrow, and says so. Errors that are all alike have none.

Limitations: It is in squared units of the label, so that errors of two labels, or of two scales of one, do not compare.
A few rows that are far off can outweigh all else: see mean_absolute_error beside it.

Source: Gneiting 2011, "Making and Evaluating Point Forecasts", Journal of the American Statistical Association
106:746-762 (squared error and the mean); the released code of WILDS gives it for PovertyMap beside the correlation.
"""

import math
from typing import Any

from oochub.metric import MeanState, MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_numbers
from oochub.stats.mean_interval import RowNumbers


def mean_squared_error(label: Any, prediction: Any) -> float:
    """Mean squared distance of predicted numbers from the true ones.

    Args:
        label: The true number of each row (n,), any finite float; leave out rows without one.
        prediction: The predicted number of each row (n,), any finite float.

    Returns:
        In squared units of the label, 0 or larger, lower is better; the variance of the label is what its mean, as
        the answer to every row, would have.

    Raises:
        OochubError: No rows, different lengths, NaN or infinite numbers.

    >>> mean_squared_error(label=[-1, 2, 0.5], prediction=[0, 2, -0.5])
    0.6666666666666666
    """
    return float(_compute_errors(label, prediction).mean())


def _compute_errors(label: Any, prediction: Any) -> Array:
    label, prediction = check_numbers(label=label, prediction=prediction)
    errors: Array = (prediction - label) ** 2
    return errors


class _MeanSquaredErrorState(MeanState):
    def update(self, *, label: Any, prediction: Any) -> None:
        self._take(_compute_errors(label, prediction))


def _make_row_numbers(columns: dict[str, Array]) -> RowNumbers:
    return RowNumbers(_compute_errors(**columns), are_shares=False, within=(0.0, math.inf))


FACTS = MetricFacts(
    title="Mean squared error",
    direction="lower",
    maximum=None,
    unit="label squared",
    outputs=("number",),
    row_numbers=_make_row_numbers,
)


class MeanSquaredError(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "mean_squared_error"))
    >>> module.compute(references=[-1, 2, 0.5], predictions=[0, 2, -1.5])
    {'mean_squared_error': 1.6666666666666667}
    """

    state = _MeanSquaredErrorState
