"""Undersampling by class and by environment: rows are drawn as NOOCH Eq. 3 says."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

import oochub

ROWS = np.repeat([0, 2, 3], [400, 90, 10])  # the second class or environment is only in other splits


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.0, 2.0])
@pytest.mark.parametrize("name", ["undersample", "undersample_environments"])
def test_rows_are_drawn_by_the_formula(name: str, alpha: float) -> None:
    """I of size n, P(j = i) proportional to (1/w_i)^alpha, w_i = P(Y = y_i) or P(C = c_i)."""
    columns = (torch.tensor(ROWS), torch.zeros(500))
    objective = oochub.get("objective", name)(alpha=alpha)
    sampler = objective.sampler(*(columns if name == "undersample" else columns[::-1]), seed=3)
    drawn = []
    for epoch in range(60):
        sampler.set_epoch(epoch)
        drawn += (rows := list(sampler))
        assert len(rows) == 500
    chances = np.array([(1 / np.mean(row == ROWS)) ** alpha for row in ROWS])
    expected = np.array([chances[row == ROWS].sum() for row in (0, 2, 3)]) / chances.sum() * len(drawn)
    assert chisquare(np.bincount(ROWS[drawn])[[0, 2, 3]], expected).pvalue > 1e-3
    assert sampler.set_epoch(0) is None and list(sampler) == drawn[:500]  # redrawn, and the same for the same epoch
