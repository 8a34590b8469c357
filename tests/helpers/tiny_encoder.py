"""A real sentence-transformers model that is made offline in no time: the mean of a vector for each word it knows."""

import re
from pathlib import Path

import numpy as np
import pytest

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.toy_worlds import toy_coco

_DIMENSIONS = 32


def tiny_encoder(folder: Path, *, seed: int = 0) -> str:
    """Writes the encoder into `folder` and returns its path; the same seed gives the same encoder.

    It knows the words of the toy world's captions; all others share one vector. So captions that name other objects
    or other places lie apart, and the order of words does not matter.
    """
    SentenceTransformer = pytest.importorskip("sentence_transformers").SentenceTransformer
    try:
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    except ModuleNotFoundError:  # its place before 5.4
        from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    templates = (*toy_coco._PLACES.values(), *toy_coco._WITH_OBJECT, *toy_coco._WITHOUT_OBJECT, *CATEGORY_IDS)
    words = sorted(set(re.findall(r"[a-z]+", " ".join(templates).lower())) | {"an", "and"})
    numbers = {word: number for number, word in enumerate(["unknown", *words])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="unknown"))  # noqa: S106
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(".", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    weights = np.random.default_rng(seed).standard_normal((1 + len(words), _DIMENSIONS)).astype(np.float32)
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu").save(str(folder))
    return str(folder)
