"""A network that computes in fewer bits, and says what it says in float32."""

from collections.abc import Mapping

import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

DTYPES: Mapping[str, torch.dtype] = {
    "auto": torch.float32,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
"""What a network may compute in, by name; "auto" is float32."""


class InDtype(nn.Module):  # type: ignore[misc]
    """A network under autocast of torch: its weights stay as they are, products of matrices take the shorter type.

    Args:
        network: `network(**inputs).logits` is (b, c).
        dtype: What it computes in.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> model = ResNetForImageClassification(ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1])).eval()
    >>> InDtype(model, torch.bfloat16)(pixel_values=torch.zeros(2, 3, 32, 32)).logits.dtype
    torch.float32
    """

    def __init__(self, network: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.network, self._dtype = network, dtype

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """Its logits, float32."""
        with torch.autocast(next(iter(inputs.values())).device.type, dtype=self._dtype):
            return ImageClassifierOutput(logits=self.network(**inputs).logits.float())
