"""ASH-P against its definition, a row at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows
from scipy.special import logsumexp

from oochub.errors import OochubError
from oochub.eval_modules.detectors.ash_p import AshP

ROWS = detector_rows()
WEIGHT, BIAS = ROWS.train["weight"], ROWS.train["bias"]


def by_row(features: np.ndarray, percentile: float) -> np.ndarray:
    scores = []
    for f in features:
        kept = f.copy()
        kept[np.argsort(-f, kind="stable")[len(f) - round(len(f) * percentile / 100) :]] = 0
        scores.append(logsumexp(WEIGHT @ kept + BIAS))
    return np.array(scores)


@pytest.mark.parametrize("percentile", [0, 60, 90])
def test_equals_the_definition(percentile: float) -> None:
    """Planted faults seen: the largest dropped; one more kept."""
    found = AshP(percentile=percentile).fit(weight=WEIGHT, bias=BIAS).score(**ROWS.test)
    np.testing.assert_allclose(found, by_row(ROWS.test["features"], percentile), rtol=1e-12)


def test_a_percentile_that_keeps_nothing_is_refused() -> None:
    """Of 12, 96% leave none: round(11.52) is 12."""
    with pytest.raises(OochubError, match="largest whole percentile allowed is 95"):
        AshP(percentile=96).fit(weight=WEIGHT, bias=BIAS)
