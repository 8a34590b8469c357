"""Models of transformers that answer in words, with tiny random weights, saved with their processors as folders."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers as hf
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from datasets import Image as ImageFeature
from input_rows import encoded, photograph
from PIL import Image
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers.models.blip import BlipImageProcessorPil
from transformers.models.clip import CLIPImageProcessorPil
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.kosmos2_5.image_processing_pil_kosmos2_5 import Kosmos2_5ImageProcessorPil
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.siglip import SiglipImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

SPECIAL = (
    "<pad> <s> </s> <unk> <image> <video> <|image_pad|> <|video_pad|> <|vision_start|> <|vision_end|> "
    "<fake_token_around_image> <end_of_utterance> <global-img> <IMG_CONTEXT> <img> </img> <start_of_image> "
    "<end_of_image> <image_soft_token> <|user|> <|assistant|>"
).split()
TOKEN = {name: number for number, name in enumerate(SPECIAL)}
TEMPLATE = (
    "{% for m in messages %}<|user|>{% for c in m['content'] %}{% if c['type'] == 'image' %}IMAGE{% else %}"
    "{{ c['text'] }}{% endif %}{% endfor %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


NAMES = ("cat", "brown_dog", "x")
WORDS = ("cat", "brown dog", "x")


class Parts(NamedTuple):
    """What a folder is made of: the model's class and config, its processor's class, image processor and options.

    `image` is what the chat template writes for an image; None for a model without a template.
    """

    model: Any
    config: Any
    processor: str
    image_processor: Any
    options: dict[str, Any]
    image: str | None


def byte_tokenizer(tokens: Sequence[str] = (), **more: Any) -> Any:
    """A tokenizer of bytes, a token each, and the special tokens of all these models, with others after them."""
    special = [*SPECIAL, *tokens]
    names = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    core = Tokenizer(models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    ends = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=core, padding_side="left", **ends, **more)


def _text(**changes: Any) -> dict[str, Any]:
    sizes = {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 8}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048}
    return {**sizes, **heads, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, **changes}


_LAYERS: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
_TOWER: dict[str, Any] = {**_LAYERS, "image_size": 32, "patch_size": 8}
_SQUARE = {"height": 32, "width": 32}


def _llava() -> Parts:
    vision = hf.CLIPVisionConfig(**_TOWER)
    config = hf.LlavaConfig(
        vision_config=vision,
        text_config=hf.LlamaConfig(**_text()),
        image_token_id=TOKEN["<image>"],
        vision_feature_layer=-1,
    )
    images = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=_SQUARE)
    options = {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    return Parts(hf.LlavaForConditionalGeneration, config, "LlavaProcessor", images, options, "<image>")


def _llava_onevision() -> Parts:
    grid = [[32, 32], [32, 64], [64, 32], [64, 64]]
    config = hf.LlavaOnevisionConfig(
        vision_config=hf.SiglipVisionConfig(**_TOWER),
        text_config=hf.Qwen2Config(**_text()),
        image_token_id=TOKEN["<image>"],
        video_token_id=TOKEN["<video>"],
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        image_grid_pinpoints=grid,
    )
    images = LlavaOnevisionImageProcessorPil(size=_SQUARE, image_grid_pinpoints=grid)
    options = {"num_image_tokens": 16, "vision_feature_select_strategy": "full"}
    model = hf.LlavaOnevisionForConditionalGeneration
    return Parts(model, config, "LlavaOnevisionProcessor", images, options, "<image>")


def _qwen(model: Any, config: Any, processor: str, **vision: Any) -> Parts:
    sizes = {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "patch_size": 4, "spatial_merge_size": 2}
    made = config(
        vision_config={**sizes, "temporal_patch_size": 2, "intermediate_size": 64, "mlp_ratio": 2, **vision},
        text_config=_text(rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}),
        image_token_id=TOKEN["<|image_pad|>"],
        video_token_id=TOKEN["<|video_pad|>"],
        vision_start_token_id=TOKEN["<|vision_start|>"],
        vision_end_token_id=TOKEN["<|vision_end|>"],
    )
    limits = {"shortest_edge": 16 * 16, "longest_edge": 32 * 32}
    images = Qwen2VLImageProcessorPil(size=limits, patch_size=4, temporal_patch_size=2, merge_size=2)
    return Parts(model, made, processor, images, {}, "<|vision_start|><|image_pad|><|vision_end|>")


def _qwen2_vl() -> Parts:
    return _qwen(hf.Qwen2VLForConditionalGeneration, hf.Qwen2VLConfig, "Qwen2VLProcessor")


def _qwen2_5_vl() -> Parts:
    more = {"out_hidden_size": 32, "fullatt_block_indexes": [1], "window_size": 16}
    return _qwen(hf.Qwen2_5_VLForConditionalGeneration, hf.Qwen2_5_VLConfig, "Qwen2_5_VLProcessor", **more)


def _qwen3_vl() -> Parts:
    more = {"out_hidden_size": 32, "deepstack_visual_indexes": [0], "num_position_embeddings": 64}
    return _qwen(hf.Qwen3VLForConditionalGeneration, hf.Qwen3VLConfig, "Qwen3VLProcessor", **more)


def _paligemma() -> Parts:
    config = hf.PaliGemmaConfig(
        vision_config=hf.SiglipVisionConfig(**_TOWER, projection_dim=32),
        text_config=hf.GemmaConfig(**_text(vocab_size=1500)),  # its processor adds 1,152 tokens of places
        image_token_id=TOKEN["<image>"],
        projection_dim=32,
        hidden_size=32,
    )
    images = SiglipImageProcessorPil(size=_SQUARE)
    images.image_seq_length = 16
    return Parts(hf.PaliGemmaForConditionalGeneration, config, "PaliGemmaProcessor", images, {}, None)


def _idefics(model: Any, config: Any, processor: str, images: Any) -> Parts:
    text = hf.LlamaConfig(**_text())
    made = config(vision_config=_TOWER, text_config=text, image_token_id=TOKEN["<image>"], scale_factor=2)
    sizes = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}
    return Parts(model, made, processor, images(**sizes, do_image_splitting=True), {"image_seq_len": 4}, "<image>")


def _smolvlm() -> Parts:
    return _idefics(hf.SmolVLMForConditionalGeneration, hf.SmolVLMConfig, "SmolVLMProcessor", SmolVLMImageProcessorPil)


def _idefics3() -> Parts:
    return _idefics(
        hf.Idefics3ForConditionalGeneration, hf.Idefics3Config, "Idefics3Processor", Idefics3ImageProcessorPil
    )


def _internvl() -> Parts:
    vision = hf.InternVLVisionConfig(**_LAYERS, image_size=[32, 32], patch_size=[8, 8])
    config = hf.InternVLConfig(
        vision_config=vision,
        text_config=hf.Qwen2Config(**_text()),
        image_token_id=TOKEN["<IMG_CONTEXT>"],
        downsample_ratio=0.5,
    )
    images = GotOcr2ImageProcessorPil(size=_SQUARE, crop_to_patches=True, max_patches=2)
    model = hf.InternVLForConditionalGeneration
    return Parts(model, config, "InternVLProcessor", images, {"image_seq_length": 4}, "<IMG_CONTEXT>")


def _gemma3() -> Parts:
    kinds = {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 8}
    config = hf.Gemma3Config(
        vision_config=hf.SiglipVisionConfig(**_TOWER),
        text_config=hf.Gemma3TextConfig(**_text(**kinds)),
        image_token_id=TOKEN["<image_soft_token>"],
        boi_token_id=TOKEN["<start_of_image>"],
        eoi_token_id=TOKEN["<end_of_image>"],
        mm_tokens_per_image=4,
    )
    images, options = Gemma3ImageProcessorPil(size=_SQUARE), {"image_seq_length": 4}
    return Parts(hf.Gemma3ForConditionalGeneration, config, "Gemma3Processor", images, options, "<start_of_image>")


def _blip_2() -> Parts:
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    sizes = {"vocab_size": 300, "hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = hf.Blip2Config(
        vision_config=_TOWER,
        qformer_config={**_LAYERS, "encoder_hidden_size": 32, "vocab_size": 300},
        text_config=hf.OPTConfig(**sizes, **ends, word_embed_proj_dim=32, max_position_embeddings=512),
        num_query_tokens=4,
        image_token_index=TOKEN["<image>"],
    )
    images, options = BlipImageProcessorPil(size=_SQUARE), {"num_query_tokens": 4}
    return Parts(hf.Blip2ForConditionalGeneration, config, "Blip2Processor", images, options, None)


def _kosmos2_5() -> Parts:
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    sizes = {"vocab_size": 300, "embed_dim": 32, "layers": 2, "ffn_dim": 64, "attention_heads": 4}
    config = hf.Kosmos2_5Config(
        vision_config={**_LAYERS, "patch_embed_hidden_size": 4 * 4 * 3, "d_ff": 64, "d_kv": 8, "head_dim": 8},
        text_config={**sizes, **ends, "max_position_embeddings": 512},
        latent_query_num=8,
    )
    images = Kosmos2_5ImageProcessorPil(max_patches=16, patch_size={"height": 4, "width": 4})
    options = {"num_image_tokens": 8}
    return Parts(hf.Kosmos2_5ForConditionalGeneration, config, "Kosmos2_5Processor", images, options, None)


KINDS: dict[str, Callable[[], Parts]] = {
    "llava": _llava,
    "llava_onevision": _llava_onevision,
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "qwen3_vl": _qwen3_vl,
    "paligemma": _paligemma,
    "smolvlm": _smolvlm,
    "idefics3": _idefics3,
    "internvl": _internvl,
    "gemma3": _gemma3,
    "blip_2": _blip_2,
    "kosmos2_5": _kosmos2_5,
}
"""By the name of their folder in transformers."""
_EXTRA = {
    "internvl": {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    },
    "gemma3": {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"},
    "kosmos2_5": {"boi_token": "<img>", "eoi_token": "</img>", "image_token": "<image>"},
}


def draw_weights(model: Any) -> None:
    """Draws weights wider than transformers does, so that answers differ from image to image."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_(0, 0.15)


