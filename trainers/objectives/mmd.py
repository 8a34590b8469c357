"""Maximum mean discrepancy: the features of environments should have the same distribution."""

from typing import ClassVar, Literal

from oochub.records.typed_values import NotNegative
from oochub.trainers.objectives._alignment import Aligned, Kind


class Mmd(Aligned):
    """L = mean_e l_e + penalty_weight x the mean over pairs of environments of their squared MMD.

    l_e is the mean loss of the rows of environment e; for features x of one environment and y of another,

        MMD^2 = mean k(x, x') + mean k(y, y') - 2 mean k(x, y),    k(x, y) = sum_g exp(-g |x - y|^2)

    over all pairs of rows, each with itself included, and g = 0.001, 0.01, ..., 1000. This is what Spawrious calls
    MMD-AAE, in the form that its authors ran, DomainBed's. MMD-AAE itself (Li et al. 2018) also has a decoder, an
    adversary that draws the codes to a Laplace prior, and its loss; none of it is here.

    The widths are fixed: for features with squared distances in the hundreds all but g = 0.001 vanish. A row with
    itself counts 7, so small environments look farther apart than they are. With one environment in the batch the
    penalty is 0. Under several processes the features of all are compared; with gradient accumulation, those of each
    batch.

    `form="subpopbench"` has the mean loss of all rows in place of the mean over environments.

    Args:
        penalty_weight: Default 1. DomainBed and SubpopBench 10^U(-1, 1).
        form: None or "subpopbench".

    Raises:
        OochubError: A weight that is negative or not finite, an unknown form; in use, no environments or features.

    Source: Li, Pan, Wang, Kot, CVPR 2018, section 3; DomainBed, algorithms.py, MMD.

    >>> import torch
    >>> features = torch.tensor([[0.0], [100.0]])  # so far apart that all kernels but the widest vanish
    >>> logits, label, environment = torch.zeros(2, 2), torch.tensor([0, 1]), torch.tensor([0, 1])
    >>> loss = Mmd()(logits, label, environment=environment, features=features)
    >>> round(loss.item(), 4)  # log 2 + 7 + 7 - 2 exp(-10)
    14.6931
    """

    kind: ClassVar[Kind] = "mmd"
    least_rows: ClassVar[int] = 1
    citation: ClassVar[str] = (
        "Li, Pan, Wang, Kot. Domain Generalization with Adversarial Feature Learning. CVPR 2018; without its "
        "adversarial auto-encoder, as DomainBed (Gulrajani, Lopez-Paz, ICLR 2021, arXiv:2007.01434)"
    )

    def __init__(self, *, penalty_weight: NotNegative = 1.0, form: Literal["subpopbench"] | None = None) -> None:
        super().__init__()
        self.keep(penalty_weight=penalty_weight, form=form)
