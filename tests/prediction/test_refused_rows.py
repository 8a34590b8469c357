"""Data sets that `predict` refuses before the model runs, and rows that it names."""

import io

import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoModelForImageClassification, ResNetConfig, ViTImageProcessor

import oochub
from oochub.errors import OochubError


def _picture(seed):
    file = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (32, 32, 3), np.uint8)
    Image.fromarray(pixels).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


def _data(*, missing=(), **columns):
    rows = {"image": [None if row in missing else _picture(row) for row in range(4)], "label": [0, 1, 0, 1], **columns}
    return (
        datasets.Dataset.from_dict(rows)
        .cast_column("image", datasets.Image())
        .cast_column("label", datasets.ClassLabel(names=["cat", "dog"]))
    )


def _predict(data, **options):
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic", num_labels=2)
    model = AutoModelForImageClassification.from_config(config)
    return oochub.predict(model, data, processor=ViTImageProcessor(size={"height": 32, "width": 32}), **options)


@pytest.mark.parametrize("name", ["logits", "split", "features", "thumbnail", "odin_logits"])
def test_columns_that_predictions_write_are_refused(name):
    """Before, a column `logits` of the user's own took the place of the model's, and `split` that of the split."""
    with pytest.raises(OochubError, match=f"has the column '{name}', which is reserved.*rename_column"):
        _predict(_data(**{name: [[0.5, 0.5]] * 4}))


@pytest.mark.parametrize("preprocessing", ["fused", "processor"])
@pytest.mark.parametrize(("columns", "place"), [({}, "2"), ({"example_id": ["a", "b", "c", "d"]}, "c")])
def test_a_row_without_a_picture_is_named(preprocessing, columns, place):
    with pytest.raises(OochubError, match=f"example {place}: image missing. Remove the row"):
        _predict(_data(missing=[2], **columns), preprocessing=preprocessing)


@pytest.mark.parametrize("preprocessing", ["fused", "processor"])
def test_without_any_picture_the_first_row_is_named(preprocessing):
    with pytest.raises(OochubError, match="example 0: image missing"):
        _predict(_data(missing=range(4)), preprocessing=preprocessing)


def test_labels_of_text_are_refused_before_the_model_runs():
    data = _data().cast_column("label", datasets.Value("string"))
    with pytest.raises(OochubError, match="class_encode_column"):
        _predict(data)
    with pytest.raises(OochubError, match="class_encode_column"):
        _predict(data.cast_column("label", datasets.Value("int64")).cast_column("label", datasets.Value("bool")))
