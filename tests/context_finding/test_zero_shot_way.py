"""Names by zero-shot against transformers' own logits and pipeline; what is refused; images of every kind."""

import datasets
import numpy as np
import pytest
import tiny_zero_shot
import torch
import transformers
from odd_pictures import odd_pictures
from opened_pictures import opened, photographs

import oochub
from oochub.context_finding.finders.zero_shot import ZeroShot
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord

NAMES = ("mountain", "snow", "beach")
KINDS = [
    kind if kind in ("clip", "siglip") else pytest.param(kind, marks=pytest.mark.slow) for kind in tiny_zero_shot.TYPES
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return tiny_zero_shot.folder(tmp_path_factory.mktemp("models") / "clip", "clip")


def named(**settings):
    way = ZeroShot(**settings)
    images = photographs()
    none, nowhere = np.full(len(images), -1), np.zeros(len(images), bool)
    measures = way.measures([way.prepare(opened(each)) for each in images])
    return way.name(measures, label=none, classes=[], chosen_on=nowhere)


def logits(kind, texts):
    """Of each photograph for each text, image by image, by transformers alone."""
    model, processor = tiny_zero_shot.model(kind), tiny_zero_shot.processor(kind)
    full = {"padding": "max_length", "max_length": 64} if "siglip" in kind else {"padding": True}
    words = processor.tokenizer(texts, return_tensors="pt", **full)
    with torch.no_grad():
        rows = [
            model(**words, **processor.image_processor(each, return_tensors="pt")).logits_per_image
            for each in photographs()
        ]
    return torch.cat(rows).double().numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_is_that_of_transformers(kind, tmp_path):
    found = named(model=tiny_zero_shot.folder(tmp_path / kind, kind), names=NAMES, templates="a photo of a {}.")
    own = logits(kind, [f"a photo of a {name}." for name in NAMES])
    assert (found.has == (own.argmax(1)[:, None] == np.arange(3))).all() and found.has.any(0).sum() > 1
    assert (found.has.sum(1) == 1).all() and found.names == NAMES
    cosine = np.stack(found.columns["context_similarity"][1].to_numpy(zero_copy_only=False))
    model = tiny_zero_shot.model(kind)
    scale = 1 / model.temperature.item() if kind == "align" else model.logit_scale.exp().item()
    bias = model.logit_bias.item() if "siglip" in kind else 0
    assert scale * cosine + bias == pytest.approx(own, abs=1e-4)


def test_a_threshold_asks_for_each_name_by_itself(clip):
    """Against the two-text answer of the pipeline of transformers."""
    processor = tiny_zero_shot.processor("clip")
    own = transformers.pipeline(
        "zero-shot-image-classification",
        model=tiny_zero_shot.model("clip"),
        image_processor=processor.image_processor,
        tokenizer=processor.tokenizer,
    )
    probability = np.array(
        [
            [
                next(each["score"] for each in own(image, [text, "a scene."], hypothesis_template="{}")
                     if each["label"] == text)
                for text in (f"a photo of a {name}." for name in NAMES)
            ]
            for image in photographs()
        ]
    )  # fmt: skip
    for threshold in (0.35, 0.5, 0.65):
        found = named(model=clip, names=NAMES, threshold=threshold, neutral="a scene.")
        assert (found.has == (probability > threshold)).all()
        assert set(found.has.sum(1)) - {1}  # several, or none


def test_one_name_is_held_against_a_text_that_names_nothing(clip):
    """Which name wins depends on the random weights: of the three at least one is there for some images alone."""
    both = []
    for name in NAMES:
        found = named(model=clip, names=[name])
        own = logits("clip", [f"a photo of a {name}.", "a photo."])
        assert (found.has[:, 0] == (own[:, 0] > own[:, 1])).all()
        assert found.settings["texts"] == [[f"a photo of a {name}."], ["a photo."]]
        both.append(0 < found.has.sum() < len(found.has))
    assert any(both)


def test_with_neutral_texts_a_picture_may_have_no_name(clip):
    own = logits("clip", [*(f"a photo of a {name}." for name in NAMES), "a location."])
    found = named(model=clip, names=NAMES, neutral="a location.")
    assert (found.has == (own.argmax(1)[:, None] == np.arange(3))).all()
    assert set(found.has.sum(1)) == {0, 1}


def test_another_list_measures_nothing_again(clip, monkeypatch):
    images = photographs()
    data = datasets.Dataset.from_dict({"image": images, "label": [0, 1] * 6})
    data = data.cast_column("image", datasets.Image()).cast_column("label", datasets.ClassLabel(2))
    first = oochub.contexts(data, by="zero_shot", model=clip, names=NAMES)
    monkeypatch.setattr(ZeroShot, "measures", None)
    again = oochub.contexts(data, by="zero_shot", model=clip, names="snow, beach", templates="imagenet_7")
    record = BuildRecord.of(again["train"].info).facts.found_contexts
    assert record.names == ("snow", "beach") and len(record.settings["texts"][0]) == 7 and record.model == "clip"
    assert BuildRecord.of(first["train"].info).facts.found_contexts.names == NAMES
    assert all(len(row) == 1 for row in again["train"]["contexts"])


@pytest.mark.parametrize("classes", [["a"], ["a", "b", "empty"]])
@pytest.mark.parametrize("names", [["snow"], NAMES])
def test_pictures_of_every_kind(clip, classes, names):
    """One class, an empty class, one context; a broken image, one pixel, CMYK, 16 bits, no EXIF."""
    data = odd_pictures(classes)
    with pytest.raises(OochubError, match="split train, example broken"):
        oochub.contexts(data, by="zero_shot", model=clip, names=names)
    found = oochub.contexts(data, by="zero_shot", model=clip, names=names, skip_broken=True)["train"]
    said = dict(zip(found["example_id"], found["contexts"], strict=True))
    assert said.pop("broken") is None and all(len(row) <= 1 for row in said.values())
    if len(names) > 1:
        assert all(len(row) == 1 for row in said.values())


def test_what_cannot_be(clip, tmp_path):
    for names in ([], "", "snow,,beach", ["snow", " "]):
        with pytest.raises(OochubError, match="at least one name, and none may be empty"):
            ZeroShot(model=clip, names=names)
    with pytest.raises(OochubError, match="contain 'Snow' and 'snow', which are the same"):
        ZeroShot(model=clip, names=["Snow", "beach", "snow"])
    with pytest.raises(OochubError, match=r"threshold must be a probability between 0 and 1, got 1\."):
        ZeroShot(model=clip, names=NAMES, threshold=1)
    with pytest.raises(OochubError, match=r"templates must be one of photo, imagenet_7"):
        ZeroShot(model=clip, names=NAMES, templates="a photo")
    with pytest.raises(OochubError, match=r"Neutral texts must not name a thing, got 'no \{\}'"):
        ZeroShot(model=clip, names=NAMES, neutral=["a photo.", "no {}"])
    with pytest.raises(OochubError, match="tokens, but the model reads at most 64"):
        ZeroShot(model=clip, names=["snow " * 80])
    with pytest.raises(OochubError, match=r"method zero_shot needs names="):
        oochub.contexts("absent", by="zero_shot", model=clip)
    with pytest.raises(OochubError, match="needs the tokenizer of its texts"):
        processor = tiny_zero_shot.processor("clip").image_processor
        ZeroShot(model=tiny_zero_shot.model("clip"), image_processor=processor, names=NAMES)
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], num_labels=2)
    transformers.ResNetForImageClassification(config).save_pretrained(tmp_path / "resnet")
    with pytest.raises(OochubError, match=r"images and texts, but resnet is a ResNetForImageClassification\. Use a"):
        ZeroShot(model=tmp_path / "resnet", names=NAMES)
    whole = ZeroShot(model=tiny_zero_shot.model("clip"), image_processor=tiny_zero_shot.processor("clip"), names=NAMES)
    assert whole.model == "CLIPModel" and len(whole.settings()["model"]) == 40
