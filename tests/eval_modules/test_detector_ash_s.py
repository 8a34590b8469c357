"""ASH-S against its definition, a row at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows
from scipy.special import logsumexp

from oochub.errors import OochubError
from oochub.eval_modules.detectors.ash_s import AshS

ROWS = detector_rows()
WEIGHT, BIAS = ROWS.train["weight"], ROWS.train["bias"]


def by_row(features: np.ndarray, percentile: float) -> np.ndarray:
    scores = []
    for f in features:
        first = np.argsort(-f, kind="stable")[: len(f) - round(len(f) * percentile / 100)]
        kept = np.zeros_like(f)
        kept[first] = f[first] * np.exp(f.sum() / f[first].sum())
        scores.append(logsumexp(WEIGHT @ kept + BIAS))
    return np.array(scores)


@pytest.mark.parametrize("percentile", [0, 65, 90])
def test_equals_the_definition(percentile: float) -> None:
    """Planted faults seen: no exponential; the factor of SCALE on all activations; the inverse ratio."""
    found = AshS(percentile=percentile).fit(weight=WEIGHT, bias=BIAS).score(**ROWS.test)
    np.testing.assert_allclose(found, by_row(ROWS.test["features"], percentile), rtol=1e-12)


def test_a_row_of_zeros_has_the_energy_of_the_bias() -> None:
    """Planted fault seen: 0 / 0."""
    detector = AshS().fit(weight=WEIGHT, bias=BIAS)
    np.testing.assert_allclose(detector.score(features=np.zeros((2, 12))), logsumexp(BIAS))


def test_a_percentile_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(OochubError, match="largest whole percentile allowed is 95"):
        AshS(percentile=96).fit(weight=WEIGHT, bias=BIAS)
