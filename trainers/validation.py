"""What a model is worth on the validation split: its loss and metrics of the hub, and which epoch is the best."""

import math
from collections.abc import Iterable, Mapping
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.metric import facts_of
from oochub.trainers.examples import column


class Selection(NamedTuple):
    """By which number an epoch is chosen, and in which direction."""

    metric: str
    greater_is_better: bool

    def better(self, value: float, best: float | None) -> bool:
        """Whether `value` beats `best`; equal values and nan do not, so the earlier epoch stays."""
        if math.isnan(value):
            return False
        return best is None or (value > best if self.greater_is_better else value < best)


class Validation:
    """Computes "loss", the mean cross entropy in nats, and every named metric from the logits of a split.

    A metric gets those of its arguments by name that the split has: label, prediction, probability, score (of class 1,
    for two classes), group (column "group", else the environments), challenge. A number of a metric with several is
    called "<metric>.<key>". All is tried once on equal logits, so that a metric that cannot be computed says so now.

    Args:
        dataset: The validation split.
        label: Its labels, int (n,).
        classes: How many classes there are.
        metrics: Names of metrics of the hub.
        metric_for_best_model: "loss", or the name of one of the numbers; its metric need not stand in `metrics`.
        greater_is_better: Direction of that number; None takes the metric's own.
        group_column: Used as `group` where the split has no column "group".

    Raises:
        OochubError: An unknown metric or number, a metric that lacks an array, or one without a direction.
    """

    def __init__(
        self,
        dataset: Any,
        label: NDArray[np.int64],
        *,
        classes: int,
        metrics: Iterable[str] = (),
        metric_for_best_model: str = "loss",
        greater_is_better: bool | None = None,
        group_column: str | None = None,
    ) -> None:
        chosen = metric_for_best_model.partition(".")[0]
        names = [*dict.fromkeys([*metrics, *([chosen] if chosen != "loss" else [])])]
        self._metrics = {name: catalog.get("metric", name) for name in names}
        self._columns: dict[str, Any] = {"label": label}
        self._binary = classes == 2
        for argument, source in (("group", "group"), ("group", group_column), ("challenge", "challenge")):
            if source and source in dataset.column_names and argument not in self._columns:
                self._columns[argument] = column(dataset, source)
        numbers = self.measure(np.zeros((len(label), classes), np.float32))
        if metric_for_best_model not in numbers:
            raise unknown_name("number for metric_for_best_model", metric_for_best_model, numbers)
        self.selection = Selection(metric_for_best_model, self._direction(metric_for_best_model, greater_is_better))

    def measure(self, logits: NDArray[np.float32]) -> dict[str, float]:
        """The numbers of the split, "loss" first; `logits` (n, classes) in the order of its rows."""
        shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
        exponents = np.exp(shifted)
        sums = exponents.sum(axis=1, keepdims=True)
        label = self._columns["label"]
        arrays = self._columns | {"prediction": logits.argmax(axis=1), "probability": exponents / sums}
        if self._binary:
            arrays["score"] = arrays["probability"][:, 1]
        found = {"loss": float((np.log(sums[:, 0]) - shifted[np.arange(len(label)), label]).mean())}
        for name, metric in self._metrics.items():
            value = metric(**_arguments(name, metric, arrays))
            if isinstance(value, Mapping):
                found |= {f"{name}.{key}": float(value[key]) for key in _keys(metric, value)}
            else:
                found[name] = float(value)
        return found

    def _direction(self, name: str, given: bool | None) -> bool:
        if given is not None or name == "loss":
            return bool(given)
        metric, _, key = name.partition(".")
        facts = facts_of(self._metrics[metric])
        facts = facts.keys.get(key, facts) if facts else None
        if facts is None or facts.direction == "none":
            raise OochubError(f"The hub does not know in which direction {name!r} is better. Say greater_is_better.")
        return facts.direction == "higher"


def _keys(metric: Any, value: Mapping[str, Any]) -> list[str]:
    facts = facts_of(metric)
    known = facts.keys if facts and facts.keys else value
    return [key for key in known if isinstance(value.get(key), float | int)]


def _arguments(name: str, metric: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    parameters = signature(metric).parameters
    missing = [key for key, one in parameters.items() if one.default is Parameter.empty and key not in arrays]
    if missing:
        raise OochubError(
            f"The metric {name!r} needs {', '.join(missing)}, which the validation split does not give (it gives "
            f"{', '.join(arrays)}). Leave the metric out, or add the column."
        )
    return {key: arrays[key] for key in parameters if key in arrays}
