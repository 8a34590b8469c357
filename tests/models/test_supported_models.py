"""What `list_supported_models` says: what it names is served, what it refuses fails for the reason that it gives."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image
from model_folders import pictures
from more_chat_models import DIFFUSION, MORE, more_chat_model
from PIL import Image as Picture
from safetensors.torch import save_file
from tiny_chat_models import KINDS, byte_tokenizer, rows
from tiny_classifiers import TINY
from tiny_encoders import tiny_encoder
from tiny_zero_shot import TYPES, processor
from torchvision_chat_models import TORCHVISION
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
from transformers.utils import is_torchvision_available

import oochub
from oochub.errors import OochubError
from oochub.inputs.pictures import Pictures
from oochub.inputs.pictures.image_processor import FloatProcessor
from oochub.models.encoder import Encoder
from oochub.models.model_source import ModelSource
from oochub.models.supported_models import SupportedModel, choose_auto_model, list_supported_models

TOWER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
WORDS = {**TOWER, "vocab_size": 64, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1}
EYE = {**TOWER, "image_size": 32, "patch_size": 8}
TRIED = {"head": {*TINY}, "zero_shot": {*TYPES}}
"""The types that other tests run, by mode."""
if is_torchvision_available():  # test_vision.py
    TRIED["head"] |= {"pp_lcnet", "timm_wrapper"}
    TRIED["zero_shot"] |= {"tipsv2"}

REFUSED: dict[tuple[str, str], tuple[dict[str, Any], str]] = {
    ("head", "dinat"): ({}, "requires the natten library"),
    ("head", "shieldgemma2"): (
        {
            "text_config": {**TOWER, "vocab_size": 20, "head_dim": 8, "num_key_value_heads": 1},
            "vision_config": EYE,
            "mm_tokens_per_image": 4,
        },
        "input_ids",
    ),
    ("zero_shot", "blip-2"): (
        {
            "vision_config": EYE,
            "qformer_config": {**WORDS, "encoder_hidden_size": 16, "use_qformer_text_input": True},
            "text_config": {"model_type": "opt", **WORDS, "ffn_dim": 16, "word_embed_proj_dim": 16},
            "num_query_tokens": 4,
        },
        "does not return scaled cosines",
    ),
    ("zero_shot", "videoprism"): (
        {
            "text_config": WORDS,
            "vision_config": {
                **EYE,
                "num_frames": 2,
                "num_spatial_layers": 1,
                "num_temporal_layers": 1,
                "num_auxiliary_layers": 1,
            },
        },
        "pixel_values_videos",
    ),
}
AUTO = {"head": "AutoModelForImageClassification", "zero_shot": "AutoModelForZeroShotImageClassification"}


def refuses(model: SupportedModel, mode: str) -> bool:
    """Whether the reason of a type is about a mode."""
    return any(mode in part.partition(": ")[0].split(", ") for part in model.reason.split("; "))


@pytest.mark.parametrize("mode", TRIED)
def test_what_is_served_is_tried(mode: str) -> None:
    """`test_every_classifier` and `test_zero_shot` run each type; planted fault seen: a type refused no more."""
    types = list_supported_models()
    assert {each.model_type for each in types if mode in each.modes} == TRIED[mode]
    reasons = {each.model_type for each in types if refuses(each, mode)}
    assert reasons == {model_type for refused, model_type in REFUSED if refused == mode}


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "model_type"), REFUSED)
def test_what_is_refused_fails(mode: str, model_type: str, tmp_path: Path) -> None:
    settings, words = REFUSED[mode, model_type]
    config = transformers.CONFIG_MAPPING[model_type](**settings)
    names = getattr(transformers, AUTO[mode])._model_mapping._model_mapping
    kind = getattr(transformers, names[model_type])
    try:
        kind(config).save_pretrained(tmp_path)
    except ImportError:  # its package is not there, and the weights are never read
        config.save_pretrained(tmp_path)
        save_file({"weight": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    processor("clip").save_pretrained(tmp_path)
    with pytest.raises(OochubError, match=words):
        oochub.predict(tmp_path, pictures(), mode=mode)


SEGMENTERS: dict[str, tuple[dict[str, Any], str]] = {
    "oneformer": (
        {
            **dict.fromkeys(("hidden_dim", "conv_dim", "mask_dim", "text_encoder_width"), 32),
            **dict.fromkeys(("encoder_feedforward_dim", "dim_feedforward", "text_encoder_vocab_size"), 16),
            **dict.fromkeys(("encoder_layers", "text_encoder_num_layers"), 1),
            "backbone_config": {
                "model_type": "resnet",
                "embedding_size": 8,
                "hidden_sizes": [8, 8, 16, 16],
                "depths": [1, 1, 1, 1],
                "layer_type": "basic",
                "out_features": ["stage1", "stage2", "stage3", "stage4"],
            },
            "num_attention_heads": 2,
            "num_queries": 4,
            "decoder_layers": 2,
        },
        "'task_inputs'",
    ),
    "videomt": ({**EYE, "num_blocks": 1, "num_queries": 4, "num_upscale_blocks": 1}, "pixel_values_videos"),
}


@pytest.mark.slow
@pytest.mark.parametrize("model_type", SEGMENTERS)
def test_segmenters_that_read_more_than_an_image_fail(model_type: str, tmp_path: Path) -> None:
    """The reasons for which presence refuses them."""
    reasons = {each.model_type: each.reason for each in list_supported_models() if refuses(each, "presence")}
    assert reasons.keys() == SEGMENTERS.keys()
    settings, words = SEGMENTERS[model_type]
    config = transformers.CONFIG_MAPPING[model_type](**settings, id2label={0: "car", 1: "dog"})
    transformers.AutoModelForUniversalSegmentation.from_config(config).save_pretrained(tmp_path)
    processor("vit").save_pretrained(tmp_path)
    features = Features({"image": Image(), "label": ClassLabel(names=["no_car", "car"])})
    rows = Dataset.from_dict({"image": pictures()["image"], "label": [0, 1, 0]}, features)
    with pytest.raises(OochubError, match=words):
        oochub.predict(tmp_path, rows, mode="presence")


def test_an_encoder_that_needs_a_package_fails(tmp_path: Path) -> None:
    """The reason for which linear_probe refuses it."""
    transformers.CONFIG_MAPPING["dinat"](architectures=["DinatModel"]).save_pretrained(tmp_path)
    save_file({"weight": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    inputs = Pictures(transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}))
    with pytest.raises(OochubError, match="requires the natten library"):
        Encoder.open(ModelSource(tmp_path), inputs)


NOT_ASKED = {
    "evolla": ("EvollaProcessor", "which reads no images"),
    "instructblipvideo": ("InstructBlipVideoProcessor", "which reads no images"),
    "mistral4": ("", "has no processor of images and prompts"),
    "shieldgemma2": ("ShieldGemma2Processor", "serves models of .* but this one is a ShieldGemma2ForImageClass"),
    "udop": ("UdopProcessor", "requires the PyTesseract library"),
    "vision-encoder-decoder": ("TrOCRProcessor", "TrOCRProcessor of the model leaves out the prompt"),
}
"""Type by type: its processor, and what is said if it is asked in words."""
ASKED = {{"blip_2": "blip-2", "kosmos2_5": "kosmos-2.5"}.get(kind, kind) for kind in KINDS} | {*MORE}
if is_torchvision_available():
    ASKED |= {*TORCHVISION}
"""The types that test_multiple_choice.py, test_generate.py and test_more_chat_models.py run."""


@pytest.mark.parametrize("mode", ["multiple_choice", "generate"])
def test_what_is_asked_is_tried(mode: str) -> None:
    """Planted fault seen: a type that is tried, but said to need another package."""
    types = {each.model_type: each for each in list_supported_models()}
    every = transformers.AutoModelForImageTextToText._model_mapping._model_mapping
    served = {name for name in every if mode in types[name].modes}
    assert served == ASKED and all(types[name].reason for name in set(every) - served)
    untried = {"diffusion_gemma", "fuyu", "gemma3n", "nemotron_h_omni", "pi0", "pp_formulanet", "unlimited_ocr"}
    assert {name for name in every if refuses(types[name], mode)} == {*NOT_ASKED, *untried}


@pytest.mark.parametrize("model_type", NOT_ASKED)
def test_what_cannot_be_asked(model_type: str, tmp_path: Path) -> None:
    """With a processor and no usable weights: each is refused before they are read."""
    name, words = NOT_ASKED[model_type]
    special = {"boi_token": "<img>", "eoi_token": "</img>", "image_token": "<image>"}
    byte_tokenizer(extra_special_tokens=special).save_pretrained(tmp_path)
    config: dict[str, Any] = {"model_type": model_type}
    if model_type == "shieldgemma2":
        config["architectures"] = ["ShieldGemma2ForImageClassification"]
    if model_type == "vision-encoder-decoder":
        config |= {"encoder": {"model_type": "vit"}, "decoder": {"model_type": "bert"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    if name:
        (tmp_path / "processor_config.json").write_text(json.dumps({"processor_class": name}))
    kind = {"udop": "LayoutLMv3ImageProcessorPil", "shieldgemma2": "Gemma3ImageProcessorPil"}
    getattr(transformers, kind.get(model_type, "ViTImageProcessorPil"))().save_pretrained(tmp_path)
    save_file({"weight": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(OochubError, match=words):
        oochub.predict(tmp_path, rows(count=2), mode="multiple_choice")


@pytest.mark.slow
def test_a_model_that_writes_by_diffusion_cannot_be_asked(tmp_path: Path) -> None:
    folder = more_chat_model(tmp_path, "diffusion_gemma", DIFFUSION)
    with pytest.raises(OochubError, match="cannot be made to write a given answer"):
        oochub.predict(folder, rows(count=2), mode="multiple_choice")


def test_types_whose_image_processor_needs_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every processor of the other types can be made here; the planted type has none but torchvision's."""
    if is_torchvision_available():
        pytest.skip("torchvision is installed")
    planted = {"torchvision": "RfDetrImageProcessor"}
    monkeypatch.setitem(IMAGE_PROCESSOR_MAPPING_NAMES, "vit", planted)
    served = {each.model_type: each for each in list_supported_models()}
    assert served["vit"].modes == () and served["vit"].reason.startswith("it needs torchvision: pip install")
    assert served["timm_wrapper"].modes == () and "timm" in served["timm_wrapper"].reason
    with pytest.raises(ImportError, match="Torchvision"):
        getattr(transformers, planted["torchvision"])()
    for name, each in served.items():
        if each.modes and name in IMAGE_PROCESSOR_MAPPING_NAMES:
            kinds = IMAGE_PROCESSOR_MAPPING_NAMES[name]
            if kinds.get("torchvision") not in FloatProcessor.names:
                getattr(transformers, kinds["pil"])()


