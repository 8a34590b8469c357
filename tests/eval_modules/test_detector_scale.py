"""SCALE against its definition, a row at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows
from scipy.special import logsumexp

from oochub.errors import OochubError
from oochub.eval_modules.detectors.scale import Scale

ROWS = detector_rows()
WEIGHT, BIAS = ROWS.train["weight"], ROWS.train["bias"]


def by_row(features: np.ndarray, percentile: float) -> np.ndarray:
    scores = []
    for f in features:
        largest = np.sort(f)[::-1][: len(f) - round(len(f) * percentile / 100)]
        scores.append(logsumexp(WEIGHT @ (f * np.exp(f.sum() / largest.sum())) + BIAS))
    return np.array(scores)


@pytest.mark.parametrize("percentile", [0, 65, 85])
def test_equals_the_definition(percentile: float) -> None:
    """Planted faults seen: activations dropped, as in ASH-S; no exponential."""
    found = Scale(percentile=percentile).fit(weight=WEIGHT, bias=BIAS).score(**ROWS.test)
    np.testing.assert_allclose(found, by_row(ROWS.test["features"], percentile), rtol=1e-12)


def test_a_row_of_zeros_has_the_energy_of_the_bias() -> None:
    """Planted fault seen: 0 / 0."""
    detector = Scale().fit(weight=WEIGHT, bias=BIAS)
    np.testing.assert_allclose(detector.score(features=np.zeros((2, 12))), logsumexp(BIAS))


def test_a_percentile_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(OochubError, match="largest whole percentile allowed is 95"):
        Scale(percentile=96).fit(weight=WEIGHT, bias=BIAS)
