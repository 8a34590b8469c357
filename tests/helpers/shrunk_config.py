"""Configs of transformers with small sizes and the tokens of a small tokenizer, from what they say by themselves."""

import re
from typing import Any

SIZES: dict[str, Any] = {
    **dict.fromkeys(
        ("hidden_size", "embed_dim", "out_hidden_size", "d_model", "projection_dim", "encoder_hidden_size"), 32
    ),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "mlp_dim", "dense_intermediate_size"), 64),
    **dict.fromkeys(("num_hidden_layers", "depth", "layers", "num_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "num_heads", "attention_heads"), 4),
    **dict.fromkeys(
        ("head_dim", "d_kv", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "linear_key_head_dim"), 8
    ),
    **dict.fromkeys(
        ("moe_intermediate_size", "kv_lora_rank", "q_lora_rank", "linear_value_head_dim", "qk_head_dim"), 16
    ),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_topk", "num_key_value_heads", "linear_num_key_heads"), 2),
    **dict.fromkeys(("n_group", "topk_group"), 1),
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 64),
    "output_dim": 32,
    "shared_expert_intermediate_size": 16,
    "linear_num_value_heads": 4,
    "vocab_size": 400,
    "max_position_embeddings": 2048,
    "image_size": 32,
    "word_embed_proj_dim": 32,
    "image_text_hidden_size": 16,
    "projector_hidden_size": 32,
    "num_position_embeddings": 64,
    "num_patches": 64,
    "num_query_tokens": 4,
    "latent_query_num": 4,
}
"""What a size becomes wherever a config has it as a number."""
TOKENS = {
    "image": "<image>",
    "video": "<video>",
    "vision_start": "<|vision_start|>",
    "vision_end": "<|vision_end|>",
    "pad": "<pad>",
    "bos": "<s>",
    "eos": "</s>",
}


def shrink(config: dict[str, Any], ids: dict[str, int]) -> dict[str, Any]:
    """A config with small sizes, and the tokens of the tokenizer."""
    made: dict[str, Any] = {}
    for name, value in config.items():
        token = re.match(r"_?(\w+?)_token_(?:id|index)$", str(name))
        if name == "per_layer_config":
            continue
        if isinstance(value, dict):
            made[name] = shrink(value, ids)
        elif name in ("adapter_in_dim", "adapter_input_size", "adapter_out_dim"):
            made[name] = 32
        elif name in ("layer_types", "mlp_layer_types") and isinstance(value, list):
            other = next((each for each in value if each != value[0]), value[0])
            made[name] = [value[0], other]
        elif token:
            made[name] = ids.get(TOKENS.get(token[1], f"<{token[1]}>"), ids["<unk>"])
        elif name == "patch_size":
            made[name] = 8 if "image_size" in config else 4
        elif name in SIZES and isinstance(value, (int, float)):
            made[name] = SIZES[name]
        else:
            made[name] = value
    return made


def merge(config: dict[str, Any], changes: dict[str, Any], ids: dict[str, int]) -> dict[str, Any]:
    """The config with changes, nested as it is; a special token stands for its number."""
    made = dict(config)
    for name, value in changes.items():
        old = made.get(name)
        if isinstance(value, list):
            value = [ids.get(each, each) if isinstance(each, str) else each for each in value]
        if isinstance(value, dict) and isinstance(old, dict):
            made[name] = merge(old, value, ids)
        else:
            made[name] = ids[value] if isinstance(value, str) and value in ids else value
            if value is None:
                del made[name]
    return made
