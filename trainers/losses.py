"""The loss of each row: cross entropy for classes and tokens, binary for several labels, squares for numbers."""

import torch
from torch import Tensor
from torch.nn import functional

from oochub.errors import OochubError
from oochub.trainers.box_losses import box_losses


def example_losses(logits: Tensor, label: Tensor) -> Tensor:
    """The loss of each row, which every objective weighs in its own way.

    Args:
        logits: float (n, k), what the model says.
        label: int64 (n,), class numbers: cross entropy over k classes, in nats. float (n, k), 1 where a label holds
            and 0 where not: the mean binary cross entropy of the k labels, in nats; nan is a label that nobody knows
            and is left out. float (n,) with k = 1: the squared error. int32 (n, t), numbers of tokens, of logits
            (n, t, k): the mean cross entropy of the row's tokens, those below 0 left out. float (n, m, 5) of logits
            (n, q, c + 5): boxes, see `oochub.trainers.box_losses`.

    Returns:
        float (n,), at least 0.

    Raises:
        OochubError: Shapes and types that fit none of these.

    Heads side by side are a last dimension of all three: logits (n, k, heads), labels and losses (n, heads).

    >>> example_losses(torch.zeros(2, 4), torch.tensor([0, 3]))  # log 4
    tensor([1.3863, 1.3863])
    >>> example_losses(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))  # log 2
    tensor([0.6931])
    >>> example_losses(torch.tensor([[3.0]]), torch.tensor([1.0])).tolist()
    [4.0]
    """
    if label.dtype == torch.int32 and label.shape == logits.shape[:-1]:
        return token_losses(logits, label).sum(1) / (label >= 0).sum(1).clamp(min=1)
    if label.ndim == logits.ndim - 1 and not label.is_floating_point():
        return functional.cross_entropy(logits, label, reduction="none")
    if label.shape == logits.shape:
        known = ~label.isnan()
        losses = functional.binary_cross_entropy_with_logits(logits, label.nan_to_num(), reduction="none")
        return (losses * known).sum(1) / known.sum(1).clamp(min=1)
    if label.ndim == logits.ndim == 3:
        return box_losses(logits, label)
    if logits.shape == (len(label), 1, *label.shape[1:]):
        return (logits[:, 0] - label).square()
    raise OochubError(
        "Labels are class numbers int64 (n,), several labels float (n, k) as wide as the logits, or numbers float (n,) "
        f"with one logit a row; got logits {tuple(logits.shape)} and labels {label.dtype} {tuple(label.shape)}."
    )


def token_losses(logits: Tensor, label: Tensor) -> Tensor:
    """The cross entropy of each token, float (n, t), in nats; 0 where nobody asks.

    Args:
        logits: float (n, t, k).
        label: int32 (n, t), numbers of tokens, below 0 where nobody asks.

    >>> token_losses(torch.zeros(1, 2, 4), torch.tensor([[3, -100]], dtype=torch.int32))  # log 4
    tensor([[1.3863, 0.0000]])
    """
    asked = label.long().clamp(min=-1).flatten()
    losses = functional.cross_entropy(logits.flatten(0, 1), asked, ignore_index=-1, reduction="none")
    return losses.view(label.shape)
