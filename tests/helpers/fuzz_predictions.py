"""Predictions small enough to be changed a thousand times: thirty rows, three classes, two groups, features."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import oochub
from oochub import Predictions

ROWS, CLASSES, WIDTH = 30, 3, 4


def arrays(seed: int = 0) -> dict[str, np.ndarray]:
    """Features, the logits of a head of them, labels that the model knows in two of three rows, groups."""
    rng = np.random.default_rng(seed)
    features = rng.random((ROWS, WIDTH)).astype(np.float32)
    head_arrays = head()
    logits = features @ head_arrays["weight"].T + head_arrays["bias"]
    label = np.where(np.arange(ROWS) % 3, logits.argmax(1), rng.integers(0, CLASSES, ROWS))
    return {"features": features, "logits": logits, "label": label, "group": np.array(["day", "night"] * (ROWS // 2))}


def head() -> dict[str, np.ndarray]:
    """The head: weight (c, d) and bias (c,)."""
    rng = np.random.default_rng(9)
    return {"weight": rng.normal(size=(CLASSES, WIDTH)).astype(np.float32), "bias": np.zeros(CLASSES, np.float32)}


def predictions(seed: int = 0, **columns: Any) -> Predictions:
    """Predictions of the user's own data."""
    return Predictions.from_arrays(**(arrays(seed) | columns), class_names=["cat", "dog", "owl"], model="mine")


def metadata() -> dict[str, Any]:
    """The metadata of a file of before: every field that one can have, and no digest."""
    return {
        "schema_version": 1,
        "kind": "classes",
        "benchmark": None,
        "config": "default",
        "version": "1.0.0",
        "notes": ["partial: 3 of 4 images"],
        "facts": {"object": "car", "contexts": ["road"], "beta": 0.1, "rows": {"test": ROWS}},
        "fingerprint": "f",
        "model": {"id": "mine", "revision": "r", "mode": "head"},
        "training": {"objective": "erm", "hyperparameters": {"alpha": 1.0}, "seed": 0, "epochs": 1.0},
        "class_names": ["cat", "dog", "owl"],
        "rows": {"test": ROWS},
        "provenance": {"oochub": "0.1.0", "packages": {"torch": "2"}},
    }


def numbers_of(report: Any) -> Mapping[str, Any]:
    """Every number of a report with its interval and n."""
    return {key: [report[key].value, report[key].low, report[key].high, report[key].n] for key in report}


def shown(report: Any, out: Path) -> None:
    """Does with a report what users do next."""
    report.to_markdown()
    report.to_html()
    report.save(out / "report.json")


def evaluated(path: Path, out: Path, **options: Any) -> Any:
    """The report of a file of predictions, shown."""
    report = oochub.evaluate(path, resamples=100, **options)
    shown(report, out)
    return report
