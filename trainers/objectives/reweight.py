"""Label reweighting: weights each row by the inverse frequency of its class."""

from typing import Any, ClassVar

from torch import Tensor

from oochub.trainers.losses import example_losses
from oochub.trainers.objective import check_classes, check_counts
from oochub.trainers.objectives._by_frequency import Weighted


class Reweight(Weighted):
    """L = 1/n sum_i (1 / w_i)^alpha l_i, with w_i the frequency of row i's class in the training set.

    The mean is over the rows of the batch, and the weights are not normalized: with k equally frequent classes the
    loss is k^alpha times that of `erm`. Under several processes each has the mean of its own rows.

    `form` names an implementation that differs:

    - "nooch": the weight is (1 - w_i)^alpha, as in its code. For two classes that is Eq. 2 times a constant, a smaller
      learning rate; for more it is another weighting.
    - "subpopbench": the weight is n_i^-alpha, with n_i the class's training rows, divided by its mean over classes
      (ReWeight, alpha = 1; SqrtReWeight, 0.5). There the classes are groups, label x attribute: for these, see
      `reweight_environments`.

    Args:
        alpha: Default 1; 0 is `erm`. NOOCH Table 8 0.2, 0.5, 0.7, 1.
        form: None, "nooch" or "subpopbench".

    Attributes:
        weights: float32 (classes,), a buffer; inf for a class without training rows.

    Raises:
        OochubError: An alpha that is negative or not finite, an unknown form; in use, no counts of classes, or labels
            that are not class numbers.

    Source: NOOCH (Madras and Zemel 2021), section 4.2, Eq. 2.

    >>> import torch
    >>> objective = Reweight()
    >>> objective.prepare(class_counts=[3, 1])
    >>> loss = objective(torch.zeros(2, 2), torch.tensor([0, 1]))
    >>> round(loss.item(), 4)  # log 2 times the mean of 4/3 and 4
    1.8484
    """

    needs_classes: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Madras, Zemel. Identifying and Benchmarking Natural Out-of-Context Prediction Problems. NeurIPS 2021"
    )

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """Sets the weights of the classes; see `Objective.prepare`."""
        self._weigh(check_counts(self, class_counts, of="class"))

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; `environment` and `features` are not used. See `Objective.forward`."""
        check_classes(self, label, dimensions=logits.ndim - 1)
        if not self.weights.numel():
            check_counts(self, None, of="class")
        return (self.weights.gather(0, label) * example_losses(logits, label)).mean(0)
