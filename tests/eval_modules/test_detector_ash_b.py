"""ASH-B against a loop over rows that sorts their activations."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oochub.errors import OochubError
from oochub.eval_modules.detectors.ash_b import AshB

RNG = np.random.default_rng(0)
FEATURES, WEIGHT, BIAS = RNG.random((60, 40)), RNG.normal(size=(5, 40)), RNG.normal(size=5)


def by_row(features: np.ndarray, percentile: float) -> list[float]:
    found = []
    for row in features.astype(np.float64):
        k = len(row) - round(len(row) * percentile / 100)
        kept = sorted(range(len(row)), key=lambda j: (-row[j], j))[:k]
        pruned = np.zeros(len(row))
        pruned[kept] = row.sum() / k
        found.append(float(logsumexp(WEIGHT @ pruned + BIAS)))
    return found


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("percentile", [0, 30, 65, 90, 98])
def test_equals_the_loop(dtype: type, percentile: float) -> None:
    """Ties, zeros and negative activations among them. Planted fault: the sum taken after pruning."""
    features = np.round(FEATURES * 20 - 4).astype(dtype)
    features[:20] = np.maximum(features[:20] - 12, 0)
    detector = AshB(percentile=percentile).fit(weight=WEIGHT, bias=BIAS)
    before = features.copy()
    np.testing.assert_allclose(detector.score(features=features), by_row(features, percentile), rtol=1e-12)
    np.testing.assert_array_equal(features, before)


def test_a_percentile_that_keeps_nothing_is_refused() -> None:
    """Of 40, 99% leave none: round(39.6) is 40."""
    with pytest.raises(OochubError, match="largest whole percentile allowed is 98"):
        AshB(percentile=99).fit(weight=WEIGHT, bias=BIAS)
    with pytest.raises(OochubError, match="percentile"):
        AshB(percentile=101)
