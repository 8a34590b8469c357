"""The further types of transformers that answer in words, shrunk from what their own configs say by themselves."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from shrunk_config import merge, shrink
from tiny_chat_models import TEMPLATE, byte_tokenizer, draw_weights
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES


@dataclass(frozen=True)
class More:
    """How a type differs from the others.

    Attributes:
        image: What the chat template writes for an image; None for a model without a template.
        config: Changes of the shrunk config, nested as it is.
        images: Options of the image processor.
        options: Options of the processor.
        tokens: Special tokens that the tokenizer also has.
        named: Special tokens that the tokenizer has under a name.
        processor: Class of the processor, if not that of the type.
        image_processor: Class of the image processor, if not that of the type.
        audio: Class of the feature extractor of sounds, if the processor asks for one.
    """

    image: str | None = "<image>"
    config: dict[str, Any] = field(default_factory=dict)
    images: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    named: dict[str, str] = field(default_factory=dict)
    processor: str = ""
    image_processor: str = ""
    audio: str = ""


SQUARE = {"height": 32, "width": 32}
_PAD = "<|vision_start|><|image_pad|><|vision_end|>"
_ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}}
_QWEN_IMAGES: dict[str, Any] = {
    "size": {"shortest_edge": 16 * 16, "longest_edge": 32 * 32},
    "patch_size": 4,
    "temporal_patch_size": 2,
    "merge_size": 2,
}
_QWEN_IDS = {
    "image_token_id": "<|image_pad|>",
    "video_token_id": "<|video_pad|>",
    "image_start_token_id": "<|vision_start|>",
    "image_end_token_id": "<|vision_end|>",
}
NAMED = {
    "image_token": "<image>",
    "video_token": "<video>",
    "boi_token": "<img>",
    "eoi_token": "</img>",
    "image_start_token": "<img>",
    "image_end_token": "</img>",
    "start_image_token": "<img>",
    "end_image_token": "</img>",
    "video_start_token": "<img>",
    "video_end_token": "</img>",
}
"""Special tokens that the tokenizer has under a name, unless a type has others."""


def _qwen(vision: dict[str, Any] | None = None, text: dict[str, Any] | None = None, **more: Any) -> More:
    own = {
        **_QWEN_IDS,
        "vision_config": {"patch_size": 4, **(vision or {})},
        "text_config": {**_ROPE, **(text or {})},
        **more.pop("top", {}),
    }
    named = {
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "image_start_token": "<|vision_start|>",
        "image_end_token": "<|vision_end|>",
    }
    images = {**_QWEN_IMAGES, **more.pop("images", {})}
    return More(**{"image": _PAD, "config": own, "images": images, "named": named, **more})


_LAYERS = {"layer_types": ["linear_attention", "full_attention"]}
_DEEP = {"deepstack_visual_indexes": [0]}
_LAYERS_OF_GEMMA4 = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "patch_size": 4,
    "position_embedding_size": 64,
}
_GRID = [[32, 32], [32, 64], [64, 32], [64, 64]]
_ONE = {"temporal_patch_size": 1}
_SPARSE = {"mlp_layer_types": ["dense", "sparse"]}
_CLIP: dict[str, Any] = {"size": {"shortest_edge": 32}, "crop_size": SQUARE}
_LLAVA = {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
_SIZE: dict[str, Any] = {"size": SQUARE}

_OMNI: dict[str, Any] = {
    "audio": "WhisperFeatureExtractor",
    "top": {"vision_start_token_id": "<|vision_start|>", "vision_end_token_id": "<|vision_end|>"},
    "tokens": ("<audio>", "<a>", "</a>"),
    "named": {
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "audio_token": "<audio>",
        "vision_bos_token": "<|vision_start|>",
        "vision_eos_token": "<|vision_end|>",
        "audio_bos_token": "<a>",
        "audio_eos_token": "</a>",
    },
}
_GEMMA4: dict[str, Any] = {
    "images": {"patch_size": 4, "max_soft_tokens": 70, "pooling_kernel_size": 3},
    "named": {"audio_token": "<audio>", "boa_token": "<a>", "eoa_token": "</a>"},
    "tokens": ("<audio>", "<a>", "</a>"),
}
_EXPERTS = {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 16}
DIFFUSION = More(
    config={"vision_config": _LAYERS_OF_GEMMA4, "text_config": _EXPERTS},
    image_processor="Gemma4ImageProcessorPil",
    audio="Gemma4AudioFeatureExtractor",
    **_GEMMA4,
)
"""Of the type diffusion_gemma, which is not served."""
_LLAVA_NEXT = More(
    config={"image_grid_pinpoints": _GRID, "vision_feature_layer": -1},
    images={**_CLIP, "image_grid_pinpoints": _GRID},
    options=_LLAVA,
)
_MINICPM = More(
    images={"max_slice_nums": 1, "scale_resolution": 64, "patch_size": 8},
    config={
        "vision_config": {"insert_layer_id": 0, "image_size": 64, "hidden_size": 32},
        "insert_layer_id": 0,
        "image_token_id": "<image>",
        "video_token_id": "<video>",
        "image_start_id": "<img>",
        "image_end_id": "</img>",
        "slice_start_id": "<img>",
        "slice_end_id": "</img>",
        "newline_id": 3,
        "text_config": _LAYERS,
    },
    named={k: "<img>" for k in ("slice_start_token", "slice_end_token", "image_id_start_token", "image_id_end_token")},
)
MORE: dict[str, More] = {
    "aria": More(
        config={
            "vision_config": {"image_size": 980, "patch_size": 140},
            "projector_patch_to_query_dict": {"49": 4, "1225": None, "4900": None},
            "max_value_projector_patch_to_query_dict": 4,
        },
        options={"size_conversion": {"980": 4}},
    ),
    "aya_vision": More(
        config={"image_token_index": "<|IMG_PATCH|>"},
        images=_SIZE,
        options={"patch_size": 8, "img_size": 32, "downsample_factor": 2},
        tokens=("<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "<|IMG_LINE_BREAK|>", "TILE", "TILE_GLOBAL"),
    ),
    "blip": More(image=None, images=_SIZE),
    "chameleon": More(
        image=None,
        config={
            "vocabulary_map": {"<image>": 4, **{f"IMGIMG{letter}Z": 5 + k for k, letter in enumerate("ABCD")}},
            "vq_config": {
                "num_embeddings": 4,
                "base_channels": 32,
                "latent_channels": 16,
                "channel_multiplier": [1, 1],
                "resolution": 32,
                "num_res_blocks": 1,
            },
        },
        images=_CLIP,
        options={"image_seq_length": 256},
        tokens=("<racm3:break>", "<eoss>"),
    ),
    "cohere_compass": _qwen(
        _DEEP,
        {
            "rope_parameters": {
                "full_attention": _ROPE["rope_parameters"],
                "sliding_attention": _ROPE["rope_parameters"],
            }
        },
        tokens=("<|IMAGE_PAD|>", "<|VIDEO_PAD|>", "<|VISION_START|>", "<|VISION_END|>"),
        image="<|VISION_START|><|IMAGE_PAD|><|VISION_END|>",
        named={"image_token": "<|IMAGE_PAD|>"},
        top={"image_token_id": "<|IMAGE_PAD|>"},
    ),
    "cosmos3_edge": _qwen(images=_ONE, processor="Cosmos3EdgeProcessor"),
    "cosmos3_omni": _qwen(_DEEP, processor="Qwen3VLProcessor"),
    "deepseek_ocr2": More(
        config={
            "text_config": {"num_experts_per_tok": 2, **_SPARSE},
            "vision_config": {
                "sam_config": {
                    "downsample_channels": [32, 32],
                    "output_channels": 32,
                    "global_attn_indexes": [],
                    "num_hidden_layers": 1,
                    "hidden_size": 8,
                    "num_attention_heads": 1,
                    "window_size": 16,
                    "image_size": 256,
                    "patch_size": 4,
                }
            },
        },
        images={"size": {"height": 256, "width": 256}, "tile_size": 192},
        options={"patch_size": 4},
    ),
    "deepseek_vl": More(images=_SIZE, options={"num_image_tokens": 16}),
    "deepseek_vl_hybrid": More(
        config={
            "high_res_vision_config": {
                "output_channels": 8,
                "global_attn_indexes": [1],
                "window_size": 2,
                "image_size": 128,
            }
        },
        images={**_SIZE, "high_res_size": {"height": 128, "width": 128}},
        options={"num_image_tokens": 16},
    ),
    "dots3_note": _qwen(
        images=_ONE,
        text={"num_key_value_heads": 4},
        image="<|imgpad|>",
        tokens=("<|imgpad|>", "<|audio_comp_pad|>"),
        top={"image_token_id": "<|imgpad|>"},
    ),
    "emu3": More(
        config={
            "vocabulary_map": {
                "<image>": 4,
                "<|extra_200|>": 3,
                **{f"<|visual token {k:06d}|>": 5 + k for k in range(4)},
            },
            "vq_config": {
                "codebook_size": 4,
                "base_channels": 32,
                "channel_multiplier": [1, 1, 1, 1],
                "num_res_blocks": 1,
                "attn_resolutions": [],
                "num_attention_heads": 1,
            },
        },
        images={"min_pixels": 32 * 32, "max_pixels": 64 * 64},
        named={"image_wrapper_token": "<fake_token_around_image>", "eof_token": "<end_of_utterance>"},
    ),
    "ernie4_5_vl_moe": _qwen(text={"moe_k": 2, "moe_intermediate_size": [16, 16]}, images=_ONE),
    "exaone4_5": _qwen(),
    "florence2": More(
        config={
            "vision_config": {
                "patch_size": [7, 3, 3, 3],
                "embed_dim": [32, 32, 32, 32],
                "depths": [1, 1, 1, 1],
                "num_heads": [4] * 4,
                "num_groups": [4] * 4,
                "window_size": 4,
                "projection_dim": 32,
            }
        },
        images={**_SIZE, "image_seq_length": 50},
    ),
    "gemma4": More(
        config={
            "vision_config": {"model_type": "gemma4_vision", **_LAYERS_OF_GEMMA4},
            "text_config": {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 400},
        },
        **_GEMMA4,
    ),
    "git": More(image=None, images=_CLIP),
    "glm46v": _qwen(),
    "glm4v": _qwen(),
    "glm4v_moe": _qwen(
        text={"head_dim": 16, "rope_parameters": {**_ROPE["rope_parameters"], "partial_rotary_factor": 0.5}},
        image_processor="Glm4vImageProcessorPil",
    ),
    "glm5_next": _qwen(
        text={
            "num_key_value_heads": 4,
            "qk_rope_head_dim": 0,
            "head_dim": 0,
            "qk_head_dim": 8,
            "linear_head_dim": 8,
            "linear_num_heads": 2,
            "index_topk": 64,
            "index_head_dim": 8,
            "index_n_heads": 2,
        }
    ),
    "glm_ocr": _qwen(processor="Glm46VProcessor", image_processor="Glm46VImageProcessorPil"),
    "glmga": _qwen(processor="Glm46VProcessor"),
    "got_ocr2": More(images=_SIZE),
    "granite4_vision": More(
        config={
            "vision_config": {"patch_size": 8, "hidden_size": 64},
            "qformer_config": {"hidden_size": 64, "encoder_hidden_size": 64},
            "downsample_rate": "1/2",
            "deepstack_layer_map": [[-1, 0]],
            "spatial_target_layers": [1],
            "image_grid_pinpoints": _GRID,
        },
        images={**_CLIP, "image_grid_pinpoints": _GRID},
        options={**_LLAVA, "downsample_rate": "1/2"},
    ),
    "granite_docling": More(
        config={"vision_config": {"scale_factor": 2, **_DEEP}},
        images={**_SIZE, "max_patches": 2},
        options={"image_seq_len": 4},
    ),
    "hunyuan_vl": _qwen(text={"head_dim": 8}, images=_ONE),
    "hyperclovax_vision_v2": _qwen(),
    "idefics": More(
        config={"vision_config": {"embed_dim": 32, "patch_size": 8}},
        image="<fake_token_around_image><image><fake_token_around_image>",
        images={"image_size": 32, "size": SQUARE},
    ),
    "idefics2": More(
        named={"image_boundary_token": "<fake_token_around_image>"},
        images={"size": {"shortest_edge": 16, "longest_edge": 32}, "do_image_splitting": False},
        options={"image_seq_len": 3},
        config={
            "perceiver_config": {
                "resampler_n_latents": 3,
                "resampler_depth": 1,
                "resampler_n_heads": 2,
                "resampler_head_dim": 8,
            }
        },
    ),
    "instructblip": More(
        image=None,
        named={"image_token": ""},
        config={"image_token_index": "<image>"},
        images=_SIZE,
        options={"num_query_tokens": 4},
    ),
    "janus": More(config={"vq_config": {"num_patches": 4}}, images=_SIZE, options={"num_image_tokens": 16}),
    "kosmos-2": More(
        image=None,
        images=_CLIP,
        processor="Kosmos2Processor",
        options={"num_patch_index_tokens": 4},
        config={"latent_query_num": 64},
    ),
    "lfm3_vl": _qwen(),
    "lighton_ocr": More(
        named={"image_break_token": "<img>"},
        images={"size": {"longest_edge": 32}, "patch_size": 8},
        options={"patch_size": 8},
    ),
    **dict.fromkeys(("llava_next", "llava_next_video"), _LLAVA_NEXT),
    **dict.fromkeys(("minicpmv4_6", "minicpmv4_7"), _MINICPM),
    "mllama": More(
        config={
            "vision_config": {
                "num_global_layers": 1,
                "intermediate_layers_indices": [0, 1],
                "vision_output_dim": 96,
                "max_num_tiles": 2,
                "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]],
            },
            "text_config": {"num_hidden_layers": 3, "cross_attention_layers": [1]},
        },
        images={"size": SQUARE, "max_image_tiles": 2},
        tokens=("<|python_tag|>",),
    ),
    "ovis2": More(
        config={
            "vocab_size": 400,
            "hidden_size": 32,
            "image_token_id": "<IMG_ATOM>",
            "visual_indicator_token_ids": ["<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>"],
            "vision_config": {"vocab_size": 64},
        },
        images=_SIZE,
        options={"image_seq_length": 16},
        tokens=("<IMG_ATOM>", "<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>"),
    ),
    "paddleocr_vl": _qwen(images=_ONE),
    "pix2struct": More(
        image=None,
        config={"vision_config": {"patch_embed_hidden_size": 48, "seq_len": 64}},
        images={"max_patches": 16, "patch_size": {"height": 4, "width": 4}},
    ),
    "pp_chart2table": More(images=_SIZE),
    "qianfan_ocr": More(
        config={"vision_config": {"image_size": [32, 32], "patch_size": [8, 8]}, "image_token_id": "<IMG_CONTEXT>"},
        images={**_SIZE, "crop_to_patches": True, "max_patches": 2},
        options={"image_seq_length": 4},
        named={"context_image_token": "<IMG_CONTEXT>"},
    ),
    "qwen2_5_omni_thinker": _qwen(
        **_OMNI, processor="Qwen2_5OmniProcessor", image_processor="Qwen2VLImageProcessorPil"
    ),
    "qwen3_omni_moe_thinker": _qwen(
        **_OMNI, processor="Qwen3OmniMoeProcessor", image_processor="Qwen2VLImageProcessorPil"
    ),
    "qwen3_5": _qwen(_DEEP, _LAYERS),
    "qwen3_5_moe": _qwen(_DEEP, _LAYERS),
    "qwen3_vl_moe": _qwen(_DEEP, image_processor="Qwen2VLImageProcessorPil"),
    "qwen4_exp": _qwen(
        None,
        {
            **_LAYERS,
            "indexer_n_heads": 2,
            "indexer_kv_heads": 1,
            "indexer_head_dim": 8,
            "indexer_budget": 64,
            "indexer_compress_ratio": 2,
        },
    ),
    "t5gemma2": More(
        image="<start_of_image>",
        images=_SIZE,
        options={"image_seq_length": 4},
        named={"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"},
        config={
            "encoder": {"image_token_index": "<image_soft_token>", "mm_tokens_per_image": 4},
            "image_token_index": "<image_soft_token>",
        },
    ),
    "video_llama_3": _qwen(images=_ONE),
    "video_llava": More(config={"vision_feature_layer": -1}, images=_CLIP, options=_LLAVA),
    "vipllava": More(config={"vision_feature_layer": [-1, -2]}, images=_CLIP, options=_LLAVA),
}


def more_chat_model(folder: Path, kind: str, more: More | None = None) -> Path:
    """A folder with a model of a further type and its processor."""
    torch.manual_seed(0)
    more = more or MORE[kind]
    tokenizer = byte_tokenizer(
        more.tokens, extra_special_tokens={name: token for name, token in {**NAMED, **more.named}.items() if token}
    )
    ids = tokenizer.get_vocab()
    config_class = hf.CONFIG_MAPPING[kind]
    config = config_class.from_dict(merge(shrink(config_class().to_dict(), ids), more.config, ids))
    named = hf.AutoModelForImageTextToText._model_mapping._model_mapping[kind]
    model = getattr(hf, named)(config).eval()
    draw_weights(model)
    with torch.no_grad():
        for name, weight in model.named_parameters():  # what lets an image in may be shut
            if re.search(r"gate$|alpha_\w+$|gamma$", name) and weight.abs().max() < 1e-3:
                weight.fill_(1)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if "qformer_config" in config.to_dict():
        tokenizer.save_pretrained(folder / "qformer_tokenizer")
    backends = IMAGE_PROCESSOR_MAPPING_NAMES.get(kind, {})
    images = more.image_processor or backends.get("pil") or backends["torchvision"]
    made = getattr(hf, images)(**more.images).to_dict()
    if more.audio:
        made["feature_extractor_type"] = more.audio
    (folder / "preprocessor_config.json").write_text(json.dumps(made))
    processor = {"processor_class": more.processor or PROCESSOR_MAPPING_NAMES[kind], **more.options}
    (folder / "processor_config.json").write_text(json.dumps(processor))
    if more.image is not None:
        (folder / "chat_template.jinja").write_text(TEMPLATE.replace("IMAGE", more.image))
    return folder
