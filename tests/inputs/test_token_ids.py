"""Tokens of a data set as inputs: padded by tokens.json, which is checked."""

from typing import Any

import pytest
from datasets import Dataset, List, Value
from input_rows import ROWS

from oochub.errors import OochubError
from oochub.inputs._stored_processors import TokenProcessor
from oochub.inputs.token_ids import TokenIds


def example() -> tuple[Any, list[Any], Any]:
    """See `input_rows.example_of`."""
    return List(Value("int64")), [[7 + row] * (1 + row) for row in range(ROWS)], TokenProcessor(padding=1)


def test_rows_are_padded_to_the_longest():
    """By hand."""
    rows = Dataset.from_dict({"input_ids": [[7, 8, 9], [5], [6, 6]]})
    batch = TokenIds(TokenProcessor(padding=3)).fetch(rows, None)([1, 0])
    assert batch["input_ids"].tolist() == [[5, 3, 3], [7, 8, 9]]
    assert batch["attention_mask"].tolist() == [[1, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("text", ["", "[]", '{"padding": "0"}', '{"padding": 1.5}', "{"])
def test_a_broken_file_is_refused(text, tmp_path):
    TokenProcessor(padding=1).save_pretrained(tmp_path)
    assert TokenProcessor.from_pretrained(tmp_path) == TokenProcessor(padding=1)
    (tmp_path / "tokens.json").write_text(text)
    with pytest.raises(OochubError, match=r"tokens\.json"):
        TokenProcessor.from_pretrained(tmp_path)


def test_tokens_have_the_text_of_the_tokenizer_beside_a_model(tmp_path):
    """Two words by hand. Planted and seen: a vocabulary that changes what predictions are remembered by."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    assert TokenIds.load_processor(str(tmp_path), None) == TokenProcessor()
    words = Tokenizer(models.WordLevel({"class": 1, "def": 0}, unk_token="def"))  # noqa: S106
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(tmp_path)
    found = TokenIds.load_processor(str(tmp_path), None)
    assert found == TokenProcessor(vocabulary=("def", "class"))
    assert TokenIds(found).vocabulary == ("def", "class")
    assert TokenIds(found).settings() == TokenIds(TokenProcessor()).settings()
    found.save_pretrained(tmp_path)
    assert TokenProcessor.from_pretrained(tmp_path) == found
