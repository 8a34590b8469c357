"""DenseNet-121 (Huang et al. 2017) from scratch, for images or arrays of any number of bands."""

from typing import ClassVar

from oochub.models.built_in_model import BuiltInModel


class Densenet121(BuiltInModel):
    """The network that WILDS trains on Camelyon17, there from scratch; images are squeezed to 224 x 224 pixels.

    Source: Huang et al. 2017, Table 1; WILDS 2.0.0, examples/configs/datasets.py.
    """

    inputs: ClassVar[tuple[str, ...]] = ("pictures", "arrays")
    config_name: ClassVar[str] = "oochub.models.densenet.DenseNetConfig"
