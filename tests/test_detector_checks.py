"""What a saved detector must hold: shapes by letters that are shared, and nothing empty."""

import numpy as np
import pytest

from oochub.detector import check_state
from oochub.errors import OochubError

DECLARED = ["mean float64 d", "whitener float64 d r", "whitened float64 k r"]


def state(d=4, r=2, k=3, **changed):
    return {"mean": np.ones(d), "whitener": np.ones((d, r)), "whitened": np.ones((k, r)), **changed}


@pytest.mark.parametrize("r", [1, 4])
def test_what_fits_is_given_back(r):
    given = state(r=r)
    found = check_state(DECLARED, given, {"features": 4}, file="s.safetensors")
    assert all(found[name] is given[name] for name in given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (state(d=0), "mean must be float64 .4., got float64 .0."),
        (state(k=0), "whitened is empty"),
        (state(r=0), "whitener is empty"),
        (state(whitened=np.ones((3, 1))), r"whitened must be float64 \(3, 2\), got float64 \(3, 1\)"),
        (state(mean=np.ones((4, 1))), r"mean must be float64 \(4\), got float64 \(4, 1\)"),
        (state(mean=np.ones(4, np.float32)), "mean must be float64 .4., got float32 .4."),
        (state(mean=np.array([1, 1, np.nan, 1])), "mean must be finite numbers"),
        ({"mean": np.ones(4)}, "whitener, whitened missing"),
        (state(more=np.ones(1)), "more not known"),
    ],
)
def test_what_is_refused(given, words):
    """Planted faults: a letter that two arrays share taken for two; another type; what is empty let through."""
    with pytest.raises(OochubError, match=f"^s.safetensors: {words}"):
        check_state(DECLARED, given, {"features": 4}, file="s.safetensors")


def test_a_number_is_an_array_of_one():
    found = check_state(
        ["scale float64", "rows int64"], {"scale": np.array([2.0]), "rows": np.array([3])}, {}, file="s"
    )
    assert found == {"scale": 2.0, "rows": 3} and type(found["rows"]) is int
