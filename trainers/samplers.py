"""The order in which rows are visited: a function of (seed, epoch) alone, equal in every process."""

from collections.abc import Iterator

import numpy as np
from torch.utils.data import Sampler


class UniformSampler(Sampler[int]):  # type: ignore[misc]
    """Every row once in an epoch, in an order drawn anew for each epoch.

    The order has no other state than the epoch, so a resumed run visits the same rows, and every process of a
    distributed run, of which each takes its share of the batches, draws the same one.

    Args:
        rows: How many rows there are.
        seed: Of the orders.

    >>> sampler = UniformSampler(4, seed=0)
    >>> first = list(sampler)
    >>> sampler.set_epoch(1)
    >>> sorted(first) == sorted(sampler) and first != list(sampler)
    True
    """

    def __init__(self, rows: int, *, seed: int) -> None:
        self._rows, self._seed, self._epoch = rows, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of this epoch, counted from 0."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.default_rng([self._seed, self._epoch]).permutation(self._rows).tolist())

    def __len__(self) -> int:
        return self._rows
