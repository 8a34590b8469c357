"""A second head that predicts another column of the training rows from the features: auxiliary prediction."""

from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from oochub.errors import OochubError, unknown_name
from oochub.storage.tensor_file import save_tensors
from oochub.trainers.losses import example_losses
from oochub.trainers.rows.examples import read_column

_NAME = "oochub_auxiliary_head"  # no architecture of transformers has a module of this name


class Auxiliary(NamedTuple):
    """What the second head has to say, and how much that counts (NOOCH, Appendix A).

    Attributes:
        label: Targets of all training rows, as `example_losses` takes them: int64 (n,), classes, or float32 (n, k), 1
            present.
        names: Names of its outputs.
        weight: Weight of its loss.
    """

    label: Tensor
    names: tuple[str, ...]
    weight: float

    def loss(self, head: nn.Module, features: Tensor, row: Tensor) -> Tensor:
        """The weight times the mean loss of rows, float32 (n, d), by their numbers in the training set (n,)."""
        return self.weight * example_losses(head(features), self.label[row]).mean()


def read_auxiliary(dataset: Any, name: str, weight: float) -> Auxiliary:
    """The targets of a second head from a column.

    Args:
        dataset: The training set.
        name: A column of names or whole numbers, each a class; or of numbers, or lists of as many numbers, each of
            which is present where it is above 0. "name.0" is the first of each list.
        weight: Weight of its loss.

    Raises:
        OochubError: No such column, one of another type, rows without a value, or one class alone.

    >>> rows = datasets.Dataset.from_dict({"context_area": [[0.2, 0.0], [0.0, 0.1]]})
    >>> read_auxiliary(rows, "context_area.0", 1.0).label.tolist()
    [[1.0], [0.0]]
    """
    base, _, place = (name, "", "") if name in dataset.column_names else name.rpartition(".")
    if base not in dataset.column_names:
        raise unknown_name("column of the training set for auxiliary_column", name, dataset.column_names)
    feature = dataset.features[base]
    inner = getattr(feature, "feature", None)
    if _is(inner, "float") or _is(feature, "float"):
        return Auxiliary(*_check_present(_number_values(dataset, base, place, name), name), weight)
    if inner is not None or not (isinstance(feature, datasets.ClassLabel) or _is(feature, "string", "int", "uint")):
        raise OochubError(
            f"auxiliary_column {name!r} must hold names, whole numbers, numbers or lists of numbers, got {feature}."
        )
    values = read_column(dataset, base)
    if any(value is None for value in values.tolist()):
        raise OochubError(f"Some training rows have no {name!r}. Drop them, or choose another auxiliary_column.")
    names, codes = np.unique(values.astype(str), return_inverse=True)
    _check_different(len(names), name)
    return Auxiliary(torch.from_numpy(codes.astype(np.int64)), tuple(names.tolist()), weight)


def attach(model: nn.Module, auxiliary: Auxiliary | None, *, width: int, seed: int) -> None:
    """Gives the model a fresh second head that its forward pass does not use; none, and it loses the one it has.

    Args:
        model: The classifier.
        auxiliary: What the head predicts.
        width: Width of the features.
        seed: Random seed for its weights.
    """
    detach(model)
    if auxiliary is not None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            head = nn.Linear(width, len(auxiliary.names))
        model.add_module(_NAME, head.to(next(model.parameters()).device))


def find_second_head(model: nn.Module) -> nn.Module:
    """The head that `attach` gave the model."""
    head: nn.Module = model.get_submodule(_NAME)
    return head


def detach(model: nn.Module) -> None:
    """Takes the second head from the model, which is then a plain one of transformers again."""
    if hasattr(model, _NAME):
        delattr(model, _NAME)


def save_apart(
    state: dict[str, Tensor], auxiliary: Auxiliary | None, name: str | None, file: Path
) -> dict[str, Tensor]:
    """Writes the second head's weight and bias into a file of its own, and returns the weights of the model alone.

    Args:
        state: The weights of the model with its second head.
        auxiliary: What the head predicts; None for a model without one.
        name: The column.
        file: A safetensors file; its metadata has, as JSON, the column and the names of the outputs.
    """
    if auxiliary is None:
        return state
    own = {key.rpartition(".")[2]: value.cpu().numpy() for key, value in state.items() if key.startswith(f"{_NAME}.")}
    save_tensors(own, file, entry="auxiliary_head", about={"column": name, "names": list(auxiliary.names)})
    return drop_second_head(state)


def drop_second_head(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the model alone.

    >>> list(drop_second_head({"classifier.weight": torch.zeros(1), f"{_NAME}.weight": torch.zeros(1)}))
    ['classifier.weight']
    """
    return {key: value for key, value in state.items() if not key.startswith(f"{_NAME}.")}


def _is(feature: Any, *kinds: str) -> bool:
    return isinstance(feature, datasets.Value) and feature.dtype.startswith(kinds)


def _number_values(dataset: Any, base: str, place: str, name: str) -> NDArray[np.float64]:
    rows = dataset.select_columns([base]).with_format(None)[:][base]
    if any(row is None for row in rows):
        raise OochubError(f"Some training rows have no {name!r}. Drop them, or choose another auxiliary_column.")
    lists = [row if isinstance(row, list) else [row] for row in rows]
    if len({len(row) for row in lists}) > 1:
        raise OochubError(f"auxiliary_column {name!r} must have the same number of numbers in each row.")
    numbers = np.array(lists, np.float64)
    if place:
        if not place.isdigit() or int(place) >= numbers.shape[1]:
            raise OochubError(f"auxiliary_column {name!r}: each row of {base!r} has {numbers.shape[1]}, from 0.")
        numbers = numbers[:, [int(place)]]
    if not np.isfinite(numbers).all():
        raise OochubError(f"auxiliary_column {name!r} must hold finite numbers. Drop the rows without one.")
    return numbers


def _check_present(numbers: NDArray[np.float64], name: str) -> tuple[Tensor, tuple[str, ...]]:
    present = numbers > 0
    _check_different(1 + int(present.any() and not present.all()), name)
    names = (name,) if present.shape[1] == 1 else tuple(f"{name}.{place}" for place in range(present.shape[1]))
    return torch.from_numpy(present.astype(np.float32)), names


def _check_different(kinds: int, name: str) -> None:
    if kinds < 2:
        raise OochubError(f"auxiliary_column {name!r} is the same in all training rows. Choose another column.")
