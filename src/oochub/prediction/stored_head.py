"""The last layer of a model, kept with its predictions: detectors make logits of changed features with it."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, OochubWarning
from oochub.storage.files import written_whole
from oochub.storage.tensor_file import load_tensors, save_tensors


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredHead:
    """`features @ weight.T + bias` are the logits.

    Attributes:
        weight: (c, d), in the order of the class names.
        bias: (c,).

    Raises:
        OochubError: Shapes that do not fit each other.

    >>> StoredHead(weight=np.zeros((2, 3)), bias=np.zeros(2)).weight.shape
    (2, 3)
    """

    weight: NDArray[np.floating]
    bias: NDArray[np.floating]

    def __post_init__(self) -> None:
        if self.weight.ndim != 2 or self.bias.shape != self.weight.shape[:1]:
            shapes = f"weight {self.weight.shape} and bias {self.bias.shape}"
            raise OochubError(f"A head is a weight (c, d) and a bias (c,), got {shapes}. Predict again.")

    @classmethod
    def load(cls, file: Path) -> "StoredHead":
        """Reads what `save` wrote.

        Raises:
            OochubError: No such file, or it is no head, or it has changed since it was written.

        Warns:
            OochubWarning: It is of an earlier version, without a digest, and was not checked.
        """
        stored = load_tensors(file)
        if not stored.checked:
            warnings.warn(
                f"{file} was not checked for damage: it has no digest. Predict again to give it one.",
                OochubWarning,
                stacklevel=2,
            )
        if set(stored.arrays) != {"weight", "bias"}:
            found = ", ".join(sorted(stored.arrays)) or "nothing"
            raise OochubError(f"{file} holds {found}, and a head is weight and bias. Predict again.")
        try:
            return cls(**stored.arrays)
        except OochubError as error:
            raise OochubError(f"{file}: {error}") from None

    def save(self, file: Path) -> None:
        """Writes the arrays as safetensors with a digest, whole or not at all."""
        with written_whole(file) as draft:
            save_tensors({"weight": self.weight, "bias": self.bias}, draft)


def head_file(predictions: str | Path) -> Path:
    """Where the head of these predictions lies.

    >>> head_file("runs/preds.parquet").as_posix()
    'runs/preds.head.safetensors'
    """
    return Path(predictions).expanduser().with_suffix(".head.safetensors")
