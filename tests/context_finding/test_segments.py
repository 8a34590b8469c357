"""Areas by maps made by hand and by transformers itself; contexts and the criterion against what NOOCH's builder says.

Planted faults seen: areas of the network's own resolution; contexts at A >= alpha of the object's own area; areas of
all rows; `beta` of the wrong side; a class of the data as a context of its own; images of a batch in another order.
"""

import datasets
import numpy as np
import pyarrow as pa
import pytest
import tiny_detectors
import torch
import transformers as hf
from opened_pictures import opened
from PIL import Image
from transformers.modeling_outputs import SemanticSegmenterOutput

import oochub
from oochub.context_finding.finders.segments import _EDGE, Segments, _make_counter
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord

NAMES = ("grass", "road", "car")


class Colors(hf.SegformerForSemanticSegmentation):
    """Red is grass, green road, blue car: the logits are the pixels, every second one."""

    def forward(self, pixel_values):
        return SemanticSegmenterOutput(logits=pixel_values[:, :, ::2, ::2])


def colors(names=NAMES):
    config = hf.SegformerConfig(
        **{"hidden_sizes": [8] * 4, "num_attention_heads": [1] * 4, "depths": [1] * 4, "decoder_hidden_size": 8},
        id2label=dict(enumerate(names)),
    )
    processor = tiny_detectors.segformer_processor(size={"height": 32, "width": 32}, do_normalize=False)
    return {"model": Colors(config).eval(), "image_processor": processor}


def striped(*widths, height=32):
    """Stripes of red, green and blue, so wide."""
    pixels = np.zeros((height, sum(widths), 3), np.uint8)
    pixels[:, np.arange(sum(widths)), np.repeat(np.arange(3), widths)] = 255
    return opened(Image.fromarray(pixels))


def areas(way, pictures):
    return np.stack(way.measures([*map(way.prepare, pictures)]).column("areas").to_numpy())


def test_areas_of_maps_made_by_hand():
    """Two pixels of the image to one of the map: stripes of even widths keep theirs."""
    way = Segments(**colors())
    found = areas(way, [striped(8, 16, 8), striped(32, 0, 0), striped(0, 16, 16)])
    assert found.tolist() == [[8 / 32, 16 / 32, 8 / 32], [1, 0, 0], [0, 0.5, 0.5]]
    assert areas(way, [opened(Image.new("RGB", (1, 1), "red"))]).tolist() == [[1, 0, 0]]
    large = areas(way, [striped(500, 250, 250, height=10)])  # counted at 320 pixels
    assert large == pytest.approx(np.array([[0.5, 0.25, 0.25]]), abs=1 / 32)


KINDS = [
    kind if kind in ("segformer", "mask2former") else pytest.param(kind, marks=pytest.mark.slow)
    for kind in (*tiny_detectors.SEGMENTERS, *tiny_detectors.MASK_MODELS)
    if kind != "eomt"
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_areas_are_those_of_transformers_whatever_the_batch(kind, tmp_path):
    """By its own processor, model and post-processing, image by image."""
    folder = tiny_detectors.folder(tmp_path / kind, kind)
    rng = np.random.default_rng(0)
    sizes = [(40, 64), (64, 64), (50, 30)]
    pictures = [opened(Image.fromarray(rng.integers(0, 256, (*size, 3), np.uint8))) for size in sizes]
    way = Segments(model=folder)
    together = areas(way, pictures)
    assert together == pytest.approx(np.concatenate([areas(way, [each]) for each in pictures]), abs=1e-9)
    network, processor = tiny_detectors.model(kind), tiny_detectors.processor(kind)
    for picture, found in zip(pictures, together, strict=True):
        with torch.inference_mode():
            output = network(**processor(picture.image, return_tensors="pt"))
        size = (picture.image.height, picture.image.width)
        numbers = processor.post_process_semantic_segmentation(output, target_sizes=[size])[0]
        expected = np.bincount(numbers.flatten(), minlength=3) / numbers.numel()
        assert found == pytest.approx(expected, abs=0.02)  # the fused decoding is within one gray level
    assert together.sum(1) == pytest.approx(1)
    assert (together.max(0) > 0).sum() > 1 or kind == "mobilenet_v2"  # whose random weights see one class
    assert way.model == kind and len(way.settings()["model"]) == 40


def table(values):
    return pa.table({"areas": pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(values)), np.shape(values)[1])})


def named(values, label, classes, chosen_on=None, **settings):
    chosen = np.ones(len(label), bool) if chosen_on is None else np.asarray(chosen_on, bool)
    way = Segments(**colors(), **settings)
    return way.name(table(np.asarray(values, float)), label=np.asarray(label), classes=classes, chosen_on=chosen)


