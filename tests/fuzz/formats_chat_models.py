"""Folders of models that answer in words, one thing wrong: refused in one line, or the numbers of a plain pass."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_case import Format, Used
from tiny_chat_models import NAMES, chat_model, rows

import oochub

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


_THINGS = ("processor", "Processor", "chat template", "config", "tokenizer", "words", "model", "class of the dataset")
CHAT = Format(name="chat models", make=_make, use=_use, names=_THINGS, count=_count)
