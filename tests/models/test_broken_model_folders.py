"""A model folder of which one thing is broken is an error that names it: no traceback, no code run, no other logits."""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from model_folders import edited, pictures, resnet

import oochub
from oochub.errors import OochubError
from oochub.inputs.pictures.image_processor import check_image_processor
from oochub.models.model_source import ModelSource
from oochub.models.model_source import _read_training_record as training_record
from oochub.trainers.backbone import open_backbone

CONFIG, PROCESSOR, RECIPE, WEIGHTS = "config.json", "preprocessor_config.json", "recipe.json", "model.safetensors"
GOOD_RECIPE = {
    "objective": {"name": "erm", "hyperparameters": {}},
    "arguments": {"seed": 0, "num_train_epochs": 3},
    "data": {"benchmark": None, "config": None, "version": None, "rows": {"train": 4}, "environment_column": None},
    "selection": {"rule": "the last epoch, 3"},
}


def recipe(folder: Path, **changes: Any) -> None:
    (folder / RECIPE).write_text(json.dumps({**GOOD_RECIPE, **changes}))


def pickled(folder: Path) -> None:
    """Weights whose opening would leave a file."""

    class Harm:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
            return Path.touch, (folder / "opened",)

    (folder / WEIGHTS).unlink()
    with (folder / "pytorch_model.bin").open("wb") as file:
        pickle.dump({"classifier.1.weight": Harm()}, file)


FAULTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "recipe: cut": (lambda f: (f / RECIPE).write_text('{"objective": {'), r"recipe\.json is not complete JSON"),
    "recipe: not UTF-8": (lambda f: (f / RECIPE).write_bytes(b"\xff\xfe"), r"recipe\.json is not UTF-8"),
    "recipe: a list": (lambda f: (f / RECIPE).write_text("[]"), r"recipe\.json: the content must be an object"),
    "recipe: no objective": (lambda f: (f / RECIPE).write_text("{}"), r"recipe\.json: the field objective is missing"),
    "recipe: a seed of text": (lambda f: recipe(f, arguments={"seed": "x"}), r"recipe\.json: seed must be a whole"),
    "recipe: rows": (lambda f: recipe(f, data={**GOOD_RECIPE["data"], "rows": 3}), r"data\.rows must be an object"),
    "recipe: a folder": (lambda f: (f / RECIPE).mkdir(), r"recipe\.json: it is a folder"),
    "config: cut": (
        lambda f: (f / CONFIG).write_text('{"model_type": "res'),
        r"config\.json is not complete JSON.*line 1",
    ),
    "config: empty": (lambda f: (f / CONFIG).write_text(""), r"config\.json .*it is empty"),
    "config: a list": (lambda f: (f / CONFIG).write_text("[1]"), r"config\.json of .* must be an object, got \[1\]"),
    "config: no type": (lambda f: edited(f, CONFIG, model_type=...), "model_type"),
    "config: unknown type": (lambda f: edited(f, CONFIG, model_type="resnot"), "resnot"),
    "config: a type that is no text": (lambda f: edited(f, CONFIG, model_type=3), "can be loaded"),
    "config: no image classifier": (lambda f: edited(f, CONFIG, model_type="bert"), "BertConfig|bert"),
    "config: sizes of text": (lambda f: edited(f, CONFIG, hidden_sizes="many"), "hidden_sizes|can be loaded"),
    "config: a width of 0": (lambda f: edited(f, CONFIG, embedding_size=0), "do not fit|can be loaded"),
    "config: a width below 0": (lambda f: edited(f, CONFIG, embedding_size=-8), "can be loaded"),
    "config: names and count": (
        lambda f: edited(f, CONFIG, num_labels=3, id2label={"0": "a", "1": "b"}),
        "names 2 outputs, but num_labels says 3",
    ),
    "config: names not counted": (lambda f: edited(f, CONFIG, id2label={"0": "a", "2": "b"}), "outputs 0, 1"),
    "config: names a list": (lambda f: edited(f, CONFIG, id2label=["a", "b"]), "id2label must name the outputs"),
    "config: names of numbers": (lambda f: edited(f, CONFIG, id2label={"0": 1, "1": 2}), "must be text"),
    "config: other classes": (
        lambda f: edited(f, CONFIG, id2label={"0": "cat", "1": "dog"}, label2id={"cat": 0, "dog": 1}),
        r"has 2 classes \(cat, dog\), the dataset has 2 \(LABEL_0, LABEL_1\)",
    ),
    "config: more classes": (
        lambda f: edited(f, CONFIG, id2label={str(k): f"LABEL_{k}" for k in range(3)}, label2id=...),
        r"classifier\.1\.weight is \(2, 16\) in the file, but \(3, 16\) in the model",
    ),
    "weights: a pickle": (pickled, r"a pickle \(pytorch_model\.bin\).*only safetensors are read"),
    "weights: cut": (lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:2000]), "can be loaded"),
    "weights: text": (lambda f: (f / WEIGHTS).write_text("weights"), "can be loaded"),
    "weights: none": (lambda f: (f / WEIGHTS).unlink(), r"model\.safetensors"),
    "weights: index": (
        lambda f: [(f / WEIGHTS).unlink(), (f / f"{WEIGHTS}.index.json").write_text('{"weight_map": []}')],
        "must name a file for each weight",
    ),
    "processor: none": (lambda f: (f / PROCESSOR).unlink(), r"no image processor \(preproc.*image_processor=FOL"),
    "processor: empty": (
        lambda f: (f / PROCESSOR).write_text("{}"),
        "does not say image_mean, image_std, size|can be loaded",
    ),
    "processor: a type alone": (
        lambda f: (f / PROCESSOR).write_text('{"image_processor_type": "ViTImageProcessor"}'),
        "does not say image_mean, image_std, size, and ViTImageProcessor",
    ),
    "processor: no mean": (lambda f: edited(f, PROCESSOR, image_mean=...), "does not say image_mean, and"),
    "processor: null": (lambda f: edited(f, PROCESSOR, image_std=None), "does not say image_std, and"),
    "processor: cut": (lambda f: (f / PROCESSOR).write_text("{"), "can be loaded"),
    "processor: a list": (lambda f: (f / PROCESSOR).write_text("[]"), "can be loaded"),
    "processor: two means": (lambda f: edited(f, PROCESSOR, image_mean=[0.5, 0.5]), "2 channels"),
    "processor: words": (lambda f: edited(f, PROCESSOR, image_mean=["a", "b", "c"]), "image_mean .* finite numbers"),
    "processor: std 0": (lambda f: edited(f, PROCESSOR, image_std=[0, 1, 1]), "image_std .* above 0"),
    "processor: scale nan": (lambda f: edited(f, PROCESSOR, rescale_factor=float("nan")), "rescale_factor"),
    "processor: size 0": (
        lambda f: edited(f, PROCESSOR, size={"height": 0, "width": 0}),
        "size .* whole numbers of pixels|can be loaded",
    ),
    "processor: size below 0": (lambda f: edited(f, PROCESSOR, size={"height": -4, "width": 4}), "size .* whole"),
    "processor: size of text": (lambda f: edited(f, PROCESSOR, size="large"), "size|can be loaded"),
    "processor: a filter": (lambda f: edited(f, PROCESSOR, resample=17), "resample .* filter of Pillow"),
    "processor: neither on nor off": (lambda f: edited(f, PROCESSOR, do_normalize="perhaps"), "do_normalize"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_folder_is_an_error(fault: str, tmp_path: Path) -> None:
    """Faults planted: each check of the config, weights, image processor and recipe left out."""
    folder = resnet(tmp_path / "resnet")
    damage, words = FAULTS[fault]
    damage(folder)
    with pytest.raises(OochubError, match=words):
        oochub.predict(folder, pictures())
    assert not (folder / "opened").exists()
    if not fault.startswith(("recipe", "config: more", "config: other", "config: names", "weights")):
        with pytest.raises(OochubError):
            open_backbone(str(folder), class_names=["a", "b"])


def test_a_good_recipe_is_read(tmp_path: Path) -> None:
    recipe(tmp_path)
    record = training_record(tmp_path / RECIPE)
    assert record is not None and (record.objective, record.seed, record.epochs) == ("erm", 0, 3)
    assert record.data == {"benchmark": None, "config": None, "version": None, "rows": {"train": 4}}


def test_code_beside_a_model_is_never_run(tmp_path: Path) -> None:
    """A config that names code of its own folder; transformers would run it with trust_remote_code=True."""
    folder = resnet(tmp_path / "resnet")
    (folder / "harm.py").write_text(f"import pathlib\npathlib.Path({str(folder / 'opened')!r}).touch()\n")
    edited(
        folder,
        CONFIG,
        model_type="harm",
        auto_map={"AutoConfig": "harm.Config", "AutoModelForImageClassification": "harm.Model"},
    )
    edited(folder, PROCESSOR, auto_map={"AutoImageProcessor": "harm.Processor"}, image_processor_type="Harm")
    for call in (
        lambda: oochub.predict(folder, pictures()),
        lambda: open_backbone(str(folder), class_names=["a", "b"]),
    ):
        with pytest.raises(OochubError, match=r"would run its own code \(harm\.py\).*runs no code of a model"):
            call()
    assert not (folder / "opened").exists()


def test_a_processor_is_taken_from_another_folder(tmp_path: Path) -> None:
    """Reference: the processor beside the model. Fault planted: the one beside the model is taken all the same."""
    whole, bare = resnet(tmp_path / "whole"), resnet(tmp_path / "bare")
    (bare / PROCESSOR).unlink()
    wanted = oochub.predict(whole, pictures()).logits
    assert np.array_equal(oochub.predict(bare, pictures(), image_processor=whole).logits, wanted)
    transformers.ViTImageProcessorPil(size={"height": 8, "width": 8}).save_pretrained(tmp_path / "other")
    other = oochub.predict(whole, pictures(), image_processor=str(tmp_path / "other")).logits
    assert not np.array_equal(other, wanted)
    for place in (tmp_path / "nowhere", bare):
        with pytest.raises(OochubError, match="has no image processor"):
            oochub.predict(whole, pictures(), image_processor=place)
    model = transformers.AutoModelForImageClassification.from_pretrained(whole)
    assert np.array_equal(oochub.predict(model, pictures(), image_processor=whole).logits, wanted)


def test_a_model_object_has_a_processor_that_is_checked(tmp_path: Path) -> None:
    model = transformers.AutoModelForImageClassification.from_pretrained(resnet(tmp_path / "resnet"))
    processor = transformers.ViTImageProcessorPil(size={"height": 16, "width": 16}, image_std=[0.5, 0.0, 0.5])
    for preprocessing in ("fused", "processor"):
        with pytest.raises(OochubError, match=r"image_std .* above 0"):
            oochub.predict(model, pictures(), image_processor=processor, preprocessing=preprocessing)
    check_image_processor(transformers.CLIPImageProcessorPil())
    check_image_processor(transformers.ViTImageProcessorPil(do_normalize=False, image_std=[0, 0, 0]))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number, 1 or larger, got 0"),
        ({"zoom": 1e9}, "zoom must be a finite number above 1, 100 at most"),
        ({"zoom": 1}, "zoom"),
        ({"odin": -0.1}, "odin must be a finite number above 0"),
        ({"odin": 0.0014, "odin_temperature": 0}, "odin_temperature must be a finite number above 0"),
    ],
)
def test_settings_of_prediction(given: dict[str, Any], words: str, tmp_path: Path) -> None:
    """Said before the model is looked for."""
    with pytest.raises(OochubError, match=words):
        oochub.predict(tmp_path / "nowhere", pictures(), **given)


@pytest.mark.parametrize("size", [0, -16, 15, 1e3, 10**9, True])
def test_image_size_of_training(size: Any) -> None:
    with pytest.raises(OochubError, match="image_size must be a whole number of pixels from 16 to 4096"):
        open_backbone("resnet-tiny", class_names=["a", "b"], image_size=size)


def test_half_precision_weights_are_read_as_float32(tmp_path: Path) -> None:
    folder = resnet(tmp_path / "resnet")
    model = transformers.AutoModelForImageClassification.from_pretrained(folder)
    model.half().save_pretrained(folder)
    expected = transformers.AutoModelForImageClassification.from_pretrained(folder, dtype=torch.float32).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    with torch.inference_mode():
        logits = expected(**processor(list(pictures()["image"]), return_tensors="pt")).logits
    found = oochub.predict(folder, pictures(), preprocessing="processor").logits
    torch.testing.assert_close(torch.tensor(found), logits)


def test_weights_that_are_no_file_are_not_opened_for_their_digest(tmp_path):
    """A fifo would hang. Fault planted: every file of that name opened."""
    os.mkfifo(tmp_path / "model.safetensors")
    assert ModelSource(tmp_path).revision is None
