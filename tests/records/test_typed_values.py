"""Parameters by name: what a signature takes, and what it does not."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.records.typed_values import check_parameters, parse_options


def _method(
    rate: float = 1.0,
    count: int = 1,
    name: str | None = None,
    on: bool = False,
    kind: Literal["a", "b"] = "a",
    names: str | Sequence[str] = "x",
    pair: float | tuple[float, float] | None = None,
    any=None,
):
    """Takes one parameter of each type."""


@pytest.mark.parametrize(
    "given",
    [
        *({"rate": 1}, {"rate": 0.5, "count": 3}, {"name": None}, {"name": "x"}, {"on": True}, {"kind": "b"}),
        *({"any": [1]}, {"names": "a"}, {"names": ["a", "b"]}, {"names": ("a",)}, {"names": np.array(["a"])}),
        *({"pair": [1, 0.5]}, {"pair": None}, {"rate": np.float32(1)}),
    ],
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
        ({"name": 3}, "The parameter name must be text or none, got 3"),
        ({"on": 1}, "The parameter on must be true or false, got 1"),
        ({"kind": "c"}, "The parameter kind must be one of a, b, got 'c'"),
        ({"names": 5}, "The parameter names must be text or a list, each text, got 5"),
        ({"names": ["a", 5]}, "text or a list, each text, got ['a', 5]"),
        ({"names": {"a"}}, "text or a list, each text, got {'a'}"),
        ({"names": {"a": 1}}, "text or a list, each text, got {'a': 1}"),
        ({"pair": [1]}, "a finite number or a list of 2, each a finite number, or none, got [1]"),
        ({"pair": ["x", 1]}, "or a list of 2, each a finite number, or none, got ['x', 1]"),
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
