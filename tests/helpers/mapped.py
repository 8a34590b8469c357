"""Predictions with features in which class and place can be seen, wrong in two places out of nine."""

import numpy as np

from oochub.prediction.predictions import Predictions

CLASSES = ("cat", "dog", "polar bear")
PLACES = ("grass", "snow", "sea ice")
_BAD = ((1, 1), (2, 2))  # dogs in snow, bears on the ice


def mapped_predictions(n=600, *, seed=0, bad=0.4, good=0.93, **more):
    """Right in a share `bad` of the rows of two places, and in `good` of the others."""
    rng = np.random.default_rng(seed)
    label, place = rng.integers(0, 3, n), rng.integers(0, 3, n)
    is_bad = np.any([(label == a) & (place == b) for a, b in _BAD], axis=0)
    answer = np.where(rng.random(n) < np.where(is_bad, bad, good), label, (label + 1) % 3)
    seen = np.random.default_rng(7).normal(size=(6, 32))
    features = seen[label] + seen[3 + place] + 0.6 * rng.normal(size=(n, 32))
    columns = {
        "context": np.array(PLACES)[place],
        "group": [f"{CLASSES[a]}/{PLACES[b]}" for a, b in zip(label, place, strict=True)],
        "features": features.astype(np.float32),
        "example_id": [f"row{number:06}" for number in range(n)],
    }
    logits = np.eye(3)[answer] * rng.uniform(0.5, 4, n)[:, None]
    names = {"class_names": CLASSES, "config": "places", "model": "my-model"}
    return Predictions.from_arrays(logits=logits, label=label, **names, **columns | more)


def bad_places(predictions):
    """The rows of the two places by the name that a cluster of them should have."""
    context = predictions.column("context")
    return {f"{CLASSES[a]}, {PLACES[b]}": (predictions.label == a) & (context == PLACES[b]) for a, b in _BAD}
