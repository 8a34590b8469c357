"""Environment reweighting: weights each row by the inverse frequency of its environment."""

from typing import Any, ClassVar

from torch import Tensor

from oochub.trainers.losses import example_losses
from oochub.trainers.objective import check_counts, check_environment
from oochub.trainers.objectives._by_frequency import Weighted


class ReweightEnvironments(Weighted):
    """L = 1/n sum_i (1 / w_i)^alpha l_i, with w_i the frequency of row i's environment in the training set.

    The mean is over the rows of the batch, and the weights are not normalized: with k equally frequent environments
    the loss is k^alpha times that of `erm`. Under several processes each has the mean of its own rows.

    `form` names an implementation that differs:

    - "nooch": the weight is (1 - w_i)^alpha, as in its code: with more than two environments another weighting than
      that of Eq. 2.
    - "subpopbench": the weight is n_i^-alpha, with n_i the environment's training rows, divided by its mean over
      environments (ReWeight, alpha = 1; SqrtReWeight, 0.5; its groups are label x attribute).

    Args:
        alpha: Default 1; 0 is `erm`. NOOCH Table 8 0.5, 1, 1.5, 2.
        form: None, "nooch" or "subpopbench".

    Attributes:
        weights: float32 (environments,), a buffer; inf for an environment without training rows.

    Raises:
        OochubError: An alpha that is negative or not finite, an unknown form; in use, no environments or no counts.

    Source: NOOCH (Madras and Zemel 2021), section 4.3, Eq. 2 with w_i = P(C = c_i).

    >>> import torch
    >>> objective = ReweightEnvironments()
    >>> objective.prepare(environment_counts=[3, 1])
    >>> loss = objective(torch.zeros(2, 2), torch.tensor([0, 0]), environment=torch.tensor([0, 1]))
    >>> round(loss.item(), 4)  # log 2 times the mean of 4/3 and 4
    1.8484
    """

    needs_environments: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Madras, Zemel. Identifying and Benchmarking Natural Out-of-Context Prediction Problems. NeurIPS 2021"
    )

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """Sets the weights of the environments; see `Objective.prepare`."""
        self._weigh(check_counts(self, environment_counts))

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; `features` are not used. See `Objective.forward`."""
        environment = check_environment(self, environment)
        if not self.weights.numel():
            check_counts(self, None)
        return (self.weights.gather(0, environment) * example_losses(logits, label)).mean(0)
