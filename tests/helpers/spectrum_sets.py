"""Predictions of made-up sets of imagenet_ood: known, shifted, near and far, and a report of detectors on them."""

import functools

import numpy as np
import pyarrow as pa
import reports

import oochub
from oochub.builders.sources.imagenet_sets import SETS
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json


def made(config, n, *, shift=0.0, seed=0, name=None):
    """Logits of one set of imagenet_ood; a new class has none that stands out, a shifted known class less so."""
    rng = np.random.default_rng(seed)
    ood = SETS[config].shift == "semantic"
    label = rng.integers(0, 5, n)
    logits = rng.normal(size=(n, 5)) + (0 if ood else 3 - shift) * np.eye(5)[label]
    columns = {
        "example_id": [name(k) if name else f"{config}/{k}" for k in range(n)],
        "split": ["test"] * n,
        "label": [-1] * n if ood else label.tolist(),
        "is_ood": [ood] * n,
        "logits": list(logits.astype(np.float32)),
        "shift": [SETS[config].shift] * n,
        "group": [f"{config}/{SETS[config].contexts[0]}"] * n,
        "context": [SETS[config].contexts[0]] * n,
        "environment": [config] * n,
    }
    metadata = {
        "benchmark": "imagenet_ood",
        "config": config,
        "version": "1.0.0",
        "model": {"id": "made"},
        "class_names": [f"c{k}" for k in range(5)],
        "rows": {"test": n},
    }
    return Predictions(pa.table(columns), metadata)


def _image(k):
    return f"ILSVRC2012_val_{k:08d}"


@functools.cache
def spectrum_sets():
    """One set of each kind, by its config."""
    return {
        "imagenet_1k": made("imagenet_1k", 120, seed=1, name=_image),
        "imagenet_r": made("imagenet_r", 90, shift=1.5, seed=2),
        "imagenet_c": made("imagenet_c", 150, shift=1.0, seed=3, name=lambda k: f"fog/3/{_image(k)}"),
        "ssb_hard": made("ssb_hard", 100, seed=4),
        "ninco": made("ninco", 60, seed=5),
        "inaturalist": made("inaturalist", 80, seed=6),
        "textures": made("textures", 40, seed=7),
    }


@functools.cache
def spectrum_report():
    """Two detectors on all of them."""
    return oochub.evaluate(list(spectrum_sets().values()), detectors=["msp", "energy"], resamples=100)


def near_and_far_report():
    """A report on Spawrious with the numbers of near and far sets beside its own."""
    content = to_json(spectrum_report())
    return reports.spawrious_report() | {key: content[key] for key in ("detection", "findings")}
