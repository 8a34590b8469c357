"""ASH-B, ASH-P, ASH-S and SCALE, which shape the activations of a row, against their definitions, a row at a time."""

from collections.abc import Callable

import numpy as np
import pytest
from detector_rows import detector_rows
from scipy.special import logsumexp

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors.ash_b import AshB
from oochub.eval_modules.detectors.ash_p import AshP
from oochub.eval_modules.detectors.ash_s import AshS
from oochub.eval_modules.detectors.scale import Scale

ROWS = detector_rows()
WEIGHT, BIAS = ROWS.train["weight"], ROWS.train["bias"]
TIED = np.round(np.random.default_rng(0).random((60, 12)) * 20 - 4)
TIED[:20] = np.maximum(TIED[:20] - 12, 0)
SHAPED: dict[type[Detector], Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    AshB: lambda f, first: np.isin(np.arange(len(f)), first) * f.sum() / len(first),
    AshP: lambda f, first: np.isin(np.arange(len(f)), first) * f,
    AshS: lambda f, first: np.isin(np.arange(len(f)), first) * f * np.exp(f.sum() / f[first].sum()),
    Scale: lambda f, first: f * np.exp(f.sum() / f[first].sum()),
}


@pytest.mark.parametrize("percentile", [0, 30, 65, 90])
@pytest.mark.parametrize("kind", SHAPED)
def test_equals_the_definition(kind: type[Detector], percentile: float) -> None:
    """The largest activations come first, of equal ones that with the smaller number."""
    detector = kind(percentile=percentile).fit(weight=WEIGHT, bias=BIAS)
    for features in (ROWS.test["features"], *([TIED.astype(np.float16), TIED] if kind is AshB else [])):
        before, expected = features.copy(), []
        for f in features.astype(np.float64):
            first = np.argsort(-f, kind="stable")[: len(f) - round(len(f) * percentile / 100)]
            expected.append(logsumexp(WEIGHT @ SHAPED[kind](f, first) + BIAS))
        np.testing.assert_allclose(detector.score(features=features), expected, rtol=1e-12)
        np.testing.assert_array_equal(features, before)


@pytest.mark.parametrize("kind", [AshS, Scale])
def test_a_row_of_zeros_has_the_energy_of_the_bias(kind: type[Detector]) -> None:
    """Planted fault seen: 0 / 0."""
    detector = kind().fit(weight=WEIGHT, bias=BIAS)
    np.testing.assert_allclose(detector.score(features=np.zeros((2, 12))), logsumexp(BIAS))


@pytest.mark.parametrize("kind", SHAPED)
def test_a_percentile_that_keeps_nothing_is_refused(kind: type[Detector]) -> None:
    """Of 12, 96% leave none: round(11.52) is 12."""
    with pytest.raises(OochubError, match="largest whole percentile allowed is 95"):
        kind(percentile=96).fit(weight=WEIGHT, bias=BIAS)
