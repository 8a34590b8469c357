"""Tiny captioners of every kind that is taken, of the real classes with random weights, saved in folders."""

from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

KINDS = ("vision-encoder-decoder", "blip", "git")
_SIZE = 32  # pixels a side
_WORDS = "[PAD] [BOS] [EOS] a dog dogs cat car boat road grass snow beach white on".split()
_SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
_VISION = {**_SMALL, "image_size": _SIZE, "patch_size": 16}
_NUMBERS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_TEXT = {**_SMALL, **_NUMBERS, "vocab_size": len(_WORDS), "max_position_embeddings": _SIZE}


def model(kind: str, *, seed: int = 0) -> Any:
    """With random weights large enough that captions differ, in evaluation mode."""
    torch.manual_seed(seed)
    made = {
        "vision-encoder-decoder": _pair,
        "blip": lambda: hf.BlipForConditionalGeneration(
            hf.BlipConfig(
                text_config={**_TEXT, "encoder_hidden_size": 16, "sep_token_id": 2},
                vision_config=_VISION,
                projection_dim=8,
            )
        ),
        "git": lambda: hf.GitForCausalLM(hf.GitConfig(vision_config=_VISION, **_TEXT)),
    }[kind]()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim > 1:
                weight.normal_(0, 0.6)
    return made.eval()


def processor(kind: str) -> Any:
    """Of the images, decoded by Pillow, so that it needs no torchvision."""
    square = {"height": _SIZE, "width": _SIZE}
    if kind == "git":
        return hf.CLIPImageProcessorPil(size={"shortest_edge": _SIZE}, crop_size=square)
    return hf.BlipImageProcessorPil(size=square) if kind == "blip" else hf.ViTImageProcessorPil(size=square)


def tokenizer() -> Any:
    """One that knows a few words, the same for every kind."""
    known = Tokenizer(WordLevel({word: number for number, word in enumerate(_WORDS)}, unk_token="[PAD]"))  # noqa: S106
    known.pre_tokenizer = Whitespace()
    names = {"pad_token": "[PAD]", "bos_token": "[BOS]", "eos_token": "[EOS]"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=known, **names)


def folder(place: Path, kind: str, *, seed: int = 0) -> Path:
    """The model, its processor and its tokenizer, saved."""
    for part in (model(kind, seed=seed), processor(kind), tokenizer()):
        part.save_pretrained(place)
    return place


def _pair() -> Any:
    decoder = hf.GPT2Config(vocab_size=len(_WORDS), n_positions=16, n_embd=16, n_layer=1, n_head=2, **_NUMBERS)
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        hf.ViTConfig(**_VISION), decoder, decoder_start_token_id=1, **_NUMBERS
    )
    made = hf.VisionEncoderDecoderModel(config)
    made.generation_config.update(pad_token_id=0, decoder_start_token_id=1, eos_token_id=2)
    return made
