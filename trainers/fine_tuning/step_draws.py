"""The random draws of a step of training, which are those of its place in the run, however often it was interrupted."""

from typing import NamedTuple

import numpy as np
import torch

from oochub.trainers.fine_tuning.run_folder import Progress


class StepDraws(NamedTuple):
    """The generators of one step.

    Attributes:
        augmentation: Of the inputs.
        own: Of the objective, in this process.
        shared: Of the objective, the same in all processes.
    """

    augmentation: torch.Generator
    own: np.random.Generator
    shared: np.random.Generator


def step_draws(seed: int, progress: Progress, *, process: int, is_cpu: bool) -> StepDraws:
    """Makes the generators of a step, and seeds torch's own, which dropout draws from.

    Args:
        seed: Of the run.
        progress: Its place in it: epoch and step.
        process: Number of this process.
        is_cpu: Whether the model runs on the CPU.

    >>> first, again = (step_draws(0, Progress(step=3), process=0, is_cpu=True) for _ in range(2))
    >>> first.own.random() == again.own.random(), first.own.random() == first.shared.random()
    (True, False)
    """
    place = [seed, progress.epoch, progress.step]
    own = np.random.SeedSequence([*place, process])
    drawn = int(own.generate_state(1)[0])
    # torch.manual_seed asks every kind of device, which takes a fifth of a millisecond
    (torch.default_generator if is_cpu else torch).manual_seed(drawn)
    return StepDraws(torch.Generator().manual_seed(drawn), np.random.default_rng(own), np.random.default_rng(place))
