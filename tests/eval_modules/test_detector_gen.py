"""GEN against its formula, a row at a time with 60 digits."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from detector_rows import detector_rows

from oochub.errors import OochubError
from oochub.eval_modules.detectors.gen import Gen


def by_row(logits: np.ndarray, gamma: float, top: int) -> np.ndarray:
    scores = []
    with localcontext(prec=60):
        for row in logits:
            p = [Decimal(float(logit)).exp() for logit in row]
            p = sorted((each / sum(p) for each in p), reverse=True)[:top]
            scores.append(-sum((x * (1 - x)) ** Decimal(gamma) for x in p))
    return np.array(scores, np.float64)


@pytest.mark.parametrize(("classes", "top"), [(5, None), (5, 2), (5, 1), (250, None), (250, 250)])
@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0])
def test_equals_the_formula(gamma: float, classes: int, top: int | None) -> None:
    """Planted faults seen: the smallest `top` probabilities; the sum over all of 250; the exponent on p alone."""
    logits = 3 * detector_rows(c=classes, tests=3).test["logits"]
    expected = by_row(logits, gamma, top or 100)
    np.testing.assert_allclose(Gen(gamma=gamma, top=top).score(logits=logits), expected, rtol=1e-12)


def test_confident_rows_still_differ() -> None:
    """1 - p of float64 is 0 from a margin of 37 on. Planted fault seen: 1 - p as a difference."""
    margins = np.array([[40.0, 0.0], [60.0, 0.0], [200.0, 0.0]])
    scores = Gen().score(logits=margins)
    assert (np.diff(scores) > 0).all() and scores[-1] < 0
    np.testing.assert_allclose(scores, -2 * np.exp(-0.1 * margins[:, 0]), rtol=1e-9)


def test_what_it_cannot_take_is_refused() -> None:
    with pytest.raises(OochubError, match="top is 6, but there are 5 classes: the largest allowed is 5"):
        Gen(top=6).score(logits=detector_rows().test["logits"])
