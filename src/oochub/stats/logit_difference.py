"""How far two ways of running a model are apart, by what it says of the same rows."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def logit_difference(logits: "torch.Tensor", reference: "torch.Tensor") -> float:
    """The largest difference of a logit as a share of the range of all: 0.02 is 2%; nan where one is not finite.

    Args:
        logits: float (n, c).
        reference: float (n, c), of the same rows the usual way; its range is the largest logit less the smallest.

    >>> import torch
    >>> logit_difference(torch.tensor([[0.0, 4.0]]), torch.tensor([[0.0, 5.0]]))
    0.2
    """
    difference = (logits.double() - reference.double()).abs().max().item()
    extent = (reference.max() - reference.min()).item()
    if extent == 0:
        return 0.0 if difference == 0 else math.inf
    return float(difference / extent)
