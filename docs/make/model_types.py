"""Writes docs/model_types.md: every type of image model of transformers, and how far its answers are from a bare pass.

After `make vision`, with PYTHONPATH=.venv/vision:tests/helpers, `python -m torchvision_schemas FILE` runs this file.
The numbers are kept in docs/model_types.json. Tiny models with random weights stand for the types: what is compared is
the arithmetic.
"""

import json
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import bare_answers
import more_chat_models
import numpy as np
import tiny_chat_models
import tiny_classifiers
import tiny_detectors
import tiny_encoders
import tiny_zero_shot
import torch
import torchvision_chat_models
import transformers
from datasets import ClassLabel, Dataset, Features, Image
from input_rows import encoded, photograph

import oochub
from oochub.inputs.pictures import Pictures
from oochub.models.encoder import Encoder
from oochub.models.model_source import ModelSource
from oochub.models.supported_models import list_supported_models

DOCS = Path(__file__).parents[1]
PAGE, NUMBERS = DOCS / "model_types.md", DOCS / "model_types.json"
_SHAPES = ((40, 32), (32, 48), (64, 64), (33, 35))
_QUIET = {"preprocessing": "processor", "images": False, "cache": False, "batch_size": 3}


OF_VISION: Mapping[str, dict[str, Any]] = {
    "pp_lcnet": {"scale": 0.25, "class_expand": 32},
    "timm_wrapper": {
        "architecture": "resnet10t",
        "pretrained_cfg": {"input_size": [3, 64, 64], "crop_pct": 0.9, "mean": [0.5] * 3, "std": [0.5] * 3},
    },
}
"""Classifiers that need the extra `vision`."""


def _saved_processor(folder: Path) -> Any:
    """As transformers opens it: of torchvision where that is installed."""
    return transformers.AutoImageProcessor.from_pretrained(folder)


def rows(names: tuple[str, ...]) -> Dataset:
    """Four images of several shapes, with a label of these names."""
    files = [{"bytes": encoded(photograph(*shape, seed)), "path": None} for seed, shape in enumerate(_SHAPES)]
    features = Features({"image": Image(), "label": ClassLabel(names=list(names))})
    return Dataset.from_dict({"image": files, "label": [k % len(names) for k in range(4)]}, features)


def measure_head(name: str, folder: Path) -> float:
    """Logits against those of the model called image by image."""
    if name in OF_VISION:
        torch.manual_seed(0)
        config = transformers.CONFIG_MAPPING[name](**OF_VISION[name], num_labels=3)
        transformers.AutoModelForImageClassification.from_config(config).save_pretrained(folder)
        if name == "pp_lcnet":
            transformers.PPLCNetImageProcessor().save_pretrained(folder)
    else:
        tiny_classifiers.tiny_classifier(name, folder)
    model = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
    processor = _saved_processor(folder)
    data = rows(("a", "b")).remove_columns("label")
    with torch.no_grad():
        outputs = [model(**processor(row["image"], return_tensors="pt")) for row in data]
    own = [(output["logits"] if "logits" in output else output.last_hidden_state)[0].numpy() for output in outputs]
    return _difference(oochub.predict(folder, data, mode="head", **_QUIET).logits, own)


def measure_zero_shot(name: str, folder: Path) -> float:
    """Logits against the model's own logits_per_image."""
    tiny_zero_shot.folder(folder, name)
    model, processor = tiny_zero_shot.model(name), tiny_zero_shot.processor(name)
    data, breeds = rows(("labrador", "corgi", "bulldog")), ("labrador", "corgi", "bulldog")
    full = {"padding": "max_length", "max_length": 64} if "siglip" in name else {"padding": True}
    texts = processor.tokenizer([f"a photo of a {breed}." for breed in breeds], return_tensors="pt", **full)
    image_processor = _saved_processor(folder)
    with torch.no_grad():
        own = [
            model(**texts, **image_processor(row["image"], return_tensors="pt")).logits_per_image[0].numpy()
            for row in data
        ]
    return _difference(oochub.predict(folder, data, mode="zero_shot", **_QUIET).logits, own)


