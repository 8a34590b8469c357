"""SSD against scikit-learn's covariance."""

import numpy as np
import pytest
from detector_rows import detector_rows
from sklearn.covariance import EmpiricalCovariance
from sklearn.preprocessing import normalize

from oochub.errors import OochubError
from oochub.eval_modules.detectors.ssd import Ssd


def test_equals_scikit_learn() -> None:
    """Planted faults seen: features that are not normalized; the covariance about zero."""
    rows = detector_rows()
    reference = EmpiricalCovariance().fit(normalize(rows.train["features"]))
    expected = -reference.mahalanobis(normalize(rows.test["features"]))
    found = Ssd().fit(**rows.needed("features")).score(features=rows.test["features"])
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_dead_units_are_not_seen() -> None:
    """Planted fault seen: the inverse of a covariance without them."""
    rows = detector_rows()
    wide = {
        name: np.pad(each["features"], ((0, 0), (0, 3))) for name, each in (("train", rows.train), ("test", rows.test))
    }
    found = Ssd().fit(features=wide["train"]).score(features=wide["test"])
    plain = Ssd().fit(**rows.needed("features")).score(features=rows.test["features"])
    np.testing.assert_allclose(found, plain, rtol=1e-9)


def test_rows_of_one_direction_are_refused() -> None:
    with pytest.raises(OochubError, match="features of all 3 rows have one direction"):
        Ssd().fit(features=[[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]])
