"""A batch as an objective's step sees it, pairs of rows that are mixed into one, and the rows of all processes."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from oochub.trainers.losses import example_losses


class Mixed(NamedTuple):
    """The labels of rows that were mixed from two: `weight` (n,) belongs to `first`, 1 - weight to `second`."""

    first: Tensor
    second: Tensor
    weight: Tensor


class Batch(NamedTuple):
    """Rows of the training set, ready for the model.

    Attributes:
        inputs: What the model is called with, each (n, ...): `pixel_values`, or `input_ids` and `attention_mask`.
        label: int64 (n,), float (n, k) or float (n,), see `example_losses`; `Mixed` after mixing.
        environment: int64 (n,).
        row: Numbers of the rows in the training set, int64 (n,).
    """

    inputs: Mapping[str, Tensor]
    label: Tensor | Mixed
    environment: Tensor
    row: Tensor

    def take(self, rows: Tensor) -> "Batch":
        """The rows with these positions, in this order.

        >>> import torch
        >>> batch = Batch({"pixel_values": torch.eye(3)}, torch.tensor([5, 6, 7]), torch.zeros(3), torch.arange(3))
        >>> batch.take(torch.tensor([2, 0])).label
        tensor([7, 5])
        """
        label = self.label
        return Batch(
            {name: values[rows] for name, values in self.inputs.items()},
            Mixed(*(part[rows] for part in label)) if isinstance(label, Mixed) else label[rows],
            self.environment[rows],
            self.row[rows],
        )


def mix_batches(batch: Batch, partner: Batch, weight: Tensor) -> Batch:
    """Each row mixed with the one of another batch: weight x row + (1 - weight) x partner.

    Args:
        batch: Images.
        partner: The same number of images.
        weight: Weight of the first batch, float (n,), from 0 to 1.

    Returns:
        A batch with the environments and row numbers of the first.

    >>> import torch
    >>> pixels = {"pixel_values": torch.tensor([[0.0], [8.0]])}
    >>> batch = Batch(pixels, torch.tensor([0, 1]), torch.zeros(2), torch.arange(2))
    >>> mix_batches(batch, batch.take(torch.tensor([1, 1])), torch.tensor([0.75, 0.5])).inputs["pixel_values"].flatten()
    tensor([2., 8.])
    """
    first, second = batch.label, partner.label
    assert isinstance(first, Tensor) and isinstance(second, Tensor)  # noqa: S101  rows are mixed once
    inputs = {}
    for name, values in batch.inputs.items():
        factor = weight.to(values.dtype).view(-1, *[1] * (values.ndim - 1))
        inputs[name] = partner.inputs[name].lerp(values, factor)
    return batch._replace(inputs=inputs, label=Mixed(first, second, weight))


def mix_losses(logits: Tensor, label: Tensor | Mixed) -> Tensor:
    """The loss of each row; of a mixed one, weight x loss of the first label + (1 - weight) x that of the second.

    For cross entropies that is the loss of the mixed label; for squares it differs from it by what no logit changes.

    >>> import torch
    >>> logits = torch.tensor([[0.0, 2.0]])
    >>> label = Mixed(torch.tensor([0]), torch.tensor([1]), torch.tensor([0.25]))
    >>> round(mix_losses(logits, label).item(), 4)  # 0.25 x 2.1269 + 0.75 x 0.1269
    0.6269
    """
    if not isinstance(label, Mixed):
        return example_losses(logits, label)
    weight = label.weight.to(logits.dtype)
    return weight * example_losses(logits, label.first) + (1 - weight) * example_losses(logits, label.second)


def gather_rows(rows: Tensor) -> Tensor:
    """The rows of every process, in the order of their ranks; `rows` itself where there is one process.

    The gradient goes to this process's own rows, times the number of processes: after DistributedDataParallel has
    averaged gradients over the processes, the step is that of one process on the joint batch.

    Args:
        rows: Rows of any type, (n, ...), with the same n in every process, as Accelerate makes its batches.

    >>> gather_rows(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return rows
    own = rows.detach().contiguous()
    parts = [torch.empty_like(own) for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather(parts, own)
    if rows.requires_grad:  # the same values, with the gradient
        parts[torch.distributed.get_rank()] = own + len(parts) * (rows - own)
    return torch.cat(parts)
