"""EfficientNet-Lite (Tan and Le 2019; release of 2020) as a model of transformers; its layers are a package's."""

from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import AutoConfig, AutoModelForImageClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import ImageClassifierOutputWithNoAttention

from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.errors import check_installed

_SIDES = {"efficientnet-lite0": 224, "efficientnet-lite1": 240, "efficientnet-lite2": 260}  # pixels
_RIM = 32  # pixels by which the shorter side is longer than the square that is cut out


class EfficientNetLiteConfig(PreTrainedConfig):  # type: ignore[misc]
    """The config of an EfficientNet-Lite.

    Args:
        variant: Its name in the package, such as "efficientnet-lite0".
    """

    model_type = "oochub_efficientnet_lite"
    variant: str = "efficientnet-lite0"


class EfficientNetLiteForImageClassification(PreTrainedModel):  # type: ignore[misc]
    """The network of the package `efficientnet-lite-pytorch` as a model of transformers.

    Args:
        config: Its config.

    Raises:
        OochubError: The package is not installed.
    """

    config_class = EfficientNetLiteConfig
    base_model_prefix = "network"
    main_input_name = "pixel_values"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        check_installed("efficientnet_lite_pytorch", "photos", config.variant)
        from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-untyped]

        self.network = EfficientNet.from_name(config.variant, num_classes=config.num_labels)
        self.post_init()

    def _init_weights(self, module: torch.nn.Module) -> None:
        """Keeps what the package draws; `from_pretrained` fills in the weights of the file."""

    def forward(self, pixel_values: Tensor, **_: Any) -> ImageClassifierOutputWithNoAttention:
        """The logits of images.

        Args:
            pixel_values: Images (b, 3, h, w), each value (x - 127) / 128 of 0 to 255.
        """
        return ImageClassifierOutputWithNoAttention(logits=self.network(pixel_values))


AutoConfig.register(EfficientNetLiteConfig.model_type, EfficientNetLiteConfig)
AutoModelForImageClassification.register(EfficientNetLiteConfig, EfficientNetLiteForImageClassification)


def write_efficientnet_lite(variant: str, weights: Path, folder: Path) -> None:
    """Writes the model folder of an EfficientNet-Lite with ImageNet's weights.

    Preprocessing is that of Google's release (tensorflow/tpu, models/official/efficientnet/lite): the middle square of
    the image, its shorter side 32 pixels longer than the square, by cubic interpolation.

    Args:
        variant: Its name, such as "efficientnet-lite0".
        weights: The file of the state dict.
        folder: An empty folder.
    """
    config = EfficientNetLiteConfig(variant=variant, id2label=dict(enumerate(IMAGENET_1K_NAMES)))
    model = EfficientNetLiteForImageClassification(config).eval()
    model.network.load_state_dict(torch.load(weights, weights_only=True, map_location="cpu"))
    model.save_pretrained(folder)
    side = _SIDES[variant]
    transformers.BitImageProcessorPil(
        size={"shortest_edge": side + _RIM},
        crop_size={"height": side, "width": side},
        resample=3,
        image_mean=[127 / 255] * 3,
        image_std=[128 / 255] * 3,
    ).save_pretrained(folder)
