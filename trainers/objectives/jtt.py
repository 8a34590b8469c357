"""Just train twice: upweights the rows that a first model misclassifies when it trains a second model."""

import warnings
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from oochub.errors import OochubError
from oochub.records.typed_values import Bounds
from oochub.trainers.batch import Batch
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import CleanPass, Objective, Step, environment_means
from oochub.trainers.samplers import EpochSampler, UniformSampler
from oochub.trainers.training_step import TrainingStep


class Jtt(Objective):
    """ERM twice: E, the training rows that a first model gets wrong, count `upweight` times for a second.

    After the first part of the run E is fixed, and training begins anew from the same first weights. E comes from one
    clean pass over the training set: in evaluation mode, without augmentation. The second stage is

    - mode="upsample": an epoch visits each row of E `upweight` times (rounded) and each other row once. It is longer.
    - mode="loss_weight": L = sum_i w_i l_i / sum_i w_i over the batch, w_i = `upweight` in E and 1 elsewhere; over the
      batches of all processes together.

    The two are equal in expectation. If E is empty the second stage is ERM, with a warning: the first stage was too
    long, or weight_decay too small. Both stages have the run's learning rate and schedule, each its own course of it.

    `form` names an implementation that differs:

    - "authors": a row of E is visited 1 + `upweight` times. (Their E are the mistakes that the model made on each batch
      before its update, in training mode during one epoch; here it is the clean pass.)
    - "subpopbench": the mean of w_i l_i, not divided by the weights, so that the learning rate grows with E's share;
      mode="loss_weight" only.
    - "spawrious": the second stage goes on from the first stage's weights, as that paper's text says.

    Args:
        upweight: lambda. Default 10. The authors 100 (Waterbirds), 50 (CelebA), 6 (CivilComments); SubpopBench
            10^U(0, 2.5).
        first_stage: Share of the run's epochs before E is fixed, rounded to whole epochs. Default 0.5. The authors 60
            epochs, then 300, on Waterbirds; SubpopBench U(0.2, 0.8).
        mode: "upsample" or "loss_weight".
        form: None, "authors", "subpopbench" or "spawrious".

    Attributes:
        errors: bool (training rows,), E, a buffer; of length 0 in the first stage.

    Raises:
        OochubError: An upweight below 1, a first_stage that is not between 0 and 1, an unknown mode or form; before
            training, labels that are not classes.

    Source: Liu, Haghgoo et al. 2021 (arXiv 2107.09044), Algorithm 1.

    >>> objective = Jtt(mode="loss_weight", upweight=3.0)
    >>> logits, label = torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1])
    >>> round(objective(logits, label, wrong=torch.tensor([False, True])).item(), 4)  # (0.1269 + 3 x 2.1269) / 4
    1.6269
    """

    needs_classes: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Liu, Haghgoo, Chen, Raghunathan, Koh, Sagawa, Liang, Finn. Just Train Twice: Improving Group Robustness "
        "without Training Group Information. ICML 2021. arXiv:2107.09044"
    )
    errors: Tensor
    upweight: float

    def __init__(
        self,
        *,
        upweight: Annotated[float, Bounds(1)] = 10.0,
        first_stage: Annotated[float, Bounds(0, 1, above=True, below=True)] = 0.5,
        mode: Literal["upsample", "loss_weight"] = "upsample",
        form: Literal["authors", "subpopbench", "spawrious"] | None = None,
    ) -> None:
        super().__init__()
        self.keep(upweight=upweight, first_stage=first_stage, mode=mode, form=form)
        if (form, mode) in (("authors", "loss_weight"), ("subpopbench", "upsample")):
            other = "upsample" if mode == "loss_weight" else "loss_weight"
            raise OochubError(f"form={form!r} has mode={other!r}, got mode={mode!r}. Set that mode, or no form.")
        self.register_buffer("errors", torch.zeros(0, dtype=torch.bool))

    @property
    def shares(self) -> tuple[float, ...]:
        """The two stages; see `Objective.shares`."""
        return (self.first_stage, 1 - self.first_stage)

    def next_stage(self, clean: CleanPass, training: TrainingStep) -> None:
        """Fixes E and goes back to the first weights; see `Objective.next_stage`."""
        errors = clean.logits.argmax(1) != clean.label
        if not errors.any():
            warnings.warn("jtt: the first stage gets every training row right, so the second is ERM.", stacklevel=2)
        self.errors = errors.to(self.errors.device)
        if self.form != "spawrious":
            training.start_over()

    def sampler(self, label: Tensor, environment: Tensor, *, seed: int) -> EpochSampler | None:
        """With mode="upsample", the rows of E several times; see `Objective.sampler`."""
        if self.mode != "upsample":
            return None
        if not len(self.errors):
            return UniformSampler(len(label), seed=seed)
        times = round(self.upweight) + (self.form == "authors")
        repeats = 1 + (times - 1) * self.errors.cpu().long()
        return UniformSampler(torch.arange(len(label)).repeat_interleave(repeats).numpy(), seed=seed)

    def take_step(self, batch: Batch, training: TrainingStep) -> Step:
        """A step with the weights of the batch's rows; see `Objective.take_step`."""
        logits, features = training.outputs(batch.inputs, batch.environment)
        wrong = self.errors[batch.row] if len(self.errors) and self.mode == "loss_weight" else None
        loss = self(logits, batch.label, batch.environment, features, wrong=wrong)
        training.update(loss)
        return Step(loss, logits, batch)

    def forward(
        self,
        logits: Tensor,
        label: Tensor,
        environment: Tensor | None = None,
        features: Tensor | None = None,
        wrong: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch; `wrong` (n,) says which rows are in E, None that none are. See `Objective.forward`."""
        losses = example_losses(logits, label)
        if wrong is None:
            return losses.mean()
        weight = 1 + (self.upweight - 1) * wrong.to(losses.dtype)
        if self.form == "subpopbench":
            return (weight * losses).mean()
        everywhere = torch.zeros_like(label)
        total, weights = (environment_means(values, everywhere, 1).mean[0] for values in (weight * losses, weight))
        return total / weights
