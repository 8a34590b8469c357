"""Texts of the column `text`: tokenized by the model's tokenizer and padded to the longest of a batch."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oochub.errors import OochubError
from oochub.input import BrokenRow, Fetch, Input, InputBatch
from oochub.inputs._columns import make_noise_tokens, pad_tokens
from oochub.process.follow import follow
from oochub.remote.remote_repository import fetch_model_folder

if TYPE_CHECKING:
    import torch

_TOKENIZED_TOGETHER = 1000  # texts


class Texts(Input):
    """Texts as `input_ids` and `attention_mask`, int64 (n, longest of the batch).

    Args:
        tokenizer: Tokenizer of the model.
        max_length: Maximum number of tokens, to which longer texts are cut; None takes the tokenizer's own limit.

    Raises:
        OochubError: A tokenizer without a padding token.

    >>> from datasets import Dataset
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> from transformers import PreTrainedTokenizerFast
    >>> words = Tokenizer(models.WordLevel({"[PAD]": 0, "a": 1, "book": 2}, unk_token="[PAD]"))
    >>> words.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> texts = Texts(PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]"), max_length=5)
    >>> rows = texts.fetch(Dataset.from_dict({"text": ["a book", "a", "book"]}), None)
    >>> rows([0, 2])["input_ids"].tolist()
    [[1, 2], [2, 0]]
    """

    auto_model: ClassVar[str] = "AutoModelForSequenceClassification"
    unit: ClassVar[str] = "text"
    rank: ClassVar[int] = 1
    arguments: ClassVar[tuple[str, ...]] = ("input_ids", "attention_mask")
    column = "text"

    def __init__(self, tokenizer: Any, *, max_length: int | None = None) -> None:
        if tokenizer.pad_token_id is None:
            raise OochubError("The tokenizer has no padding token. Set one: tokenizer.pad_token = tokenizer.eos_token.")
        self.processor, self._max_length = tokenizer, max_length

    @classmethod
    def takes(cls, processor: Any) -> bool:
        """See `Input.takes`: a tokenizer of transformers."""
        from transformers import PreTrainedTokenizerBase

        return isinstance(processor, PreTrainedTokenizerBase)

    @classmethod
    def load_processor(cls, source: str | None, dataset: Any, *, training: bool = False) -> Any:
        """See `Input.load_processor`."""
        from transformers import AutoTokenizer

        if source is None:
            raise OochubError("A model object needs processor=, the tokenizer of its texts.")
        tokenizer = AutoTokenizer.from_pretrained(fetch_model_folder(source), trust_remote_code=False)
        tokenizer.name_or_path = source
        return tokenizer

    def fetch(self, dataset: Any, cache_dir: Path | None) -> Fetch:
        """See `Input.fetch`; the tokens stay in memory."""
        texts = dataset.select_columns(["text"]).with_format(None)
        tokens: list[Any] = []
        with follow(total=len(texts), desc="Tokenizing", unit="text", disable=None) as bar:
            for part in texts.iter(_TOKENIZED_TOGETHER):
                tokens += [np.asarray(ids, np.int32) for ids in self._encode_texts(part["text"])]
                bar.update(len(part["text"]))
        return partial(_pad_rows, tokens, self.processor.pad_token_id)

    def batches(
        self,
        part: Any,
        *,
        batch_size: int,
        device: "torch.device",
        zoom: float | None = None,
        broken: list[BrokenRow] | None = None,
    ) -> Iterator[InputBatch]:
        """See `Input.batches`; the texts stay among the columns."""
        for columns in part.with_format(None).iter(batch_size):
            texts = columns["text"]
            if None in texts:
                ids = columns.get("example_id", range(len(texts)))
                raise OochubError(f"split {part.split}, example {ids[texts.index(None)]}: no text. Drop the row.")
            tokens = pad_tokens([np.asarray(ids) for ids in self._encode_texts(texts)], self.processor.pad_token_id)
            yield InputBatch({name: values.to(device) for name, values in tokens.items()}, columns)

    def probe(self) -> dict[str, "torch.Tensor"]:
        """See `Input.probe`."""
        return make_noise_tokens(len(self.processor))

    def settings(self) -> dict[str, Any]:
        """See `Input.settings`: the limit, and a digest of the tokenizer's vocabulary and rules."""
        backend = getattr(self.processor, "backend_tokenizer", None)
        rules = backend.to_str() if backend is not None else json.dumps(self.processor.get_vocab(), sort_keys=True)
        digest = hashlib.sha256(rules.encode()).hexdigest()[:40]
        return {"tokenizer": {"digest": digest, "max_length": self._max_length}}

    def _encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        ids: list[list[int]] = self.processor(list(texts), truncation=True, max_length=self._max_length)["input_ids"]
        return ids


def _pad_rows(tokens: list[Any], padding: int, rows: list[int]) -> "dict[str, torch.Tensor]":
    return pad_tokens([tokens[row] for row in rows], padding)
