"""The types that answer in words whose image processor, or vision model, needs torchvision or timm."""

from typing import Any

from more_chat_models import More

_SQUARE = {"height": 32, "width": 32}
_SIZE: dict[str, Any] = {"size": _SQUARE}
_EXPERTS = {"mlp_layer_types": ["dense", "sparse"]}
_PIXTRAL: dict[str, Any] = {
    "images": {"size": {"longest_edge": 32}, "patch_size": 8},
    "options": {"patch_size": 8, "spatial_merge_size": 2},
    "tokens": ("[IMG]", "[IMG_BREAK]", "[IMG_END]"),
    "image": "[IMG]",
    "named": {"image_token": "[IMG]", "image_break_token": "[IMG_BREAK]", "image_end_token": "[IMG_END]"},
    "image_processor": "PixtralImageProcessor",
}
_AUDIO = {"audio_token": "<audio>", "boa_token": "<a>", "eoa_token": "</a>"}
_SLICES = ("slice_start_token", "slice_end_token", "image_id_start_token", "image_id_end_token")
_MUSE = tuple(
    "<|patch|> <|image_start|> <|image_end|> <|video|> <|vid_frame_separator|> <|vid_start|> <|vid_end|>".split()
)
_INKLING = {"swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 8, "rel_extent": 64, "d_rel": 4}

TORCHVISION: dict[str, More] = {
    "cohere2_vision": More(
        config={"image_token_id": "<image>", "alignment_intermediate_size": 32},
        images={**_SIZE, "max_patches": 2, "patch_size": 2},
        named={"boi_token": "<img>", "eoi_token": "</img>", "img_line_break_token": "<global-img>"},
    ),
    "gemma4_unified": More(
        config={
            "vision_config": {
                "model_type": "gemma4_unified_vision",
                "patch_size": 4,
                "mm_embed_dim": 32,
                "mm_posemb_size": 64,
                "output_proj_dims": 32,
            }
        },
        images={"patch_size": 4, "max_soft_tokens": 70, "pooling_kernel_size": 3},
        named=_AUDIO,
        tokens=("<audio>", "<a>", "</a>"),
        audio="Gemma4AudioFeatureExtractor",
    ),
    "inkling2": More(
        config={
            "vision_config": {
                "text_hidden_size": 32,
                "patch_size": 4,
                "posemb_grid_size": 4,
                "projection_hidden_dim": 32,
            },
            "text_config": _INKLING,
        },
        images={"size": {"height": 8, "width": 8}},
    ),
    "inkling_mm_model": More(
        config={
            "vision_config": {"text_hidden_size": 32, "patch_size": 8, "n_layers": 2},
            "audio_config": {"text_hidden_size": 32},
            "text_config": _INKLING,
        },
        images={"size": {"height": 8, "width": 8}},
        audio="WhisperFeatureExtractor",
        tokens=("<|unused_200053|>", "<|content_image|>", "<|content_audio_input|>"),
    ),
    "kimi_k25": More(
        image="<|media_pad|>",
        config={
            "image_token_id": "<|media_pad|>",
            "projection_hidden_size": 32,
            "text_config": {"num_key_value_heads": 4},
            "vision_config": {"pos_emb_height": 8, "pos_emb_width": 8},
        },
        images={"size": {"max_height": 32, "max_width": 32}, "patch_size": 4},
        tokens=("<|media_pad|>", "<|kimi_k25_video_placeholder|>"),
        named={"image_token": "<|media_pad|>"},
    ),
    "lfm2_vl": More(
        config={
            "vision_config": {"patch_size": 4},
            "text_config": {
                "full_attn_idxs": None,
                "block_auto_adjust_ff_dim": False,
                "layer_types": ["conv", "full_attention"],
            },
        },
        images={
            "encoder_patch_size": 4,
            "tile_size": 32,
            "size": _SQUARE,
            "min_image_tokens": 4,
            "max_image_tokens": 16,
            "max_tiles": 2,
        },
        tokens=("<|img_thumbnail|>",),
    ),
    "llama4": More(
        image="<|image|>",
        config={
            "image_token_index": "<|patch|>",
            "vision_config": {
                "intermediate_size": 128,
                "vision_output_dim": 64,
                "projector_input_dim": 64,
                "projector_output_dim": 64,
            },
            "text_config": {
                "intermediate_size_mlp": 64,
                "moe_layers": [1],
                "no_rope_layers": [1, 0],
                "attention_chunk_size": 512,
            },
        },
        images={**_SIZE, "max_patches": 2},
        options={"patch_size": 8},
        tokens=tuple(
            "<|image|> <|patch|> <|image_start|> <|image_end|> <|tile_x_separator|> <|tile_y_separator|>".split()
        ),
    ),
    "minicpm_ocr": More(
        images={"max_slice_nums": 1, "scale_resolution": 64, "patch_size": 8},
        config={
            "vision_config": {"insert_layer_id": 0, "image_size": 64},
            "insert_layer_id": 0,
            "image_token_id": "<image>",
            "video_token_id": "<video>",
            "text_config": {"layer_types": ["linear_attention", "full_attention"]},
        },
        named=dict.fromkeys(_SLICES, "<img>"),
    ),
    "minimax_m3_vl": More(
        image="]<]image[>[",
        config={
            "image_token_index": "]<]image[>[",
            "video_token_index": "]<]video[>[",
            "merged_hidden_size": 128,
            "vision_config": {"patch_size": 4},
            "text_config": {"rotary_dim": 4, "shared_intermediate_size": 16, "index_n_heads": 2, "index_head_dim": 8},
        },
        images={"size": {"shortest_edge": 256, "longest_edge": 1024}, "patch_size": 4},
        tokens=("]<]image[>[", "]<]video[>[", "]<]start of image[>[", "]<]end of image[>["),
    ),
    "mistral3": More(config={"image_token_index": "[IMG]"}, **_PIXTRAL),
    "mistral_large4": More(
        config={
            "image_token_index": "[IMG]",
            "text_config": {
                "num_key_value_heads": 4,
                "indexer_types": ["full", "full"],
                "no_rope_layers": [1, 1],
                "kv_source_layers": [0, 1],
                "index_head_dim": 16,
                "index_n_heads": 2,
                "index_topk": 64,
            },
        },
        **_PIXTRAL,
    ),
    "molmo2": More(
        image="<|image|>",
        config={
            "image_patch_id": "<im_patch>",
            "image_start_token_id": "<im_start>",
            "image_end_token_id": "<im_end>",
            "vision_config": {
                "image_size": [32, 32],
                "patch_size": 8,
                "num_position_embeddings": 16,
                "num_key_value_heads": 4,
            },
            "adapter_config": {"vision_feature_layer": [1, 0], "num_key_value_heads": 4, "text_hidden_size": 32},
            "text_config": {"additional_vocab_size": 16, "rope_scaling_layers": None},
        },
        images={**_SIZE, "patch_size": 8, "max_crops": 2, "overlap_margins": [1, 1]},
        tokens=tuple(
            "<|image|> <|video|> <im_patch> <im_col> <im_start> <low_res_im_start> <frame_start> <im_end> "
            "<frame_end> <im_low>".split()
        ),
        named={"image_token": "", "video_token": ""},
    ),
    "muse_glimmer": More(
        image="<|patch|>",
        config={
            "image_token_id": "<|patch|>",
            "out_hidden_size": 128,
            "text_config": {"layer_rope_theta": [10000.0, 10000.0]},
            "vision_config": {"pos_emb_height": 8, "pos_emb_width": 8},
        },
        images={"patch_size": 4, "max_image_tokens": 16},
        tokens=_MUSE,
    ),
    "muse_spark": More(
        image="<|patch|>",
        config={
            "image_token_id": "<|patch|>",
            "out_hidden_size": 128,
            "text_config": {"layer_rope_theta": [10000.0, 10000.0], "moe_hidden_size": 32},
            "vision_config": {"pos_emb_height": 8, "pos_emb_width": 8},
            "audio_config": {"depths": [1, 1, 1, 1], "hidden_sizes": [32, 32, 32, 32], "num_hidden_layers": 4},
        },
        images={"patch_size": 4, "max_image_tokens": 16},
        tokens=(*_MUSE, "<|audio|>", "<|soft_audio_start|>", "<|soft_audio_end|>"),
        named={"image_token": "<|patch|>", "image_start_token": "<|image_start|>", "image_end_token": "<|image_end|>"},
    ),
    "perception_lm": More(
        config={
            "vision_config": {
                "architecture": "vit_pe_core_large_patch14_336",
                "model_args": {
                    "embed_dim": 64,
                    "img_size": [28, 28],
                    "depth": 2,
                    "global_pool": "",
                    "use_post_transformer_norm": False,
                    "init_values": 0.1,
                    "ref_feat_shape": [2, 2],
                },
            }
        },
        images={"size": {"height": 28, "width": 28}, "tile_size": 28, "max_num_tiles": 1},
        options={"patch_size": 14, "pooling_ratio": 1},
    ),
    "step3p7": More(
        image="<im_patch>",
        config={
            "image_token_id": "<im_patch>",
            "vision_config": {"patch_size": 4, "image_size": 32},
            "text_config": {"sliding_window": 16},
        },
        images={"size": _SQUARE, "patch_size": 32, "vision_patch_size": 4, "downsampler_stride": 4},
        tokens=("<im_patch>", "<im_start>", "<im_end>", "<patch_newline>", "<patch_start>", "<patch_end>"),
    ),
    "fast_vlm": More(
        config={
            "vision_config": {
                "hidden_size": 64,
                "model_args": {"inference_mode": True, "layers": [1, 1, 1, 1, 1], "embed_dims": [32, 32, 32, 32, 32]},
            }
        },
        images={"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}},
        options={"patch_size": 64, "vision_feature_select_strategy": "full"},
        processor="LlavaProcessor",
        image_processor="CLIPImageProcessor",
    ),
}
"""By type; None of these is made where torchvision is not installed."""
