"""Model folders and images with one thing wrong, four rows predicted: refused, or the same logits."""

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz_case import CHANGED, REFUSED, SAFE, SAID, SAME, Case, Format, Used
from mutations import bytes_cases, edited, json_cases, json_text_cases, place_cases
from PIL import Image

import oochub

_CONFIG, _PROCESSOR, _WEIGHTS, _RECIPE = "config.json", "preprocessor_config.json", "model.safetensors", "recipe.json"
_PICTURE = "picture.png"
_RUN: dict[str, Any] = {
    "objective": {"name": "erm", "hyperparameters": {"alpha": 1.0}},
    "data": {
        "benchmark": "spawrious",
        "config": "o2o_easy",
        "version": "1.0.0",
        "rows": {"train": 8},
        "environment_column": "group",
    },
    "arguments": {"seed": 0, "num_train_epochs": 2},
    "selection": {"rule": "validation loss"},
}


def _colored(seed: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (20, 24, 3), np.uint8))


def _encoded(picture: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def _make(folder: Path) -> None:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessor

    torch.manual_seed(0)
    shape = {"embedding_size": 4, "hidden_sizes": [4, 8], "depths": [1, 1], "layer_type": "basic"}
    labels = {"id2label": {0: "cat", 1: "dog", 2: "owl"}, "label2id": {"cat": 0, "dog": 1, "owl": 2}}
    ResNetForImageClassification(ResNetConfig(**shape, **labels)).eval().save_pretrained(folder)
    ViTImageProcessor(size={"height": 16, "width": 16}).save_pretrained(folder)
    (folder / _RECIPE).write_text(json.dumps(_RUN))
    (folder / _PICTURE).write_bytes(_encoded(_colored(9)))


def _use(folder: Path, out: Path) -> Used:
    from datasets import ClassLabel, Dataset, Features, Value
    from datasets import Image as ImageFeature

    features = {
        "example_id": Value("string"),
        "image": ImageFeature(),
        "label": ClassLabel(names=["cat", "dog", "owl"]),
    }
    pictures = [_encoded(_colored(k)) for k in range(3)] + [(folder / _PICTURE).read_bytes()]
    rows = {
        "example_id": ["a", "b", "c", "picture"],
        "image": [{"bytes": data, "path": None} for data in pictures],
        "label": [0, 1, 2, 0],
    }
    data = Dataset.from_dict(rows, features=Features(features))
    predictions = oochub.predict(folder, data, features=True, out=out / "p.parquet", images=False)
    left = json.dumps(predictions.metadata.provenance.get("unexpected_weights"))
    return Used(numbers=[predictions.logits, predictions.features], notes=(left,))


_THINGS = ("image processor", "The processor", "ImageProcessor", "config", "LABEL_", "model")
MODELS = Format(name="model folders", make=_make, use=_use, names=_THINGS)
PICTURES = Format(name="pictures", make=_make, use=_use, names=("example image",))

_SHAPE = ("hidden_sizes", "depths", "embedding_size", "num_channels", "layer_type", "id2label", "label2id")
_LOOKS = ("hidden_act", "downsample_in", "num_labels", "problem_type", "dtype", "torch_dtype")


def _of_config(place: str, change: str) -> frozenset[str]:
    if place.startswith((*_SHAPE, *_LOOKS)):
        return SAFE | {CHANGED}  # another architecture of the same weights is one
    return SAFE


def _of_processor(place: str, change: str) -> frozenset[str]:
    return SAFE | {CHANGED}  # another look at the same image is one; an empty file of it is not


def _of_recipe(place: str, change: str) -> frozenset[str]:
    return frozenset({REFUSED, SAME, SAID})


def _config() -> dict[str, Any]:
    """The fields of the configuration that transformers writes."""
    return {
        "architectures": ["ResNetForImageClassification"],
        "depths": [1, 1],
        "downsample_in_bottleneck": False,
        "downsample_in_first_stage": False,
        "embedding_size": 4,
        "hidden_act": "relu",
        "hidden_sizes": [4, 8],
        "id2label": {"0": "cat", "1": "dog", "2": "owl"},
        "label2id": {"cat": 0, "dog": 1, "owl": 2},
        "layer_type": "basic",
        "model_type": "resnet",
        "num_channels": 3,
        "transformers_version": "5.0.0",
    }


def _processor() -> dict[str, Any]:
    """The fields of the processor's configuration."""
    return {
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "image_processor_type": "ViTImageProcessor",
        "resample": 2,
        "rescale_factor": 1 / 255,
        "size": {"height": 16, "width": 16},
    }


def _weights(change: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        from safetensors.numpy import load_file, save_file

        state = change(load_file(folder / _WEIGHTS))
        save_file(
            {name: array.copy(order="C") for name, array in state.items()},
            folder / _WEIGHTS,
            metadata={"format": "pt"},
        )

    return mutate


def _last(state: dict[str, np.ndarray]) -> str:
    return max(name for name in state if name.startswith("classifier") and name.endswith("weight"))


def _pickled(folder: Path) -> None:
    (folder / _WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": 1}))


_CHANGED_WEIGHTS: dict[str, tuple[Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]], frozenset[str]]] = {
    "renamed": (lambda s: {f"model.{name}": array for name, array in s.items()}, frozenset({REFUSED})),
    "with the head renamed": (
        lambda s: {name.replace("classifier", "head"): a for name, a in s.items()},
        frozenset({REFUSED}),
    ),
    "without the head": (lambda s: {n: a for n, a in s.items() if "classifier" not in n}, frozenset({REFUSED})),
    "without a tensor": (lambda s: {n: a for n, a in s.items() if n != _last(s)}, frozenset({REFUSED})),
    "without any tensor": (lambda s: {}, frozenset({REFUSED})),
    "with a tensor more": (lambda s: s | {"more": np.zeros(3, np.float32)}, frozenset({SAME, SAID})),
    "with a head of two classes": (lambda s: s | {_last(s): s[_last(s)][:2]}, frozenset({REFUSED})),
    "with a turned head": (lambda s: s | {_last(s): s[_last(s)].T}, frozenset({REFUSED})),
    "with nan": (lambda s: s | {_last(s): np.full_like(s[_last(s)], np.nan)}, frozenset({REFUSED})),
    "infinite": (lambda s: s | {_last(s): np.full_like(s[_last(s)], np.inf)}, frozenset({REFUSED})),
}
_FORMS: dict[str, tuple[Callable[[], bytes], frozenset[str]]] = {
    "another size": (lambda: _encoded(_colored(9).resize((50, 3))), frozenset({CHANGED})),
    "one pixel": (lambda: _encoded(_colored(9).resize((1, 1))), frozenset({CHANGED, REFUSED})),
    "gray": (lambda: _encoded(_colored(9).convert("L")), frozenset({CHANGED})),
    "with a palette": (lambda: _encoded(_colored(9).convert("P")), frozenset({CHANGED})),
    "with transparency": (lambda: _encoded(_colored(9).convert("RGBA")), frozenset({SAME, CHANGED})),
    "of 16 bits": (
        lambda: _encoded(Image.fromarray(np.full((5, 5), 40_000, np.uint16))),
        frozenset({CHANGED, REFUSED}),
    ),
    "CMYK": (lambda: _encoded(_colored(9).convert("CMYK"), "JPEG"), frozenset({CHANGED})),
    "JPEG": (lambda: _encoded(_colored(9), "JPEG"), frozenset({CHANGED})),
    "WebP": (lambda: _encoded(_colored(9), "WEBP"), frozenset({CHANGED})),
    "BMP": (lambda: _encoded(_colored(9), "BMP"), frozenset({SAME, REFUSED})),
    "PDF": (lambda: _encoded(_colored(9), "PDF"), frozenset({REFUSED})),
    "EPS": (lambda: _encoded(_colored(9), "EPS"), frozenset({REFUSED})),
    "SVG": (lambda: b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', frozenset({REFUSED})),
    "a bomb": (lambda: _bomb(60_000, 60_000), frozenset({REFUSED})),
    "of no width": (lambda: _bomb(0, 5), frozenset({REFUSED})),
    "larger than its pixels": (lambda: _bomb(50, 50), frozenset({REFUSED})),
}


def _bomb(width: int, height: int) -> bytes:
    """The image with another size in its header, with the header's checksum."""
    import zlib

    data = bytearray(_encoded(_colored(9)))
    data[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


CASES = [
    *((MODELS, case) for case in json_cases(_CONFIG, _config(), _of_config)),
    *((MODELS, case) for case in json_cases(_PROCESSOR, _processor(), _of_processor)),
    *((MODELS, case) for case in json_cases(_RECIPE, _RUN, _of_recipe)),
    *((MODELS, case) for file in (_CONFIG, _PROCESSOR, _RECIPE) for case in json_text_cases(file)),
    *((MODELS, case) for file in (_CONFIG, _PROCESSOR, _WEIGHTS) for case in place_cases(file)),
    *((MODELS, case) for case in place_cases(_RECIPE, missing=frozenset({SAME}))),
    *((MODELS, case) for case in bytes_cases(_WEIGHTS, expect=frozenset({REFUSED, SAME, CHANGED}), flips=24)),
    *(
        (MODELS, Case(name=f"weights {word}", mutate=_weights(change), expect=expect))
        for word, (change, expect) in _CHANGED_WEIGHTS.items()
    ),
    (MODELS, Case(name="pickled weights", mutate=_pickled)),
    (MODELS, Case(name="an empty processor", mutate=lambda folder: (folder / _PROCESSOR).write_text("{}"))),
    (
        MODELS,
        Case(
            name="code of its own",
            mutate=edited(_CONFIG, lambda c: c.update(auto_map={"AutoConfig": "x.Y"})),
            expect=SAFE,
        ),
    ),
    *((PICTURES, case) for case in bytes_cases(_PICTURE, expect=frozenset({REFUSED, SAME, CHANGED}), flips=40)),
    *(
        (
            PICTURES,
            Case(
                name=f"an image {word}",
                mutate=lambda folder, made=made: (folder / _PICTURE).write_bytes(made()),
                expect=expect,
            ),
        )
        for word, (made, expect) in _FORMS.items()
    ),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_models_and_pictures(campaign, kind, case):
    campaign.run(kind, case)
