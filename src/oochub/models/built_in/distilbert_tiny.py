"""A DistilBERT of two small layers, with a tokenizer of the most frequent words: small enough for a CPU."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from oochub.input import Input
from oochub.models.built_in_model import BuiltInModel

_WORDS = 20_000
_LENGTH = 128  # tokens of a text that are read
_READ_TOGETHER = 1024  # texts


class DistilbertTiny(BuiltInModel):
    """Reads the first 128 words of a text, in lower case; the 20,000 most frequent of training have a token each.

    WILDS trains `distilbert/distilbert-base-uncased` of the Hub, which knows English.
    """

    inputs: ClassVar[tuple[str, ...]] = ("texts",)
    is_default: ClassVar[bool] = True

    @classmethod
    def config(cls, said: Mapping[str, Any], *, processor: Any, dataset: Any) -> Any:
        """See `BuiltInModel.config`."""
        from transformers import DistilBertConfig

        words = {"vocab_size": len(processor), "max_position_embeddings": _LENGTH}
        return DistilBertConfig(dim=128, hidden_dim=256, n_layers=2, n_heads=2, pad_token_id=0, **words, **said)

    @classmethod
    def processor(cls, kind: type[Input], dataset: Any, *, image_size: int | None = None) -> Any:
        """See `BuiltInModel.processor`: words and marks, the more frequent first."""
        from tokenizers import Tokenizer
        from tokenizers.models import WordLevel
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer
        from tokenizers.trainers import WordLevelTrainer
        from transformers import PreTrainedTokenizerFast

        special = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
        tokenizer = Tokenizer(WordLevel(unk_token=special["unk_token"]))
        tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
        trainer = WordLevelTrainer(vocab_size=_WORDS, special_tokens=[*special.values()], show_progress=False)
        tokenizer.train_from_iterator(_iterate_texts(dataset), trainer)
        return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=_LENGTH, **special)


def _iterate_texts(dataset: Any) -> Iterator[list[str]]:
    for part in dataset.select_columns(["text"]).with_format(None).iter(_READ_TOGETHER):
        yield [text for text in part["text"] if text]
