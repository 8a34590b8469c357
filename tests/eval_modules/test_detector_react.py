"""ReAct against numpy's percentile and scipy's logsumexp; the exact percentile on its own."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oochub.errors import OochubError
from oochub.eval_modules.detectors.react import React
from oochub.eval_modules.detectors.react import _percentile as percentile

RNG = np.random.default_rng(0)
WEIGHT, BIAS = RNG.normal(size=(5, 40)), RNG.normal(size=5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("percent", [10, 90, 99.5])
def test_equals_numpy_and_scipy(dtype: type, percent: float) -> None:
    """Planted faults: the percentile of each column; features cut from below."""
    train, test = RNG.gamma(1, size=(900, 40)).astype(dtype), RNG.gamma(2, size=(50, 40)).astype(dtype)
    detector = React(percentile=percent).fit(features=train, weight=WEIGHT, bias=BIAS)
    threshold = np.percentile(train.astype(np.float64), percent)
    assert detector.threshold == pytest.approx(threshold, rel=1e-15)
    expected = logsumexp(np.minimum(test.astype(np.float64), threshold) @ WEIGHT.T + BIAS, axis=1)
    np.testing.assert_allclose(detector.score(features=test), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("make", ["normal", "ties", "equal", "signed zeros", "wide", "one"])
def test_the_percentile_is_exact(dtype: type, make: str) -> None:
    """Every percentile of awkward numbers, in blocks. Planted faults: -0.0 below 0.0; the lower neighbor alone."""
    numbers = {
        "normal": RNG.normal(size=997),
        "ties": RNG.integers(-2, 3, 1000),
        "equal": np.full(50, 3),
        "signed zeros": np.tile([0.0, -0.0, -1.0], 30),
        "wide": RNG.normal(size=501) * 10.0 ** RNG.integers(-4, 4, 501),
        "one": np.array([-7.5]),
    }[make].astype(dtype)
    wide = numbers.astype(np.float64)
    for percent in [0, 1, 7.7, 25, 50, 66.6, 90, 99, 99.99, 100]:
        found = percentile(lambda: iter(np.array_split(numbers, min(7, len(numbers)))), len(numbers), percent)
        assert found == pytest.approx(np.percentile(wide, percent), rel=1e-15, abs=1e-300), percent


def test_batches_may_differ_in_type() -> None:
    features = RNG.gamma(1, size=(100, 40))
    half, single = features[:60].astype(np.float16), features[60:].astype(np.float32)
    detector = React().partial_fit(features=half, weight=WEIGHT, bias=BIAS).partial_fit(features=single).finalize()
    together = np.concatenate([half.astype(np.float64), single])
    assert detector.threshold == pytest.approx(np.percentile(together, 90), rel=1e-15)


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(OochubError, match="TMPDIR"):
        React().partial_fit(features=np.ones((3, 40)), weight=WEIGHT, bias=BIAS)
