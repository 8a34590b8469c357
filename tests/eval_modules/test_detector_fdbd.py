"""fDBD against distances to boundaries that are found by projection, a row at a time."""

import numpy as np
import pytest
from detector_rows import detector_rows

from oochub.errors import OochubError
from oochub.eval_modules.detectors.fdbd import Fdbd


def test_equals_distances_to_boundaries() -> None:
    """The distance is that to the nearest point where both logits agree, from least squares."""
    rows = detector_rows()
    weight, bias, mean = rows.train["weight"], rows.train["bias"], rows.train["features"].mean(axis=0)
    expected = []
    for f in rows.test["features"]:
        top = (weight @ f + bias).argmax()
        distances = []
        for other in (c for c in range(len(weight)) if c != top):
            normal, offset = weight[top] - weight[other], bias[top] - bias[other]
            step = np.linalg.lstsq(normal[None], [-(normal @ f + offset)], rcond=None)[0]
            assert abs(normal @ (f + step) + offset) < 1e-12
            distances.append(np.linalg.norm(step))
        expected.append(np.mean(distances) / np.linalg.norm(f - mean))
    found = Fdbd().fit(**rows.train).score(**rows.test)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_row_at_the_mean_has_a_finite_score() -> None:
    rows = detector_rows()
    detector = Fdbd().fit(**rows.train)
    mean = detector.mean[None]
    assert np.isfinite(detector.score(features=mean, logits=mean @ rows.train["weight"].T + rows.train["bias"])).all()


def test_classes_of_equal_weights_are_named() -> None:
    rows = detector_rows()
    weight = rows.train["weight"].copy()
    weight[4] = weight[1]
    with pytest.raises(OochubError, match="Classes 1 and 4 have equal weights"):
        Fdbd().fit(**{**rows.train, "weight": weight})
