"""Risk extrapolation: the variance of the environments' losses is penalized."""

from typing import ClassVar

import torch
from torch import Tensor

from oochub.records.typed_values import Count, NotNegative
from oochub.trainers.losses import example_losses
from oochub.trainers.objectives._penalized import Annealed, shares_of_present


class Vrex(Annealed):
    """L = mean_e l_e + penalty_weight x 1/m sum_e (l_e - mean_e l_e)^2.

    l_e is the mean loss of the rows of environment e and m the number of environments with rows in the batch: the
    population variance. The weight is 1 in the first `anneal_steps` batches of training; a `RobustTrainer` resets the
    optimizer's moments when the weight jumps. Under several processes l_e is the mean over all of them.

    Weights do not carry over between codes. The paper's sum_e l_e + beta Var is this with penalty_weight = beta / m,
    times m; the authors' code (REx_code_release) has (l_1 - l_2)^2, 4 times the variance of two, beside l_1 + l_2: its
    weight w is 2 w here, and all is divided by w where w > 1. DomainBed, which Spawrious ran, is as here.

    Args:
        penalty_weight: Default 10. DomainBed 10^U(-1, 5); the authors 1e4 on colored MNIST, 0.1 on PACS.
        anneal_steps: Default 500. DomainBed 10^U(0, 4); the authors 100. With gradient accumulation every
            batch counts.

    Attributes:
        step: Batches seen in training mode, int64 (), a buffer.

    Raises:
        OochubError: A weight or number of steps that is negative or not finite; in use, no environments.

    Source: Krueger et al. 2021 (arXiv 2003.00688), section 3; DomainBed, algorithms.py, VREx.

    >>> import torch
    >>> objective = Vrex(penalty_weight=2.0, anneal_steps=0)
    >>> logits, label = torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1])
    >>> loss = objective(logits, label, environment=torch.tensor([0, 1]))
    >>> round(loss.item(), 4)  # losses 0.1269 and 2.1269: mean 1.1269, variance 1
    3.1269
    """

    citation: ClassVar[str] = (
        "Krueger, Caballero, Jacobsen, Zhang, Binas, Zhang, Le Priol, Courville. Out-of-Distribution Generalization "
        "via Risk Extrapolation (REx). ICML 2021. arXiv:2003.00688"
    )

    def __init__(self, *, penalty_weight: NotNegative = 10.0, anneal_steps: Count = 500) -> None:
        super().__init__()
        self.keep(penalty_weight=penalty_weight, anneal_steps=anneal_steps)

    def _terms(
        self, logits: Tensor, label: Tensor, environment: Tensor, features: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        risk, count = self._average_by_environment(example_losses(logits, label), environment)
        share = shares_of_present(count)
        mean = torch.linalg.vecdot(share, risk, dim=0)
        return mean, torch.linalg.vecdot(share, (risk - mean).square(), dim=0)
