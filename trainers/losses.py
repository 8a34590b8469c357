"""The loss of each row: cross entropy for classes, binary cross entropy for several labels, squares for numbers."""

from torch import Tensor
from torch.nn import functional

from oochub.errors import OochubError


def example_losses(logits: Tensor, label: Tensor) -> Tensor:
    """The loss of each row, which every objective weighs in its own way.

    Args:
        logits: float (n, k), what the model says.
        label: int64 (n,), class numbers: cross entropy over k classes, in nats. float (n, k), 1 where a label holds
            and 0 where not: the mean binary cross entropy of the k labels, in nats; nan is a label that nobody knows
            and is left out. float (n,) with k = 1: the squared error.

    Returns:
        float (n,), at least 0.

    Raises:
        OochubError: Shapes and types that fit none of these.

    Heads side by side are a last dimension of all three: logits (n, k, heads), labels and losses (n, heads).

    >>> import torch
    >>> example_losses(torch.zeros(2, 4), torch.tensor([0, 3]))  # log 4
    tensor([1.3863, 1.3863])
    >>> example_losses(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))  # log 2
    tensor([0.6931])
    >>> example_losses(torch.tensor([[3.0]]), torch.tensor([1.0])).tolist()
    [4.0]
    """
    if label.ndim == logits.ndim - 1 and not label.is_floating_point():
        return functional.cross_entropy(logits, label, reduction="none")
    if label.shape == logits.shape:
        known = ~label.isnan()
        losses = functional.binary_cross_entropy_with_logits(logits, label.nan_to_num(), reduction="none")
        return (losses * known).sum(1) / known.sum(1).clamp(min=1)
    if logits.shape == (len(label), 1, *label.shape[1:]):
        return (logits[:, 0] - label).square()
    raise OochubError(
        "Labels are class numbers int64 (n,), several labels float (n, k) as wide as the logits, or numbers float (n,) "
        f"with one logit a row; got logits {tuple(logits.shape)} and labels {label.dtype} {tuple(label.shape)}."
    )
