"""Texts: tokens and padding against the tokenizer itself; a row without text is named."""

from typing import Any

import pytest
import torch
from datasets import Dataset, Value
from input_rows import inputs_of, rows_of, tokenizer
from transformers import PreTrainedTokenizerFast

from oochub.errors import OochubError
from oochub.inputs.texts import Texts

CPU = torch.device("cpu")


def example() -> tuple[Any, list[Any], Any]:
    """See `input_rows.example_of`."""
    return Value("string"), ["a good book", "book", "good", "a book a", "a"], tokenizer()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_equals_the_tokenizer(size: int) -> None:
    """Planted faults seen: padded to the longest of all rows; the mask of the first text for all."""
    data = rows_of("texts")
    batches = Texts(tokenizer()).batches(data, batch_size=size, device=CPU)
    for start, batch in zip(range(0, len(data), size), batches, strict=True):
        texts = data["text"][start : start + size]
        expected = tokenizer()(texts, padding=True, truncation=True, return_tensors="pt")
        assert set(batch.inputs) == {"input_ids", "attention_mask"} and batch.columns["text"] == texts
        for name, values in batch.inputs.items():
            assert torch.equal(values, expected[name])


def test_long_texts_are_cut() -> None:
    """At the tokenizer's limit of 8, or at max_length; the settings say which."""
    data = Dataset.from_dict({"text": ["a " * 20]})
    for limit, length in ((None, 8), (3, 3)):
        texts = Texts(tokenizer(), max_length=limit)
        (batch,) = texts.batches(data, batch_size=1, device=CPU)
        assert batch.inputs["input_ids"].shape == (1, length)
        assert texts.settings()["tokenizer"]["max_length"] == limit


def test_a_tokenizer_without_padding_is_refused() -> None:
    with pytest.raises(OochubError, match=r"no padding token\. Set one"):
        Texts(PreTrainedTokenizerFast(tokenizer_object=tokenizer().backend_tokenizer))


def test_a_row_without_text_is_named() -> None:
    data = Dataset.from_dict({"example_id": ["x", "y"], "text": ["a book", None]})
    with pytest.raises(OochubError, match="example y: no text"):
        list(inputs_of("texts").batches(data, batch_size=2, device=CPU))
