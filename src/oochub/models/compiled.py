"""A network compiled by torch: the same answers from fewer, fused loops, after a wait of half a minute or more."""

import os
import shutil
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn
from torch._dynamo.exc import TorchDynamoException
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError, either
from oochub.storage.cache_folder import cache_folder, keep_compiled

_COMPILERS = ("g++", "clang++", "cl")
_OPTIONS: dict[str, Any] = {"freezing": True, "cpp_cache_precompile_headers": False}
"""The headers would lie in TMPDIR for good."""


class Compiled(nn.Module):  # type: ignore[misc]
    """A network under torch.compile, its weights constants; compiled once, at the first batch.

    Args:
        network: In evaluation mode; `network(**inputs).logits` is (b, c). Its weights must not change any more.
        rows: Of a batch; a smaller one is filled with copies of its first row, which are dropped again.

    Raises:
        OochubError: On the first call, where torch cannot compile it.
    """

    def __init__(self, network: nn.Module, rows: int) -> None:
        super().__init__()
        keep_compiled(cache_folder("compiled"))
        self._compiled: Any = torch.compile(network, dynamic=False, options=_OPTIONS)
        self._rows = rows

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """The logits of the rows."""
        count = len(next(iter(inputs.values())))
        more = max(0, self._rows - count)
        filled = {name: torch.cat([each, each[:1].expand(more, *each.shape[1:])]) for name, each in inputs.items()}
        try:
            return ImageClassifierOutput(logits=self._compiled(**(filled if more else inputs)).logits[:count])
        except TorchDynamoException as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            option = either("compile=True", "--compile")
            raise OochubError(f"torch.compile cannot compile the network: {lines[0]} Leave out {option}.") from error


def check_compiler(device: torch.device) -> None:
    """Checks that there is what torch.compile compiles with.

    Args:
        device: Of the network.

    Raises:
        OochubError: No C++ compiler for a processor, no triton for a GPU.
    """
    option = either("compile=True", "--compile")
    if device.type == "cuda" and not find_spec("triton"):
        raise OochubError(f"{option} needs the package triton for a GPU: pip install triton, or leave it out.")
    named = os.environ.get("CXX")
    if device.type != "cuda" and not any(shutil.which(each) for each in ([named] if named else _COMPILERS)):
        there = f"$CXX is {named!r}, which is no program" if named else f"there is none of {', '.join(_COMPILERS)}"
        raise OochubError(
            f"{option} needs a C++ compiler, and {there}. Install one (apt install g++), or leave it out."
        )
