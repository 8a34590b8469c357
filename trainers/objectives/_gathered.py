"""The rows of all processes, for statistics that do not add up over processes."""

import torch
from torch import Tensor


def gathered(rows: Tensor) -> Tensor:
    """The rows of every process, in the order of their ranks; `rows` itself where there is one process.

    The gradient goes to this process's own rows, times the number of processes: after DistributedDataParallel has
    averaged gradients over the processes, the step is that of one process on the joint batch.

    Args:
        rows: Of any type, (n, ...), with the same n in every process, as Accelerate makes its batches.

    >>> gathered(torch.tensor([1.0, 2.0]))
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
