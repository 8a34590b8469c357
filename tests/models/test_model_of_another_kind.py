"""A model of texts on images, and the reverse, is named as what it is before anything of it is read but its config."""

import datasets
import pytest
from PIL import Image
from transformers import CLIPConfig, DistilBertConfig

import oochub


def rows(column):
    values = {"image": Image.new("RGB", (4, 4)), "text": "a dog"}
    return datasets.Dataset.from_dict({column: [values[column]], "label": [0]}).cast_column(
        "label", datasets.ClassLabel(names=["a", "b"])
    )


@pytest.mark.parametrize(
    ("config", "column", "words"),
    [
        (DistilBertConfig(), "image", "is a distilbert model, which reads texts, but each row .* holds an image"),
        (CLIPConfig(), "text", "is a clip model, which reads images, but each row .* holds a text"),
    ],
)
def test_it_is_named(config, column, words, tmp_path):
    """Written against "'NoneType' object has no attribute 'shape'". Planted fault: each for the other."""
    config.save_pretrained(tmp_path / "model")
    with pytest.raises(oochub.OochubError, match=words):
        oochub.predict(tmp_path / "model", datasets.DatasetDict(test=rows(column)))
