"""The order in which rows are visited: a function of (seed, epoch) alone, equal in every process."""

import math
from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

from oochub.errors import OochubError

SamplerName = Literal["uniform", "class_balanced", "environment_balanced", "group_balanced", "environments"]
SAMPLERS: tuple[SamplerName, ...] = get_args(SamplerName)
"""Names of the samplers, see `RobustTrainingArguments`."""


class EpochSampler(Sampler[int]):  # type: ignore[misc]
    """Row numbers of an epoch, drawn anew for each; a subclass implements `_draw`.

    The order has no other state than the epoch, so a resumed run visits the same rows, and every process of a
    distributed run, of which each takes its share of the batches, draws the same one.

    Args:
        length: Rows of an epoch.
        seed: Random seed for the orders.
    """

    def __init__(self, length: int, *, seed: int) -> None:
        self._length, self._seed, self._epoch = length, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of this epoch, counted from 0."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        return iter(self._draw(np.random.default_rng([self._seed, self._epoch])).tolist())

    def __len__(self) -> int:
        return self._length

    def _draw(self, rng: np.random.Generator) -> NDArray[Any]:
        raise NotImplementedError


class UniformSampler(EpochSampler):
    """Every row once in an epoch.

    Args:
        rows: Number of rows; or the numbers of the rows to visit, which may name one several times.
        seed: Random seed for the orders.

    >>> sampler = UniformSampler(4, seed=0)
    >>> first = list(sampler)
    >>> sampler.set_epoch(1)
    >>> sorted(first) == sorted(sampler) and first != list(sampler)
    True
    >>> sorted(UniformSampler([3, 3, 5], seed=0))
    [3, 3, 5]
    """

    def __init__(self, rows: Any, *, seed: int) -> None:
        self._rows = np.arange(rows) if isinstance(rows, int) else np.asarray(rows)
        super().__init__(len(self._rows), seed=seed)

    def _draw(self, rng: np.random.Generator) -> NDArray[Any]:
        order: NDArray[Any] = rng.permutation(self._rows)
        return order


class WeightedSampler(EpochSampler):
    """As many draws with replacement as there are rows, each row with a probability proportional to its weight.

    Args:
        weights: float (n,), 0 or larger, not all 0.
        seed: Random seed for the draws.

    >>> set(WeightedSampler([0.0, 1.0, 3.0], seed=0))
    {1, 2}
    """

    def __init__(self, weights: Any, *, seed: int) -> None:
        given = np.asarray(weights, np.float64)
        self._chances = given / given.sum()
        super().__init__(len(given), seed=seed)

    def _draw(self, rng: np.random.Generator) -> NDArray[Any]:
        return rng.choice(self._length, self._length, p=self._chances)


class EnvironmentSampler(EpochSampler):
    """Batches of equally many rows of some environments, drawn anew for each batch, as in WILDS.

    The environments of a batch are distinct, all that have rows equally likely; the rows of an environment in a batch
    are distinct where it has enough. Consecutive rows of a batch go round the environments, so that the processes of a
    distributed run have equal shares of each.

    Args:
        environment: int (n,).
        batch_size: Rows of the batches of all processes together.
        environments_per_batch: 0 for all.
        seed: Random seed for the draws.

    Raises:
        OochubError: More environments per batch than there are, or a batch size that they do not divide.

    >>> environment = np.array([0, 0, 0, 1, 2, 2])
    >>> sampler = EnvironmentSampler(environment, batch_size=4, environments_per_batch=2, seed=0)
    >>> [len(set(environment[list(sampler)[start:start + 4]])) for start in (0, 4)]
    [2, 2]
    """

    def __init__(self, environment: Any, *, batch_size: int, environments_per_batch: int = 0, seed: int) -> None:
        codes = np.asarray(environment)
        self._rows = [np.flatnonzero(codes == code) for code in np.unique(codes)]
        self._chosen = environments_per_batch or len(self._rows)
        if self._chosen > len(self._rows):
            raise OochubError(
                f"environments_per_batch={environments_per_batch} is more than the {len(self._rows)} environments of "
                "the training set. Lower it; 0 takes all."
            )
        if batch_size % self._chosen:
            raise OochubError(
                f"A batch of {batch_size} rows (per_device_train_batch_size x processes) cannot hold equally many "
                f"rows of {self._chosen} environments. Use a multiple of {self._chosen}, or set "
                "environments_per_batch."
            )
        self._batch_size = batch_size
        super().__init__(math.ceil(len(codes) / batch_size) * batch_size, seed=seed)

    def _draw(self, rng: np.random.Generator) -> NDArray[Any]:
        share = self._batch_size // self._chosen
        batches = []
        for _ in range(self._length // self._batch_size):
            chosen = rng.choice(len(self._rows), self._chosen, replace=False)
            rows = [rng.choice(self._rows[code], share, replace=len(self._rows[code]) < share) for code in chosen]
            batches.append(np.stack(rows, axis=1).ravel())
        return np.concatenate(batches)


def compute_power_weights(codes: Any, power: float = 1.0) -> NDArray[np.float64]:
    """The weight (1 / w)^power of each row, w the share of rows with its code.

    Args:
        codes: Class, environment or group of each row, int (n,).
        power: 0 is no adjustment, 1 makes all codes equally likely.

    >>> compute_power_weights([0, 0, 0, 1]).round(3).tolist()
    [1.333, 1.333, 1.333, 4.0]
    """
    codes = np.asarray(codes)
    counts = np.bincount(codes)[codes]
    return np.asarray((len(codes) / counts) ** power, np.float64)


def number_groups(label: Any, environment: Any) -> NDArray[np.int64]:
    """The number of each row's pair of class and environment, int (n,).

    >>> number_groups([0, 1, 1], [0, 0, 2]).tolist()
    [0, 1, 2]
    """
    pairs = np.stack([np.asarray(label), np.asarray(environment)])
    return np.unique(pairs, axis=1, return_inverse=True)[1].ravel().astype(np.int64)


def draw_balanced_rows(codes: NDArray[Any], draws: np.random.Generator) -> NDArray[np.intp]:
    """Row numbers with as many rows of each code as the rarest has, drawn at random, in ascending order.

    >>> draw_balanced_rows(np.array([7, 5, 7]), np.random.default_rng(0))[0] in (0, 1)
    True
    """
    rows = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    least = min(map(len, rows))
    return np.sort(np.concatenate([draws.choice(members, least, replace=False) for members in rows]))
