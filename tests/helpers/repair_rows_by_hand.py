"""Rows of a repair whose best head is known: a class told by one feature, a context by another, larger one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.repair_data import RepairRows

OWN = StoredHead(weight=np.array([[-0.4, -1.0], [0.4, 1.0]], np.float32), bias=np.zeros(2, np.float32))
"""A head that looks at the context more than at the class."""


def predictions_by_hand(
    sizes: Mapping[str, tuple[int, int]],
    *,
    seed: int = 0,
    head: StoredHead = OWN,
    more_features: int = 0,
    **columns: Any,
) -> Predictions:
    """Predictions with features of two classes on usual and unusual backgrounds, all of them in each split.

    Args:
        sizes: Rows of each class in usual and in unusual contexts, by split.
        seed: Random seed of the noise.
        head: The model's own head.
        more_features: Features beside the two, all noise.
        **columns: More columns, by name.
    """
    rng = np.random.default_rng(seed)
    label, is_out, split = [], [], []
    for name, (usual, unusual) in sizes.items():
        for y in (0, 1):
            label += [y] * (usual + unusual)
            is_out += [False] * usual + [True] * unusual
            split += [name] * (usual + unusual)
    y, out = np.array(label), np.array(is_out)
    context = np.where(out, 1 - y, y)
    noise = rng.normal(scale=0.5, size=(len(y), 2))
    features = (np.stack([2 * y - 1, 3 * (2 * context - 1)], axis=1) + noise).astype(np.float32)
    if more_features:
        more = rng.normal(scale=0.5, size=(len(y), more_features)).astype(np.float32)
        features = np.concatenate([features, more], axis=1)
    made = Predictions.from_arrays(
        logits=features @ head.weight.T + head.bias,
        features=features,
        label=y,
        class_names=["cat", "dog"],
        split=split,
        challenge=np.where(out, np.where(y == 1, "hard_positive", "hard_negative"), "easy"),
        group=[f"{('cat', 'dog')[a]}/{('sea', 'land')[b]}" for a, b in zip(y, context, strict=True)],
        context=np.array(["sea", "land"])[context],
        model="by hand",
        **columns,
    )
    object.__setattr__(made, "stored_head", head)
    return made


def rows_by_hand(sizes: Mapping[str, tuple[int, int]], **more: Any) -> RepairRows:
    """The same as a repair sees them."""
    return RepairRows.of(predictions_by_hand(sizes, **more))
