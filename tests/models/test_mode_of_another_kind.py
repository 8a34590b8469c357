"""A mode that is asked for by name with a model of another kind says which modes serve that model."""

import pytest
from tiny_chat_models import chat_model, rows

import oochub
from oochub.errors import OochubError


def test_the_modes_that_serve_a_model_are_named(tmp_path):
    folder = chat_model(tmp_path / "model", "llava")
    with pytest.raises(
        OochubError, match=r"LlavaForConditionalGeneration, which this mode does not support.*multiple_choice"
    ):
        oochub.predict(folder, rows(count=2)["test"], mode="head")
