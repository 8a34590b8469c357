"""NNGuide against its definition, a row at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows
from scipy.special import logsumexp

from oochub.errors import OochubError
from oochub.eval_modules.detectors import nnguide
from oochub.eval_modules.detectors.nnguide import Nnguide


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 10, 300])
def test_equals_the_definition(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 of 300 rows. Planted faults seen: the k-th alone; guides without energies; the last block's."""
    monkeypatch.setattr(nnguide, "WIDTH", 64)
    rows, expected = detector_rows(), []
    for f, z in zip(rows.test["features"], rows.test["logits"], strict=True):
        guides = [
            logsumexp(m) * (f @ g) / np.linalg.norm(f) / np.linalg.norm(g)
            for g, m in zip(rows.train["features"], rows.train["logits"], strict=True)
        ]
        expected.append(logsumexp(z) * np.mean(sorted(guides)[-k:]))
    found = Nnguide(k=k).fit(**rows.needed("features", "logits")).score(**rows.test)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_more_neighbors_than_rows_are_refused() -> None:
    with pytest.raises(OochubError, match="k is 301, but the fit has 300 rows: the largest k allowed is 300"):
        Nnguide(k=301).fit(**detector_rows().train)
