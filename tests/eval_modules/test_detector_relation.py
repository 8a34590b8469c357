"""The relation graph's score against its definition, a pair at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows
from scipy.special import softmax

from oochub.eval_modules.detectors import relation
from oochub.eval_modules.detectors.relation import Relation


@pytest.mark.parametrize(("power", "cutoff"), [(1, 0.03), (2, 0.03), (1, 0.3), (0.5, 0)])
def test_equals_the_definition(power: float, cutoff: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 of 300 rows. Planted faults seen: no cutoff; the power before it; cosines of raw features."""
    monkeypatch.setattr(relation, "WIDTH", 64)
    rows, expected = detector_rows(), []
    for f, z in zip(rows.test["features"], rows.test["logits"], strict=True):
        total = 0.0
        for g, m in zip(rows.train["features"], rows.train["logits"], strict=True):
            related = max(0, f @ g / np.linalg.norm(f) / np.linalg.norm(g)) * (softmax(z) @ softmax(m))
            total += related**power if related > cutoff else 0
        expected.append(total)
    found = Relation(power=power, cutoff=cutoff).fit(**rows.needed("features", "logits")).score(**rows.test)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_opposite_rows_are_not_related() -> None:
    """Two products of a negative sign would make a positive power. Planted fault seen: no lower bound."""
    detector = Relation(power=2).fit(features=[[1.0, 0.0]], logits=[[0.0, 0.0]])
    assert detector.score(features=[[-1.0, 0.0]], logits=[[0.0, 0.0]]).tolist() == [0.0]
