"""A causal language model of two small layers of GPT-2, small enough to train on a CPU."""

from collections.abc import Mapping
from typing import Any, ClassVar

from oochub.models.built_in_model import BuiltInModel, measure_token_rows


class Gpt2Tiny(BuiltInModel):
    """Learns the next of tokens that the rows have as numbers; its vocabulary and length are those of the rows."""

    inputs: ClassVar[tuple[str, ...]] = ("token_ids",)
    is_default: ClassVar[bool] = True

    @classmethod
    def config(cls, said: Mapping[str, Any], *, processor: Any, dataset: Any) -> Any:
        """See `BuiltInModel.config`."""
        from transformers import GPT2Config

        return GPT2Config(
            n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0, **measure_token_rows(dataset), **said
        )
