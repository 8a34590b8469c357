"""The work of `--contexts captions` that `scale.py` measures: the captioner's, the encoder's, and our own."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from context_slopes import rows_of, small_pictures
from images import jpeg
from slope import Slope

import oochub
from oochub.builders.sources.sentence_embeddings import image_embeddings
from oochub.context_finding.context_columns import make_way
from oochub.context_finding.measure_images import measure_images

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

_CAPTIONS, _WORDS, _VOCABULARY = 5, 10, 2000


def _tokenizer(words: list[str], **names: str) -> Any:
    import transformers as hf
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def _captioner(folder: Path, *, is_short: bool) -> Path:
    """ViT-B/16 and GPT-2 with cross-attention, as nlpconnect/vit-gpt2-image-captioning is, with random weights."""
    import torch
    import transformers as hf

    torch.manual_seed(0)
    layers = {"num_hidden_layers": 1} if is_short else {}
    tokens = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        hf.ViTConfig(**layers), hf.GPT2Config(**({"n_layer": 1} if is_short else {}), **tokens),
        decoder_start_token_id=1, **tokens,
    )  # fmt: skip
    hf.VisionEncoderDecoderModel(config).eval().save_pretrained(folder)
    hf.ViTImageProcessorPil(size={"height": 224, "width": 224}).save_pretrained(folder)
    words = ["[PAD]", "[BOS]", "[EOS]", *(f"w{number}" for number in range(3, 50_257))]
    _tokenizer(words, pad_token="[PAD]", bos_token="[BOS]", eos_token="[EOS]").save_pretrained(folder)  # noqa: S106
    return folder


def _encoder(folder: Path, *, is_short: bool) -> Path:
    """DistilRoBERTa, as stsb-distilroberta-base-v2 is, with random weights."""
    import torch
    import transformers as hf
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    torch.manual_seed(0)
    config = hf.RobertaConfig(vocab_size=50_265, num_hidden_layers=1 if is_short else 6, max_position_embeddings=514)
    hf.RobertaModel(config).save_pretrained(folder / "words")
    words = ["<unk>", "<pad>", *(f"w{number}" for number in range(2, 50_265))]
    _tokenizer(words, unk_token="<unk>", pad_token="<pad>").save_pretrained(folder / "words")  # noqa: S106
    network = Transformer(str(folder / "words"))
    SentenceTransformer(modules=[network, Pooling(768)], device="cpu").save(str(folder / "whole"))
    return folder / "whole"


_rng = np.random.default_rng()  # others in each run: what was encoded once is kept


def _said(rows: int) -> list[list[str]]:
    """Drawn captions, others in each call: words by Zipf's law."""
    chance = 1 / np.arange(1, _VOCABULARY + 1)
    numbers = _rng.choice(_VOCABULARY, (rows, _CAPTIONS, _WORDS), p=chance / chance.sum())
    return [[" ".join(f"w{number}" for number in one) for one in row] for row in numbers.tolist()]


def caption_work(is_short: bool) -> Iterator[Slope]:
    """An image captioned by a captioner of full size and by a tiny one, a row named, its captions encoded."""
    from tiny_captioners import folder as tiny_captioner
    from tiny_encoder import tiny_encoder

    files = [jpeg(seed) for seed in range(16)]
    with tempfile.TemporaryDirectory() as place:
        full = make_way("captions", {"model": _captioner(Path(place) / "full", is_short=is_short), "encoder": "none"})
        encoder = tiny_encoder(Path(place) / "encoder")
        tiny = tiny_captioner(Path(place) / "tiny", "vision-encoder-decoder")
        small, drawn = (make_way("captions", {"model": tiny, "encoder": encoder}) for _ in range(2))
        full._encoder = encoder  # measuring needs one that opens, and no more of it
        drawn.measures = lambda pictures: pa.table({"captions": _said(len(pictures))})

        def measure(way: Any, rows: int) -> partial[object]:
            return partial(measure_images, rows_of(files, rows), way, split="train", cache=False)

        words = f"{_CAPTIONS} captions of up to 16 tokens an image"
        what = f"measure a JPEG of 500 x 375 by captions, a ViT-B/16 with GPT-2, {words}"
        yield Slope("measure_captions", what, "image", (1, 2) if is_short else (2, 8), partial(measure, full))
        what = f"the same by a captioner of one narrow layer, {words}"
        yield Slope("measure_captions_tiny", what, "image", (1, 2) if is_short else (10, 40), partial(measure, small))

        def name_rows(rows: int) -> partial[object]:
            return partial(oochub.contexts, small_pictures(rows), by=drawn, cache=False)

        what = "read, name and join a row by captions, its captions drawn, an encoder of a vector a word"
        yield Slope("name_captions", what, "row", (100, 200) if is_short else (1_000, 5_000), name_rows)
        whole = str(_encoder(Path(place) / "sentences", is_short=is_short))

        def encode(rows: int) -> Callable[[], object]:
            return lambda: image_embeddings(dict(enumerate(_said(rows))), encoder=whole)

        what = f"encode the {_CAPTIONS} captions of a row, a DistilRoBERTa, ten words each"
        yield Slope("encode_captions", what, "row", (2, 4) if is_short else (40, 240), encode)
