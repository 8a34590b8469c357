"""Empirical risk minimization: the mean loss of the batch, blind to environments."""

from typing import ClassVar

from oochub.trainers.objective import Objective


class Erm(Objective):
    """L = 1/n sum_i l(logits_i, label_i), l the cross entropy, or what `example_losses` takes for other labels.

    Under several processes each has the mean of its own rows; DistributedDataParallel averages the gradients, which
    is the gradient of the joint batch since all processes have equally many rows.

    No hyperparameters. Source: Vapnik, The Nature of Statistical Learning Theory; "ERM" of NOOCH, Spawrious and WILDS.

    >>> import torch
    >>> loss = Erm()(torch.zeros(3, 4), torch.tensor([0, 1, 2]))
    >>> round(loss.item(), 4)  # log 4
    1.3863
    """

    side_by_side: ClassVar[frozenset[str] | None] = frozenset()
