"""Distances between the features of environments, by means and covariances or by kernels, and the penalty of them."""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from oochub.trainers.batch import gather_rows
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import check_features
from oochub.trainers.objectives._penalized import Penalized, mean_over_present

Kind = Literal["coral", "mmd"]

_KERNEL_GAMMAS = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)


class Aligned(Penalized):
    """L = loss + penalty_weight x the mean distance between environments, over pairs of them.

    The loss is the mean over environments of their mean losses; with a form, the mean over all rows. In rows of tokens,
    the features of every token that is asked for are compared.
    """

    needs_features: ClassVar[bool] = True
    kind: ClassVar[Kind]
    least_rows: ClassVar[int]

    def _terms(
        self, logits: Tensor, label: Tensor, environment: Tensor, features: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        losses = example_losses(logits, label)
        loss = losses.mean() if self.form else mean_over_present(self._average_by_environment(losses, environment))
        size = self._count_environments(environment)
        if features is not None and features.ndim == 3 and features.shape[:2] == label.shape:  # tokens: each is a row
            features, environment = features.flatten(0, 1), torch.where(label < 0, -1, environment[:, None]).flatten()
        rows, group = gather_rows(check_features(self, features)), gather_rows(environment)
        return loss, mean_distance(rows, group, size, kind=self.kind, least_rows=self.least_rows)


def mean_distance(features: Tensor, group: Tensor, groups: int, *, kind: Kind, least_rows: int) -> Tensor:
    """The mean over pairs of groups of the distance between their features; 0 where there are fewer than two groups.

    Every group is a point in a space of its own kind, and a distance is the squared one between two points:

    - "coral": the point is (mean / sqrt(d), covariance / d), covariance with n - 1, so the distance of two groups is
      the mean of the squared differences of the d means plus that of the d x d covariances.
    - "mmd": the point is the mean embedding under k(x, y) = sum_g exp(-g |x - y|^2), g = 0.001, 0.01, ..., 1000; the
      distance is the biased estimate mean k(x, x') + mean k(y, y') - 2 mean k(x, y), diagonal included.

    Inner products of these points come from the n x n products of the rows, so neither d x d covariances nor pairs of
    groups are ever formed: n^2 d operations for a batch of n rows. In float32 also under mixed precision.

    Args:
        features: float (n, d).
        group: int64 (n,), numbers below `groups`; -1 for a row that is in none.
        groups: Number of groups.
        kind: "coral" or "mmd".
        least_rows: Groups with fewer rows are left out; 2 for coral, whose covariance needs them.

    Source: DomainBed, algorithms.py, AbstractMMD.mmd.

    >>> features = torch.tensor([[0.0], [2.0], [1.0], [5.0]])  # means 1 and 3, variances 2 and 8
    >>> mean_distance(features, torch.tensor([0, 0, 1, 1]), 2, kind="coral", least_rows=2)
    tensor(40.)
    """
    with torch.autocast(features.device.type, enabled=False):
        features = features.to(torch.promote_types(features.dtype, torch.float32))
        features = features - features.mean(0)  # a distance does not see where 0 is; rounding does
        member = group[:, None] == torch.arange(groups, device=group.device)
        count = member.sum(0)
        average = member / count.clamp(min=1).to(features.dtype)  # (n, groups): average.T @ rows are the means
        inner = _compute_coral(features, average, count) if kind == "coral" else _compute_mmd(features, average)
        kept = count >= least_rows
        inner = inner * (kept[:, None] & kept)
        k = kept.sum()
        # sum over pairs of |a_i - a_j|^2 = k sum_i |a_i|^2 - |sum_i a_i|^2
        return 2 * (k * inner.trace() - inner.sum()) / (k * (k - 1)).clamp(min=1)


def _compute_coral(features: Tensor, average: Tensor, count: Tensor) -> Tensor:
    means = average.T @ features
    centered = features - (average > 0).to(features.dtype) @ means
    # tr(C_i C_j) = sum over rows a of i and b of j of (x_a . x_b)^2 / ((n_i - 1)(n_j - 1))
    unbiased = average * count / (count - 1).clamp(min=1)
    width = features.shape[1]
    return (means @ means.T) / width + unbiased.T @ (centered @ centered.T / width).square() @ unbiased


def _compute_mmd(features: Tensor, average: Tensor) -> Tensor:
    products = features @ features.T
    norms = products.diagonal()
    distances = (norms[:, None] + norms - 2 * products).clamp(min=0)
    kernel = torch.stack([torch.exp(-gamma * distances) for gamma in _KERNEL_GAMMAS]).sum(0)
    return average.T @ kernel @ average
