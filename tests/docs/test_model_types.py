"""docs/model_types.md says what its script writes, names every type, and its numbers are made again."""

import json
from importlib.util import find_spec

import model_types
import pytest
import transformers

from oochub.models.supported_models import list_supported_models

NUMBERS = json.loads(model_types.NUMBERS.read_text("utf-8"))
_EVERYDAY = {("head", "resnet"), ("linear_probe", "vit_mae"), ("presence", "detr"), ("zero_shot", "clip")}


def test_the_page_is_what_the_script_writes():
    """Fault planted: a number of the page changed by hand."""
    assert model_types.page(NUMBERS) == model_types.PAGE.read_text("utf-8")


def test_the_types_are_those_of_transformers():
    """With timm and torchvision the modes and reasons too. Fault planted: a type less."""
    if transformers.__version__ != NUMBERS["transformers"]:
        pytest.skip(f"transformers {transformers.__version__} is installed")
    found = {each.model_type: each for each in list_supported_models()}
    assert set(found) == set(NUMBERS["types"])
    if find_spec("timm") and find_spec("torchvision"):
        for name, each in found.items():
            assert (list(each.modes), each.reason) == tuple(NUMBERS["types"][name][key] for key in ("modes", "reason"))


def test_how_many_are_served_and_measured():
    served = [each for each in NUMBERS["types"].values() if each["modes"]]
    assert len(served) >= 170 and sum(bool(each["differences"]) for each in served) >= 159
    assert all(each["reason"] for each in NUMBERS["types"].values() if not each["modes"])
    assert max(value for each in served for value in each["differences"].values()) < 2e-5  # nats are of a sum


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "name"),
    [
        pytest.param(mode, name, marks=() if (mode, name) in _EVERYDAY else pytest.mark.campaign)
        for mode, (_, names) in model_types.MEASURES.items()
        for name in names
    ],
)
def test_a_type_answers_as_a_bare_pass(mode, name):
    """Planted fault: the features of another pooling."""
    if mode not in {each.model_type: each.modes for each in list_supported_models()}[name]:
        pytest.skip("it needs the extra vision")
    assert model_types.measure(mode, name) < (1e-4 if mode == "multiple_choice" else 1e-5)
