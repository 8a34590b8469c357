"""A tiny model of every type that transformers classifies images with, in a folder with its image processor."""

from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES

CLASSES = 5
_SIDE = 32
_TOWER = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
_EYE = {**_TOWER, "image_size": _SIDE, "patch_size": 8}
_WORDS = {"text_config": {**_TOWER, "vocab_size": 20, "bos_token_id": 0, "eos_token_id": 1}}
_FOUR = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}
_WINDOWS = {"image_size": _SIDE, "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 2}

TINY: dict[str, dict[str, Any]] = {
    "beit": _EYE,
    "bit": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "num_groups": 4},
    "clip": {**_WORDS, "vision_config": _EYE, "projection_dim": 8},
    "convnext": {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "convnextv2": {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "cvt": {"embed_dim": [8, 16, 16], "num_heads": [1, 2, 2], "depth": [1, 2, 3]},
    "data2vec-vision": _EYE,
    "deit": _EYE,
    "dinov2": _EYE,
    "dinov2_with_registers": _EYE,
    "donut-swin": _WINDOWS,
    "efficientnet": {
        "image_size": _SIDE,
        "width_coefficient": 0.1,
        "depth_coefficient": 0.1,
        "hidden_dim": 128,  # what 0.1 makes of the 1,280 channels of the last layer
    },
    "focalnet": {
        "image_size": _SIDE,
        "embed_dim": 8,
        "hidden_sizes": [8, 16],
        "depths": [1, 1],
        "focal_levels": [1, 1],
        "focal_windows": [3, 3],
    },
    "hgnet_v2": {
        **_FOUR,
        "embedding_size": 8,
        "stem_channels": [3, 8, 8],
        "stage_in_channels": [8, 8, 8, 16],
        "stage_mid_channels": [8, 8, 8, 8],
        "stage_out_channels": [8, 8, 16, 16],
        "stage_num_blocks": [1, 1, 1, 1],
        "stage_numb_of_layers": [1, 1, 1, 1],
    },
    "hiera": {
        "image_size": [_SIDE, _SIDE],
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [1, 2],
        "query_stride": [2, 2],
        "masked_unit_size": [4, 4],
        "num_query_pool": 1,
    },
    "ijepa": _EYE,
    "imagegpt": {"vocab_size": 9, "n_positions": 64, "n_embd": 16, "n_layer": 1, "n_head": 2},
    "levit": {
        "image_size": 64,
        "hidden_sizes": [16, 16, 16],
        "num_attention_heads": [1, 1, 1],
        "depths": [1, 1, 1],
        "key_dim": [8, 8, 8],
    },
    "metaclip_2": {**_WORDS, "vision_config": _EYE, "projection_dim": 8},
    "mobilenet_v1": {"image_size": _SIDE, "depth_multiplier": 0.25},
    "mobilenet_v2": {"image_size": _SIDE, "depth_multiplier": 0.25},
    "mobilevit": {
        "image_size": _SIDE,
        "hidden_sizes": [16, 16, 16],
        "neck_hidden_sizes": [8, 8, 8, 8, 8, 8, 16],
        "num_attention_heads": 2,
    },
    "mobilevitv2": {"image_size": 64, "width_multiplier": 0.25},
    "perceiver": {
        "num_latents": 4,
        "d_latents": 16,
        "num_blocks": 1,
        "num_self_attends_per_block": 1,
        "num_self_attention_heads": 2,
        "num_cross_attention_heads": 1,
        "image_size": _SIDE,
    },
    "poolformer": _FOUR,
    "pvt": {**_FOUR, "image_size": _SIDE, "num_attention_heads": [1, 1, 2, 2], "num_labels": CLASSES},
    "pvt_v2": {**_FOUR, "image_size": _SIDE, "num_attention_heads": [1, 1, 2, 2]},
    "regnet": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "groups_width": 8},
    "resnet": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"},
    "segformer": {**_FOUR, "num_attention_heads": [1, 1, 2, 2], "decoder_hidden_size": 16},
    "siglip": {**_WORDS, "vision_config": _EYE},
    "siglip2": {**_WORDS, "vision_config": {**_TOWER, "num_patches": 16, "patch_size": 8}},
    "swiftformer": {"embed_dims": [8, 8, 16, 16], "depths": [2, 2, 2, 2]},
    "swin": _WINDOWS,
    "swinv2": _WINDOWS,
    "textnet": {"hidden_sizes": [8, 8, 8, 8, 8], "stem_out_channels": 8},
    "vit": _EYE,
    "vit_msn": _EYE,
}
"""The configs by `model_type`."""

_PROCESSORS: dict[str, dict[str, Any]] = {
    "imagegpt": {
        "size": {"height": 8, "width": 8},
        "clusters": [[k / 4 - 1, -k / 4 + 1, (k % 3) - 1] for k in range(8)],
    },
    "siglip2": {"patch_size": 8, "max_num_patches": 16},
}


def architectures(model_type: str) -> tuple[str, ...]:
    """The classes of transformers for this type: deit, levit and perceiver have several."""
    kinds = MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES[model_type]
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def tiny_classifier(model_type: str, folder: Path, *, architecture: str | None = None) -> Path:
    """A model of `CLASSES` classes in a folder, its logits far apart for images that differ."""
    names = {k: f"class {k}" for k in range(CLASSES)}
    config = transformers.CONFIG_MAPPING[model_type](**TINY[model_type], id2label=names)
    model = getattr(transformers, architecture or architectures(model_type)[0])(config)
    processor = tiny_processor(model_type)
    _draw(model, processor)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def tiny_processor(model_type: str) -> Any:
    """The image processor of the type, for small images; ViT's for the two types that have none of their own."""
    names = IMAGE_PROCESSOR_MAPPING_NAMES.get(model_type, {"pil": "ViTImageProcessorPil"})
    kind = getattr(transformers, names["pil"])
    if model_type in _PROCESSORS:
        return kind(**_PROCESSORS[model_type])
    side = 64 if TINY[model_type].get("image_size") == 64 else _SIDE
    sizes = {"size": {name: side for name, value in dict(kind().size).items() if value}}
    return kind(**sizes, **({"crop_size": {"height": side, "width": side}} if kind().crop_size else {}))


def _draw(model: nn.Module, processor: Any) -> None:
    """Weights that keep the size of what flows through, and norms that fit it: fresh models say 0 of any image."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.ndim < 2:
                weight += 0.1 * noise
            else:
                weight.copy_(noise * (2 / weight[0].numel()) ** 0.5)
        for layer in model.modules():
            if isinstance(layer, nn.BatchNorm2d | nn.BatchNorm1d):
                layer.momentum = None  # the mean of what it sees
        noise = torch.randint(256, (8, 3, 48, 48), generator=generator, dtype=torch.uint8)
        torch.manual_seed(0)
        model.train()(**processor(list(noise.numpy()), return_tensors="pt"))
