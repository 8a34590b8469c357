"""Logistic regressions on balanced groups of fixed features, and their mean as a head."""

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from oochub.process.follow import follow
from oochub.trainers.samplers import draw_balanced_rows

_ITERATIONS = 2000
_STILL = 1e-7  # the largest change of a coefficient at which a fit is done


class BalancedHead(NamedTuple):
    """A head, and how strong its penalty may be.

    Attributes:
        weight: Weight (classes, d), float64.
        bias: Bias (classes,), float64.
        smallest_c: The c above which no regression has weights of 0 alone; infinite if no feature says anything.
    """

    weight: Tensor
    bias: Tensor
    smallest_c: float


def fit_balanced_heads(
    features: Tensor,
    label: Tensor,
    groups: NDArray[np.int64],
    *,
    classes: int,
    c: float,
    refits: int,
    draws: np.random.Generator,
) -> BalancedHead:
    """The mean of logistic regressions, each on as many rows of each group as the smallest has.

    Features are standardized by the means and deviations of all rows. Each regression minimizes

        c sum_i CE(W z_i + b, y_i) + sum |W|

    Args:
        features: Features (n, d).
        label: Class numbers (n,).
        groups: Group of each row (n,).
        classes: Number of classes.
        c: Inverse strength of the L1 penalty.
        refits: Number of regressions.
        draws: Draws the rows of each.

    Returns:
        The mean head on raw features.

    Source: Kirichenko, Izmailov, Wilson 2023 (arXiv 2204.02937), section 5; its code dfr_evaluate_spurious.py.

    >>> features, label = torch.tensor([[0.0], [1.0], [4.0], [5.0]]), torch.tensor([0, 0, 1, 1])
    >>> weight, bias, _ = fit_balanced_heads(
    ...     features, label, label.numpy(), classes=2, c=10.0, refits=1, draws=np.random.default_rng(0)
    ... )
    >>> (features.double() @ weight.T + bias).argmax(1).tolist()
    [0, 0, 1, 1]
    """
    features = features.double()
    mean, deviation = features.mean(0), features.std(0, correction=0)
    deviation = deviation.where(deviation > 0, 1.0)
    features = (features - mean) / deviation
    fits, smallest = [], []
    for _ in follow(range(refits), desc="Refits", disable=None, leave=False):
        rows = torch.from_numpy(draw_balanced_rows(groups, draws))
        fits.append(_fit(features[rows], label[rows], classes, c))
        smallest.append(_find_smallest_c(features[rows], label[rows], classes))
    weight, bias = (torch.stack(tensors).mean(0) for tensors in zip(*fits, strict=True))
    weight = weight / deviation
    return BalancedHead(weight, bias - weight @ mean, max(smallest))


def _find_smallest_c(features: Tensor, label: Tensor, classes: int) -> float:
    """The c above which a weight is not 0; infinite if none of the features says anything of the classes.

    With weights of 0 the best bias gives each class its share p, and 0 is the minimum as long as no entry of the
    gradient c sum_i (p - y_i) z_i is larger than the 1 of the penalty.
    """
    target = functional.one_hot(label, classes).to(features)
    largest = float(((target.mean(0) - target).T @ features).abs().max())
    return 1 / largest if largest > 0 else math.inf


def _fit(features: Tensor, label: Tensor, classes: int, c: float) -> tuple[Tensor, Tensor]:
    """Weight (classes, d) and bias (classes,) of the logistic regression, by accelerated proximal gradient descent.

    In every step the weights of the first of two classes are minus those of the second, which alone are computed.
    """
    features = torch.cat([features, features.new_ones(len(features), 1)], 1)
    target = functional.one_hot(label, classes).to(features)[:, int(classes == 2) :]
    gram = features @ features.T if len(features) < features.shape[1] else features.T @ features
    step = 1 / (0.5 * c * float(torch.linalg.eigvalsh(gram)[-1]))  # the softmax's Hessian is at most 1/2
    shrink = functional.pad(torch.full((target.shape[1], features.shape[1] - 1), step).double(), (0, 1))  # not the bias
    now = ahead = torch.zeros_like(shrink)
    momentum = 1.0
    for _ in range(_ITERATIONS):
        answers = torch.sigmoid(features @ (2 * ahead).T) if classes == 2 else torch.softmax(features @ ahead.T, 1)
        moved = ahead.sub((answers - target).T @ features, alpha=c * step)
        new = moved - moved.clamp(-shrink, shrink)
        drift, now = new - now, new
        momentum, before = (1 + math.sqrt(1 + 4 * momentum**2)) / 2, momentum
        if ((ahead - new) * drift).sum().item() > 0:  # it goes back: begin to gather speed anew
            momentum, before = 1.0, 1.0
        ahead = new.add(drift, alpha=(before - 1) / momentum)
        if drift.abs().max().item() < _STILL:
            break
    now = torch.cat([-now, now]) if classes == 2 else now
    return now[:, :-1], now[:, -1]
