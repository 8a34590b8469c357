"""Predictions of made numbers, as many rows as a measurement asks for."""

import numpy as np

import oochub


def scored(rows: int, classes: int) -> "oochub.Predictions":
    """Predictions as NOOCH has them, with sides and groups, or those of many classes."""
    rng = np.random.default_rng(0)
    label, context = rng.integers(0, classes, rows), rng.integers(0, 2, rows)
    logits = rng.standard_normal((rows, classes), np.float32)
    logits[np.arange(rows), label] += 1
    if classes != 2:
        return oochub.Predictions.from_arrays(logits=logits, label=label, model="made")
    side = np.where(label == context, "easy", np.where(label == 1, "hard_positive", "hard_negative"))
    group = np.char.add(np.where(label == 1, "car/", "no car/"), np.where(context == 1, "road", "no road"))
    about = {"class_names": ["no car", "car"], "benchmark": "nooch", "config": "ce_car", "model": "made"}
    return oochub.Predictions.from_arrays(logits=logits, label=label, challenge=side, group=group, **about)
