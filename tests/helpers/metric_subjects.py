"""Each metric with what its file says beside it, and columns to try it on."""

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oochub.eval_modules.metrics
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.estimation import estimate

FOLDER = Path(next(iter(oochub.eval_modules.metrics.__path__)))
NAMES = sorted(module.name for module in pkgutil.iter_modules([str(FOLDER)]) if not module.name.startswith("_"))
Columns = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """A metric under test: its function, and what its file says beside it."""

    name: str
    function: Callable[..., Any]
    facts: MetricFacts
    state: Callable[..., Any]
    arrays: tuple[str, ...]
    interval: Callable[[Columns], Any]

    def __call__(self, columns: Columns) -> dict[str, Any]:
        result = self.function(**columns)
        return result if isinstance(result, dict) else {self.name: result}


def subject(name: str) -> Subject:
    module = import_module(f"oochub.eval_modules.metrics.{name}.{name}")
    function = getattr(module, name)
    classes = [
        value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    shells = [value for value in classes if issubclass(value, MetricShell)]
    assert len(shells) == 1, f"{name}.py must define one class of MetricShell, got {shells}"
    state = shells[0].state
    arrays = tuple(array for array in inspect.signature(state.update).parameters if array != "self")
    return Subject(name, function, module.FACTS, state, arrays, lambda columns: estimate(function, columns))


def random_columns(arrays: tuple[str, ...], n: int, seed: int) -> Columns:
    """Columns that agree with each other; scores in eighths, so that there are ties."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    probability = rng.integers(0, 65, n) / 64
    sign = np.where(label == 1, "hard_positive", "hard_negative")
    columns: Columns = {
        "label": label,
        "prediction": rng.integers(0, 2, n),
        "score": np.round(rng.normal(label, 1.5, n) * 8) / 8,
        "probability": np.stack([1 - probability, probability], axis=1),
        "group": rng.integers(0, 4, n),
        "challenge": np.where(rng.random(n) < 0.3, "easy", sign),
        "is_ood": label.astype(bool),
        "correct": rng.random(n) < 0.7,
    }
    unknown = sorted(set(arrays) - set(columns))
    assert not unknown, f"random_columns has no {unknown}: add them to it, for the rules need columns"
    return {name: columns[name] for name in arrays}


def same(first: dict[str, Any], second: dict[str, Any], tolerance: float = 1e-12) -> None:
    assert list(first) == list(second)
    for key, value in first.items():
        if isinstance(value, float):
            assert second[key] == pytest.approx(value, rel=tolerance, abs=tolerance, nan_ok=True), key
        else:
            assert second[key] == value, key
