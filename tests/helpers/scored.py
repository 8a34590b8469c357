"""Scored sets for the tests of figures: random features and logits, few distinct values so that scores tie."""

import numpy as np
import pyarrow as pa

from oochub.detection.detector_scores import score_sets
from oochub.prediction.predictions import Predictions, count_rows
from oochub.prediction.predictions_file import StoredHead

CLASSES = ["lemon, a fruit", "ox", "barn"]
SETS = {"known": ("none", 90), "redrawn": ("covariate", 70), "new": ("semantic", 60)}
HEAD = StoredHead(weight=np.eye(3, 4, dtype=np.float32), bias=np.zeros(3, np.float32))


def predictions(config, *, shift, n, seed, model="runs/net", features=True, **columns):
    """Rows in two splits; the ids say set and row."""
    rng = np.random.default_rng(seed)
    label = np.full(n, -1) if shift == "semantic" else rng.integers(0, 3, n)
    logits = np.round(rng.normal(0, 1.5, (n, 3)) * 2) / 2 + 2.0 * (np.arange(3) == label[:, None])
    table = {
        "example_id": [f"{config}{row}" for row in range(n)],
        "split": ["test" if row % 5 else "validation" for row in range(n)],
        "label": label,
        "logits": logits.astype(np.float32).tolist(),
        "is_ood": [shift == "semantic"] * n,
        "shift": [shift] * n,
        **columns,
    }
    if features:
        table["features"] = rng.normal(0.3, 1, (n, 4)).astype(np.float32).tolist()
    told = {"benchmark": "imagenet_ood", "config": config, "version": "1.0.0", "model": {"id": model}}
    told |= {"class_names": CLASSES, "rows": count_rows(table["split"])}
    return Predictions(pa.table(table), told)


def parts(times=1, **options):
    """Predictions of a set in distribution, one redrawn, one of new classes."""
    return [
        predictions(name, shift=shift, n=times * n, seed=seed, **options)
        for seed, (name, (shift, n)) in enumerate(SETS.items())
    ]


def scored_sets(detectors=("msp", "energy", "max_cosine"), given=None):
    """What these detectors say of them."""
    return score_sets(given or parts(), list(detectors), head=HEAD)


def datasets_of(sets):
    """Data sets of the same ids; each image is of one color, which says its set and row, and of a size of its own."""
    import datasets
    from PIL import Image

    features = datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image()})
    found = {}
    for number, one in enumerate(sets):
        rows = {"test": {"example_id": [], "image": []}, "validation": {"example_id": [], "image": []}}
        for row, (split, name) in enumerate(zip(one.split, one.column("example_id"), strict=True)):
            rows[split]["example_id"].append(str(name))
            picture = Image.new("RGB", (10 + row % 3, 8 + row % 2), color_of(number, row))
            rows[split]["image"].append(picture)
        found[one.metadata.config] = datasets.DatasetDict(
            {split: datasets.Dataset.from_dict(columns, features=features) for split, columns in rows.items()}
        )
    return found


def color_of(number, row):
    """The color of a row of a set."""
    return (80 * number, 2 * row, 255 - 2 * row)
