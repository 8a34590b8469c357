"""Invariant risk minimization: one classifier should be the best of every environment."""

from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from oochub.errors import OochubError
from oochub.records.typed_values import Count, NotNegative
from oochub.trainers.losses import example_losses, token_losses
from oochub.trainers.objective import EnvironmentMeans, environment_means
from oochub.trainers.objectives._penalized import Annealed, mean_over_present, position_in_environment


class Irm(Annealed):
    """L = mean_e [ l_e + penalty_weight x (d l_e(s f) / ds at s = 1)^2 ], over the environments of the batch.

    l_e is the mean loss of the rows of environment e, and s multiplies the logits ("IRMv1"). The slope of a row is
    taken in closed form, without a second backward pass: for cross entropy it is sum_c p_c z_c - z_y, the loss minus
    the entropy of the prediction. The weight is 1 in the first `anneal_steps` batches of training; a `RobustTrainer`
    resets the optimizer's moments when the weight jumps. Under several processes l_e and its slope are means over all
    of them.

    NOOCH Eq. 6 has the norm without its square, which has no gradient at 0; its code squares, as here. The authors'
    code (InvariantRiskMinimization) divides the whole loss by the weight where that is above 1 and keeps the optimizer.

    `form` names an implementation that differs:

    - "nooch": the sum over environments in place of the mean, all divided by penalty_weight where that is above 1, as
      its code does (under SGD a smaller learning rate). It has no annealing: `anneal_steps` is 0.
    - "domainbed", "wilds": in place of the square, the slope over the rows 0, 2, 4, ... of an environment times the
      slope over its rows 1, 3, 5, ...: an unbiased estimate, which can be negative and depends on the order of the
      rows. An environment with one row has no penalty (there it is nan). Each process halves its own rows.
      SubpopBench is the same over attributes and does not reset its optimizer.

    Args:
        penalty_weight: lambda, default 100. DomainBed and SubpopBench 10^U(-1, 5); WILDS 1 in most recipes; NOOCH
            Table 8 0.1, 1, 3, 10; the authors 91257 on colored MNIST, chosen on test accuracy.
        anneal_steps: Default 500. DomainBed and SubpopBench 10^U(0, 4); WILDS 500; the authors 190. With gradient
            accumulation every batch counts.
        form: None, "nooch", "domainbed" or "wilds".

    Attributes:
        step: Batches seen in training mode, int64 (), a buffer.

    Raises:
        OochubError: A weight or number of steps that is negative or not finite, an unknown form, or annealing in a form
            that has none; in use, no environments.

    Source: Arjovsky et al. 2019 (arXiv 1907.02893), section 3.1, IRMv1; NOOCH Eq. 6; DomainBed, algorithms.py, IRM.

    >>> objective = Irm(penalty_weight=2.0, anneal_steps=0)
    >>> logits, label = torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1])
    >>> loss = objective(logits, label, environment=torch.tensor([0, 1]))
    >>> round(loss.item(), 4)  # losses 0.1269 and 2.1269, slopes 2 x 0.8808 - 2 and 2 x 0.8808
    4.287
    """

    citation: ClassVar[str] = (
        "Arjovsky, Bottou, Gulrajani, Lopez-Paz. Invariant Risk Minimization. 2019. arXiv:1907.02893"
    )

    def __init__(
        self,
        *,
        penalty_weight: NotNegative = 100.0,
        anneal_steps: Count = 500,
        form: Literal["nooch", "wilds", "domainbed"] | None = None,
    ) -> None:
        if form == "nooch" and anneal_steps not in (0, 500):
            raise OochubError(f"form='nooch' has no annealing, got anneal_steps={anneal_steps}. Remove it.")
        steps = 0 if form == "nooch" else anneal_steps
        super().__init__()
        self.keep(penalty_weight=penalty_weight, anneal_steps=steps, form=form)

    def _terms(
        self, logits: Tensor, label: Tensor, environment: Tensor, features: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        losses, slopes = _compute_losses_and_slopes(logits, label)
        size = self._count_environments(environment)
        halves = self.form in ("domainbed", "wilds")
        odd_row = position_in_environment(environment, size) % 2 if halves else 0
        # one sum for losses, slopes of even rows (of all, where there are no halves) and slopes of odd rows
        places = torch.cat([environment, environment + size * (1 + odd_row)])
        mean, count = environment_means(torch.cat([losses, slopes]), places, 3 * size)
        risk, even, odd = mean.unflatten(0, (3, size))
        risks = EnvironmentMeans(risk, count[:size])
        squares = risks._replace(mean=even * (odd if halves else even))
        if self.form == "nooch":
            divisor = torch.as_tensor(self.penalty_weight, dtype=risk.dtype).clamp(min=1)
            return risks.mean.sum(0) / divisor, squares.mean.sum(0) / divisor
        return mean_over_present(risks), mean_over_present(squares)


def _compute_losses_and_slopes(logits: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    """The loss of each row and its derivative by a factor of the row's logits, at 1; (n,) each."""
    if label.dtype == torch.int32 and label.shape == logits.shape[:-1]:  # tokens, those below 0 left out
        log_p, is_labeled = functional.log_softmax(logits, -1), label >= 0
        entropies, token_loss = -(log_p.exp() * log_p).sum(-1), token_losses(logits, label)
        counts = is_labeled.sum(1).clamp(min=1)
        return token_loss.sum(1) / counts, (token_loss - entropies * is_labeled).sum(1) / counts
    if label.ndim == logits.ndim - 1 and not label.is_floating_point():
        log_p = functional.log_softmax(logits, 1)
        losses = functional.nll_loss(log_p, label, reduction="none")
        return losses, losses + (log_p.exp() * log_p).sum(1)
    losses = example_losses(logits, label)
    if label.shape == logits.shape:
        is_known = ~label.isnan()
        slopes = (logits.sigmoid() - label.nan_to_num()) * logits * is_known
        return losses, slopes.sum(1) / is_known.sum(1).clamp(min=1)
    return losses, 2 * (logits[:, 0] - label) * logits[:, 0]
