"""Everything that is stored of what a model says: logits, features, and both of changed pictures."""

from collections.abc import Sequence
from typing import Any

import torch

from oochub.models.heads import Head, features_of, recorded
from oochub.models.inputs import Input
from oochub.models.perturbation import Perturbation

VECTORS = ("logits", "features", "odin_logits", "zoom_logits", "zoom_features", "zoom_odin_logits")
"""The columns that an extraction can give, in the order in which they are stored."""


class Extraction:
    """Runs a model on batches and gives the columns that are stored of each.

    The plain columns come from a pass of their own: what else is asked for does not change a bit of them.

    Args:
        model: In evaluation mode.
        order: For each class of the data set its output of the model.
        head: Its last layer, to store the features; None for none.
        perturbation: Of ODIN, to store the logits of the perturbed pictures; None for none.
    """

    def __init__(
        self, model: Any, order: Sequence[int], *, head: Head | None = None, perturbation: Perturbation | None = None
    ) -> None:
        self._model, self._order, self._head, self._perturbation = model, list(order), head, perturbation

    def __call__(self, batch: Input) -> dict[str, torch.Tensor]:
        """float32 (b, ...) on the CPU, by the name of the column, in the order of `VECTORS`."""
        found = self._columns(batch.pixel_values)
        if batch.zoomed is not None:
            found |= {f"zoom_{name}": values for name, values in self._columns(batch.zoomed).items()}
        return {name: found[name] for name in VECTORS if name in found}

    def _columns(self, pixel_values: torch.Tensor) -> dict[str, torch.Tensor]:
        found = {}
        with torch.inference_mode(), recorded(self._model, self._head.layers if self._head else ()) as calls:
            found["logits"] = self._logits(pixel_values)
            if self._head:
                found["features"] = features_of(self._head, calls).float().cpu()
        if self._perturbation is not None:
            perturbed = self._perturbation(self._model, pixel_values)
            with torch.inference_mode():
                found["odin_logits"] = self._logits(perturbed)
        return found

    def _logits(self, pixel_values: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._model(pixel_values=pixel_values).logits[:, self._order]
        return logits.float().cpu()
