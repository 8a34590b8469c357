"""A frozen encoder with a linear layer on its vectors, as a model folder: a linear probe that can be opened again."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForImageClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.models.pooled_vectors import POOLED


class EncoderClassifierConfig(PreTrainedConfig):  # type: ignore[misc]
    """The config of an `EncoderClassifier`.

    Args:
        encoder: The config of the encoder, as `to_dict` gives it.
        pooling: How its tokens or places become a vector, a name of `oochub.models.pooled_vectors.POOLED`.
        width: Length of the vectors.
    """

    model_type = "oochub_encoder_classifier"

    def __init__(
        self, encoder: Mapping[str, Any] | None = None, pooling: str = "pooler", width: int = 1, **others: Any
    ) -> None:
        super().__init__(**others)
        self.encoder, self.pooling, self.width = dict(encoder or {}), pooling, width


class EncoderClassifier(PreTrainedModel):  # type: ignore[misc]
    """A linear layer on the vectors of an encoder for which transformers has no classifier with the same vectors.

    The Auto classes of transformers know the type once this module is imported, and refuse its folder before; every
    command of oochub opens it.

    Args:
        config: An `EncoderClassifierConfig`.

    >>> from transformers import ViTConfig
    >>> small = ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=32)
    >>> config = EncoderClassifierConfig(encoder=small.to_dict(), pooling="mean", width=8, num_labels=3)
    >>> EncoderClassifier(config)(pixel_values=torch.zeros(2, 3, 32, 32)).logits.shape
    torch.Size([2, 3])
    """

    config_class = EncoderClassifierConfig
    main_input_name = "pixel_values"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        own = dict(config.encoder)
        self.encoder = AutoModel.from_config(AutoConfig.for_model(own.pop("model_type", ""), **own))
        self.head = nn.Linear(config.width, config.num_labels)
        self.post_init()

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """The logits (b, c) of a batch."""
        return ImageClassifierOutput(logits=self.head(POOLED[self.config.pooling](self.encoder, inputs).float()))


AutoConfig.register(EncoderClassifierConfig.model_type, EncoderClassifierConfig, exist_ok=True)
AutoModelForImageClassification.register(EncoderClassifierConfig, EncoderClassifier, exist_ok=True)
