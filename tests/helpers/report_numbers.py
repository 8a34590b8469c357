"""Metrics in plain numpy for the sample reports: the renderers are tested without the code that makes true reports."""

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Rows = Mapping[str, np.ndarray]


def estimate(value: float | None, low: float | None, high: float | None, n: int, **more: Any) -> dict[str, Any]:
    """An Estimate of the schema."""
    return {"value": value, "low": low, "high": high, "n": n, "method": "bootstrap", "reason": None} | more


def auc(rows: Rows) -> float:
    positive = rows["label"] == 1
    order = np.argsort(np.argsort(rows["probability"][:, 1])) + 1.0
    above = order[positive].sum() - positive.sum() * (positive.sum() + 1) / 2
    return float(above / (positive.sum() * (~positive).sum()))


def accuracy(rows: Rows) -> float:
    return float(np.mean(rows["probability"].argmax(1) == rows["label"]))


def nll(rows: Rows) -> float:
    return float(-np.log(rows["probability"][np.arange(len(rows["label"])), rows["label"]]).mean())


def ece(rows: Rows) -> float:
    every = bins(rows, low=0.0)
    return sum(b["n"] * abs(b["accuracy"] - b["confidence"]) for b in every if b["n"]) / len(rows["label"])


def overconfidence(rows: Rows) -> float:
    return float(rows["probability"].max(1).mean()) - accuracy(rows)


def wilson(k: float, n: int) -> tuple[float, float]:
    z = 1.959964
    middle, half = k / n + z * z / 2 / n, z * math.sqrt(k / n * (1 - k / n) / n + z * z / 4 / n / n)
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def bins(rows: Rows, low: float) -> list[dict[str, Any]]:
    confidence, right = rows["probability"].max(1), rows["probability"].argmax(1) == rows["label"]
    edges, every = np.linspace(low, 1.0, 11), []
    for start, end in itertools.pairwise(edges):
        inside = (confidence > start) & (confidence <= end)
        n = int(inside.sum())
        bin_: dict[str, Any] = {"low": float(start), "high": float(end), "n": n, "confidence": None, "accuracy": None}
        bin_ |= {"accuracy_low": None, "accuracy_high": None}
        if n:
            bounds = wilson(float(right[inside].sum()), n)
            bin_ |= {"confidence": float(confidence[inside].mean()), "accuracy": float(right[inside].mean())}
            bin_ |= dict(zip(("accuracy_low", "accuracy_high"), bounds, strict=True))
        every.append(bin_)
    return every


def take(rows: Rows, index: np.ndarray) -> Rows:
    return {name: column[index] for name, column in rows.items()}


def resampled(rows: Rows, metric: Callable[[Rows], float], resamples: int = 60) -> np.ndarray:
    rng, n = np.random.default_rng(0), len(rows["label"])
    return np.array([metric(take(rows, rng.integers(0, n, n))) for _ in range(resamples)])


def estimate_of(rows: Rows, metric: Callable[[Rows], float]) -> dict[str, Any]:
    n = len(rows["label"])
    if metric is auc and len(set(rows["label"].tolist())) < 2:
        return estimate(None, None, None, n, reason="one class only")
    low, high = np.percentile(resampled(rows, metric), [2.5, 97.5])
    return estimate(metric(rows), float(low), float(high), n)


def calibration(rows: Rows, low: float) -> dict[str, Any]:
    content = {"bins": bins(rows, low), "ece": estimate_of(rows, ece), "accuracy": accuracy(rows)}
    return content | {
        "mean_confidence": float(rows["probability"].max(1).mean()),
        "overconfidence": estimate_of(rows, overconfidence),
    }
