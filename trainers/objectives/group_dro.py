"""Group distributionally robust optimization: gives the highest weight to the environments with the largest loss."""

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from oochub.errors import OochubError
from oochub.records.typed_values import NotNegative
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import Objective, check_counts, check_environment, environment_means


class GroupDro(Objective):
    """min over models of the largest loss of an environment, by exponentiated weights on the environments.

    With l_g the mean loss of environment g in the batch (0 where g has no row) and n_g its training rows,

        a_g = l_g + adjustment / sqrt(n_g)
        q_g <- q_g exp(step_size a_g),  then q <- q / sum(q)          (no gradient through q)
        L = sum_g q_g a_g, with the updated q

    q persists from step to step and starts uniform over the environments that the training set has. This is what the
    authors' code does (kohpangwei/group_DRO, loss.py); Algorithm 1 of the paper draws one environment per step.

    `form` names an implementation that differs:

    - "nooch": L = max over the environments present in the batch of l_g + adjustment / sqrt(n_g), without weights
      (NOOCH Eq. 5 over the full data; its code takes the maximum of the batch, as here). `step_size` is not used.
    - "wilds": as the default; the WILDS code has no adjustment, so one is refused.
    - "domainbed": q starts as ones, which the first normalization makes uniform, an absent environment keeps its
      weight up to that normalization, and there is no adjustment: the same numbers as "wilds". What differs is its
      batch, equally many rows of each environment, and one forward pass for each, which BatchNorm sees.

    Other libraries: SubpopBench as "domainbed" over (label, attribute) groups; BalancingGroups has step size 0.1 and a
    group-balanced sampler. Without balanced sampling the weights of rare environments move rarely.

    Args:
        step_size: eta of q's update. Sagawa et al. and WILDS 0.01; DomainBed 10^U(-3, -1), default 0.01.
        adjustment: C, the weight of 1/sqrt(n_g). Sagawa et al. 0 to 5; NOOCH Table 8 (as K) 5, 30, 60, 240.
        form: None, "nooch", "wilds" or "domainbed".

    Attributes:
        weights: q, float32 (environments,), a buffer.

    Raises:
        OochubError: A step size or adjustment that is negative or not finite, an unknown form, or an adjustment in a
            form that has none.

    Source: Sagawa, Koh et al. 2020 (arXiv 1911.08731), Algorithm 1 and group adjustments; NOOCH Eq. 5.

    >>> objective = GroupDro(step_size=1.0)
    >>> objective.prepare(environment_counts=[3, 1])
    >>> logits, label = torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1])
    >>> loss = objective(logits, label, environment=torch.tensor([0, 1]))
    >>> [round(weight, 4) for weight in objective.weights.tolist()], round(loss.item(), 4)  # losses 0.1269 and 2.1269
    ([0.1192, 0.8808], 1.8885)
    """

    needs_environments: ClassVar[bool] = True
    side_by_side: ClassVar[frozenset[str] | None] = frozenset({"step_size", "adjustment"})
    citation: ClassVar[str] = (
        "Sagawa, Koh, Hashimoto, Liang. Distributionally Robust Neural Networks for Group Shifts. ICLR 2020. "
        "arXiv:1911.08731"
    )
    weights: Tensor
    penalty: Tensor

    def __init__(
        self,
        *,
        step_size: NotNegative = 0.01,
        adjustment: NotNegative = 0.0,
        form: Literal["nooch", "wilds", "domainbed"] | None = None,
    ) -> None:
        super().__init__()
        self.keep(step_size=step_size, adjustment=adjustment, form=form)
        if adjustment and form in ("wilds", "domainbed"):
            raise OochubError(f"form={form!r} has no adjustment, got {adjustment}. Remove form to use one.")
        self.register_buffer("weights", torch.zeros(0))
        self.register_buffer("penalty", torch.zeros(0))

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """Sets the weights to uniform over the environments with training rows; see `Objective.prepare`."""
        counts = check_counts(self, environment_counts)
        present = (counts > 0).float()
        self.weights = (present / present.sum()).to(self.weights)
        self.penalty = (present * self.adjustment / counts.clamp(min=1).sqrt()).to(self.penalty)

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; in training mode it first updates the weights. See `Objective.forward`."""
        environment = check_environment(self, environment)
        if not len(self.weights):
            check_counts(self, None)
        mean, count = environment_means(example_losses(logits, label), environment, len(self.weights))
        adjusted = mean + self.penalty
        if self.form == "nooch":
            return adjusted.masked_fill(count == 0, -torch.inf).amax(0)
        if self.training:
            with torch.no_grad():
                # q exp(...) / sum, in logarithms so that large losses do not overflow
                self.weights.copy_(torch.softmax(self.weights.log() + self.step_size * adjusted, dim=0))
        loss: Tensor = torch.linalg.vecdot(self.weights.to(adjusted), adjusted, dim=0)  # float32 of float64 logits
        return loss
