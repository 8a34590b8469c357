"""Tiny detectors and segmenters with their processors, of the types that the mode presence serves."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf

NAMES = ("boat", "car", "polar bear")
_SIDE = 32
_SQUARE, _LARGE = {"height": _SIDE, "width": _SIDE}, {"height": 64, "width": 64}
_LABELS = {"id2label": dict(enumerate(NAMES)), "label2id": {name: k for k, name in enumerate(NAMES)}}
_VIT = {
    "hidden_size": 16,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": _SIDE,
    "patch_size": 8,
}
_DETR = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "num_queries": 6,
}
_DEPTHS = {"embedding_size": 8, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "layer_type": "basic"}


def _resnet(*stages: str) -> dict[str, Any]:
    return {"backbone_config": hf.ResNetConfig(**_DEPTHS, out_features=list(stages))}


def _detr(kind: Any, *stages: str, **others: Any) -> Any:
    return kind(**{**_DETR, **_resnet(*(stages or ["stage4"])), **_LABELS, **others})


def _rt_detr(kind: Any, backbone: Any, **others: Any) -> Any:
    stages = {"out_features": ["stage2", "stage3", "stage4"]}
    return kind(
        **{
            "backbone_config": backbone(**stages),
            "encoder_hidden_dim": 16,
            "encoder_in_channels": [8, 16, 16],
            "feat_strides": [8, 16, 32],
            "encoder_layers": 1,
            "encoder_ffn_dim": 16,
            "encoder_attention_heads": 2,
            "d_model": 16,
            "num_queries": 6,
            "decoder_in_channels": [16, 16, 16],
            "decoder_ffn_dim": 16,
            "decoder_layers": 2,
            "decoder_attention_heads": 2,
            "decoder_n_points": 2,
            "num_denoising": 0,
            **_LABELS,
            **others,
        }
    )


def _rt_resnet(**stages: Any) -> Any:
    return hf.RTDetrResNetConfig(**_DEPTHS, **stages)


_CONFIGS = {
    "detr": lambda: _detr(hf.DetrConfig),
    "table-transformer": lambda: _detr(hf.TableTransformerConfig),
    "conditional_detr": lambda: _detr(hf.ConditionalDetrConfig),
    "dab-detr": lambda: _detr(hf.DabDetrConfig, hidden_size=16),
    "deformable_detr": lambda: _detr(
        hf.DeformableDetrConfig, "stage2", "stage3", num_feature_levels=2, encoder_n_points=2, decoder_n_points=2,
        d_model=32, decoder_layers=2,
    ),
    "yolos": lambda: hf.YolosConfig(**{**_VIT, "image_size": [_SIDE, _SIDE]}, num_detection_tokens=6, **_LABELS),
    "rt_detr": lambda: _rt_detr(hf.RTDetrConfig, _rt_resnet),
    "rt_detr_v2": lambda: _rt_detr(hf.RTDetrV2Config, _rt_resnet),
    "d_fine": lambda: _rt_detr(hf.DFineConfig, _rt_resnet),
    "segformer": lambda: hf.SegformerConfig(
        hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2], depths=[1, 1, 1, 1], decoder_hidden_size=8,
        **_LABELS,
    ),
    "beit": lambda: hf.BeitConfig(
        **_VIT, out_indices=[1, 2, 3, 4], pool_scales=[1], use_auxiliary_head=False, **_LABELS
    ),
    "dpt": lambda: hf.DPTConfig(
        **_VIT, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=8,
        use_auxiliary_head=False, **_LABELS,
    ),
    "mobilenet_v2": lambda: hf.MobileNetV2Config(depth_multiplier=0.25, **_LABELS),
    "mobilevit": lambda: hf.MobileViTConfig(
        hidden_sizes=[8, 8, 8], neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 8], num_attention_heads=2, image_size=_SIDE,
        aspp_out_channels=8, atrous_rates=[1, 2, 3], **_LABELS,
    ),
    "upernet": lambda: hf.UperNetConfig(
        **_resnet("stage1", "stage2", "stage3", "stage4"), hidden_size=8, use_auxiliary_head=False, **_LABELS
    ),
    "maskformer": lambda: hf.MaskFormerConfig(
        backbone_config=hf.SwinConfig(
            image_size=_SIDE, patch_size=4, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=2,
            out_features=["stage1", "stage2", "stage3", "stage4"],
        ),
        decoder_config=hf.DetrConfig(**{**_DETR, "d_model": 32}),
        fpn_feature_size=32, mask_feature_size=32, **_LABELS,
    ),
    "mask2former": lambda: hf.Mask2FormerConfig(
        **_resnet("stage1", "stage2", "stage3", "stage4"), feature_size=32, mask_feature_size=32, hidden_dim=32,
        encoder_feedforward_dim=16, encoder_layers=1, decoder_layers=2, num_attention_heads=2, dim_feedforward=16,
        num_queries=6, **_LABELS,
    ),
    "eomt": lambda: hf.EomtConfig(**_VIT, num_blocks=1, num_upscale_blocks=1, num_queries=6, **_LABELS),
}  # fmt: skip
_KEEPS_SHAPE = {"shortest_edge": _SIDE, "longest_edge": 48}
_PROCESSORS = {
    "detr": lambda: hf.DetrImageProcessorPil(size=_KEEPS_SHAPE),
    "table-transformer": lambda: hf.DetrImageProcessorPil(size=_KEEPS_SHAPE),
    "conditional_detr": lambda: hf.ConditionalDetrImageProcessorPil(size=_KEEPS_SHAPE),
    "dab-detr": lambda: hf.ConditionalDetrImageProcessorPil(size=_KEEPS_SHAPE),
    "deformable_detr": lambda: hf.DeformableDetrImageProcessorPil(size=_KEEPS_SHAPE),
    "yolos": lambda: hf.YolosImageProcessorPil(size=_KEEPS_SHAPE),
    "maskformer": lambda: hf.MaskFormerImageProcessorPil(size=_LARGE),
    "mask2former": lambda: hf.Mask2FormerImageProcessorPil(size=_LARGE),
    "eomt": lambda: hf.EomtImageProcessorPil(size=_SQUARE),
}
DETECTORS = ("detr", "table-transformer", "conditional_detr", "dab-detr", "deformable_detr", "yolos")
DETECTORS += ("rt_detr", "rt_detr_v2", "d_fine")
MASK_MODELS = ("maskformer", "mask2former", "eomt")
SEGMENTERS = ("segformer", "beit", "dpt", "mobilenet_v2", "mobilevit", "upernet")
_SPREAD = {"d_fine": 0.15, "mobilenet_v2": 0.2, "upernet": 0.2, "mobilevit": 1.5, "beit": 0.15, "dpt": 0.1}
_AUTO = {
    **dict.fromkeys(DETECTORS, hf.AutoModelForObjectDetection),
    **dict.fromkeys(SEGMENTERS, hf.AutoModelForSemanticSegmentation),
    **dict.fromkeys(MASK_MODELS, hf.AutoModelForUniversalSegmentation),
}


def processor(kind: str) -> Any:
    """The image processor that stands beside such a model; the detectors' keeps the shape of an image."""
    if kind.startswith(("rt_", "d_")):
        return hf.RTDetrImageProcessorPil(size=_SQUARE)
    return _PROCESSORS.get(kind, lambda: segformer_processor(size=_SQUARE))()


def model(kind: str, *, seed: int = 0) -> Any:
    """With random weights, large enough that scores differ between images; in evaluation mode."""
    torch.manual_seed(seed)
    made = _AUTO[kind].from_config(_CONFIGS[kind]()).eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim > 1:
                weight.normal_(0, _SPREAD.get(kind, 0.3))
    return made


def folder(place: Path, kind: str, *, seed: int = 0) -> Path:
    """The model and its processor, saved."""
    model(kind, seed=seed).save_pretrained(place)
    processor(kind).save_pretrained(place)
    return place


def segformer_processor(**settings):
    """The processor of Segformer; skips the test with a transformers in which it needs torchvision."""
    try:
        return hf.SegformerImageProcessorPil(**settings)
    except ImportError:
        pytest.skip("Segformer's processor needs torchvision in this transformers")
