"""A graph isomorphism network with a virtual node, five rounds of 300 numbers a node, from scratch."""

from typing import ClassVar

from oochub.models.built_in_model import BuiltInModel


class GinVirtual(BuiltInModel):
    """The network that WILDS trains on the molecules of OGB-MolPCBA, for graphs of any numbers.

    Source: Xu et al. 2019; Hu et al. 2020, Open Graph Benchmark; WILDS 2.0.0, examples/models/gnn.py.
    """

    inputs: ClassVar[tuple[str, ...]] = ("graphs",)
    is_default: ClassVar[bool] = True
    config_name: ClassVar[str] = "oochub.models.gin.GinConfig"
