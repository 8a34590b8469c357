"""Rows of every kind of input, a few of each, with a processor: what the tests of inputs share."""

import io
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from PIL import Image
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast

import oochub
from oochub.input import Input

ROWS = 5


def photograph(width: int, height: int, seed: int = 0) -> Image.Image:
    """Noise over soft shapes: the noise shows a shift of half a pixel, the shapes a wrong crop."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8)).resize((width, height), 2)
    noise = rng.normal(0, 25, (height, width, 3))
    return Image.fromarray((np.asarray(coarse) + noise).clip(0, 255).astype(np.uint8))


def encoded(picture: Image.Image, form: str = "PNG", **options: object) -> bytes:
    """The file of an image."""
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def tokenizer() -> Any:
    """A tokenizer that knows three words."""
    words = Tokenizer(WordLevel({"[PAD]": 0, "a": 1, "good": 2, "book": 3}, unk_token="[PAD]"))  # noqa: S106
    words.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", model_max_length=8)  # noqa: S106


def example_of(name: str) -> tuple[Any, list[Any], Any]:
    """What the test file of a kind of input says it is tried with: `ROWS` rows as (feature, values), and a processor.

    The file is `tests/inputs/test_<kind>.py`, and its function `example()`.
    """
    try:
        example: tuple[Any, list[Any], Any] = import_module(f"test_{name}").example()
    except (ModuleNotFoundError, AttributeError) as error:
        pytest.fail(
            f"The contract tests need a few rows of the kind of input {name!r}: write tests/inputs/test_{name}.py with "
            f"a function example() that returns (feature, {ROWS} values, processor). {error}"
        )
    return example


def rows_of(*names: str) -> Dataset:
    """`ROWS` rows with the usual column of these kinds."""
    features: dict[str, Any] = {"example_id": Value("string"), "label": ClassLabel(names=["no", "yes"])}
    columns: dict[str, Any] = {"example_id": [f"e{k}" for k in range(ROWS)], "label": [0, 1, 0, 1, 0]}
    for name in names:
        column = oochub.get("input", name).column
        features[column], columns[column], _ = example_of(name)
    return Dataset.from_dict(columns, Features(features))


def inputs_of(name: str) -> Input:
    """Of `rows_of(name)`."""
    kind: type[Input] = oochub.get("input", name)
    return kind.of(example_of(name)[2])
