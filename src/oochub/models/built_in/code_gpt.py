"""A causal language model of the size of CodeGPT (Lu et al. 2021), 12 layers of GPT-2, from scratch."""

from collections.abc import Mapping
from typing import Any, ClassVar

from oochub.models.built_in_model import BuiltInModel


class CodeGpt(BuiltInModel):
    """The network that WILDS trains on Py150; its vocabulary and length are those of the rows.

    WILDS starts from weights that know Python: `microsoft/CodeGPT-small-py` of the Hub, whose tokens Py150's are.

    Source: Lu et al. 2021, CodeXGLUE; WILDS 2.0.0, examples/models/code_gpt.py.
    """

    inputs: ClassVar[tuple[str, ...]] = ("token_ids",)
    config_name: ClassVar[str] = "transformers.GPT2Config"
    sizes: ClassVar[Mapping[str, Any]] = {"bos_token_id": 0, "eos_token_id": 0}
