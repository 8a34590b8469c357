"""A processor of images and texts is one of images that brings a tokenizer."""

from typing import Any

import torch
import transformers
from datasets import Dataset
from datasets import Image as ImageFeature
from input_rows import encoded, photograph, tokenizer

from oochub.input import find_processor_kind
from oochub.inputs.pictures import Pictures


def _rows() -> Dataset:
    files = [{"bytes": encoded(photograph(*size)), "path": None} for size in ((20, 16), (16, 24))]
    return Dataset.from_dict({"image": files}).cast_column("image", ImageFeature())


def _batch(processor: Any) -> Any:
    inputs = Pictures(processor, preprocessing="processor")
    return next(inputs.batches(_rows(), batch_size=2, device=torch.device("cpu"))).inputs


def test_a_processor_of_pictures_and_texts_is_both() -> None:
    """Planted: the whole processor asked for the pixels, which takes them for texts."""
    pictures = transformers.CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    both = transformers.CLIPProcessor(image_processor=pictures, tokenizer=_clip_tokenizer())
    assert find_processor_kind(both) is Pictures
    inputs = Pictures(both)
    assert inputs.processor is pictures
    assert inputs.tokenizer is both.tokenizer
    assert torch.equal(_batch(both)["pixel_values"], _batch(pictures)["pixel_values"])
    assert find_processor_kind(tokenizer()) is not Pictures


def _clip_tokenizer() -> Any:
    words = ["<|startoftext|>", "<|endoftext|>", *"abc", *[f"{letter}</w>" for letter in "abc"]]
    return transformers.CLIPTokenizer(vocab={word: number for number, word in enumerate(words)}, merges=[])
