"""Arguments that list something: each form that is taken, and what each refusal names."""

import pytest

from oochub.errors import OochubError
from oochub.evaluation.evaluation_inputs import check_inputs
from oochub.settings.evaluation_settings import EvaluationSettings


def listed(predictions="p.parquet", **given):
    return check_inputs(predictions, EvaluationSettings(**{"detectors": ("msp",), **given}))[1]


@pytest.mark.parametrize("pairs", [[("a", "b")], [["a", "b"]], (("a", "b"),), iter([("a", "b")])])
def test_pairs_in_every_form(pairs):
    assert listed(pairs=pairs).pairs == [("a", "b")]


@pytest.mark.parametrize(
    "pairs",
    ["ab", ["ab"], [("a",)], [("a", "b", "c")], [("a", 1)], [(1, "b")], [{"a": "b", "c": "d"}], 3, [None], [[]]],
)
def test_pairs_of_anything_else_are_refused(pairs):
    """Planted faults: either of the three questions asked only where another fails too."""
    with pytest.raises(OochubError, match=r"Pairs must be a list of \(in distribution, out of it\), two configs each"):
        listed(pairs=pairs)


@pytest.mark.parametrize("detectors", [[3], [object()], [str], [None], [b"msp"]])
def test_detectors_are_names_or_detectors(detectors):
    with pytest.raises(OochubError, match="Detectors must be given by name, or as detectors, got a "):
        listed(detectors=detectors)
    assert listed(detectors=("msp",)).detectors == ["msp"]
