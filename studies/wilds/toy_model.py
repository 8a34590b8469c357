"""A small network of the family that WILDS trains on a data set, as a folder with its config and processor alone."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oochub.builders.toy_worlds._words import VOCABULARY
from oochub.errors import OochubError
from oochub.inputs._stored_processors import TokenProcessor

_WORDS = 2_000  # of a vocabulary
_TOKENS = 128  # of a text
_SIDE = 48  # pixels
_SPREAD = 0.15  # of the first weights: at 32 channels the 0.02 of large models hardly begins to learn
_RESNET = {"model_type": "resnet", "embedding_size": 16, "layer_type": "basic"}
_DENSENET = {"model_type": "oochub_densenet", "embedding_size": 16, "growth_rate": 12, "depths": [2, 2, 2]}
_GIN = {"model_type": "oochub_gin", "hidden_size": 32, "num_layers": 3, "dropout": 0.0}
_GPT2 = {"model_type": "gpt2", "n_embd": 32, "n_layer": 1, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0}
_GPT2 |= {"initializer_range": _SPREAD, "tie_word_embeddings": False}
_DISTILBERT = {"model_type": "distilbert", "dim": 32, "hidden_dim": 64, "n_layers": 1, "n_heads": 2}
_YOLOS = {
    "model_type": "yolos",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": [_SIDE, _SIDE],
    "patch_size": 8,
    "num_detection_tokens": 10,
    "initializer_range": _SPREAD,
}


def toy_model(train: Any, folder: Path, *, is_dense: bool = False) -> None:
    """Writes what `oochub train --no-pretrained` makes a small network of.

    Args:
        train: The training split: its columns say what the network reads.
        folder: Folder that config and processor are written to.
        is_dense: A DenseNet for images, as for Camelyon17 and FMoW; else a ResNet.

    Raises:
        OochubError: Rows that none of the families reads.
    """
    columns = train.column_names
    if "array" in columns:  # of PovertyMap's 8-band ResNet-18, with a quarter of its channels
        sizes = {"hidden_sizes": [16, 32, 64, 128], "depths": [2, 2, 2, 2]}
        config = {**_RESNET, **sizes, "num_channels": train.features["array"].shape[0]}
    elif "image" in columns and "boxes" in columns:
        config = _YOLOS
        _draw_squares("YolosImageProcessorPil").save_pretrained(folder)
    elif "image" in columns:
        config = _DENSENET if is_dense else {**_RESNET, "hidden_sizes": [16, 32, 64], "depths": [1, 1, 1]}
        _draw_squares("ViTImageProcessorPil").save_pretrained(folder)
    elif "text" in columns:
        tokenizer = _make_tokenizer(train["text"])
        config = {**_DISTILBERT, "vocab_size": len(tokenizer), "max_position_embeddings": _TOKENS}
        tokenizer.save_pretrained(folder)
    elif "graph" in columns:
        config = _GIN
    elif "tokens" in columns:
        tokens = train["tokens"][:]
        TokenProcessor(vocabulary=VOCABULARY).save_pretrained(folder)
        config = {**_GPT2, "vocab_size": 1 + max(map(max, tokens)), "n_positions": max(map(len, tokens))}
    else:
        raise OochubError(f"No family of WILDS' models reads rows of {', '.join(columns)}.")
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


def _draw_squares(name: str) -> Any:
    import transformers

    return getattr(transformers, name)(size={"height": _SIDE, "width": _SIDE})


def _make_tokenizer(texts: Iterable[str]) -> Any:
    """A tokenizer of the most frequent words."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    counts = Counter(word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text))
    words = ["[PAD]", "[UNK]", *(word for word, _ in counts.most_common(_WORDS))]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.pre_tokenizer = Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=_TOKENS, **special)
