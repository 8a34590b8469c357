"""DenseNet-121 (Huang et al. 2017) from scratch, for images or arrays of any number of bands."""

from collections.abc import Mapping
from typing import Any, ClassVar

from oochub.models.built_in_model import BuiltInModel


class Densenet121(BuiltInModel):
    """The network that WILDS trains on Camelyon17, there from scratch; images are squeezed to 224 x 224 pixels.

    Source: Huang et al. 2017, Table 1; WILDS 2.0.0, examples/configs/datasets.py.
    """

    inputs: ClassVar[tuple[str, ...]] = ("pictures", "arrays")

    @classmethod
    def config(cls, said: Mapping[str, Any], *, processor: Any, dataset: Any) -> Any:
        """See `BuiltInModel.config`."""
        from oochub.models.densenet import DenseNetConfig

        return DenseNetConfig(**said)
