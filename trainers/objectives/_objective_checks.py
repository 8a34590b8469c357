"""Checks of hyperparameters and of what `prepare` is given, with words."""

from typing import Any

import torch
from torch import Tensor

from oochub.errors import OochubError
from oochub.trainers.objective import Objective


def check_class_counts(objective: Objective, class_counts: Any) -> Tensor:
    """Training rows of each class as float64 (classes,).

    Raises:
        OochubError: There are none, or no class has a row.
    """
    if class_counts is None:
        raise OochubError(
            f"{type(objective).__name__} must know how many training rows each class has. Call "
            "prepare(class_counts=[...]) first; it serves classification only."
        )
    counts = torch.as_tensor(class_counts, dtype=torch.float64)
    if counts.ndim != 1 or not bool((counts >= 0).all()) or not bool(counts.any()):
        raise OochubError(f"class_counts must hold the number of training rows of each class, got {class_counts}.")
    return counts


def check_classes(objective: Objective, label: Tensor, *, dimensions: int = 1) -> None:
    """Raises an OochubError unless `label` is class numbers; with 2 dimensions, those of heads side by side.

    >>> from oochub.trainers.objectives.erm import Erm
    >>> check_classes(Erm(), torch.tensor([0, 2, 1]))
    """
    if label.ndim != dimensions or label.is_floating_point():
        raise OochubError(
            f"{type(objective).__name__} here needs class numbers, int64 (n,), got {label.dtype} {tuple(label.shape)}. "
            "Use reweight_environments or group_dro for several labels and for regression."
        )
