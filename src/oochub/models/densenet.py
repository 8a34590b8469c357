"""DenseNet (Huang et al. 2017) as a model of transformers, in plain torch: its config, its layers and its head."""

from collections.abc import Mapping
from re import sub
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForImageClassification, PreTrainedConfig, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndNoAttention, ImageClassifierOutputWithNoAttention


class DenseNetConfig(PreTrainedConfig):  # type: ignore[misc]
    """The config of a DenseNet; its defaults are DenseNet-121.

    Args:
        num_channels: Bands of the images.
        embedding_size: Channels of the first layer, twice the growth rate in the paper.
        growth_rate: Channels that each layer of a block adds.
        depths: Layers of each block.
        bottleneck: Width of the 1 x 1 convolution of a layer, in growth rates.

    >>> DenseNetConfig().depths
    (6, 12, 24, 16)
    """

    model_type = "oochub_densenet"
    num_channels: int = 3
    embedding_size: int = 64
    growth_rate: int = 32
    depths: list[int] | tuple[int, ...] = (6, 12, 24, 16)
    bottleneck: int = 4

    @property
    def hidden_sizes(self) -> list[int]:
        """The channels after each block."""
        sizes, channels = [], self.embedding_size
        for number, depth in enumerate(self.depths):
            channels = (channels // 2 if number else channels) + depth * self.growth_rate
            sizes.append(channels)
        return sizes


class _Layer(nn.Module):  # type: ignore[misc]
    """Adds channels to those that it is given: BatchNorm, ReLU and a convolution, 1 x 1 and then 3 x 3."""

    def __init__(self, channels: int, config: DenseNetConfig) -> None:
        super().__init__()
        width = config.bottleneck * config.growth_rate
        self.norm1, self.conv1 = nn.BatchNorm2d(channels), nn.Conv2d(channels, width, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, config.growth_rate, 3, padding=1, bias=False)

    def forward(self, given: Tensor) -> Tensor:
        narrow = self.conv1(torch.relu(self.norm1(given)))
        return torch.cat([given, self.conv2(torch.relu(self.norm2(narrow)))], dim=1)


class _Transition(nn.Sequential):  # type: ignore[misc]
    """Halves channels and sides between two blocks."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm, self.relu = nn.BatchNorm2d(channels), nn.ReLU()
        self.conv, self.pool = nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)


class _DenseNetPreTrainedModel(PreTrainedModel):  # type: ignore[misc]
    config_class = DenseNetConfig
    base_model_prefix = "features"
    main_input_name = "pixel_values"
    input_modalities = ("image",)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, nn.Conv2d):
            init.kaiming_normal_(module.weight)
        elif isinstance(module, nn.Linear):
            init.kaiming_uniform_(module.weight, a=5**0.5)
            init.zeros_(module.bias)


class DenseNetModel(_DenseNetPreTrainedModel):
    """A DenseNet without its head; its pooled vectors are the mean over the places of the last ReLU.

    Args:
        config: A DenseNetConfig.

    >>> config = DenseNetConfig(embedding_size=8, growth_rate=4, depths=[1, 2])
    >>> DenseNetModel(config).eval()(torch.zeros(2, 3, 32, 32)).last_hidden_state.shape
    torch.Size([2, 14, 4, 4])
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.conv0 = nn.Conv2d(config.num_channels, config.embedding_size, 7, stride=2, padding=3, bias=False)
        self.norm0, self.relu0 = nn.BatchNorm2d(config.embedding_size), nn.ReLU()
        self.pool0 = nn.MaxPool2d(3, stride=2, padding=1)
        for number, (depth, after) in enumerate(zip(config.depths, config.hidden_sizes, strict=True), 1):
            before = after - depth * config.growth_rate
            layers = [_Layer(before + k * config.growth_rate, config) for k in range(depth)]
            block = nn.Sequential()
            for k, layer in enumerate(layers, 1):
                block.add_module(f"denselayer{k}", layer)
            self.add_module(f"denseblock{number}", block)
            if number < len(config.depths):
                self.add_module(f"transition{number}", _Transition(after))
        self.norm5 = nn.BatchNorm2d(config.hidden_sizes[-1])
        self.post_init()

    def forward(self, pixel_values: Tensor, **kwargs: Any) -> BaseModelOutputWithPoolingAndNoAttention:
        """The last hidden state (b, d, h, w) and its mean over places (b, d)."""
        hidden = pixel_values
        for layer in self.children():  # in the order in which they were added
            hidden = layer(hidden)
        hidden = torch.relu(hidden)
        return BaseModelOutputWithPoolingAndNoAttention(last_hidden_state=hidden, pooler_output=hidden.mean((2, 3)))


class DenseNetForImageClassification(_DenseNetPreTrainedModel):
    """A DenseNet with a linear head.

    Its weights are named as in torchvision, so files of torchvision and timm go through
    `convert_densenet_weights` alone. The Auto classes of transformers know its type, `oochub_densenet`, once this
    module is imported.

    Args:
        config: A DenseNetConfig.

    Source:
        Huang et al. 2017, Densely Connected Convolutional Networks, Section 3 and Table 1.

    >>> with torch.device("meta"):
    ...     model = DenseNetForImageClassification(DenseNetConfig(num_labels=1000))
    >>> f"{model.num_parameters():,}"
    '7,978,856'
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.features = DenseNetModel(config)
        self.classifier = nn.Linear(config.hidden_sizes[-1], config.num_labels)
        self.post_init()

    def forward(
        self, pixel_values: Tensor, labels: Tensor | None = None, **kwargs: Any
    ) -> ImageClassifierOutputWithNoAttention:
        """The logits (b, num_labels), and the loss where labels are given."""
        logits = self.classifier(self.features(pixel_values).pooler_output)
        loss = None if labels is None else self.loss_function(labels, logits, self.config)
        return ImageClassifierOutputWithNoAttention(loss=loss, logits=logits)


def convert_densenet_weights(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a DenseNet of torchvision or timm by their names here.

    torchvision's released files write `denselayer1.norm.1.weight` where its code, timm and this model write
    `denselayer1.norm1.weight`; all other names are the same.

    Args:
        state: Weights as they were read, such as by `safetensors.torch.load_file`.

    >>> list(convert_densenet_weights({"features.denseblock1.denselayer2.conv.1.weight": torch.zeros(1)}))
    ['features.denseblock1.denselayer2.conv1.weight']
    """
    return {sub(r"(denselayer\d+\.(?:norm|conv))\.(\d)\.", r"\1\2.", name): value for name, value in state.items()}


AutoConfig.register(DenseNetConfig.model_type, DenseNetConfig, exist_ok=True)
AutoModel.register(DenseNetConfig, DenseNetModel, exist_ok=True)
AutoModelForImageClassification.register(DenseNetConfig, DenseNetForImageClassification, exist_ok=True)
