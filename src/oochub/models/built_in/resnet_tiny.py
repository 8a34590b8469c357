"""A ResNet of three basic blocks, 0.3 million parameters: small enough to train on a CPU."""

from collections.abc import Mapping
from typing import Any, ClassVar

from oochub.models.built_in_model import BuiltInModel


class ResnetTiny(BuiltInModel):
    """Reads whole images squeezed to 48 x 48 pixels, or arrays of any number of bands as they are."""

    inputs: ClassVar[tuple[str, ...]] = ("pictures", "arrays")
    is_default: ClassVar[bool] = True
    side: ClassVar[int] = 48
    config_name: ClassVar[str] = "transformers.ResNetConfig"
    sizes: ClassVar[Mapping[str, Any]] = {
        "embedding_size": 32,
        "hidden_sizes": [32, 64, 128],
        "depths": [1, 1, 1],
        "layer_type": "basic",
    }
