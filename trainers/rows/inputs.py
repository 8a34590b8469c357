"""What a model is called with: pictures as normalized pixels, or texts as tokens, from a data set's rows."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from oochub.errors import OochubError
from oochub.models.images import Pictures, uint8_cache
from oochub.models.preprocessing import Normalizer, Preprocessing
from oochub.trainers.rows.augmentation import augmentation

Fetch = Callable[[list[int]], dict[str, Tensor] | OochubError]
"""Rows by their numbers, as a batch that travels to the device, or what is wrong with one of them."""

_TOKENIZED_TOGETHER = 1000  # texts


class Inputs(Protocol):
    """How the rows of a data set become the inputs of a model.

    Attributes:
        column: The column that it reads.
        processor: What is saved beside the model: an image processor or a tokenizer.
    """

    column: str
    processor: Any

    def fetch(self, dataset: Any, cache_dir: Path | None) -> Fetch:
        """What reads the rows of a data set; with a folder, what is slow is done once and kept there."""

    def ready(self, batch: Mapping[str, Tensor], *, augment: str, generator: torch.Generator) -> dict[str, Tensor]:
        """The inputs of the model from a fetched batch, on its device."""

    def probe(self) -> dict[str, Tensor]:
        """Inputs of two rows of noise, to look at a model with."""

    def settings(self) -> dict[str, Any]:
        """What the inputs depend on, JSON types only."""


class PictureInputs:
    """Pictures of the column `image`, decoded and resized as the image processor says, augmented, normalized.

    Args:
        image_processor: Of the model.

    Raises:
        OochubError: A processor that does something else than resize, crop, scale and normalize.

    >>> from oochub.trainers.backbone import backbone
    >>> PictureInputs(backbone("resnet-tiny", class_names=["cat", "dog"])[1]).probe()["pixel_values"].shape
    torch.Size([2, 3, 48, 48])
    """

    column = "image"

    def __init__(self, image_processor: Any) -> None:
        self.processor = image_processor
        self._preprocessing = Preprocessing.from_processor(image_processor)
        self._normalize = Normalizer(self._preprocessing)

    def fetch(self, dataset: Any, cache_dir: Path | None) -> Fetch:
        """See `Inputs.fetch`; with a folder, all pictures are decoded once into a memory-mapped file in it."""
        if cache_dir is not None:
            return _Cached(uint8_cache(dataset, self._preprocessing, cache_dir=cache_dir))
        present = [name for name in ("example_id", "image") if name in dataset.column_names]
        return _Decoded(Pictures(dataset.select_columns(present), self._preprocessing))

    def ready(self, batch: Mapping[str, Tensor], *, augment: str, generator: torch.Generator) -> dict[str, Tensor]:
        """`pixel_values` float32 (n, 3, height, width), in memory that the next call uses again."""
        return {"pixel_values": self._normalize(augmentation(batch["pixels"], augment, generator=generator))}

    def probe(self) -> dict[str, Tensor]:
        """See `Inputs.probe`."""
        return {
            "pixel_values": torch.randn(2, 3, *self._preprocessing.size, generator=torch.Generator().manual_seed(0))
        }

    def settings(self) -> dict[str, Any]:
        """The image processor's own record."""
        return {"image_processor": json.loads(self.processor.to_json_string())}


class TextInputs:
    """Texts of the column `text`, tokenized once, padded to the longest of a batch.

    Args:
        tokenizer: Of the model.
        max_length: Longer texts are cut to so many tokens; None takes the tokenizer's own limit.

    Raises:
        OochubError: A tokenizer without a padding token.

    >>> from datasets import Dataset
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> from transformers import PreTrainedTokenizerFast
    >>> words = Tokenizer(models.WordLevel({"[PAD]": 0, "a": 1, "book": 2}, unk_token="[PAD]"))
    >>> words.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> inputs = TextInputs(PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]"), max_length=5)
    >>> rows = inputs.fetch(Dataset.from_dict({"text": ["a book", "a", "book"]}), None)
    >>> rows([0, 2])["input_ids"].tolist()
    [[1, 2], [2, 0]]
    """

    column = "text"

    def __init__(self, tokenizer: Any, *, max_length: int | None = None) -> None:
        if tokenizer.pad_token_id is None:
            raise OochubError("The tokenizer has no padding token. Set one: tokenizer.pad_token = tokenizer.eos_token.")
        self.processor, self._max_length = tokenizer, max_length

    def fetch(self, dataset: Any, cache_dir: Path | None) -> Fetch:
        """See `Inputs.fetch`; the tokens stay in memory."""
        texts = dataset.select_columns(["text"]).with_format(None)
        tokens: list[Any] = []
        with tqdm(total=len(texts), desc="Tokenizing", unit="text", disable=None) as bar:
            for part in texts.iter(_TOKENIZED_TOGETHER):
                found = self.processor(part["text"], truncation=True, max_length=self._max_length)["input_ids"]
                tokens += [np.asarray(one, np.int32) for one in found]
                bar.update(len(found))
        return _Tokenized(tokens, self.processor.pad_token_id)

    def ready(self, batch: Mapping[str, Tensor], *, augment: str, generator: torch.Generator) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask`, int64 (n, longest)."""
        return {name: batch[name] for name in ("input_ids", "attention_mask")}

    def probe(self) -> dict[str, Tensor]:
        """See `Inputs.probe`."""
        ids = torch.randint(len(self.processor), (2, 8), generator=torch.Generator().manual_seed(0))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def settings(self) -> dict[str, Any]:
        """The limit, and digests of the tokenizer's vocabulary and rules."""
        backend = getattr(self.processor, "backend_tokenizer", None)
        rules = backend.to_str() if backend is not None else json.dumps(self.processor.get_vocab(), sort_keys=True)
        digest = hashlib.sha256(rules.encode()).hexdigest()[:40]
        return {"tokenizer": {"digest": digest, "max_length": self._max_length}}


class _Cached:
    def __init__(self, pixels: Any) -> None:
        self._pixels = pixels

    def __call__(self, rows: list[int]) -> dict[str, Tensor]:
        return {"pixels": torch.from_numpy(self._pixels[rows])}


class _Decoded:
    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures

    def __call__(self, rows: list[int]) -> dict[str, Tensor] | OochubError:
        batch = self._pictures[rows]
        return batch if isinstance(batch, OochubError) else {"pixels": batch.pixels}


class _Tokenized:
    def __init__(self, tokens: list[Any], padding: int) -> None:
        self._tokens, self._padding = tokens, padding

    def __call__(self, rows: list[int]) -> dict[str, Tensor]:
        found = [self._tokens[row] for row in rows]
        ids = torch.full((len(found), max(map(len, found))), self._padding, dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for place, one in enumerate(found):
            ids[place, : len(one)] = torch.from_numpy(one)
            mask[place, : len(one)] = 1
        return {"input_ids": ids, "attention_mask": mask}
