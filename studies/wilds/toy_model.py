"""A small network of the family that WILDS trains on a data set, as a folder with its config and processor alone."""

import re
from pathlib import Path
from typing import Any

from oochub.errors import OochubError

_WORDS = 2_000  # of a vocabulary
_SIDE = 48  # pixels


def toy_model(train: Any, folder: Path, *, is_dense: bool = False) -> str:
    """Writes what `oochub train --no-pretrained` makes a small network of.

    Args:
        train: The training split: its columns say what the network reads.
        folder: Where config and processor go.
        is_dense: A DenseNet for pictures, as for Camelyon17 and FMoW; else a ResNet.

    Returns:
        The folder.

    Raises:
        OochubError: Rows that none of the families reads.
    """
    columns = train.column_names
    if "array" in columns:  # of an 8-band ResNet-18, with an eighth of its channels
        return _saved(_resnet([2, 2, 2, 2], num_channels=train.features["array"].shape[0]), folder)
    if "image" in columns and "boxes" in columns:
        return _saved(_yolos(), folder, _squares("YolosImageProcessor"))
    if "image" in columns:
        return _saved(_densenet() if is_dense else _resnet([1, 1, 1]), folder, _squares("ViTImageProcessorPil"))
    if "text" in columns:
        tokenizer = _tokenizer(train["text"])
        return _saved(_distilbert(len(tokenizer)), folder, tokenizer)
    if "tokens" in columns:
        return _saved(_gpt2(1 + max(map(max, train["tokens"])), len(train[0]["tokens"])), folder)
    raise OochubError(f"No family of WILDS' models reads rows of {', '.join(columns)}.")


def _saved(config: Any, folder: Path, processor: Any = None) -> str:
    config.save_pretrained(folder)
    if processor is not None:
        processor.save_pretrained(folder)
    return str(folder)


def _resnet(depths: list[int], **more: Any) -> Any:
    from transformers import ResNetConfig

    sizes = [16 * 2**k for k in range(len(depths))]
    return ResNetConfig(embedding_size=16, hidden_sizes=sizes, depths=depths, layer_type="basic", **more)


def _densenet() -> Any:
    from oochub.models.densenet import DenseNetConfig

    return DenseNetConfig(embedding_size=16, growth_rate=12, depths=[2, 2, 2])


def _yolos() -> Any:
    from transformers import YolosConfig

    width = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    return YolosConfig(image_size=[64, 64], patch_size=8, num_detection_tokens=8, **width)


def _distilbert(words: int) -> Any:
    from transformers import DistilBertConfig

    return DistilBertConfig(vocab_size=words, dim=32, hidden_dim=64, n_layers=1, n_heads=2, max_position_embeddings=128)


def _gpt2(words: int, length: int) -> Any:
    from transformers import GPT2Config

    return GPT2Config(vocab_size=words, n_positions=length, n_embd=32, n_layer=1, n_head=2)


def _squares(name: str) -> Any:
    import transformers

    return getattr(transformers, name)(size={"height": _SIDE, "width": _SIDE})


def _tokenizer(texts: Any) -> Any:
    """Of the most frequent words."""
    from collections import Counter

    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    counts = Counter(word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text))
    words = ["[PAD]", "[UNK]", *(word for word, _ in counts.most_common(_WORDS))]
    known = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106
    known.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=known,
        pad_token="[PAD]",  # noqa: S106
        unk_token="[UNK]",  # noqa: S106
        model_max_length=128,
    )
