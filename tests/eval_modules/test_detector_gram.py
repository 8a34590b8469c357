"""Gram against matrices that are built whole, a row at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows

from oochub.errors import OochubError
from oochub.eval_modules.detectors.gram import Gram


def row_sums(f: np.ndarray, p: int) -> np.ndarray:
    sums = np.outer(f**p, f**p).sum(axis=1)
    return np.sign(sums) * np.abs(sums) ** (1 / p)


@pytest.mark.parametrize("powers", [1, 3, 5])
@pytest.mark.parametrize("signed", [False, True])
def test_equals_whole_matrices(powers: int, signed: bool) -> None:
    """Planted faults seen: ranges of the predicted class in the fit; the upper bound alone; roots without a sign."""
    rows = detector_rows()
    train, test = ({**each, "features": each["features"] - 0.6 * signed} for each in rows)
    test["features"] *= 1.5
    expected = []
    for f, z in zip(test["features"], test["logits"], strict=True):
        own, total = train["features"][train["label"] == z.argmax()], 0.0
        for p in range(1, powers + 1):
            known = np.array([row_sums(each, p) for each in own])
            low, high, found = known.min(axis=0), known.max(axis=0), row_sums(f, p)
            total += (np.maximum(low - found, 0) / np.abs(low + 1e-6)).sum()
            total += (np.maximum(found - high, 0) / np.abs(high + 1e-6)).sum()
        expected.append(-total)
    assert np.count_nonzero(expected) > 10
    found = Gram(powers=powers).fit(**train).score(**test)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_class_without_rows_is_named() -> None:
    rows = detector_rows()
    label = np.where(rows.train["label"] == 2, 0, rows.train["label"])
    with pytest.raises(OochubError, match=r"Class 2 has no training rows.*\(1 of 5 classes"):
        Gram().fit(**{**rows.train, "label": label})
