"""Tiny models of images and texts with their processors, of every type that the mode zero_shot serves."""

from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

SIZE = 32
_POSITIONS = 64  # SigLIP's, which transformers' pipeline says for every one of its kind
_VISION = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": SIZE,
    "patch_size": 16,
}
_WORDS = (
    "a an photo of the small large car boat scene something else type dog not . , labrador corgi bulldog dachshund "
    "in location desert jungle dirt mountain snow beach"
)
_BERT = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": _POSITIONS,
}
_TEXT = {**_BERT, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_EFFICIENT = {
    "image_size": SIZE,
    "hidden_dim": 16,
    "width_coefficient": 0.25,
    "depth_coefficient": 0.1,
    "in_channels": [32, 16],
    "out_channels": [16, 24],
    "kernel_sizes": [3, 3],
    "strides": [1, 2],
    "num_block_repeats": [1, 1],
    "expand_ratios": [1, 6],
    "depthwise_padding": [],
}
TYPES = ("clip", "siglip", "siglip2", "metaclip_2", "altclip", "align", "blip", "chinese_clip", "clipseg")


def tokenizer(*, longest: int = _POSITIONS) -> Any:
    """One that knows a few words, the same for every type, with the end of a text that CLIP looks for."""
    words = ["[PAD]", "[START]", "[END]", "[UNK]", *_WORDS.split()]
    known = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106
    known.pre_tokenizer = Whitespace()
    known.post_processor = TemplateProcessing(single="[START] $A [END]", special_tokens=[("[START]", 1), ("[END]", 2)])
    names = {"pad_token": "[PAD]", "bos_token": "[START]", "eos_token": "[END]", "unk_token": "[UNK]"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=known, model_max_length=longest, **names)


def processor(kind: str) -> Any:
    """Of images and texts, as it stands beside such a model."""
    square = {"height": SIZE, "width": SIZE}
    pictures = {
        "siglip": hf.SiglipImageProcessorPil(size=square),
        "siglip2": hf.Siglip2ImageProcessorPil(patch_size=16, max_num_patches=4),
        "align": hf.EfficientNetImageProcessorPil(size=square),
        "blip": hf.BlipImageProcessorPil(size=square),
    }
    clip = hf.CLIPImageProcessorPil(size={"shortest_edge": SIZE}, crop_size=square)
    words = _letters() if kind == "siglip2" else tokenizer()
    return hf.CLIPProcessor(image_processor=pictures.get(kind, clip), tokenizer=words)


def _letters() -> Any:
    """A tokenizer of letters: beside a SigLIP 2, transformers opens none but one of its own class."""
    words = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *"abcdefghijklmnopqrstuvwxyz.,"]
    return hf.Siglip2Tokenizer(
        vocab={word: number for number, word in enumerate(words)}, merges=[], model_max_length=_POSITIONS
    )


def model(kind: str, *, seed: int = 0) -> Any:
    """With random weights, in evaluation mode; one whose scale and bias are not those of the start."""
    text = {**_TEXT, "vocab_size": 64}
    vision: dict[str, Any] = dict(_VISION)
    if kind == "siglip2":
        vision |= {"num_patches": 4}
        vision.pop("image_size")
    config = {
        "clip": lambda: hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8),
        "siglip": lambda: hf.SiglipConfig(text_config=text, vision_config=vision),
        "siglip2": lambda: hf.Siglip2Config(text_config=text, vision_config=vision),
        "metaclip_2": lambda: hf.MetaClip2Config(text_config=text, vision_config=vision, projection_dim=8),
        "altclip": lambda: hf.AltCLIPConfig(
            text_config={**text, "max_position_embeddings": _POSITIONS + 2, "project_dim": 8, "type_vocab_size": 2},
            vision_config=vision,
            projection_dim=8,
        ),
        "align": lambda: hf.AlignConfig(text_config=text, vision_config=_EFFICIENT, projection_dim=8),
        "blip": lambda: hf.BlipConfig(
            text_config={**text, "encoder_hidden_size": 16}, vision_config=vision, projection_dim=8
        ),
        "chinese_clip": lambda: hf.ChineseCLIPConfig(text_config=text, vision_config=vision, projection_dim=8),
        "clipseg": lambda: hf.CLIPSegConfig(text_config=text, vision_config=vision, projection_dim=8),
    }[kind]()
    torch.manual_seed(seed)
    made = hf.AutoModelForZeroShotImageClassification.from_config(config).eval()
    own = dict(made.named_parameters(recurse=False))
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim > 1:
                weight.normal_(0, 0.2)
        for name, value in {"logit_scale": 2.0, "temperature": 0.15, "logit_bias": -0.7}.items():
            if name in own:
                own[name].fill_(value)
    return made


def folder(place: Path, kind: str, *, seed: int = 0) -> Path:
    """The model and its processor, saved."""
    model(kind, seed=seed).save_pretrained(place)
    processor(kind).save_pretrained(place)
    return place
