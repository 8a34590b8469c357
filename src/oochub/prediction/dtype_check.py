"""How far a network that computes in fewer bits is from itself in float32, seen on a few rows before all are read."""

import math
from collections.abc import Mapping

import torch
from torch import nn

from oochub.errors import OochubError, either
from oochub.output import Output
from oochub.stats.logits import logit_difference


def dtype_check(
    name: str, shorter: nn.Module, network: nn.Module, inputs: Mapping[str, torch.Tensor], kind: Output
) -> str:
    """What predictions say of it: "logits within 1.30% of their range, 0 of 8 answers differ".

    Args:
        name: Of the dtype.
        shorter: The network in it.
        network: In float32.
        inputs: Of a few rows.
        kind: Of output; of one answer a row the answers are compared too.

    Raises:
        OochubError: Logits that are not finite.
    """
    with torch.inference_mode():
        logits, reference = shorter(**inputs).logits, network(**inputs).logits
    if not reference.is_floating_point():  # the answers themselves
        return f"{int((logits != reference).sum())} of {reference.numel()} tokens differ"
    logits, reference = logits.float(), reference.float()
    difference = logit_difference(logits, reference)
    if not math.isfinite(difference):
        option = either(f'dtype="{name}"', f"--dtype {name}")
        raise OochubError(f"With {option} the logits are not finite numbers: too few bits. Take bfloat16 or float32.")
    words = f"logits within {difference:.2%} of their range"
    if not kind.one_answer:
        return f"{words} on {len(logits)} rows"
    differ = int((logits.argmax(1) != reference.argmax(1)).sum())
    return f"{words}, {differ} of {len(logits)} answers differ"
