"""Folders of models that answer in words, one thing wrong: refused in one line, or the numbers of a plain pass."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz_case import CHANGED, REFUSED, SAFE, Case, Format, Used
from mutations import bytes_cases, edited, json_cases, json_text_cases, place_cases, text_cases
from tiny_chat_models import NAMES, TEMPLATE, chat_model, rows

import oochub

_PROCESSOR, _IMAGES, _TOKENS = "processor_config.json", "preprocessor_config.json", "tokenizer_config.json"
_TEMPLATE, _TOKENIZER, _CONFIG = "chat_template.jinja", "tokenizer.json", "config.json"
_WORDS = {"cat": "cat", "brown_dog": "dog", "x": "fox"}
_TOLERANCE = 1e-3  # of log-probabilities
_found: dict[Path, np.ndarray[Any, Any]] = {}


@cache
def _data() -> Any:
    return rows(count=2)["test"]


def _make(folder: Path) -> None:
    chat_model(folder, "llava")
    (folder / "words.json").write_text(json.dumps(_WORDS))


def _use(folder: Path, out: Path) -> Used:
    made = oochub.predict(
        folder, _data(), mode="multiple_choice", words=folder / "words.json", out=out / "p.parquet", cache=False
    )
    assert np.isfinite(made.logits).all()
    _found[folder] = made.logits
    said = (*made.metadata.notes, str(made.metadata.prompt), str(made.metadata.provenance.get("unexpected_weights")))
    return Used(numbers=made.logits, notes=said, counts={"agree": True})


def _count(folder: Path) -> dict[str, bool]:
    """The log-probabilities by a loop over answers and tokens, of the processor and model that transformers opens."""
    import torch
    from transformers import AutoProcessor, LlavaForConditionalGeneration

    processor, model = AutoProcessor.from_pretrained(folder), LlavaForConditionalGeneration.from_pretrained(folder)
    words = json.loads((folder / "words.json").read_text("utf-8-sig"))
    asked = "What is in this image? Answer with its name."
    content = [{"type": "image"}, {"type": "text", "text": asked}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    scores = []
    for row in _data():
        prompt = dict(processor(images=row["image"].convert("RGB"), text=text, return_tensors="pt"))
        for name in NAMES:
            answer = processor.tokenizer(words[name], add_special_tokens=False)["input_ids"]
            inputs = {key: each for key, each in prompt.items() if key not in ("input_ids", "attention_mask")}
            inputs["input_ids"] = torch.cat([prompt["input_ids"], torch.tensor([answer])], 1)
            with torch.no_grad():
                said = model.float().eval()(**inputs).logits[0].log_softmax(-1)
            first = prompt["input_ids"].shape[1] - 1
            scores.append(sum(float(said[first + k, token]) for k, token in enumerate(answer)))
    return {"agree": bool(np.allclose(np.reshape(scores, (-1, len(NAMES))), _found[folder], atol=_TOLERANCE))}


_THINGS = ("processor", "Processor", "chat template", "config", "tokenizer", "words", "model", "class of the data set")
CHAT = Format(name="chat models", make=_make, use=_use, names=_THINGS, count=_count)
_ANY = SAFE | {CHANGED}  # what is accepted agrees with a plain pass


def _any(place: str, change: str) -> frozenset[str]:
    return _ANY


def _of_words(place: str, change: str) -> frozenset[str]:
    return frozenset({REFUSED, CHANGED} if change == "a text" else {REFUSED})


_PARTS: dict[str, dict[str, Any]] = {
    _PROCESSOR: {
        "processor_class": "LlavaProcessor", "patch_size": 8, "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
    },
    _IMAGES: {
        "crop_size": {"height": 32, "width": 32}, "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True,
        "do_rescale": True, "do_resize": True, "image_mean": [0.48, 0.46, 0.41],
        "image_processor_type": "CLIPImageProcessor", "image_std": [0.27, 0.26, 0.28], "resample": 3,
        "rescale_factor": 1 / 255, "size": {"shortest_edge": 32},
    },
    _TOKENS: {
        "backend": "tokenizers", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 10**30,
        "pad_token": "<pad>", "padding_side": "left", "tokenizer_class": "TokenizersBackend", "unk_token": "<unk>",
    },
}  # fmt: skip
_ASKS = "{{ messages[0]['content'][-1]['text'] }}<image>"
_TEMPLATES: dict[str, str] = {
    "without an image": TEMPLATE.replace("IMAGE", ""),
    "without the prompt": "<image>",
    "with a part that is left open": "{% if true %}<image>",
    "with a tag that nobody knows": "{% conjure %}" + _ASKS,
    "with a name that nobody knows": "{{ conjure('x') }}" + _ASKS,
    "that raises": "{{ raise_exception('no\nimages\nhere') }}",
    "that reads a file": "{% include '/etc/hostname' %}" + _ASKS,
    "that imports": "{{ ''.__class__.__mro__[1].__subclasses__() }}" + _ASKS,
    "that divides by zero": "{{ 1 / 0 }}" + _ASKS,
    "that writes two images": "<image>" + _ASKS,
    "that writes other special tokens": "<|image_pad|><img><video>" + _ASKS,
    "with a null character": "\0" + _ASKS,
    "of 10 MB": "x" * 10**7 + _ASKS,
    "of 10 MB of comments": "{# x #}" * (10**7 // 7) + _ASKS,
    "of 100,000 images": "<image>" * 100_000 + _ASKS,
    "that counts for years": "{% for a in range(99999) %}" * 4 + "{% endfor %}" * 4 + _ASKS,
    "that counts letters for years": "{% for a in 'abcdefghijklmnopqrstuvwxyz' %}" * 15 + "{% endfor %}" * 15 + _ASKS,
    "that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}" + _ASKS,
    "with 2,000 loops in each other": "{% for a in [1] %}" * 2_000 + "{% endfor %}" * 2_000 + _ASKS,
    "with 10,000 brackets": "{{ " + "(" * 10_000 + "1" + ")" * 10_000 + " }}" + _ASKS,
    "with 5,000 lists in each other": "{{ " + "[" * 5_000 + "]" * 5_000 + " }}" + _ASKS,
}


def _writes(file: str, content: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / file).write_text(content, "utf-8")


def _template_twice(folder: Path) -> None:
    """Another template in tokenizer_config.json than in the file."""
    edited(_TOKENS, lambda content: content.update(chat_template="other " + _ASKS))(folder)


def _cut(file: str, part: int) -> Callable[[Path], Any]:
    """What bytes repeat: the file's part of an eighth, written twice."""

    def mutate(folder: Path) -> None:
        data = (folder / file).read_bytes()
        size = max(1, len(data) // 8)
        (folder / file).write_bytes(data[: size * (part + 1)] + data[size * part :])

    return mutate


_NAMED: dict[str, tuple[Any, frozenset[str]]] = {
    "with a line feed": ({**_WORDS, "x": "a\nfox"}, frozenset({CHANGED, REFUSED})),
    "with a null character": ({**_WORDS, "x": "a\0fox"}, frozenset({CHANGED, REFUSED})),
    "of 10,000 letters": ({**_WORDS, "x": "f" * 10_000}, frozenset({REFUSED})),
    "that are alike": ({**_WORDS, "x": "dog"}, frozenset({REFUSED})),
    "that begin one another": ({**_WORDS, "x": "dogs"}, frozenset({REFUSED})),
    "that are special tokens": ({**_WORDS, "x": "<image>"}, frozenset({REFUSED})),
    "of another alphabet": ({**_WORDS, "x": "狐"}, frozenset({CHANGED})),
    "of blanks": ({**_WORDS, "x": " \t"}, frozenset({REFUSED})),
    "for 100,000 classes": ({**_WORDS, **{str(k): "a" for k in range(100_000)}}, frozenset({REFUSED})),
}

CASES = [
    *((CHAT, case) for file, content in _PARTS.items() for case in json_cases(file, content, _any)),
    *((CHAT, case) for case in json_cases("words.json", _WORDS, _of_words)),
    *((CHAT, case) for case in json_text_cases("words.json")),
    *((CHAT, case) for case in place_cases("words.json")),
    *(
        (CHAT, Case(name=case.name, mutate=case.mutate, expect=_ANY))
        for file in _PARTS
        for case in (*json_text_cases(file), *place_cases(file))
    ),
    *(
        (CHAT, Case(name=case.name, mutate=case.mutate, expect=_ANY))
        for case in (*text_cases(_TEMPLATE), *place_cases(_TEMPLATE))
    ),
    *((CHAT, case) for file in (*_PARTS, _TEMPLATE) for case in bytes_cases(file, expect=_ANY, flips=12)),
    *((CHAT, case) for case in bytes_cases(_TOKENIZER, expect=_ANY, flips=12)),
    *(
        (CHAT, Case(name=f"{file} with its part {part} twice", mutate=_cut(file, part), expect=_ANY))
        for file in (*_PARTS, _TEMPLATE)
        for part in range(0, 8, 2)
    ),
    *(
        (CHAT, Case(name=f"a template {word}", mutate=_writes(_TEMPLATE, text), expect=_ANY))
        for word, text in _TEMPLATES.items()
    ),
    (CHAT, Case(name="a template twice", mutate=_template_twice, expect=_ANY)),
    *(
        (CHAT, Case(name=f"words {word}", mutate=_writes("words.json", json.dumps(words)), expect=expect))
        for word, (words, expect) in _NAMED.items()
    ),
]
EVERYDAY = ("a template of 10 MB", "a template without an image", "words that are alike")


@pytest.mark.parametrize("name", EVERYDAY)
def test_a_chat_model_that_cannot_be_asked_is_refused(campaign, name):
    kind, case = next(each for each in CASES if each[1].name == name)
    assert campaign.run(kind, case) == REFUSED


@pytest.mark.campaign
@pytest.mark.parametrize(("kind", "case"), CASES, ids=lambda part: part.name)
def test_chat_models(campaign, kind, case):
    campaign.run(kind, case)
