"""ResNet-18 (He et al. 2016) from scratch, for images or arrays of any number of bands."""

from collections.abc import Mapping
from typing import Any, ClassVar

from oochub.models.built_in_model import BuiltInModel


class Resnet18(BuiltInModel):
    """The network that WILDS trains on the 8 bands of PovertyMap; images are squeezed to 224 x 224 pixels.

    Source: He et al. 2016, Table 1; WILDS 2.0.0, examples/configs/datasets.py.
    """

    inputs: ClassVar[tuple[str, ...]] = ("pictures", "arrays")
    config_name: ClassVar[str] = "transformers.ResNetConfig"
    sizes: ClassVar[Mapping[str, Any]] = {
        "hidden_sizes": [64, 128, 256, 512],
        "depths": [2, 2, 2, 2],
        "layer_type": "basic",
    }