ENCODERS = sorted(
    each.model_type for each in list_supported_models() if "linear_probe" in each.modes and each.model_type not in TINY
)


@pytest.mark.slow
@pytest.mark.parametrize("model_type", ENCODERS)
def test_an_encoder_that_is_served_gives_a_vector_a_picture(model_type: str) -> None:
    """The same for one image alone; those with a classifier are tried in `test_linear_probe`."""
    side = 128 if model_type == "depth_pro" else 32  # which looks at an image in three sizes
    inputs = Pictures(transformers.ViTImageProcessorPil(size={"height": side, "width": side}))
    encoder = Encoder.open(ModelSource(tiny_encoder(model_type)), inputs).eval()
    pixels = inputs.probe()["pixel_values"]
    with torch.inference_mode():
        vectors, first = encoder(pixel_values=pixels), encoder(pixel_values=pixels[:1])
    assert vectors.ndim == 2 and vectors.isfinite().all()
    assert not torch.equal(vectors[0], vectors[1])
    torch.testing.assert_close(vectors[:1], first, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model_type", ["videomae", "timesformer", "videoprism_vision_model"])
def test_an_image_is_a_film_of_equal_frames(model_type: str) -> None:
    """By its own processor, which makes a film of one frame, and by one of images: as the model itself on 2 frames."""
    model = tiny_encoder(model_type)
    size = {"height": 32, "width": 32}
    film = transformers.VideoMAEImageProcessorPil(size={"shortest_edge": 32}, crop_size=size)
    for each in (film, transformers.ViTImageProcessorPil(size=size)):
        inputs = Pictures(each, preprocessing="auto")
        encoder = Encoder.open(ModelSource(model), inputs).eval()
        pixels = inputs.probe()["pixel_values"]
        frames = pixels if pixels.ndim == 5 else pixels[:, None]
        with torch.inference_mode():
            film_of_two = {model.main_input_name: torch.cat([frames, frames], 1)}
            expected = model(**film_of_two).last_hidden_state.mean(1)
            torch.testing.assert_close(encoder(pixel_values=pixels), expected, rtol=1e-5, atol=1e-6)
    assert encoder.pooling == "mean, of a film of 2 equal frames"


@pytest.mark.slow
def test_a_folder_of_dinov3_is_probed_without_torchvision(tmp_path: Path) -> None:
    """From the files that its repositories have: no class of transformers opens the processor here.

    Reference: the arithmetic written out. Planted fault: a resize of bytes.
    """
    if is_torchvision_available():
        pytest.skip("test_vision.py compares with the class of transformers")
    model = tiny_encoder("dinov3_vit")
    model.save_pretrained(tmp_path)
    said = {"image_processor_type": "DINOv3ViTImageProcessorFast", "do_resize": True, "do_rescale": True}
    said |= {"do_normalize": True, "image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4], "resample": 2}
    file = tmp_path / "preprocessor_config.json"
    file.write_text(json.dumps(said | {"rescale_factor": 1 / 255, "size": {"height": 32, "width": 32}}))
    rng = np.random.default_rng(0)
    images = [Picture.fromarray(rng.integers(0, 255, (50, 40, 3), np.uint8)) for _ in range(12)]
    features = Features({"image": Image(), "label": ClassLabel(names=["a", "b"])})
    rows = Dataset.from_dict({"image": images, "label": [0, 1] * 6}, features)
    splits = DatasetDict(train=rows.select(range(8)), test=rows.select(range(8, 12)))
    made = oochub.predict(tmp_path, splits, features=True, cache=False)
    assert made.metadata.model.mode == "linear_probe"
    assert made.metadata.provenance["processor_backend"].startswith("torch ")
    for row, found in zip(splits["test"], made.features, strict=True):
        pixels = torch.from_numpy(np.asarray(row["image"]) / np.float32(255)).permute(2, 0, 1)[None]
        pixels = torch.nn.functional.interpolate(pixels, (32, 32), mode="bilinear", antialias=True)
        mean, std = (torch.tensor(said[name]).view(3, 1, 1) for name in ("image_mean", "image_std"))
        with torch.no_grad():
            expected = model(pixel_values=(pixels - mean) / std).pooler_output[0]
        np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-5)
    file.write_text(json.dumps(said))
    with pytest.raises(OochubError, match="does not say size"):
        oochub.predict(tmp_path, splits)
    file.write_text(json.dumps(said | {"size": {"shortest_edge": 32}}))
    with pytest.raises(OochubError, match=r"resizes to a height and width.*oochub\[vision\]"):
        oochub.predict(tmp_path, splits)


WITH_WORDS = {
    "cohere2_vision": {
        "vision_config": {**EYE, "model_type": "siglip_vision_model"},
        "text_config": {**WORDS, "num_key_value_heads": 1, "model_type": "cohere2"},
        "image_token_id": 5,
        "alignment_intermediate_size": 16,
    },
    "llama4": {
        "vision_config": {**EYE, "vision_output_dim": 16, "projector_input_dim": 16, "projector_output_dim": 16},
        "text_config": {**WORDS, "num_key_value_heads": 1, "intermediate_size_mlp": 16, "num_local_experts": 1},
    },
    "mllama": {
        "vision_config": {
            "hidden_size": 16,
            "image_size": 32,
            "patch_size": 8,
            "num_hidden_layers": 1,
            "num_global_layers": 1,
            "attention_heads": 2,
            "intermediate_size": 16,
            "vision_output_dim": 32,
            "intermediate_layers_indices": [0],
            "max_num_tiles": 1,
            "supported_aspect_ratios": [[1, 1]],
        },
        "text_config": {**WORDS, "num_key_value_heads": 1, "cross_attention_layers": [0]},
    },
}


@pytest.mark.parametrize("model_type", WITH_WORDS)
def test_a_linear_probe_has_no_words_for_them(model_type: str, tmp_path: Path) -> None:
    """The reason for which linear_probe refuses a model that reads words beside the image."""
    reasons = {each.model_type: each.reason for each in list_supported_models()}
    assert "linear_probe: it reads words beside the image" in reasons[model_type]
    config = transformers.CONFIG_MAPPING[model_type](**WITH_WORDS[model_type])
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    inputs = Pictures(transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}))
    with pytest.raises(OochubError, match="input_ids"):
        Encoder.open(ModelSource(tmp_path), inputs)


def test_the_error_of_a_mode_names_what_it_serves() -> None:
    """Planted fault: the types that transformers has, those that are refused too."""
    with pytest.raises(OochubError, match="zero_shot serves models of") as refused:
        choose_auto_model(
            ModelSource(tiny_encoder("dinov3_vit")), ["AutoModelForZeroShotImageClassification"], mode="zero_shot"
        )
    words = str(refused.value).replace(",", " ").split()
    assert "clip" in words and "blip-2" not in words and "videoprism" not in words
