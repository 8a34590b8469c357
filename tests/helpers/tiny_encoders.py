"""A tiny encoder of every type that has no classifier, by its config."""

from typing import Any

import torch
import transformers

_TOWER = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
_EYE = {**_TOWER, "image_size": 32, "patch_size": 8}
_FOUR = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}
_DETR = {
    "use_timm_backbone": False,
    "backbone": None,
    "d_model": 64,
    "hidden_size": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "num_queries": 4,
}

_DINO = {**_EYE, "model_type": "dinov2", "mlp_ratio": 1}

TINY_ENCODERS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("conditional_detr", "dab-detr", "deformable_detr", "detr", "table-transformer"), _DETR),
    **dict.fromkeys(("aimv2_vision_model", "dinov3_vit", "mlcd", "mlcd_vision_model", "pixio"), _EYE),
    **dict.fromkeys(("siglip_vision_model", "tipsv2_vision_model", "vit_mae", "vitdet"), _EYE),
    "dinov3_convnext": _FOUR,
    "dpt": {**_EYE, "backbone_out_indices": [0, 0, 1, 1], "neck_hidden_sizes": [8] * 4, "fusion_hidden_size": 8},
    "glpn": {**_FOUR, "num_attention_heads": [1, 1, 2, 2], "decoder_hidden_size": 8},
    "swin2sr": {"image_size": 32, "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 2},
    "yolos": {**_EYE, "image_size": [32, 32], "num_detection_tokens": 4},
    "timesformer": {**_EYE, "num_frames": 2},
    "videomae": {**_EYE, "num_frames": 2},
    "vivit": {**_EYE, "num_frames": 2, "tubelet_size": [2, 8, 8]},
    "videoprism_vision_model": {
        **_EYE,
        "num_frames": 2,
        "tubelet_size": [1, 8, 8],
        "num_spatial_layers": 1,
        "num_temporal_layers": 1,
        "num_auxiliary_layers": 1,
    },
    "timm_backbone": {"backbone": "resnet10t", "use_pretrained_backbone": False},
    "timm_wrapper": {"architecture": "resnet10t"},
    "depth_pro": {
        "patch_size": 32,
        **dict.fromkeys(("image_model_config", "patch_model_config", "fov_model_config"), _DINO),
        "intermediate_hook_ids": [1, 0],
        "intermediate_feature_dims": [8, 8],
        "scaled_images_feature_dims": [8, 8, 8],
        "fusion_hidden_size": 8,
        "use_fov_model": False,
    },
}
"""The configs by `model_type`."""


def tiny_encoder(model_type: str) -> Any:
    """As `AutoModel` makes it, in evaluation mode."""
    settings = dict(TINY_ENCODERS[model_type])
    if "num_queries" in settings:
        stages = [f"stage{k}" for k in (2, 3, 4)] if model_type == "deformable_detr" else ["stage4"]
        settings["backbone_config"] = transformers.ResNetConfig(
            embedding_size=8, layer_type="basic", out_features=stages, **_FOUR
        )
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(transformers.CONFIG_MAPPING[model_type](**settings)).eval()
