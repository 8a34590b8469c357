"""Fish: takes steps on each environment in turn, then moves part of the way to the result."""

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from oochub.records.typed_values import Positive
from oochub.trainers.batch import Batch, mix_losses
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import Objective, Step, check_counts, check_environment, environment_means
from oochub.trainers.objectives._mixing import mean_of_environments
from oochub.trainers.training_step import TrainingStep


class Fish(Objective):
    """theta <- theta + meta_lr (theta' - theta): a part of the way of one step on each environment of the batch.

    theta' comes from theta by steps of the run's optimizer, one on each environment, in random order. To second order
    in the inner rate this follows the gradient of the mean loss minus that of the inner products between the
    environments' gradients, which it makes larger ("inter-domain gradient matching"). The order must be random for
    that, and the inner step plain SGD; with others it is a heuristic, as in the authors' code. The inner optimizer is
    the run's: its state goes on from step to step, its rate is the run's learning rate, and checkpoints hold it.
    Running statistics of BatchNorm go the same part of the way; counts are those of theta'. Under several processes
    every inner step is on the rows of one environment in all of them.

    Use it with `sampler="environments"`, so that each environment has equally many rows in a batch, as published; with
    the uniform sampler the step of a rare environment is on few rows. With one environment in the batch and meta_lr 1
    it is `erm`.

    `form` names an implementation that differs:

    - "authors": meta_lr is divided by the number of environments in the batch, after a warm start with ERM, which is
      not here (start from a model trained with `erm`). Environments are drawn for each step: `environments_per_batch`.
    - "domainbed": the environments always in the same order.

    Args:
        meta_lr: Default 0.5, DomainBed's; its search 0.05, 0.1, 0.5. The authors (with their division) 0.01 to 0.15.
        form: None, "authors" or "domainbed".

    Raises:
        OochubError: A meta_lr that is not above 0 and finite, or an unknown form; before training, a single
            environment or gradient accumulation; in use, no environments.

    Source: Shi, Seely, Torr, Siddharth, Hannun, Usunier, Synnaeve 2022 (arXiv 2104.09937), Algorithm 1; DomainBed,
    algorithms.py, Fish.

    >>> objective = Fish()  # outside a trainer it is the mean of the environments' losses
    >>> loss = objective(torch.zeros(3, 2), torch.tensor([0, 1, 1]), environment=torch.tensor([0, 0, 1]))
    >>> round(loss.item(), 4)  # log 2
    0.6931
    """

    needs_environments: ClassVar[bool] = True
    accumulates: ClassVar[bool] = False
    citation: ClassVar[str] = (
        "Shi, Seely, Torr, Siddharth, Hannun, Usunier, Synnaeve. Gradient Matching for Domain Generalization. "
        "ICLR 2022. arXiv:2104.09937"
    )

    def __init__(self, *, meta_lr: Positive = 0.5, form: Literal["authors", "domainbed"] | None = None) -> None:
        super().__init__()
        self.keep(meta_lr=meta_lr, form=form)
        self._environments = 0

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """Takes the number of environments; see `Objective.prepare`."""
        self._environments = len(check_counts(self, environment_counts))

    def take_step(self, batch: Batch, training: TrainingStep) -> Step:
        """The inner steps and the part of their way; see `Objective.take_step`."""
        count = environment_means(torch.ones_like(batch.row).float(), batch.environment, self._environments).count
        present = count.nonzero()[:, 0].tolist()
        order = present if self.form == "domainbed" else training.shared_draws.permutation(present).tolist()
        states = [*training.module.parameters(), *training.module.buffers()]
        before = [values.detach().clone() for values in states]
        losses, logits, places = [], [], []
        for number in order:
            rows = (batch.environment == number).nonzero()[:, 0]
            # a process without such a row takes part with another one, which the mean leaves out
            part = batch.take(rows if len(rows) else torch.zeros_like(batch.row[:1]))
            outputs = training.outputs(part.inputs).logits
            of_rows = mix_losses(outputs, part.label)
            loss = environment_means(of_rows, part.environment, self._environments).mean[number]
            training.update(loss)
            losses.append(loss.detach())
            logits.append(outputs.detach()[: len(rows)])
            places.append(rows)
        rate = self.meta_lr / len(order) if self.form == "authors" else self.meta_lr
        with torch.no_grad():
            for old, values in zip(before, states, strict=True):
                if values.is_floating_point():
                    values.copy_(torch.lerp(old, values, rate))
        return Step(torch.stack(losses).mean(), torch.cat(logits), batch.take(torch.cat(places)))

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The mean of the environments' mean losses; see `Objective.forward`."""
        environment = check_environment(self, environment)
        size = self._environments or int(environment.max()) + 1
        return mean_of_environments(example_losses(logits, label), environment, size)
