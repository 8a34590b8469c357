"""Correlation alignment: the features of environments should agree in means and covariances."""

from typing import ClassVar, Literal

from oochub.records.typed_values import NotNegative
from oochub.trainers.objectives._alignment import Aligned, Kind


class Coral(Aligned):
    """L = mean_e l_e + penalty_weight x the mean over pairs of environments of their distance.

    l_e is the mean loss of the rows of environment e; the distance of two environments, over d features, is

        1/d sum_j (mu_1j - mu_2j)^2 + 1/d^2 sum_jk (C_1jk - C_2jk)^2      (C with n - 1)

    which is DomainBed's. Deep CORAL (Sun and Saenko 2016) has no term of means and 1/(4 d^2) for the other. The means
    over d and d^2 make the penalty small: with d = 2048 useful weights are 1 to 100 and more. An environment with one
    row in the batch has no covariance and is in no pair; with fewer than two environments left, the penalty is 0.
    Under several processes the features of all are compared; with gradient accumulation, those of each batch. In rows
    of tokens, with features (n, t, d), each token that is asked for is compared as a row of its row's environment;
    WILDS' code takes the padding too.

    `form` names an implementation that differs: "wilds" and "subpopbench" have the mean loss of all rows in place of
    the mean over environments, the same where all have equally many rows, as in WILDS' batches.

    Args:
        penalty_weight: Default 1. DomainBed and SubpopBench 10^U(-1, 1); WILDS 0.1 (iWildCam, FMoW, OGB-MolPCBA) or
            10 (Amazon, PovertyMap).
        form: None, "wilds" or "subpopbench".

    Raises:
        OochubError: A weight that is negative or not finite, an unknown form; in use, no environments or features.

    Source: Sun and Saenko 2016 (arXiv 1607.01719), section 3; DomainBed, algorithms.py, CORAL.

    >>> import torch
    >>> features = torch.tensor([[0.0], [2.0], [1.0], [5.0]])  # means 1 and 3, variances 2 and 8
    >>> logits, label, environment = torch.zeros(4, 2), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1])
    >>> loss = Coral()(logits, label, environment=environment, features=features)
    >>> round(loss.item(), 4)  # log 2 + (1 - 3)^2 + (2 - 8)^2
    40.6931
    """

    kind: ClassVar[Kind] = "coral"
    least_rows: ClassVar[int] = 2
    citation: ClassVar[str] = (
        "Sun, Saenko. Deep CORAL: Correlation Alignment for Deep Domain Adaptation. ECCV Workshops 2016. "
        "arXiv:1607.01719"
    )

    def __init__(
        self, *, penalty_weight: NotNegative = 1.0, form: Literal["wilds", "subpopbench"] | None = None
    ) -> None:
        super().__init__()
        self.keep(penalty_weight=penalty_weight, form=form)
