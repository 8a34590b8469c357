"""A network that computes in fewer bits, and says what it says in float32."""

import warnings
from collections.abc import Mapping

import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubWarning, either

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


_ARITHMETIC = {
    "bfloat16": ("avx512_bf16", "amx_bf16", "bf16"),  # x86-64; ARM
    "float16": ("avx512_fp16", "amx_fp16", "fp16_arith"),
}
"""What a processor that computes in a dtype says that it has, in `torch.cpu.get_capabilities`."""


def warn_of_slow_dtype(name: str, device: torch.device) -> None:
    """Says where a shorter dtype is no gain: on a processor without arithmetic of it, which torch then imitates.

    Args:
        name: One of `DTYPES`.
        device: That the network runs on.

    Warns:
        OochubWarning: It is slower than float32 there; the answers are those of any other processor.
    """
    if device.type != "cpu" or name not in _ARITHMETIC or not hasattr(torch.cpu, "get_capabilities"):
        return  # older versions of torch do not say
    has = torch.cpu.get_capabilities()
    if not any(has.get(each) for each in _ARITHMETIC[name]):
        option = either(f'dtype="{name}"', f"--dtype {name}")
        warnings.warn(
            f"This processor does not compute in {name} ({', '.join(_ARITHMETIC[name])}), so {option} is slower than "
            "float32 here, and less exact. Leave it out.",
            OochubWarning,
            stacklevel=3,
        )
