"""Predictions of made-up sets, some with zoomed images, and reports that hold their detectors."""

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import reports

import oochub
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json

CLASSES, WIDTH = 12, 16
DETECTORS = ("msp", "max_logit", "energy", "max_cosine", "ash_b", "grad_norm")
_WEIGHT = np.random.default_rng(0).normal(size=(CLASSES, WIDTH))
HEAD = {"weight": _WEIGHT.astype(np.float32), "bias": np.zeros(CLASSES, np.float32)}


def made(config: str, n: int, *, shift: float = 0.0, seed: int = 1, ood: bool = False, zoom: float | None = None):
    """Features around class means moved by `shift`, with the logits of a linear head; `zoom` shrinks the features."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, CLASSES, n)
    features = (_WEIGHT[label] * 0.7 + rng.normal(size=(n, WIDTH)) + shift).astype(np.float32)
    columns: dict[str, Any] = {
        "example_id": [f"{config}{k}" for k in range(n)],
        "split": ["test"] * n,
        "label": [-1] * n if ood else label.tolist(),
        "logits": list(features @ HEAD["weight"].T),
        "features": list(features),
    }
    metadata: dict[str, Any] = {
        "benchmark": "someone",
        "config": config,
        "version": "1.0.0",
        "model": {"id": "made"},
        "class_names": [f"c{k}" for k in range(CLASSES)],
        "rows": {"test": n},
    }
    if zoom is not None:
        zoomed = (features * 0.8 + 0.2 * rng.normal(size=(n, WIDTH))).astype(np.float32)
        columns |= {"zoom_logits": list(zoomed @ HEAD["weight"].T), "zoom_features": list(zoomed)}
        metadata["zoom"] = {"factor": zoom}
    return Predictions(pa.table(columns), metadata)


@functools.cache
def fields() -> dict[str, Any]:
    """The fields `detection` and `probes` of two pairs and six detectors."""
    sets = [
        made("imagenet_1k", 300, zoom=1.2),
        made("near_ood", 200, shift=0.4, seed=2, ood=True),
        made("far_ood", 150, shift=1.5, seed=3, ood=True),
    ]
    chosen = []
    for name in DETECTORS:
        detector = oochub.get("detector", name)()
        if detector.fit_needs:
            detector.fit(features=sets[0].features, logits=sets[0].logits, label=sets[0].label, **HEAD)
        chosen.append(detector)
    report = oochub.evaluate(sets, detectors=chosen, probes=["zoom"], resamples=200)
    content = to_json(report)
    return {key: content[key] for key in ("detection", "probes")}


def detection_report() -> dict[str, Any]:
    """A report on Spawrious with these fields beside its own."""
    import copy

    return reports.spawrious_report() | copy.deepcopy(fields())
