"""W2D: trains on the rows with the largest losses, and hides what the model looks at in some of them."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from oochub.errors import OochubError
from oochub.trainers.batch import Batch
from oochub.trainers.learner import Learner
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import Objective, Step
from oochub.trainers.objectives._feature_map import Tail, find_map
from oochub.trainers.objectives._objective_checks import check_form

_LEAST_CHANGE = 1e-4  # of a probability: a smaller fall is none


class W2d(Objective):
    """The mean loss of hard rows, made harder: worst cases in the sample dimension, then in the feature dimension.

    1. Samples, until the last part of the run: the int(sample_share n) rows of the batch with the largest losses are
       kept, at least one, and weigh alike; the others are not trained on.
    2. Features: with F the last map of features of a row, a the mean over positions of the gradient of its class's
       logit by F, and cam = sum_channels a F, the int(feature_share positions) positions with the largest cam are set
       to 0 in all channels; ties at the edge stay.
    3. Only the round(batch_share n) rows whose class loses most probability by that (more than 1e-4) keep their mask;
       ties at the edge have none.

    The loss is the mean cross entropy of the masked rows; survivors are not rescaled. It knows no environments. The map
    is the last one of which most positions matter: before the pooling of a convolutional network, and for a model with
    a class token before the last layer that reads the others, whose first tokens (class, registers) are never masked.
    Steps 2 and 3 are done with the layers behind the map in evaluation mode, and cost these layers twice more. Under
    several processes the rows are chosen in each process's batch.

    The paper's text in Spawrious, that it "upweights" rows of high loss, is not what the code does. The last part is a
    share of the run here; the code has 5,000 steps written in it.

    `form` names an implementation that differs: "authors" finds the losses of step 1 in training mode, which moves the
    running statistics of BatchNorm twice a step; here in evaluation mode.

    Args:
        sample_share: p of the code, `worst_case_p`. Default 1/3; its search U(0.2, 0.4), or U(0.1, 0.5).
        feature_share: `rsc_f_drop_factor`. Default 1/4; its search U(0.1, 0.4).
        batch_share: `rsc_b_drop_factor`. Default 1/4; its search U(0.1, 0.4).
        last_share: `last_k_epoch`, the last part of the run, in which all rows are kept. Default 1/4; its search
            U(0.2, 0.4).
        form: None or "authors".

    Raises:
        OochubError: A share outside 0 to 1 (sample_share above 0, the next two below 1), or an unknown form; before
            training, labels that are not classes, or a model without a map of features.

    Source: Huang, Wang, Huang, Lee, Xing 2022 (arXiv 2204.04384), its code WisconsinAIVision/W2D, algorithms.py, W2D.

    >>> round(W2d()(torch.zeros(3, 2), torch.tensor([0, 1, 1])).item(), 4)  # log 2; what it changes is the step
    0.6931
    """

    needs_classes: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Huang, Wang, Huang, Lee, Xing. The Two Dimensions of Worst-case Training and Their Integrated Effect for "
        "Out-of-domain Generalization. CVPR 2022. arXiv:2204.04384"
    )

    def __init__(
        self,
        *,
        sample_share: float = 1 / 3,
        feature_share: float = 0.25,
        batch_share: float = 0.25,
        last_share: float = 0.25,
        form: str | None = None,
    ) -> None:
        super().__init__()
        limits = {"sample_share": sample_share, "feature_share": feature_share, "batch_share": batch_share}
        for name, value in {**limits, "last_share": last_share}.items():
            if not 0 <= value <= 1:
                raise OochubError(f"{name} must be a share, 0 to 1, got {value}.")
        if not sample_share or 1 in (feature_share, batch_share):
            raise OochubError(f"sample_share must be above 0, feature_share and batch_share below 1, got {limits}.")
        check_form(form, "authors")
        self.sample_share, self.feature_share, self.batch_share = sample_share, feature_share, batch_share
        self.last_share, self.form = last_share, form
        self._map = ""

    def examine(self, model: Any, probe: Mapping[str, Tensor], *, label: Tensor, environment: Tensor) -> None:
        """Finds the map, and refuses texts; see `Objective.examine`."""
        if "pixel_values" not in probe:
            raise OochubError("W2d hides parts of pictures. Take another objective for texts.")
        self._map = find_map(model, probe)

    def take_step(self, batch: Batch, learner: Learner) -> Step:
        """A step on the hard rows, made harder; see `Objective.take_step`."""
        assert isinstance(batch.label, Tensor)  # noqa: S101  nothing mixes here
        if learner.done <= 1 - self.last_share:
            batch = batch.take(self._hardest(batch, learner))
        tail = Tail(learner.module, self._map)
        with tail.recording():
            learner.outputs(batch.inputs)
        learner.module.eval()
        mask = self._mask(tail, batch)
        learner.module.train()
        logits = tail(batch.inputs, tail.map * mask)
        loss = self(logits, batch.label)
        learner.update(loss)
        return Step(loss, logits, batch)

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The mean loss; see `Objective.forward`."""
        return example_losses(logits, label).mean()

    def _hardest(self, batch: Batch, learner: Learner) -> Tensor:
        assert isinstance(batch.label, Tensor)  # noqa: S101  nothing mixes here
        learner.module.train(self.form == "authors")
        with torch.no_grad():
            losses = example_losses(learner.outputs(batch.inputs).logits, batch.label)
        learner.module.train()
        return losses.argsort(descending=True, stable=True)[: max(1, int(len(losses) * self.sample_share))]

    def _mask(self, tail: Tail, batch: Batch) -> Tensor:
        """1 where the map stays and 0 where it is hidden, in the map's own shape with one channel."""
        label: Any = batch.label
        leaf = tail.map.detach().requires_grad_()
        logits = tail(batch.inputs, leaf)
        of_class = logits.gather(1, label[:, None])[:, 0]
        gradient = torch.autograd.grad(of_class.sum(), leaf)[0]
        first = tail.first_tokens(batch.inputs)
        channel, places = (2, (1,)) if leaf.ndim == 3 else (1, (2, 3))
        values, slopes = (
            leaf.detach()[:, first:] if first else leaf.detach(),
            gradient[:, first:] if first else gradient,
        )
        cam = (values * slopes.mean(places, keepdim=True)).sum(channel, keepdim=True)
        flat = cam.flatten(1)
        edge = flat.sort(1, descending=True).values[:, int(flat.shape[1] * self.feature_share)]
        mask = (flat <= edge[:, None]).to(leaf.dtype).view(cam.shape)
        if first:
            mask = torch.cat([mask.new_ones(len(mask), first, 1), mask], 1)
        with torch.no_grad():
            before, after = (
                each.float().softmax(1).gather(1, label[:, None])[:, 0]
                for each in (logits, tail(batch.inputs, leaf * mask))
            )
        change = (before - after - _LEAST_CHANGE).clamp(min=0)
        place = min(round(len(change) * self.batch_share), len(change) - 1)
        masked = change > change.sort(descending=True).values[place]
        return mask.where(masked.view(-1, *[1] * (mask.ndim - 1)), 1.0)
