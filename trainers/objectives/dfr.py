"""Deep feature reweighting: ERM, then a new last layer fitted on balanced groups of the training rows' features."""

import math
import warnings
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from torch import Tensor, nn

from oochub.errors import OochubError, OochubWarning
from oochub.records.typed_values import Bounds, Positive
from oochub.trainers.fine_tuning.fitting import find_head_layers
from oochub.trainers.heads.balanced_refits import fit_balanced_heads
from oochub.trainers.objective import CleanPass, Objective
from oochub.trainers.samplers import number_groups
from oochub.trainers.training_step import TrainingStep


class Dfr(Objective):
    """ERM for the whole run; at its end the last layer is replaced by a mean of logistic regressions.

    Features of all training rows come from a clean pass: in evaluation mode, without augmentation. They are
    standardized by their means and deviations. `refits` times, as many rows of each group (pair of class and
    environment) as the smallest has are drawn, and W, b are fitted on them:

        min  c sum_i CE(W z_i + b, y_i) + sum |W|

    The mean of the fits is the new last layer; the rest of the network stays. This is "DFR^Tr", on the training rows.
    "DFR^Val" fits on validation rows, which makes validation groups training data; it is not here. The authors tune c
    on validation groups; in a sweep it is a hyperparameter. Their solver (liblinear) shrinks b as well.

    Args:
        c: Inverse strength of the L1 penalty. Default 0.1. The authors 1, 0.7, 0.3, 0.1, 0.07, 0.03, 0.01
            (Waterbirds).
        refits: Default 10, as the authors' for DFR^Tr; 20 for DFR^Val.

    Raises:
        OochubError: A c that is not above 0, fewer than one refit; before training, labels that are not classes, or a
            model whose last layer is not a single linear one with bias; in use, no environments or features.

    Warns:
        OochubWarning: The penalty leaves no weight, as the default does on few rows; the c that would is named.

    Source: Kirichenko, Izmailov, Wilson 2023 (arXiv 2204.02937), section 5; its code dfr_evaluate_spurious.py.

    >>> import torch
    >>> loss = Dfr()(torch.zeros(2, 2), torch.tensor([0, 1]), environment=torch.zeros(2), features=torch.zeros(2, 4))
    >>> round(loss.item(), 4)  # log 2, as ERM
    0.6931
    """

    needs_environments: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True
    needs_classes: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Kirichenko, Izmailov, Wilson. Last Layer Re-Training is Sufficient for Robustness to Spurious Correlations. "
        "ICLR 2023. arXiv:2204.02937"
    )

    def __init__(self, *, c: Positive = 0.1, refits: Annotated[int, Bounds(1)] = 10) -> None:
        super().__init__()
        self.keep(c=c, refits=refits)

    @property
    def shares(self) -> tuple[float, ...]:
        """The whole run, and a stage without a step; see `Objective.shares`."""
        return (1.0, 0.0)

    def examine(self, model: Any, probe: Mapping[str, Tensor], *, label: Tensor, environment: Tensor) -> None:
        """Refuses a model whose last layer cannot be replaced; see `Objective.examine`."""
        head = find_head_layers(model, probe)
        if len(head) != 1 or not isinstance(head[0].bias, nn.Parameter):
            raise OochubError(f"dfr replaces one last layer with a bias, but {type(model).__name__} has no such layer.")

    def next_stage(self, clean: CleanPass, training: TrainingStep) -> None:
        """Fits the new last layer; see `Objective.next_stage`."""
        assert clean.features is not None  # noqa: S101  needs_features
        draws = np.random.default_rng([self.refits, len(clean.label)])
        groups = number_groups(clean.label, clean.environment)
        head = fit_balanced_heads(
            clean.features,
            clean.label,
            groups,
            classes=clean.logits.shape[1],
            c=self.c,
            refits=self.refits,
            draws=draws,
        )
        if not head.weight.any():
            self._warn_of_zeros(head.smallest_c, int(np.bincount(groups)[np.bincount(groups) > 0].min()))
        training.replace_head(head.weight, head.bias)

    def _warn_of_zeros(self, smallest: float, rows: int) -> None:
        """Says that one class is answered for all, and the c that would not do that, rounded up to two digits."""
        way_out = "No feature tells the classes apart, so no c helps"
        if math.isfinite(smallest):
            step = 10.0 ** (math.floor(math.log10(smallest)) - 1)
            way_out = f"Take c above {math.ceil(smallest / step) * step:.3g}, or more rows of the smallest group"
        warnings.warn(
            f"dfr at c = {self.c:g} fits a last layer whose weights are all 0, so the model answers one class for "
            f"every row: the penalty outweighs the {rows} rows of each group. {way_out}.",
            OochubWarning,
            stacklevel=2,
        )
