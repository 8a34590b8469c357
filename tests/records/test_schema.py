"""Numbers in JSON that no float holds: refused by the name of their field."""

from dataclasses import dataclass

import pytest

from oochub.errors import OochubError
from oochub.records.schema import from_json
from oochub.records.typed_values import Count
from oochub.stats.estimate import Estimate


@dataclass(frozen=True)
class _Numbers:
    share: float
    rows: Count
    found: Estimate


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"share": 10**400}, "share must be a finite number"),
        ({"share": float("inf")}, "share must be a finite number"),
        ({"rows": 10**400}, "rows must be a whole number"),
        ({"rows": -1}, "rows must be a whole number, 0 or larger"),
        ({"found": 10**400}, "found must be an object"),
    ],
)
def test_a_number_that_no_float_holds_is_named(changed, words):
    """Seen: OverflowError, where the number was shown or compared."""
    found = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9, "method": "", "reason": None}
    known = {"share": 0.5, "rows": 3, "found": found}
    assert from_json(_Numbers, known, what="car.json").rows == 3
    with pytest.raises(OochubError, match=f"car.json: {words}"):
        from_json(_Numbers, known | changed, what="car.json")
    for name in ("value", "n"):
        with pytest.raises(OochubError, match=f"found.{name} must be"):
            from_json(_Numbers, known | {"found": found | {name: 10**400}}, what="car.json")
