"""Folders of models that answer in words, one thing wrong: refused in one line, or the numbers of a plain pass."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_case import Format, Used
from tiny_chat_models import chat_model, rows

import oochub

_WORDS = {"cat": "cat", "brown_dog": "dog", "x": "fox"}


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
    said = (*made.metadata.notes, str(made.metadata.prompt), str(made.metadata.provenance.get("unexpected_weights")))
    return Used(numbers=made.logits, notes=said)


_THINGS = ("processor", "Processor", "chat template", "config", "tokenizer", "words", "model", "class of the dataset")
CHAT = Format(name="chat models", make=_make, use=_use, names=_THINGS)
