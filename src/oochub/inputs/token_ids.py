"""Tokens that the data set has as numbers, in the column `input_ids`, padded to the longest row of a batch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.inputs._columns import ArrowColumn, make_noise_tokens, pad_tokens
from oochub.inputs._stored_processors import TokenProcessor
from oochub.records.schema import to_json
from oochub.remote.remote_repository import fetch_model_folder

if TYPE_CHECKING:
    import torch

_TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "tokenizer.model")


class TokenIds(ArrowColumn):
    """Numbers of tokens as `input_ids` and `attention_mask`, int64 (n, longest of the batch), for a causal model.

    Args:
        processor: Processor of the model.

    >>> from datasets import Dataset
    >>> rows = Dataset.from_dict({"input_ids": [[7, 8], [9]]})
    >>> TokenIds(TokenProcessor()).fetch(rows, None)([1, 0])["input_ids"].tolist()
    [[9, 0], [7, 8]]
    """

    auto_model: ClassVar[str] = "AutoModelForCausalLM"
    unit: ClassVar[str] = "file"
    rank: ClassVar[int] = 3
    arguments: ClassVar[tuple[str, ...]] = ("input_ids", "attention_mask")
    processor_type: ClassVar[type] = TokenProcessor
    column = "input_ids"

    def __init__(self, processor: TokenProcessor) -> None:
        self.processor, self.vocabulary = processor, processor.vocabulary

    @classmethod
    def load_processor(cls, source: str | None, dataset: Any, *, training: bool = False) -> TokenProcessor:
        """See `Input.load_processor`.

        A model without `tokens.json` pads with 0, which it does not look at; its tokens are named by its tokenizer, if
        it has one.
        """
        if source is None:
            return TokenProcessor()
        try:
            return TokenProcessor.from_pretrained(source)
        except OSError:  # a model that was trained elsewhere
            return TokenProcessor(vocabulary=_read_vocabulary(source))

    def tensors(self, table: pa.Table, names: Sequence[str]) -> "dict[str, torch.Tensor]":
        """See `ArrowColumn.tensors`."""
        return pad_tokens(_read_rows(table, names), self.processor.padding)

    def probe(self) -> dict[str, "torch.Tensor"]:
        """See `Input.probe`; made of the first two tokens, which every vocabulary has."""
        return make_noise_tokens(2)

    def settings(self) -> dict[str, Any]:
        """See `Input.settings`: the record of `tokens.json`, less the vocabulary."""
        return {"token_processor": to_json(replace(self.processor, vocabulary=()))}


def _read_vocabulary(source: str) -> tuple[str, ...]:
    """The text of each token of the tokenizer beside a model; none without one."""
    from transformers import AutoTokenizer

    folder = Path(fetch_model_folder(source))
    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        return ()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError):  # files of something else: the model does without them
        return ()
    return tuple(tokenizer.decode([number]) for number in range(len(tokenizer)))


def _read_rows(table: pa.Table, names: Sequence[str]) -> list[NDArray[np.int64]]:
    """The tokens of each row."""
    column = table.column("input_ids").combine_chunks()
    if not pa.types.is_integer(getattr(column.type, "value_type", pa.null())):
        raise OochubError(f"The column 'input_ids' must hold lists of numbers of tokens, got {column.type}.")
    rows = []
    for name, row in zip(names, column, strict=True):
        values = row.values
        if values is None or not len(values) or values.null_count:
            raise OochubError(f"{name}: input_ids are missing, or one of them is. Drop the row.")
        rows.append(values.to_numpy().astype(np.int64))
        if rows[-1].min() < 0:
            raise OochubError(f"{name}: input_ids must be token ids, 0 or more, got {rows[-1].min()}.")
    return rows
