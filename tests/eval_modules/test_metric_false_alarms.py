"""False alarms by hand: images without a true box that have a box above the threshold, with Wilson's interval."""

import math

import pytest

import oochub
from oochub.errors import OochubError
from oochub.stats.estimation import estimate
from oochub.stats.proportion import wilson

_FALSE_ALARMS = oochub.get("metric", "false_alarms")
_BOX = [0, 0, 5, 5]
_ROWS = {
    "boxes": [[_BOX, _BOX], [_BOX], [_BOX], [], [_BOX]],
    "scores": [[0.9, 0.8], [0.5], [0.51], [], [0.9]],
    "true_boxes": [[], [], [], [], [_BOX]],
}


def test_a_case_by_hand():
    """Four images are empty, two of them have a box above 0.5."""
    assert _FALSE_ALARMS(**_ROWS) == 0.5
    assert _FALSE_ALARMS(**_ROWS, threshold=0.4) == 0.75
    assert _FALSE_ALARMS(**_ROWS, threshold=0.85) == 0.25


def test_the_interval_is_wilsons_of_the_empty_images():
    found = estimate(_FALSE_ALARMS, _ROWS)
    reference = wilson(2, 4)
    assert found.n == 4 and (found.low, found.high) == pytest.approx((reference.low, reference.high))


def test_no_empty_image_and_a_wrong_threshold():
    full = {name: rows[4:] for name, rows in _ROWS.items()}
    assert math.isnan(_FALSE_ALARMS(**full))
    assert estimate(_FALSE_ALARMS, full).reason == "every image has a true box"
    with pytest.raises(OochubError, match=r"threshold is a number in \[0, 1\], got 2"):
        _FALSE_ALARMS(**_ROWS, threshold=2)
