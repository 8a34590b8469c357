"""What `served_models` says holds: what it names is served, what it refuses fails for the reason that it gives."""

from pathlib import Path

import pytest
import torch
import transformers
from model_folders import pictures
from safetensors.torch import save_file
from tiny_classifiers import TINY
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES

import oochub
from oochub.errors import OochubError
from oochub.models.served import served_models

TOWER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
REFUSED = {
    "dinat": ({}, "requires the natten library"),
    "pp_lcnet": ({"scale": 0.25}, "has no attribute 'logits'"),
    "shieldgemma2": (
        {
            "text_config": {**TOWER, "vocab_size": 20, "head_dim": 8, "num_key_value_heads": 1},
            "vision_config": {**TOWER, "image_size": 32, "patch_size": 8},
            "mm_tokens_per_image": 4,
        },
        "input_ids",
    ),
    "timm_wrapper": ({"architecture": "resnet18"}, "requires the timm library"),
}


def test_the_head_serves_what_is_compared_with_the_pipeline() -> None:
    """`test_every_classifier` runs each of them; planted fault seen: a type less in the table of those not served."""
    served = {each.model_type for each in served_models() if "head" in each.modes}
    assert served == set(TINY)
    reasons = {each.model_type for each in served_models() if each.reason.startswith("head: ")}
    assert reasons == set(REFUSED)


@pytest.mark.parametrize("model_type", REFUSED)
def test_what_is_refused_fails(model_type: str, tmp_path: Path) -> None:
    settings, words = REFUSED[model_type]
    config = transformers.CONFIG_MAPPING[model_type](**settings)
    names = transformers.AutoModelForImageClassification._model_mapping._model_mapping
    kind = getattr(transformers, names[model_type])
    try:
        kind(config).save_pretrained(tmp_path)
    except ImportError:  # its package is not there, and the weights are never read
        config.save_pretrained(tmp_path)
        save_file({"weight": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    with pytest.raises(OochubError, match=words):
        oochub.predict(tmp_path, pictures())


def test_types_whose_image_processor_needs_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every processor of the other types can be made here; the planted type has none but torchvision's."""
    if transformers.utils.is_torchvision_available():
        pytest.skip("torchvision is installed")
    planted = {"torchvision": "DINOv3ViTImageProcessor"}
    monkeypatch.setitem(IMAGE_PROCESSOR_MAPPING_NAMES, "vit", planted)
    served = {each.model_type: each for each in served_models()}
    assert served["vit"].modes == () and served["vit"].reason == "its image processor needs the package torchvision"
    with pytest.raises(ImportError, match="Torchvision"):
        getattr(transformers, planted["torchvision"])()
    for name, each in served.items():
        if each.modes and name in IMAGE_PROCESSOR_MAPPING_NAMES:
            getattr(transformers, IMAGE_PROCESSOR_MAPPING_NAMES[name]["pil"])()
