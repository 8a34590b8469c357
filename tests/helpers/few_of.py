"""Of cases that repeat one another a few are tried with the others, and the rest is a campaign."""

from collections.abc import Iterable
from typing import Any

import pytest


def few_of(cases: Iterable[Any], *, few: int = 2) -> list[Any]:
    """The cases for `parametrize`: the first ones as they are, the others marked."""
    return [
        each if number < few else pytest.param(*(each if type(each) is tuple else (each,)), marks=pytest.mark.campaign)
        for number, each in enumerate(cases)
    ]
