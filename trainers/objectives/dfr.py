"""Deep feature reweighting: ERM, then a new last layer fitted on balanced groups of the training rows' features."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from oochub.errors import OochubError
from oochub.trainers.fine_tuning.fitting import find_head_layers
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import CleanPass, Objective, check_environment
from oochub.trainers.objectives._alignment import check_features
from oochub.trainers.samplers import draw_balanced_rows, number_groups
from oochub.trainers.training_step import TrainingStep

_ITERATIONS = 2000
_STILL = 1e-7  # the largest change of a coefficient at which a fit is done


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

    Source: Kirichenko, Izmailov, Wilson 2023 (arXiv 2204.02937), section 5; its code dfr_evaluate_spurious.py.

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

    def __init__(self, *, c: float = 0.1, refits: int = 10) -> None:
        super().__init__()
        if not 0 < c < math.inf:
            raise OochubError(f"c must be a finite number above 0, got {c}.")
        if not (refits >= 1 and float(refits).is_integer()):
            raise OochubError(f"refits must be a whole number, 1 or larger, got {refits}.")
        self.c, self.refits = c, refits

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
        features, label = clean.features.double(), clean.label
        mean, deviation = features.mean(0), features.std(0, correction=0)
        features = (features - mean) / deviation.where(deviation > 0, 1.0)
        groups, draws = number_groups(label, clean.environment), np.random.default_rng([self.refits, len(label)])
        fits = []
        for _ in tqdm(range(self.refits), desc="Refits", disable=None):
            rows = torch.from_numpy(draw_balanced_rows(groups, draws))
            fits.append(_fit(features[rows], label[rows], clean.logits.shape[1], self.c))
        weight, bias = (torch.stack(each).mean(0) for each in zip(*fits, strict=True))
        weight = weight / deviation.where(deviation > 0, 1.0)
        training.replace_head(weight, bias - weight @ mean)

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The mean loss of the first stage; see `Objective.forward`."""
        check_environment(self, environment)
        check_features(self, features)
        return example_losses(logits, label).mean()


def _fit(features: Tensor, label: Tensor, classes: int, c: float) -> tuple[Tensor, Tensor]:
    """Weight (classes, d) and bias (classes,) of the logistic regression, by accelerated proximal gradient descent."""
    features = torch.cat([features, features.new_ones(len(features), 1)], 1)
    target = functional.one_hot(label, classes).to(features)
    step = 1 / (0.5 * c * torch.linalg.matrix_norm(features, 2) ** 2)  # the softmax's Hessian is at most 1/2
    shrink = torch.full((classes, features.shape[1]), float(step))
    shrink[:, -1] = 0  # not the bias
    now = ahead = features.new_zeros(classes, features.shape[1])
    momentum = 1.0
    for _ in range(_ITERATIONS):
        slope = c * (torch.softmax(features @ ahead.T, 1) - target).T @ features
        moved = ahead - step * slope
        new = moved.sign() * (moved.abs() - shrink).clamp(min=0)
        momentum, before = (1 + math.sqrt(1 + 4 * momentum**2)) / 2, momentum
        if ((ahead - new) * (new - now)).sum() > 0:  # it goes back: begin to gather speed anew
            momentum, before = 1.0, 1.0
        change, ahead, now = (new - now).abs().max(), new + (before - 1) / momentum * (new - now), new
        if change < _STILL:
            break
    return now[:, :-1], now[:, -1]
