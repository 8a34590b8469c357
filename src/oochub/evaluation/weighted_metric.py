"""Metrics of weighted rows, for many weightings at once: what reweighting and its bootstrap need."""

from collections.abc import Callable, Mapping

import numpy as np

from oochub.errors import unknown_name
from oochub.stats.array_checks import Array


def weigh_metric(metric: str, columns: Mapping[str, Array], weights: Array) -> Array:
    """A metric of weighted rows.

        auc: sum_ij w_i w_j ([score_i > score_j] + 1/2 [score_i = score_j]) / (W+ W-),  i positive, j negative
        accuracy, error_rate, nll: sum_i w_i v_i / sum_i w_i

    Args:
        metric: Name of the metric, one of `list_weighted_names()`.
        columns: `label` and `score`; `label` and `prediction`; or `loss` in nats; each (n,).
        weights: Nonnegative (k, n), a row for each weighting.

    Returns:
        float64 (k,), unit, range and direction of the metric; nan where a class, or every row, weighs nothing.

    Raises:
        OochubError: Another metric.

    >>> weigh_metric("accuracy", {"label": np.array([0, 1]), "prediction": np.array([0, 0])}, np.array([[3, 1]]))
    array([0.75])
    """
    return make_weighted_form(metric, columns)(np.asarray(weights, dtype=np.float64))


def make_weighted_form(metric: str, columns: Mapping[str, Array]) -> Callable[[Array], Array]:
    """`weigh_metric` of columns that stay, as a function of the weights alone; scores are sorted once.

    >>> form = make_weighted_form("nll", {"loss": np.array([1.0, 2.0])})
    >>> form(np.array([[1.0, 1.0], [0.0, 2.0]]))
    array([1.5, 2. ])
    """
    if metric not in _FORMS:
        raise unknown_name("metric with a weighted form", metric, _FORMS)
    return _FORMS[metric](columns)


def list_weighted_names() -> list[str]:
    """The metrics that have a weighted form.

    >>> list_weighted_names()
    ['auc', 'accuracy', 'error_rate', 'nll']
    """
    return list(_FORMS)


def read_row_values(metric: Callable[..., object] | str, columns: Mapping[str, Array]) -> Array | None:
    """The value of each row (n,) whose mean the metric is; None for a metric that is no mean over rows.

    >>> from oochub import get
    >>> read_row_values(get("metric", "accuracy"), {"label": np.array([0, 1]), "prediction": np.array([0, 0])})
    array([1., 0.])
    >>> read_row_values(get("metric", "auc"), {}) is None
    True
    """
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    values = _ROW_VALUES.get(name)
    return None if values is None else values(columns)


def _make_auc(columns: Mapping[str, Array]) -> Callable[[Array], Array]:
    order = np.argsort(columns["score"], kind="stable")
    score, positive = columns["score"][order], columns["label"][order] == 1
    starts = np.flatnonzero(np.r_[True, score[1:] != score[:-1]])  # equal scores are summed before they are compared

    def form(weights: Array) -> Array:
        weights = weights[:, order]
        ahead = np.add.reduceat(weights * positive, starts, axis=1)
        behind = np.add.reduceat(weights * ~positive, starts, axis=1)
        won = ahead * (np.cumsum(behind, axis=1) - behind / 2)
        area: Array = _divide(won.sum(axis=1), ahead.sum(axis=1) * behind.sum(axis=1))
        return area

    return form


def _mean(values: Array) -> Callable[[Array], Array]:
    return lambda weights: _divide(weights @ values, weights.sum(axis=1))


def _divide(above: Array, below: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = np.where(below > 0, above / below, np.nan)
    return ratio


_ROW_VALUES: Mapping[str, Callable[[Mapping[str, Array]], Array]] = {
    "accuracy": lambda columns: (columns["label"] == columns["prediction"]).astype(np.float64),
    "error_rate": lambda columns: (columns["label"] != columns["prediction"]).astype(np.float64),
    "nll": lambda columns: np.asarray(columns["loss"], dtype=np.float64),
    "mean_squared_error": lambda columns: np.asarray(columns["label"] - columns["prediction"], dtype=np.float64) ** 2,
    "mean_absolute_error": lambda columns: np.abs(columns["label"] - columns["prediction"]).astype(np.float64),
}
_FORMS: Mapping[str, Callable[[Mapping[str, Array]], Callable[[Array], Array]]] = {
    "auc": _make_auc,
    "accuracy": lambda columns: _mean(_ROW_VALUES["accuracy"](columns)),
    "error_rate": lambda columns: _mean(_ROW_VALUES["error_rate"](columns)),
    "nll": lambda columns: _mean(_ROW_VALUES["nll"](columns)),
}
