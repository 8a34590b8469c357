"""The zoomed image by hand; what predict stores of it; that it changes nothing else."""

import copy
import io
import sys

import numpy as np
import pytest
import torch
from datasets import Dataset, Image
from PIL import Image as Pillow
from safetensors.numpy import load_file
from transformers import AutoModelForImageClassification, BitImageProcessor, ResNetConfig

import oochub
from oochub.cli import main
from oochub.inputs.pictures import _AsSeen as AsSeen
from oochub.inputs.pictures import _zoom_in as zoom_in
from oochub.inputs.pictures.image_threads import read_batches
from oochub.inputs.pictures.preprocessing import Preprocessing
from oochub.prediction.predictions_file import head_file

_CONFIG = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=4)
_SIZES = ((64, 48), (48, 64), (50, 50), (33, 71), (47, 90))


def _model():
    torch.manual_seed(0)
    return AutoModelForImageClassification.from_config(copy.deepcopy(_CONFIG)).eval()


def _processor():
    return BitImageProcessor(size={"shortest_edge": 24}, crop_size={"height": 20, "width": 20})


def _pictures():
    rng = np.random.default_rng(0)
    return [Pillow.fromarray(rng.integers(0, 255, (h, w, 3), dtype=np.uint8)) for w, h in _SIZES]


def _data(pictures):
    stored = []
    for picture in pictures:
        file = io.BytesIO()
        picture.save(file, "PNG")
        stored.append({"bytes": file.getvalue(), "path": None})
    return Dataset.from_dict({"image": stored, "label": [0] * len(stored)}).cast_column("image", Image())


def _cropped_by_hand(picture, factor):
    """Rows and columns of the array: 1 / factor of each side around the center."""
    array = np.asarray(picture)
    kept = [round(side / factor) for side in array.shape[:2]]
    start = [(side - k) // 2 for side, k in zip(array.shape[:2], kept, strict=True)]
    return Pillow.fromarray(array[start[0] : start[0] + kept[0], start[1] : start[1] + kept[1]])


def test_the_center_is_kept():
    """60 x 30 pixels, factor 1.2: 50 x 25 from the corner (5, 2), worked by hand; a huge factor leaves one pixel."""
    array = np.arange(60 * 30, dtype=np.int32).reshape(30, 60)
    found = np.asarray(zoom_in(Pillow.fromarray(array), 1.2))
    np.testing.assert_array_equal(found, array[2:27, 5:55])
    assert zoom_in(Pillow.new("L", (3, 2)), 100.0).size == (1, 1)


@pytest.mark.parametrize("preprocessing", ["fused", "processor"])
def test_predict_equals_predicting_cropped_pictures(preprocessing, tmp_path):
    """The columns of zoom= are those of a data set whose images were cropped by hand before."""
    options = {"image_processor": _processor(), "preprocessing": preprocessing, "batch_size": 2, "features": True}
    pictures = _pictures()
    made = oochub.predict(_model(), _data(pictures), zoom=1.25, odin=0.0014, out=tmp_path / "z.parquet", **options)
    plain = oochub.predict(_model(), _data(pictures), odin=0.0014, out=tmp_path / "p.parquet", **options)
    by_hand = _data([_cropped_by_hand(one, 1.25) for one in pictures])
    cropped = oochub.predict(_model(), by_hand, odin=0.0014, out=tmp_path / "c.parquet", **options)
    for name in ("logits", "features", "odin_logits"):
        expected = np.stack(cropped.column(name))
        np.testing.assert_array_equal(np.stack(made.column(f"zoom_{name}")), expected)
        assert np.abs(expected - np.stack(plain.column(name))).max() > 1e-4
    rest = [name for name in made.table.column_names if name.startswith("zoom_")]
    assert rest == ["zoom_logits", "zoom_features", "zoom_odin_logits"]
    assert made.table.drop_columns(rest).equals(plain.table)
    assert made.metadata.zoom.factor == 1.25 and made.metadata.fingerprint == plain.metadata.fingerprint
    head = load_file(head_file(tmp_path / "z.parquet"))
    rebuilt = np.stack(made.column("zoom_features")) @ head["weight"].T + head["bias"]
    np.testing.assert_allclose(rebuilt, np.stack(made.column("zoom_logits")), atol=1e-5)


def test_streamed_pictures_are_zoomed_alike():
    data = _data(_pictures())
    options = {"image_processor": _processor(), "zoom": 1.25}
    first, second = (oochub.predict(_model(), one, **options) for one in (data, data.to_iterable_dataset()))
    np.testing.assert_array_equal(np.stack(first.column("zoom_logits")), np.stack(second.column("zoom_logits")))


def test_both_in_one_batch_and_a_broken_picture_is_named():
    data = _data(_pictures())
    both = AsSeen(Preprocessing.from_processor(_processor()), zoom=2.0)
    (batch,) = read_batches(data, both.pixels, batch_size=8)
    plain, large = batch.pixels.split(20, dim=1)
    assert plain.shape == large.shape == (5, 20, 20, 3)
    (alone,) = read_batches(data, both.preprocessing.pixels, batch_size=8)
    assert torch.equal(plain, alone.pixels)
    broken = data.cast_column("image", Image(decode=False)).map(
        lambda row: {"image": {"bytes": row["image"]["bytes"][:90], "path": None}}, features=None
    )
    with pytest.raises(oochub.OochubError, match="example 0: cannot read the image"):
        oochub.predict(_model(), broken.cast_column("image", Image()), image_processor=_processor(), zoom=1.5)


@pytest.mark.parametrize("wrong", [1, 0.5, -2.0, np.nan, np.inf, True, "1.2"])
def test_a_zoom_is_above_one(wrong, tmp_path):
    with pytest.raises(oochub.OochubError, match="zoom must be a finite number above 1, 100 at most, got"):
        oochub.predict(tmp_path / "nowhere", _data(_pictures()), zoom=wrong)


def test_by_command(coco, tmp_path, capsys):
    torch.manual_seed(0)
    config = copy.deepcopy(_CONFIG)
    config.num_labels = 2
    AutoModelForImageClassification.from_config(config).save_pretrained(tmp_path / "model")
    _processor().save_pretrained(tmp_path / "model")
    out = tmp_path / "p.parquet"
    words = ["predict", tmp_path / "model", "nooch/ce_car", "--data-dir", coco, "--split", "test", "--out", out]
    sys.argv = ["oochub", *map(str, words), "--zoom", "1.5", "--odin", "0.01", "--odin-temperature", "10"]
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0, capsys.readouterr().err
    made = oochub.Predictions.load(out)
    assert made.metadata.zoom.factor == 1.5
    assert (made.metadata.odin.epsilon, made.metadata.odin.temperature) == (0.01, 10)
    assert {"odin_logits", "zoom_logits", "zoom_odin_logits"} <= set(made.table.column_names)
    oochub.evaluate(made)
