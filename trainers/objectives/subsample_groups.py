"""Group subsampling: ERM on as many rows of each pair of class and environment as the smallest pair has."""

from typing import ClassVar

import numpy as np
from torch import Tensor

from oochub.trainers.objective import Objective
from oochub.trainers.samplers import EpochSampler, UniformSampler, draw_balanced_rows, number_groups


class SubsampleGroups(Objective):
    """The mean loss over a subset of the training rows, drawn once for the run and kept in all its epochs.

    The groups are the pairs of class and environment that have rows; of each, as many as the smallest has are drawn at
    random. An epoch is as much shorter: raise num_train_epochs. It is "SUBG" of Idrissi et al.; with one environment a
    class it is "SUBY".

    No hyperparameters; the draw depends on the run's seed.

    Raises:
        OochubError: Before training, labels that are not classes; in use, no environments.

    Source: Idrissi, Arjovsky, Pezeshki, Lopez-Paz 2022 (arXiv 2110.14503), section 3.

    >>> import torch
    >>> label, environment = torch.tensor([0, 0, 0, 0, 1, 1, 1]), torch.tensor([0, 0, 0, 1, 1, 1, 1])
    >>> len(rows := list(SubsampleGroups().sampler(label, environment, seed=0))), 3 in rows  # row 3 is a group alone
    (3, True)
    """

    needs_environments: ClassVar[bool] = True
    needs_classes: ClassVar[bool] = True
    side_by_side: ClassVar[frozenset[str] | None] = frozenset()
    citation: ClassVar[str] = (
        "Idrissi, Arjovsky, Pezeshki, Lopez-Paz. Simple Data Balancing Achieves Competitive Worst-group-accuracy. "
        "CLeaR 2022. arXiv:2110.14503"
    )

    def sampler(self, label: Tensor, environment: Tensor, *, seed: int) -> EpochSampler | None:
        """The drawn rows; see `Objective.sampler`."""
        return UniformSampler(
            draw_balanced_rows(number_groups(label, environment), np.random.default_rng([seed])), seed=seed
        )
