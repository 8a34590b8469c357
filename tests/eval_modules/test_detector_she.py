"""SHE against its definition, a row at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows

from oochub.errors import OochubError
from oochub.eval_modules.detectors.she import She


def test_equals_the_definition() -> None:
    """Planted faults seen: the mean of all rows of a class; features of length 1."""
    rows = detector_rows()
    features, logits, label = (rows.train[name] for name in ("features", "logits", "label"))
    expected = []
    for f, z in zip(rows.test["features"], rows.test["logits"], strict=True):
        right = [x for x, m, y in zip(features, logits, label, strict=True) if m.argmax() == y == z.argmax()]
        expected.append(sum(a * b for a, b in zip(f, np.mean(right, axis=0), strict=True)))
    found = She().fit(**rows.needed("features", "logits", "label")).score(**rows.test)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_class_without_a_right_row_is_named() -> None:
    rows = detector_rows()
    wrong = {**rows.train, "label": np.where(rows.train["label"] == 3, 0, rows.train["label"])}
    with pytest.raises(OochubError, match=r"No training row of class 3 .* \(1 of 5 classes"):
        She().fit(**wrong)
