"""A causal language model of two small layers of GPT-2, small enough to train on a CPU."""

from collections.abc import Mapping
from typing import Any, ClassVar

from oochub.models.built_in_model import BuiltInModel


class Gpt2Tiny(BuiltInModel):
    """Learns the next of tokens that the rows have as numbers; its vocabulary and length are those of the rows."""

    inputs: ClassVar[tuple[str, ...]] = ("token_ids",)
    is_default: ClassVar[bool] = True
    config_name: ClassVar[str] = "transformers.GPT2Config"
    sizes: ClassVar[Mapping[str, Any]] = {"n_embd": 64, "n_layer": 2, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0}
