"""Focal loss: rows that the model already gets right weigh less."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from oochub.errors import OochubError
from oochub.records.typed_values import NotNegative
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import Objective, check_classes, check_counts


class Focal(Objective):
    """L = 1/n sum_i -(1 - q_i)^gamma log q_i, with q_i the probability that the model gives to row i's class.

    For two classes this is NOOCH's Eq. 7, with q = f(x) for y = 1 and 1 - f(x) for y = 0; for more classes q comes
    from the softmax. With several labels a row, the loss of a row is the mean over its known labels, each with the q
    of its own. Under several processes each has the mean of its own rows. SubpopBench is as here.

    `form="nooch"` is NOOCH's code, which Eq. 7 does not have: each row also weighs 1 - w_i, with w_i the frequency of
    its class in the training set.

    Args:
        gamma: Default 1; 0 is `erm`. NOOCH Table 8 0.2, 0.5, 0.7, 1; SubpopBench 0.5 x 10^U(0, 1), default 1.
        form: None or "nooch".

    Attributes:
        weights: 1 - w of each class, float32 (classes,), a buffer; empty without a form.

    Raises:
        OochubError: A gamma that is negative or not finite, an unknown form; in use, labels without probabilities
            (regression), and in the form "nooch" no counts of classes.

    Source: Lin, Goyal, Girshick, He, Dollár 2017 (arXiv 1708.02002), Eq. 4; NOOCH Eq. 7.

    >>> logits, label = torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1])
    >>> round(Focal(gamma=1.0)(logits, label).item(), 4)  # q 0.8808 and 0.1192, losses 0.1269 and 2.1269
    0.9443
    """

    side_by_side: ClassVar[frozenset[str] | None] = frozenset({"gamma"})
    citation: ClassVar[str] = (
        "Lin, Goyal, Girshick, He, Dollár. Focal Loss for Dense Object Detection. ICCV 2017. arXiv:1708.02002"
    )
    weights: Tensor
    gamma: float

    def __init__(self, *, gamma: NotNegative = 1.0, form: Literal["nooch"] | None = None) -> None:
        super().__init__()
        self.keep(gamma=gamma, form=form)
        self.register_buffer("weights", torch.zeros(0))

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """In the form "nooch", sets the weights of the classes; see `Objective.prepare`."""
        if self.form:
            counts = check_counts(self, class_counts, of="class")
            self.weights = (1 - counts / counts.sum()).to(self.weights)

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; `environment` and `features` are not used. See `Objective.forward`."""
        self._check(label, dimensions=logits.ndim - 1)
        if self.form:
            if not self.weights.numel():
                check_counts(self, None, of="class")
            return (self.weights.gather(0, label) * self._focus(example_losses(logits, label))).mean(0)
        if not label.is_floating_point():
            return self._focus(example_losses(logits, label)).mean(0)
        losses = example_losses(logits.reshape(-1, 1), label.reshape(-1, 1)).view_as(label)  # 0 where not known
        return (self._focus(losses).sum(1) / (~label.isnan()).sum(1).clamp(min=1)).mean(0)

    def examine(self, model: Any, probe: Mapping[str, Tensor], *, label: Tensor, environment: Tensor) -> None:
        """Refuses labels without probabilities; see `Objective.examine`."""
        self._check(label)

    def _check(self, label: Tensor, *, dimensions: int = 1) -> None:
        if self.form:
            check_classes(self, label, dimensions=dimensions)
        if label.is_floating_point() and label.ndim == dimensions:
            raise OochubError(
                "Focal needs a probability of the label: class numbers int64 (n,) or labels float (n, k), not numbers. "
                "Use erm, cvar or group_dro for regression."
            )

    def _focus(self, losses: Tensor) -> Tensor:
        """(1 - q)^gamma x loss with q = exp(-loss)."""
        tiny = torch.finfo(losses.dtype).tiny  # the power has no gradient at 0, where q is 1
        return (-torch.expm1(-losses)).clamp(min=tiny) ** self.gamma * losses
