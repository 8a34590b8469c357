"""Tokens of several rows as one batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch


def padded(tokens: Sequence[NDArray[np.integer]], padding: int) -> "dict[str, torch.Tensor]":
    """int64 (n, longest) of arrays of numbers: `input_ids`, and `attention_mask`, 1 where there is a token."""
    import torch

    ids = torch.full((len(tokens), max(map(len, tokens))), padding, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for place, own in enumerate(tokens):
        ids[place, : len(own)] = torch.from_numpy(own)
        mask[place, : len(own)] = 1
    return {"input_ids": ids, "attention_mask": mask}