def chat_model(folder: Path, kind: str, *, seed: int = 0) -> Path:
    """A folder with a model of a kind and its processor; no video processor, as this machine has none."""
    torch.manual_seed(seed)
    parts = KINDS[kind]()
    model = parts.model(parts.config).eval()
    draw_weights(model)
    model.save_pretrained(folder)
    extra = {"extra_special_tokens": _EXTRA[kind]} if kind in _EXTRA else {}
    byte_tokenizer(**extra).save_pretrained(folder)
    parts.image_processor.save_pretrained(folder)
    processor = {"processor_class": parts.processor, **parts.options}
    (folder / "processor_config.json").write_text(json.dumps(processor))
    if parts.image is not None:
        (folder / "chat_template.jinja").write_text(TEMPLATE.replace("IMAGE", parts.image))
    return folder


def images(count: int = 5) -> list[Image.Image]:
    """Wide and high ones in turn: for some kinds these are other numbers of tokens."""
    return [photograph(*((60, 40) if k % 2 else (40, 60)), k) for k in range(count)]


def rows(names: tuple[str, ...] = NAMES, count: int = 5, **columns: list[Any]) -> DatasetDict:
    features: Any = {"example_id": Value("string"), "image": ImageFeature(), "label": ClassLabel(names=list(names))}
    own = {
        "example_id": [f"e{k}" for k in range(count)],
        "image": [{"bytes": encoded(each), "path": None} for each in images(count)],
        "label": [k % len(names) for k in range(count)],
    }
    split = Dataset.from_dict(own, Features(features))
    for name, values in columns.items():
        split = split.add_column(name, values)
    return DatasetDict(test=split)
