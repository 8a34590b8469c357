"""Undersampling by class: the loss of a batch is ERM's, the rows are drawn as NOOCH Eq. 3 says."""

import numpy as np
import pytest
import torch
from objective_references import agrees, erm, made, some_batch
from scipy.stats import chisquare

import oochub

LABEL = np.repeat([0, 1, 2], [400, 90, 10])


@pytest.mark.parametrize("task", ["classes", "labels", "numbers"])
def test_loss_and_gradient_are_those_of_erm(task: str) -> None:
    agrees(made("undersample"), erm, some_batch(task))


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.0])
def test_rows_are_drawn_by_the_formula(alpha: float) -> None:
    """I of size n, P(j = i) proportional to (1/w_i)^alpha, w_i = P(Y = y_i). Planted: (1 - w_i)^alpha, as is usual."""
    objective = oochub.get("objective", "undersample")(alpha=alpha)
    sampler = objective.sampler(torch.tensor(LABEL), torch.zeros(500), seed=3)
    drawn = []
    for epoch in range(60):
        sampler.set_epoch(epoch)
        drawn += (rows := list(sampler))
        assert len(rows) == 500
    chances = np.array([(1 / np.mean(LABEL == y)) ** alpha for y in LABEL])
    expected = np.array([chances[LABEL == y].sum() for y in range(3)]) / chances.sum() * len(drawn)
    assert chisquare(np.bincount(LABEL[drawn]), expected).pvalue > 1e-3
    assert sampler.set_epoch(0) is None and list(sampler) == drawn[:500]  # redrawn, and the same for the same epoch