def test_usual_contexts_by_hand():
    """A(grass, car) = 0.5 - 0.3, A(road, car) = 0.2 - 0.3; of dogs, whom it does not know, 0.1 - 0 and 0.02 - 0."""
    values = [[0.5, 0.2, 0.3], [0.5, 0.2, 0.3], [0.1, 0.02, 0.0], [0.1, 0.02, 0.0], [1, 0, 0], [0, 1, 0]]
    found = named(values, [0, 0, 1, 1, 0, 1], ["car", "dog"], [True] * 4 + [False] * 2)
    assert found.settings["usual"] == {"car": ["grass"], "dog": ["grass"]}
    assert found.names == ("grass",) and found.has[:, 0].tolist() == [True, True, False, False, True, False]
    challenge = found.columns["challenge_ce"][1].to_pylist()
    assert challenge == [0, 0, 0, 0, 0, 1]  # 0.1 of dogs is no less than beta
    known = named(values, [0, 0, 1, 1, 0, 1], ["car", "dog"], [True] * 4 + [False] * 2, label_map={"dog": ["grass"]})
    assert known.settings["usual"] == {"car": ["grass"], "dog": []}
    assert known.columns["challenge_ce"][1].to_pylist() == [0, 0, None, None, 0, None]
    bare = named(values, [-1] * 6, [])
    assert bare.names == ("grass", "road", "car") and bare.columns["challenge_ce"][1].null_count == 6
    assert bare.columns["segments"][1].to_pylist()[4] == [0]


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    from oochub.builders.toy_worlds.toy_coco import toy_coco

    return toy_coco(tmp_path_factory.mktemp("coco") / "coco", size=400)


@pytest.mark.slow
@pytest.mark.parametrize("thing", ["car", "surfboard"])
def test_contexts_and_challenge_are_those_of_nooch(coco, thing):
    """From COCO's own areas as measures, with NOOCH's training split as the rows to choose on."""
    every, task = (oochub.load(f"nooch/{config}", data_dir=str(coco)) for config in ("all", f"ce_{thing}"))
    names = every["train"].features["labels"].feature.names
    parts = [(every[split], task[split]) for split in every]
    values = np.concatenate([np.stack(part.with_format("numpy")["areas"][:]) for part, _ in parts])
    label = np.concatenate([np.asarray(own["label"][:]) for _, own in parts])
    chosen_on = np.concatenate(
        [np.full(len(part), split == "train") for split, (part, _) in zip(every, parts, strict=True)]
    )
    way = Segments(**colors(names))
    found = way.name(table(values), label=label, classes=[f"no_{thing}", thing], chosen_on=chosen_on)
    facts = BuildRecord.of(task["train"].info).facts
    assert found.settings["usual"] == {thing: list(facts.contexts)}
    expected = [each for _, own in parts for each in own["challenge"][:]]
    assert found.columns["challenge_ce"][1].to_pylist() == expected and 1 in expected and 2 in expected


def test_what_cannot_be(tmp_path):
    classifier = hf.ResNetForImageClassification(
        hf.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], num_labels=2)
    )
    classifier.save_pretrained(tmp_path / "classifier")
    with pytest.raises(OochubError, match=r"classifier is a ResNetForImageClassification\. Use one such as SegFormer"):
        Segments(model=tmp_path / "classifier")
    with pytest.raises(OochubError, match="eomt is a EomtForUniversalSegmentation"):
        Segments(model=tiny_detectors.folder(tmp_path / "eomt", "eomt"))
    with pytest.raises(OochubError, match="beta a fraction"):
        Segments(**colors(), beta=1.0)
    with pytest.raises(OochubError, match="class of the segmenter named 'gras'"):
        Segments(**colors(), label_map={"cow": ["gras"]})
    with pytest.raises(OochubError, match="class of the data named 'cow'"):
        named([[1, 0, 0]], [0], ["car"], label_map={"cow": ["grass"]})
    with pytest.raises(OochubError, match="no images to choose contexts on"):
        named([[1, 0, 0]], [0], ["car"], [False])


def test_a_misspelt_class_is_said_before_the_first_picture(monkeypatch):
    """Of the map, with the near name. Fault planted: the check in `name` alone, after all images are measured."""
    monkeypatch.setattr(Segments, "measures", lambda *_: pytest.fail("an image was measured"))
    data = datasets.Dataset.from_dict({"image": [striped(8, 16, 8).image] * 4, "label": [0, 1] * 2})
    data = data.cast_column("label", datasets.ClassLabel(names=["car", "cow"])).cast_column("image", datasets.Image())
    with pytest.raises(OochubError, match=r"No class of the data named 'caar'\. Did you mean 'car'\?"):
        oochub.contexts(data, by="segments", **colors(), label_map={"caar": ["grass"]})


def test_a_data_set_gets_its_areas():
    rows = {"image": [striped(*widths).image for widths in ((8, 16, 8), (0, 30, 2), (30, 0, 2), (2, 28, 2))] * 2}
    data = datasets.Dataset.from_dict(rows | {"label": [0, 0, 1, 0] * 2}).cast_column(
        "label", datasets.ClassLabel(names=["car", "cow"])
    )
    data = data.cast_column("image", datasets.Image())
    found = oochub.contexts(datasets.DatasetDict(train=data, test=data), by="segments", **colors())
    test = found["test"]
    assert test.features["segments"].feature.names == list(NAMES)
    assert np.allclose(test["areas"][1], [0, 30 / 32, 2 / 32], atol=1 / 32)
    assert test.features["contexts"].feature.names == list(NAMES)  # a car takes 2 / 32 of the one cow's image
    assert test["contexts"][:4] == [[0, 1, 2], [1], [0], [1]]
    assert test["challenge_ce"][:4] == [0, 0, 0, 0]


def test_a_map_keeps_a_picture_of_one_row():
    """Planted fault seen: at least two pixels a side."""
    assert _make_counter(1, 10 * _EDGE) == (1, _EDGE) and _make_counter(3, 2) == (3, 2)