def measure_presence(name: str, folder: Path) -> float:
    """Probabilities against the largest score of the class in the model's own output."""
    tiny_detectors.folder(folder, name)
    model, processor = tiny_detectors.model(name), _saved_processor(folder)
    data, car = rows(("no_car", "car")), tiny_detectors.NAMES.index("car")
    own = []
    with torch.no_grad():
        for row in data:
            outputs = model(**processor(row["image"], return_tensors="pt"))
            logits = outputs["class_queries_logits" if "class_queries_logits" in outputs else "logits"][0].double()
            if logits.ndim == 3:
                scores = logits.softmax(0)[car]
            elif logits.shape[-1] == len(tiny_detectors.NAMES) + 1:
                scores = logits.softmax(-1)[:, car]
            else:
                scores = logits.sigmoid()[:, car]
            own.append(float(scores.max()))
    logits = oochub.predict(folder, data, mode="presence", **_QUIET).logits.astype(np.float64)
    return _difference(1 / (1 + np.exp(logits[:, 0] - logits[:, 1])), own)


def measure_linear_probe(name: str, folder: Path) -> float:
    """Features of a batch against those of the model called image by image."""
    model = tiny_encoders.tiny_encoder(name)
    side = 128 if name == "depth_pro" else 32
    inputs = Pictures(transformers.ViTImageProcessorPil(size={"height": side, "width": side}))
    encoder, pixels = Encoder.open(ModelSource(model), inputs).eval(), inputs.probe()["pixel_values"]
    frames = getattr(model.config, "num_frames", 0) if "film" in encoder.pooling else 0
    own = []
    ratio = getattr(model.config, "mask_ratio", None)
    if ratio is not None:
        model.config.mask_ratio = 0.0
    with torch.no_grad():
        for image in pixels.split(1):
            read = image[:, None].expand(-1, frames, -1, -1, -1) if frames else image
            outputs = model(**{model.main_input_name: read})
            if encoder.pooling.startswith("pooler"):
                own.append(outputs.pooler_output.flatten().numpy())
            else:
                hidden = outputs.last_hidden_state if "last_hidden_state" in outputs else outputs.feature_maps[-1]
                own.append((hidden.mean(1) if hidden.ndim == 3 else hidden.mean((2, 3)))[0].numpy())
        return _difference(encoder(pixel_values=pixels).numpy(), own)


def measure_multiple_choice(name: str, folder: Path) -> float:
    """Log-likelihoods of answers against a pass over prompt and answer; an error if `generate` writes another text."""
    if name in OF_WORDS:
        tiny_chat_models.chat_model(folder, OF_WORDS[name])
    else:
        types = {**more_chat_models.MORE, **torchvision_chat_models.TORCHVISION}
        more_chat_models.more_chat_model(folder, name, types[name])
    difference = bare_answers.compare(folder)
    if not difference.writes_the_same:
        raise ValueError(f"{name} writes another text than transformers alone")
    return difference.difference


OF_WORDS = {{"blip_2": "blip-2", "kosmos2_5": "kosmos-2.5"}.get(kind, kind): kind for kind in tiny_chat_models.KINDS}
"""Types that answer in words, with the name of their tiny model."""
MEASURES: Mapping[str, tuple[Callable[[str, Path], float], tuple[str, ...]]] = {
    "head": (measure_head, (*tiny_classifiers.TINY, *OF_VISION)),
    "zero_shot": (measure_zero_shot, tiny_zero_shot.TYPES),
    "presence": (
        measure_presence,
        (*tiny_detectors.DETECTORS, *tiny_detectors.MASK_MODELS, *tiny_detectors.SEGMENTERS),
    ),
    "linear_probe": (measure_linear_probe, tuple(tiny_encoders.TINY_ENCODERS)),
    "multiple_choice": (
        measure_multiple_choice,
        (*OF_WORDS, *more_chat_models.MORE, *torchvision_chat_models.TORCHVISION),
    ),
}
"""What compares a mode, and the types of which there is a tiny model."""


