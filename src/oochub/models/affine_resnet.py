"""A ResNet with a learned scale and shift of every channel after each of its blocks."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForImageClassification,
    ResNetConfig,
    ResNetForImageClassification,
)

from oochub.errors import OochubError


class AffineResNetConfig(ResNetConfig):  # type: ignore[misc]
    """The config of an `AffineResNetForImageClassification`: that of the ResNet under another name."""

    model_type = "oochub_affine_resnet"


class AffineResNetForImageClassification(ResNetForImageClassification):  # type: ignore[misc]
    """A ResNet of transformers whose blocks end with weight x channel + bias, after the residual sum and its ReLU.

    The "adaptive parameters" of NOOCH (Appendix A): "learning affine transformations after each ResNet block". The
    paper does not say whether they see the context, which is unknown at test time; here they do not. No plain ResNet
    computes the same: the next block adds its input to a convolution of it, so neither the scale nor the shift can be
    moved into other weights. So the model has a type of its own, `oochub_affine_resnet`. The Auto classes of
    transformers know it once this module is imported, and refuse its folder before.

    Args:
        config: Config of any ResNet.

    >>> config = AffineResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], layer_type="basic")
    >>> model = AffineResNetForImageClassification(config)
    >>> sum("activation.1.weight" in name for name in model.state_dict())  # one a block
    3
    """

    config_class = AffineResNetConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        for stage, channels in zip(self.resnet.encoder.stages, config.hidden_sizes, strict=True):
            for block in stage.layers:
                block.activation = nn.Sequential(block.activation, _Affine(channels))


def add_affine(model: Any) -> Any:
    """The same network with scales of 1 and shifts of 0 after its blocks: it says what it said before, bit for bit.

    Args:
        model: A `ResNetForImageClassification`; it is not changed.

    Returns:
        An AffineResNetForImageClassification; a model that is one already, as it is.

    Raises:
        OochubError: Another architecture, or a ResNet whose layers are not those of its config.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    >>> model, pixels = ResNetForImageClassification(config).eval(), torch.randn(2, 3, 32, 32)
    >>> torch.equal(add_affine(model).eval()(pixels).logits, model(pixels).logits)
    True
    """
    if isinstance(model, AffineResNetForImageClassification):
        return model
    if type(model) is not ResNetForImageClassification:
        raise OochubError(
            "affine_after_blocks is for a ResNet of transformers (ResNetForImageClassification), got "
            f"{type(model).__name__}. Use one, for example model='microsoft/resnet-50', or remove it."
        )
    given = {name: value for name, value in model.config.to_dict().items() if name != "model_type"}
    config = AffineResNetConfig(**given)
    config._name_or_path = getattr(model.config, "_name_or_path", "")
    with torch.random.fork_rng(devices=[]):
        affine = AffineResNetForImageClassification(config)
    missing, unknown = affine.load_state_dict(model.state_dict(), strict=False)
    if unknown or any(".activation.1." not in name for name in missing):
        raise OochubError(
            "affine_after_blocks is for a ResNet as its config makes it, but this one has other layers. Remove it."
        )
    like = next(model.parameters())
    return affine.to(device=like.device, dtype=like.dtype).train(model.training)


class _Affine(nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, hidden_state: Tensor) -> Tensor:
        return hidden_state * self.weight[:, None, None] + self.bias[:, None, None]


AutoConfig.register(AffineResNetConfig.model_type, AffineResNetConfig, exist_ok=True)
AutoModelForImageClassification.register(AffineResNetConfig, AffineResNetForImageClassification, exist_ok=True)
