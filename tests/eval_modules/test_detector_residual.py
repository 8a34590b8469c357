"""Residual against numpy's pseudo-inverse and singular vectors, and against `vim`, which it is a part of."""

import numpy as np
import pytest
from detector_rows import detector_rows
from scipy.special import logsumexp

from oochub.errors import OochubError
from oochub.eval_modules.detectors.residual import Residual
from oochub.eval_modules.detectors.vim import Vim


@pytest.mark.parametrize("dim", [1, 6, 11])
def test_equals_singular_vectors(dim: int) -> None:
    """Planted fault seen: the directions of the largest eigenvalues."""
    rows = detector_rows()
    origin = -np.linalg.pinv(rows.train["weight"]) @ rows.train["bias"]
    outside = np.linalg.svd(rows.train["features"] - origin, full_matrices=False)[2][dim:]
    expected = -np.linalg.norm((rows.test["features"] - origin) @ outside.T, axis=1)
    found = Residual(dim=dim).fit(**rows.train).score(**rows.test)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_it_is_the_residual_of_vim() -> None:
    rows = detector_rows(seed=1)
    vim = Vim(dim=4).fit(**rows.train)
    own = Residual(dim=4).fit(**rows.train).score(**rows.test)
    expected = vim.alpha * own + logsumexp(rows.test["logits"], axis=1)
    np.testing.assert_allclose(vim.score(**rows.test), expected, rtol=1e-12)


def test_a_dim_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(OochubError, match="the largest dim allowed is 11"):
        Residual(dim=12).fit(**detector_rows().train)
    flat = {**detector_rows().train}
    flat["features"] = flat["features"].copy()
    flat["features"][:, 4:] = 0
    flat["weight"] = flat["weight"] * (np.arange(12) < 4)
    with pytest.raises(OochubError, match="span 4 directions: the largest dim allowed is 3"):
        Residual(dim=5).fit(**flat)