def measure(mode: str, name: str) -> float:
    """The largest difference of a type: in nats for words, else as a share of the range of a bare pass, at least 1."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MEASURES[mode][0](name, Path(folder) / "model")


def measure_all() -> dict[str, Any]:
    """The types of this environment with their modes, reasons and differences."""
    types = {}
    for supported_model in list_supported_models():
        differences = {
            mode: float(f"{measure(mode, supported_model.model_type):.1e}")
            for mode, (_, known) in MEASURES.items()
            if mode in supported_model.modes and supported_model.model_type in known
        }
        types[supported_model.model_type] = {
            "modes": list(supported_model.modes),
            "reason": supported_model.reason,
            "differences": differences,
        }
    return {"transformers": transformers.__version__, "types": types}


def page(numbers: Mapping[str, Any]) -> str:
    """The text of docs/model_types.md."""
    types = numbers["types"]
    words = {name: each for name, each in types.items() if _is_about(each, _ASKING)}
    images = {name: each for name, each in types.items() if name not in words or _is_about(each, _OTHERS)}
    served = {name: each for name, each in images.items() if {*each["modes"]} & {*_OTHERS}}
    largest = {name: max(own) for name, each in served.items() if (own := _differences(each, _OTHERS))}
    chat_types = {name: each for name, each in words.items() if "multiple_choice" in each["modes"]}
    nats = {name: each["differences"]["multiple_choice"] for name, each in chat_types.items()}
    texts = (
        f"transformers {numbers['transformers']} has {len(images)} types of image models besides those that answer in "
        f"words. With the extra `vision` (timm and torchvision) oochub serves {len(served)} of them; `oochub show "
        "models` says what the packages that you have installed serve. The largest difference to a bare forward pass "
        "is that of a tiny model with random weights, image by image, in float32, as a share of the range of its "
        "answers: logits for `head` and `zero_shot`, probabilities for `presence`, features for `linear_probe`; "
        "`localization` is not measured.",
        f"It was measured for {len(largest)} types and is {max(largest.values()):.1e} at most. A dash: not measured, "
        "since there is no tiny model of the type among our tests.",
    )
    lines = ["# Types of image models", "", "<!-- made by docs/make/model_types.py -->", ""]
    for text in texts:
        lines += [*textwrap.wrap(text, 120, break_on_hyphens=False), ""]
    lines += [
        "| `model_type` | modes | largest difference | not by |",
        "|---|---|---|---|",
    ]
    for name, each in served.items():
        difference = f"{largest[name]:.1e}" if name in largest else "–"
        modes = ", ".join(mode for mode in each["modes"] if mode in _OTHERS)
        lines.append(f"| `{name}` | {modes} | {difference} | {each['reason']} |")
    lines += ["", "Not served:", "", *_list_reasons(images, served), "", "## Models that answer in words", ""]
    text = (
        f"transformers has {len(words)} types that read an image with a prompt (`AutoModelForImageTextToText`). With "
        f"the extra `vision` oochub serves {len(chat_types)} of them, each by `multiple_choice` and `generate`. The "
        "largest difference is between the log-likelihoods, in nats, of answers of 1, 3 and 9 tokens by "
        "`multiple_choice` and by one bare pass over prompt and answer, for tiny models with random weights, three "
        f"images of two shapes, in batches of 1 and 3, in float32; it is {max(nats.values()):.1e} at most. What "
        "`generate` writes is the text that `generate` of transformers writes, for each of these types."
    )
    lines += [
        *textwrap.wrap(text, 120, break_on_hyphens=False),
        "",
        "| `model_type` | largest difference |",
        "|---|---|",
    ]
    lines += [f"| `{name}` | {nats[name]:.1e} |" for name in chat_types]
    lines += ["", "Not asked:", "", *_list_reasons(words, chat_types)]
    return "\n".join(lines) + "\n"


_ASKING = ("generate", "multiple_choice")
_OTHERS = ("head", "linear_probe", "localization", "presence", "zero_shot")


def _is_about(each: Mapping[str, Any], modes: tuple[str, ...]) -> bool:
    """Whether a type is served by one of the modes, or its reason names one."""
    named = {mode for part in each["reason"].split("; ") for mode in part.partition(": ")[0].split(", ")}
    return bool(({*each["modes"]} | named) & {*modes})


def _differences(each: Mapping[str, Any], modes: tuple[str, ...]) -> list[float]:
    return [value for mode, value in each["differences"].items() if mode in modes]


def _list_reasons(types: Mapping[str, Any], served: Mapping[str, Any]) -> list[str]:
    rows = [f"| `{name}` | {each['reason']} |" for name, each in types.items() if name not in served]
    return ["| `model_type` | why |", "|---|---|", *rows]


def _difference(ours: Any, own: Any) -> float:
    reference = np.asarray(own, np.float64)
    return float(np.abs(np.asarray(ours) - reference).max() / max(1.0, np.ptp(reference)))


if __name__ == "__main__":
    NUMBERS.write_text(json.dumps(measure_all(), indent=1) + "\n", "utf-8")
    PAGE.write_text(page(json.loads(NUMBERS.read_text("utf-8"))), "utf-8")
