"""A frozen encoder with a linear layer on its vectors, as a model folder: a linear probe that can be opened again.

The answer of an encoder becomes one vector a row: a pooled output, a token, a mean, or an image embedding.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForImageClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError


def embed_images(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The image embeddings (b, d) of a model of images and texts."""
    vectors: torch.Tensor = model.get_image_features(**inputs).pooler_output
    return vectors


@contextmanager
def _disable_masking(config: Any) -> Iterator[None]:
    """A block in which a masked autoencoder masks nothing."""
    ratio = getattr(config, "mask_ratio", None)
    if ratio is None:
        yield
        return
    config.mask_ratio = 0.0
    try:
        yield
    finally:
        config.mask_ratio = ratio


FILM_TYPES = {
    "timesformer": "pixel_values",
    "videomae": "pixel_values",
    "vivit": "pixel_values",
    "videoprism_vision_model": "pixel_values_videos",
}
"""Types of models that read films, and the name of that input; an image is a film whose frames are all alike."""


def _repeat_frames(model: Any, inputs: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
    """The images of a model of films as films, (b, frames, 3, h, w); what other models read is as it was."""
    pixels, name = inputs.get("pixel_values"), FILM_TYPES.get(getattr(model.config, "model_type", ""))
    if pixels is None or name is None:
        return inputs
    frames = pixels if pixels.ndim == 5 else pixels[:, None]
    others = {other: tensor for other, tensor in inputs.items() if other != "pixel_values"}
    return {**others, name: frames[:, :1].expand(-1, model.config.num_frames, -1, -1, -1)}


def _read_field(model: Any, inputs: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
    with _disable_masking(model.config):
        output_made = model(**_repeat_frames(model, inputs))
    values = getattr(output_made, name, None)
    maps = getattr(output_made, "feature_maps", None)
    if values is None and maps and name == "last_hidden_state":  # a backbone of timm
        values = maps[-1]
    if not isinstance(values, torch.Tensor):
        raise OochubError(
            f"{type(model).__name__} gives no {name}, so it has no vectors for a linear probe"
            f"{' of this pooling. Take another, or auto.' if name == 'pooler_output' else '. Use another encoder.'}"
        )
    return values


def _read_pooler(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return _read_field(model, inputs, "pooler_output").flatten(1)


def _mean(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Over the tokens of (b, n, d), the places of (b, d, h, w)."""
    hidden = _read_field(model, inputs, "last_hidden_state")
    return hidden.mean(1) if hidden.ndim == 3 else hidden.flatten(2).mean(2) if hidden.ndim > 3 else hidden


def _read_cls(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    hidden = _read_field(model, inputs, "last_hidden_state")
    if hidden.ndim != 3:
        raise OochubError(
            f"{type(model).__name__} gives a spatial map instead of tokens, so there is no cls token. Use mean."
        )
    return hidden[:, 0]


POOLED: Mapping[str, Callable[[Any, Mapping[str, torch.Tensor]], torch.Tensor]] = {
    "pooler": _read_pooler,
    "mean": _mean,
    "cls": _read_cls,
    "embedding": embed_images,
}
"""How an encoder's answer becomes one vector a row, by name; "embedding" is that of a model of images and texts."""


class EncoderClassifierConfig(PreTrainedConfig):  # type: ignore[misc]
    """The config of an `EncoderClassifier`.

    Args:
        encoder: The config of the encoder, as `to_dict` gives it.
        pooling: How its tokens or places become a vector, a name of `POOLED`.
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
