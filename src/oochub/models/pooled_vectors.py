"""How the answer of an encoder becomes one vector a row: a pooled output, a token, a mean, an image embedding."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

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
    others = {other: each for other, each in inputs.items() if other != "pixel_values"}
    return {**others, name: frames[:, :1].expand(-1, model.config.num_frames, -1, -1, -1)}


def _read_field(model: Any, inputs: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
    with _disable_masking(model.config):
        made = model(**_repeat_frames(model, inputs))
    values = getattr(made, name, None)
    maps = getattr(made, "feature_maps", None)
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
