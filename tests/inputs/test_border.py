"""The border that a benchmark cuts from its images before a model sees them: against arrays cut by hand."""

import io

import numpy as np
import pytest
import torch
from datasets import Dataset, Image
from PIL import Image as Pillow
from transformers import BitImageProcessor, ResNetConfig, ResNetForImageClassification

import oochub
from oochub.errors import OochubError
from oochub.inputs.pictures import Pictures
from oochub.models.cache_key import cache_key
from oochub.models.model_source import ModelSource
from oochub.records.build_record import BuildFacts, BuildRecord

_SIZES = ((64, 48), (48, 64), (50, 50))


def _processor():
    return BitImageProcessor(size={"shortest_edge": 24}, crop_size={"height": 20, "width": 20})


def _rows(border, *, kept=0):
    """Noise in a red frame of 2 pixels; `kept` pixels of each side are cut by hand before they are stored."""
    stored, rng = [], np.random.default_rng(0)
    for width, height in _SIZES:
        pixels = np.full((height, width, 3), (255, 0, 0), np.uint8)
        pixels[2:-2, 2:-2] = rng.integers(0, 255, (height - 4, width - 4, 3))
        file = io.BytesIO()
        Pillow.fromarray(pixels[kept : height - kept, kept : width - kept]).save(file, "PNG")
        stored.append({"bytes": file.getvalue(), "path": None})
    rows = Dataset.from_dict({"image": stored, "label": [0] * len(stored)}).cast_column("image", Image())
    facts = BuildFacts(border=border or None)
    rows.info.description = BuildRecord(benchmark="mine", config="one", version="1.0.0", facts=facts).describe("Mine.")
    return rows


def _values(inputs, rows, zoom=None):
    batches = list(inputs.batches(rows, batch_size=2, device=torch.device("cpu"), zoom=zoom))
    plain = torch.cat([batch.inputs["pixel_values"] for batch in batches])
    return plain if zoom is None else torch.cat([batch.zoomed["pixel_values"] for batch in batches])


@pytest.mark.parametrize("zoom", [None, 1.5])
@pytest.mark.parametrize("way", ["fused", "processor"])
def test_equals_images_that_are_cut_by_hand(way, zoom, tmp_path):
    _save(tmp_path)
    with_border, by_hand = _rows(2), _rows(0, kept=2)
    ways = [ModelSource(str(tmp_path)).inputs(rows, preprocessing=way) for rows in (with_border, by_hand)]
    assert [inputs.border for inputs in ways] == [2, 0]
    ours, theirs = (_values(*each, zoom=zoom) for each in zip(ways, (with_border, by_hand), strict=True))
    assert torch.equal(ours, theirs)
    assert not torch.equal(ours, _values(ways[1], with_border, zoom=zoom))


def test_what_is_said_of_it(tmp_path):
    _save(tmp_path)
    keys = []
    for border in (0, 2):
        rows, source = _rows(0), ModelSource(str(tmp_path))
        inputs = source.inputs(rows)
        inputs.border = border
        keys.append(cache_key(source, inputs, {"test": rows}, mode=Pictures, settings={}))
        assert inputs.provenance().get("border_cut") == (border or None)
    assert len(set(keys)) == 2
    predictions = oochub.predict(str(tmp_path), _rows(2), images=False, cache=False)
    assert predictions.metadata.provenance["border_cut"] == 2


def test_an_image_that_is_all_border_is_named(tmp_path):
    _save(tmp_path)
    with pytest.raises(OochubError, match=r"example 0: the image has \(64, 48\) pixels, too few to cut 24 from each"):
        oochub.predict(str(tmp_path), _rows(24), images=False, cache=False)


def test_a_benchmark_without_python_declares_one(tmp_path):
    """A folder of framed images with `border = 2` gives the logits of the same images cut by hand."""
    for folder, kept in (("framed", 0), ("by_hand", 2)):
        for k, row in enumerate(_rows(0, kept=kept)):
            place = tmp_path / folder / "test" / ("cat", "dog", "cow")[k]
            place.mkdir(parents=True)
            row["image"].save(place / "a.png")
    (tmp_path / "framed/benchmark.toml").write_text('title = "Framed"\nborder = 2\n', "utf-8")
    _save(tmp_path / "model", classes=("cat", "cow", "dog"))
    framed, by_hand = (
        oochub.predict(str(tmp_path / "model"), oochub.load(str(tmp_path / name)), images=False, cache=False)
        for name in ("framed", "by_hand")
    )
    assert (framed.logits == by_hand.logits).all() and framed.metadata.provenance["border_cut"] == 2
    (tmp_path / "framed/benchmark.toml").write_text('title = "Framed"\nborder = -1\n', "utf-8")
    with pytest.raises(OochubError, match="line 2: border must be 0 pixels or more, got -1"):
        oochub.load(str(tmp_path / "framed"))


def _save(folder, classes=("0", "1", "2", "3")):
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    config.id2label, config.label2id = dict(enumerate(classes)), {name: k for k, name in enumerate(classes)}
    ResNetForImageClassification(config).save_pretrained(folder)
    _processor().save_pretrained(folder)
