"""Undersampling by environment: the loss of a batch is ERM's, the rows are drawn as NOOCH Eq. 3 says."""

import numpy as np
import pytest
import torch
from objective_references import agrees, erm, made, some_batch
from scipy.stats import chisquare

import oochub

ENVIRONMENT = np.repeat([0, 2, 3], [400, 90, 10])  # the second one is only in other splits


@pytest.mark.parametrize("task", ["classes", "labels", "numbers"])
def test_loss_and_gradient_are_those_of_erm(task: str) -> None:
    agrees(made("undersample_environments"), erm, some_batch(task))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_rows_are_drawn_by_the_formula(alpha: float) -> None:
    """I of size n, P(j = i) proportional to (1/w_i)^alpha, w_i = P(C = c_i). Planted: drawn by class."""
    objective = oochub.get("objective", "undersample_environments")(alpha=alpha)
    sampler = objective.sampler(torch.zeros(500), torch.tensor(ENVIRONMENT), seed=3)
    drawn = []
    for epoch in range(60):
        sampler.set_epoch(epoch)
        drawn += list(sampler)
    chances = np.array([(1 / np.mean(ENVIRONMENT == e)) ** alpha for e in ENVIRONMENT])
    expected = np.array([chances[ENVIRONMENT == e].sum() for e in (0, 2, 3)]) / chances.sum() * len(drawn)
    assert chisquare(np.bincount(ENVIRONMENT[drawn])[[0, 2, 3]], expected).pvalue > 1e-3
