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
from declared_in_tests import declared_in_tests

import oochub.eval_modules.metrics
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.estimation import estimate

FOLDER = Path(next(iter(oochub.eval_modules.metrics.__path__)))
NAMES = sorted(module.name for module in pkgutil.iter_modules([str(FOLDER)]) if not module.name.startswith("_"))
Columns = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """A metric under test: its function, what its file says beside it, and the kind of output that it is tried on."""

    name: str
    kind: str
    function: Callable[..., Any]
    facts: MetricFacts
    state: Callable[..., Any]
    arrays: tuple[str, ...]
    interval: Callable[[Columns], Any]

    def __call__(self, columns: Columns) -> dict[str, Any]:
        result = self.function(**columns)
        return result if isinstance(result, dict) else {self.name: result}

    def columns(self, n: int, seed: int) -> Columns:
        """Random arrays of `n` rows, as this kind of output gives them to its metrics."""
        assert self.kind in _COLUMNS, (
            f"METRIC_COLUMNS in the test of {self.kind}: a function like _number of {__file__}"
        )
        columns = _COLUMNS[self.kind](n, np.random.default_rng(seed))
        unknown = sorted(set(self.arrays) - set(columns))
        assert not unknown, f"the columns of {self.kind} in {__file__} have no {unknown}: add what its arrays() gives"
        return {name: columns[name] for name in self.arrays}


def subject(name: str, kind: str | None = None) -> Subject:
    module = import_module(f"oochub.eval_modules.metrics.{name}.{name}")
    function = getattr(module, name)
    classes = [
        value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    shells = [value for value in classes if issubclass(value, MetricShell)]
    assert len(shells) == 1, f"{name}.py must define one class of MetricShell, got {shells}"
    state = getattr(shells[0], "state", None)
    assert state, f"{name}.py: {shells[0].__name__} needs state=, a class with update, merge and compute, as ece has"
    arrays = tuple(array for array in inspect.signature(state.update).parameters if array != "self")
    kind = kind or module.FACTS.outputs[0]
    return Subject(name, kind, function, module.FACTS, state, arrays, lambda columns: estimate(function, columns))


def _classes(n: int, rng: np.random.Generator) -> Columns:
    """Columns that agree with each other; scores in eighths, so that there are ties."""
    label = rng.permutation(np.arange(n) % 2)
    probability = rng.integers(0, 65, n) / 64
    sign = np.where(label == 1, "hard_positive", "hard_negative")
    return {
        "label": label,
        "prediction": rng.integers(0, 2, n),
        "score": np.round(rng.normal(label, 1.5, n) * 8) / 8,
        "probability": np.stack([1 - probability, probability], axis=1),
        "group": rng.integers(0, 4, n),
        "challenge": np.where(rng.random(n) < 0.3, "easy", sign),
        "is_ood": label.astype(bool),
        "correct": rng.random(n) < 0.7,
    }


def _labels(n: int, rng: np.random.Generator) -> Columns:
    """Three labels a row, a fifth of them unknown; scores in eighths."""
    label = rng.integers(0, 2, (n, 3)).astype(np.float64)
    score = np.round(rng.normal(label, 1.5) * 8) / 8
    label[rng.random((n, 3)) < 0.2] = np.nan
    return {
        "label": label,
        "score": score,
        "probability": 1 / (1 + np.exp(-score)),
        "prediction": (score > 0).astype(np.int64),
        "group": rng.integers(0, 4, n),
    }


def _number(n: int, rng: np.random.Generator) -> Columns:
    """Numbers of both signs far from 0, that the predictions follow; in eighths."""
    label = np.round(rng.normal(-40, 5, n) * 8) / 8
    return {"label": label, "prediction": label + rng.integers(-9, 20, n) / 8, "group": rng.integers(0, 4, n)}


def _boxes(n: int, rng: np.random.Generator) -> Columns:
    """Up to four boxes an image on a coarse grid, so that overlaps are ties; scores in eighths."""

    def drawn(count: int) -> np.ndarray[Any, Any]:
        corner = rng.integers(0, 4, (count, 2)) * 2
        return np.concatenate([corner, corner + rng.integers(1, 5, (count, 2))], axis=1).astype(np.float64)

    boxes, true_boxes, scores, *others = (np.empty(n, object) for _ in range(7))
    for row, (count, true) in enumerate(rng.integers(0, 5, (n, 2)).tolist()):
        boxes[row], true_boxes[row], scores[row] = drawn(count), drawn(true), rng.integers(2, 9, count) / 8
        boxes[row][: min(2, true)] = true_boxes[row][: min(2, count)]
        own = (
            rng.integers(0, 2, count),
            rng.integers(0, 2, true),
            rng.integers(0, 5, true) == 0,
            rng.integers(1, 72, true) / 8,
        )
        for column, values in zip(others, own, strict=True):
            column[row] = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    names = ("box_categories", "true_categories", "true_crowd", "true_areas")
    return {
        **{"boxes": boxes, "scores": scores, "true_boxes": true_boxes, "group": rng.integers(0, 4, n)},
        **dict(zip(names, others, strict=True)),
        "image_id": rng.permutation(n),
    }


def _tokens(n: int, rng: np.random.Generator) -> Columns:
    """Rows of six tokens of seven kinds, some of which nobody asks for."""
    label, kind = rng.integers(0, 4, (n, 6)), rng.integers(-1, 7, (n, 6))
    label[kind < 0] = -100
    return {"label": label, "prediction": rng.integers(0, 4, (n, 6)), "kind": kind, "group": rng.integers(0, 4, n)}


_COLUMNS = {
    "boxes": _boxes,
    "classes": _classes,
    "choices": _classes,
    "labels": _labels,
    "number": _number,
    "tokens": _tokens,
} | declared_in_tests("METRIC_COLUMNS", "outputs")  # of the test of a new kind: {"name": function of n and rng}
CASES = [(name, kind) for name in NAMES for kind in subject(name).facts.outputs]


def same(first: dict[str, Any], second: dict[str, Any], tolerance: float = 1e-12) -> None:
    assert list(first) == list(second)
    for key, value in first.items():
        if isinstance(value, float):
            assert second[key] == pytest.approx(value, rel=tolerance, abs=tolerance, nan_ok=True), key
        else:
            assert second[key] == value, key
