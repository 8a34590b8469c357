"""DICE against its definition, a weight at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows
from scipy.special import logsumexp

from oochub.eval_modules.detectors.dice import Dice


@pytest.mark.parametrize("percentile", [0, 35, 90, 100])
def test_equals_the_definition(percentile: float) -> None:
    """Planted faults seen: the percentile class by class; contributions of absolute weights; the bias left out."""
    rows = detector_rows()
    weight, mean = rows.train["weight"], rows.train["features"].mean(axis=0)
    limit = np.percentile([w * m for row in weight for w, m in zip(row, mean, strict=True)], percentile)
    expected = []
    for f in rows.test["features"]:
        logits = [
            sum(w * x for w, x, m in zip(row, f, mean, strict=True) if w * m > limit) + b
            for row, b in zip(weight, rows.train["bias"], strict=True)
        ]
        expected.append(logsumexp(logits))
    found = Dice(percentile=percentile).fit(**rows.train).score(**rows.test)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
