"""Everything that is stored of what a model says: logits, features, and both of changed pictures."""

from collections.abc import Mapping
from typing import Any

import torch

from oochub.input import InputBatch
from oochub.models.linear_head import Head, features_of, recorded
from oochub.models.perturbation import Perturbation
from oochub.records.metadata import VECTORS


class Extraction:
    """Runs a model on batches and gives the columns that are stored of each.

    The plain columns come from a pass of their own: what else is asked for does not change a bit of them.

    Args:
        network: Of a mode: in evaluation mode, its logits in the order of the classes.
        head: Its last layer, to store the features; None for none.
        perturbation: Of ODIN, to store the logits of the perturbed pictures; None for none.
    """

    def __init__(self, network: Any, *, head: Head | None = None, perturbation: Perturbation | None = None) -> None:
        self._network, self._head, self._perturbation = network, head, perturbation

    def __call__(self, batch: InputBatch) -> dict[str, torch.Tensor]:
        """float32 (b, ...) on the CPU, by the name of the column, in the order of `VECTORS`."""
        columns = self._columns(batch.inputs)
        if batch.zoomed is not None:
            columns |= {f"zoom_{name}": values for name, values in self._columns(batch.zoomed).items()}
        return {name: columns[name] for name in VECTORS if name in columns}

    def _columns(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        columns = {}
        with torch.inference_mode(), recorded(self._network, self._head.layers if self._head else ()) as calls:
            columns["logits"] = self._logits(inputs)
            if self._head:
                columns["features"] = features_of(self._head, calls).float().cpu()
        if self._perturbation is not None:
            perturbed = self._perturbation(self._network, inputs.get("pixel_values"))
            with torch.inference_mode():
                columns["odin_logits"] = self._logits({**inputs, "pixel_values": perturbed})
        return columns

    def _logits(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        logits: torch.Tensor = self._network(**inputs).logits
        return logits.float().cpu()
