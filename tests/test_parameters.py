"""Parameters by name: what a signature takes, and what it does not."""

from typing import Literal

import pytest

from oochub.errors import OochubError
from oochub.parameters import check_parameters, parse_options


def _method(
    rate: float = 1.0,
    count: int = 1,
    name: str | None = None,
    on: bool = False,
    kind: Literal["a", "b"] = "a",
    any=None,
):
    """Takes one parameter of each type."""


@pytest.mark.parametrize(
    "given",
    [{"rate": 1}, {"rate": 0.5, "count": 3}, {"name": None}, {"name": "x"}, {"on": True}, {"kind": "b"}, {"any": [1]}],
)
def test_what_fits_is_taken(given):
    check_parameters(_method, given, kind="parameter")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": "abc"}, "The parameter rate must be a finite number, got 'abc'"),
        ({"rate": float("nan")}, "The parameter rate must be a finite number, got nan"),
        ({"rate": float("inf")}, "a finite number, got inf"),
        ({"rate": True}, "a finite number, got True"),
        ({"count": 1.5}, "The parameter count must be a whole number, got 1.5"),
        ({"count": None}, "a whole number, got None"),
        ({"name": 3}, "The parameter name must be a text or none, got 3"),
        ({"on": 1}, "The parameter on must be true or false, got 1"),
        ({"kind": "c"}, "The parameter kind must be one of a, b, got 'c'"),
        ({"rat": 1}, "No parameter named 'rat'. Did you mean 'rate'"),
    ],
)
def test_what_does_not_fit_is_named(given, message):
    """Planted faults: `isfinite` left out; bool taken for a number."""
    with pytest.raises(OochubError) as caught:
        check_parameters(_method, given, kind="parameter")
    assert message in str(caught.value)


def test_values_are_read_as_they_are_meant():
    text = ["a=1", "b=0.5", "c=true", "d=road,2", "e=x=y", "f=1e3"]
    read = {"a": 1, "b": 0.5, "c": True, "d": ["road", 2], "e": "x=y", "f": 1000.0}
    assert parse_options(text) == read
