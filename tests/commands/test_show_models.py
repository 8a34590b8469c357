"""What `oochub show models` says, against the lists of transformers itself."""

import json

import pytest
from transformers.models.auto import modeling_auto

import oochub


@pytest.fixture
def shown(run):
    """Runs `oochub show` with these words."""
    return lambda *words: run("show", *words)


def test_every_classifier_of_transformers_is_served_or_said_why_not(shown):
    """Planted fault: types that are not served left out."""
    code, out, _ = shown("models", "--json")
    content = json.loads(out)
    assert code == 0 and list(content["modes"]) == oochub.names("mode")
    types = {each["model_type"]: each for each in content["models"]}
    for name in modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES:
        assert "head" in types[name]["modes"] or types[name]["reason"], name
    for name in modeling_auto.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES:
        assert "zero_shot" in types[name]["modes"] or types[name]["reason"], name
    table = shown("models")[1]
    cells = {cell.strip(",") for cell in table.split()}
    assert set(types) <= cells and f"({len(types)})" not in table
    served = sum(bool(each["modes"]) for each in types.values())
    assert f"({served})" in table and f"Not served ({len(types) - served})" in table


def test_one_type_of_model(shown):
    code, out, _ = shown("models", "resnet")
    assert code == 0 and "resnet" in out and "beit" not in out and "Not served" not in out
    code, _, error = shown("models", "resnot")
    assert code == 2 and "Did you mean 'resnet'" in error
    code, out, _ = shown("models", "videomt")
    assert code == 0 and "it reads films" in out


def test_show_needs_a_name_of_all_else(shown):
    code, _, error = shown("metric")
    assert code == 2 and "oochub show metric NAME" in error
    code, _, error = shown("metrc")
    assert code == 2 and "Did you mean 'metric'" in error
    code, out, _ = shown("mode", "head")
    assert code == 0 and "label_map:" in out
    assert json.loads(shown("metric", "ece", "--json")[1])["name"] == "ece"
