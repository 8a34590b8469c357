"""What transformers itself says of answers: one pass over prompt and answer without a cache, and `generate`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from PIL import Image
from tiny_chat_models import WORDS, images, rows

import oochub
from oochub.inputs.pictures.chat_processor import load_chat_processor

_LEFT_OUT = ("labels", "width", "height")
_KINDS_OF_TOKENS = ("token_type_ids", "mm_token_type_ids", "moe_mm_token_type_ids", "image_embeds_position_mask")
_MASKS_OF_IMAGES = ("image_attention_mask", "cross_attention_mask")


class Compared(NamedTuple):
    """How a folder answers beside transformers alone, for three images, in batches of 1 and 3.

    Attributes:
        difference: The largest between two log-likelihoods of an answer, in nats.
        spread: By how much they differ from image to image.
        writes_the_same: Whether `generate` gives the same text.
        passes: How often the image is read.
    """

    difference: float
    spread: float
    writes_the_same: bool
    passes: str


def compare(folder: Path) -> Compared:
    """Both modes, with the classes of `tiny_chat_models`."""
    some, found, same, expected, passes = rows(count=3), [], [], np.zeros(0), ""
    for size in (1, 3):
        options: Any = {"batch_size": size, "cache": False, "images": False}
        scores = oochub.predict(str(folder), some, mode="multiple_choice", **options)
        text, passes = str(scores.metadata.prompt), str(scores.metadata.provenance["image_passes"])
        found.append(np.stack(scores.rows.column("logits").to_pylist()))
        wrote = oochub.predict(str(folder), some, mode="generate", max_new_tokens=4, **options)
        same.append(wrote.rows.column("answer").to_pylist() == list(list_written(folder, text, 4, images(3))))
    expected = np.array([bare_scores(folder, text, WORDS, image) for image in images(3)])
    difference = max(float(np.abs(each - expected).max()) for each in found)
    return Compared(difference, float(np.ptp(expected, axis=0).max()), all(same), passes)


def open_bare(folder: Path) -> tuple[Any, Any]:
    """The model of a folder and its processor, without the video processor where its backend is absent."""
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    try:
        processor = transformers.AutoProcessor.from_pretrained(folder)
    except (ImportError, RecursionError, ValueError):
        processor = load_chat_processor(str(folder)).processor
    return model, processor


def make_inputs(processor: Any, text: str, image: Image.Image) -> dict[str, torch.Tensor]:
    """What a processor makes of an image and a text, without what a model does not take."""
    made = processor(images=image, text=text, return_tensors="pt")
    tensors = {k: v for k, v in made.items() if isinstance(v, torch.Tensor) and k not in _LEFT_OUT}
    return {k: v.float() if v.is_floating_point() else v for k, v in tensors.items()}


def bare_scores(folder: Path, text: str, answers: tuple[str, ...], image: Image.Image) -> list[float]:
    """The sum of the log-probabilities of each answer: one pass of transformers over prompt and answer, no cache."""
    model, processor = open_bare(folder)
    prompt = make_inputs(processor, text, image)
    kind = model.config.model_type
    if kind == "blip":  # its own generate does this
        prompt = {
            **prompt,
            "input_ids": prompt["input_ids"][:, :-1],
            "attention_mask": prompt["attention_mask"][:, :-1],
        }
        prompt["input_ids"][:, 0] = model.config.text_config.bos_token_id
    if kind == "cosmos3_edge":
        is_image = prompt["input_ids"] == model.config.image_token_id
        prompt["mm_token_type_ids"] = is_image.long()
    place = "input_ids"
    if model.config.is_encoder_decoder:
        place = "decoder_input_ids"
        start = model.generation_config.decoder_start_token_id
        start = model.generation_config.bos_token_id if start is None else start
        before = prompt.pop(place, torch.zeros(1, 0, dtype=torch.long))
        prompt[place] = torch.cat([torch.tensor([[start]]), before], 1)
        prompt.pop("decoder_attention_mask", None)
    sums = []
    for answer in answers:
        numbers = processor.tokenizer(answer, add_special_tokens=False)["input_ids"]
        by_step = kind == "glm5_next"  # its last place is not causal
        steps = range(len(numbers)) if by_step else [len(numbers)]
        with torch.inference_mode():
            passes = [model(**_append(prompt, place, numbers[:end], kind), use_cache=False).logits[0] for end in steps]
        logits = torch.stack([each[-1] for each in passes]) if by_step else passes[0][-len(numbers) - 1 :]
        scores = logits.log_softmax(-1)
        sums.append(sum(scores[step, number].item() for step, number in enumerate(numbers)))
    return sums


def _append(prompt: dict[str, torch.Tensor], place: str, numbers: list[int], kind: str) -> dict[str, torch.Tensor]:
    inputs = {**prompt, place: torch.cat([prompt[place], torch.tensor([numbers], dtype=torch.long)], 1)}
    if place != "input_ids":
        return inputs
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    for name in _KINDS_OF_TOKENS:
        if name in inputs:  # 1 is PaliGemma's word for what follows its prompt
            more = torch.full((1, len(numbers)), int(kind == "paligemma"), dtype=inputs[name].dtype)
            inputs[name] = torch.cat([inputs[name], more], 1)
    for name in _MASKS_OF_IMAGES:
        if name in inputs:
            inputs[name] = torch.cat([inputs[name], *[inputs[name][:, -1:]] * len(numbers)], 1)
    return inputs


def list_written(folder: Path, text: str, most: int, pictures: list[Image.Image]) -> Iterator[str]:
    """What the model writes by itself, an image at a time: transformers alone, with the sampling turned off."""
    model, processor = open_bare(folder)
    for image in pictures:
        inputs = make_inputs(processor, text, image)
        if model.config.model_type == "cosmos3_edge":
            inputs["mm_token_type_ids"] = (inputs["input_ids"] == model.config.image_token_id).long()
        with torch.inference_mode():
            made = model.generate(
                **inputs, max_new_tokens=most, do_sample=False, output_logits=True, return_dict_in_generate=True
            )
        yield processor.tokenizer.decode(made.sequences[0, -len(made.logits) :], skip_special_tokens=True).strip()
