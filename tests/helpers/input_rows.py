"""Rows of every kind of input, a few of each, with a processor: what the tests of inputs share."""

import io
from typing import Any

import numpy as np
from datasets import Array3D, ClassLabel, Dataset, Features, Value
from datasets import Image as ImageFeature
from PIL import Image
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast, ViTImageProcessorPil

import oochub
from oochub.input import Input
from oochub.models.array_processor import ArrayProcessor

ROWS = 5


def photograph(width: int, height: int, seed: int = 0) -> Image.Image:
    """Noise over soft shapes: the noise shows a shift of half a pixel, the shapes a wrong crop."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8)).resize((width, height), 2)
    noise = rng.normal(0, 25, (height, width, 3))
    return Image.fromarray((np.asarray(coarse) + noise).clip(0, 255).astype(np.uint8))


def encoded(picture: Image.Image, form: str = "PNG", **options: object) -> bytes:
    """The file of a picture."""
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def tokenizer() -> Any:
    """A tokenizer that knows three words."""
    words = Tokenizer(WordLevel({"[PAD]": 0, "a": 1, "good": 2, "book": 3}, unk_token="[PAD]"))  # noqa: S106
    words.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", model_max_length=8)  # noqa: S106


EXAMPLES = {
    "arrays": (Array3D((2, 4, 4), "float32"), list(np.random.default_rng(0).normal(size=(ROWS, 2, 4, 4)))),
    "pictures": (ImageFeature(), [{"bytes": encoded(photograph(20, 16, k)), "path": None} for k in range(ROWS)]),
    "texts": (Value("string"), ["a good book", "book", "good", "a book a", "a"]),
}
"""A feature and values of the usual column of each kind. A new kind is covered when it has a line here."""


def rows_of(*names: str) -> Dataset:
    """`ROWS` rows with the usual column of these kinds."""
    features: dict[str, Any] = {"example_id": Value("string"), "label": ClassLabel(names=["no", "yes"])}
    columns: dict[str, Any] = {"example_id": [f"e{k}" for k in range(ROWS)], "label": [0, 1, 0, 1, 0]}
    for name in names:
        column = oochub.get("input", name).column
        features[column], columns[column] = EXAMPLES[name]
    return Dataset.from_dict(columns, Features(features))


def inputs_of(name: str) -> Input:
    """Of `rows_of(name)`."""
    processors = {
        "arrays": lambda: ArrayProcessor.of(rows_of("arrays"), normalize=True),
        "pictures": lambda: ViTImageProcessorPil(size={"height": 16, "width": 16}),
        "texts": tokenizer,
    }
    kind: type[Input] = oochub.get("input", name)
    return kind.of(processors[name]())
