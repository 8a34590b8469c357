"""A model as an encoder: from its inputs to one vector a row, whatever it was made for."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from oochub.errors import OochubError, unknown_name
from oochub.input import Input
from oochub.models.extraction import Head, find_head
from oochub.models.model_source import ModelSource
from oochub.models.open_model import Answers
from oochub.models.supported_models import list_architectures

POOLINGS = ("auto", "pooler", "cls", "mean")
"""How the vectors of tokens or places become one."""


class Encoder(nn.Module):  # type: ignore[misc]
    """The vectors (b, d) of an encoder, in evaluation mode; gradients flow through it.

    Attributes:
        pooling: Where the vectors are from, in words: "the input of the head", "pooler_output", "image embeddings",
            "cls", "mean".
        unexpected: Weights of its file that it has no place for.
    """

    def __init__(self, model: Any, vectors: Answers, pooling: str, unexpected: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.model, self._vectors, self.pooling, self.unexpected = model, vectors, pooling, unexpected

    @classmethod
    def open(cls, source: ModelSource, inputs: Input, *, pooling: str = "auto") -> "Encoder":
        """The encoder of a model of any kind.

        "auto" takes what the head of a classifier sees, the image embedding of a model of images and texts, the
        `pooler_output` of an encoder that has one with its weights, else the mean over its tokens or places.

        Args:
            source: The model.
            inputs: Makes what it is called with.
            pooling: One of `POOLINGS`; all but "auto" are of the last hidden state of the model without its head.

        Raises:
            OochubError: An unknown pooling, or a model that gives nothing of the kind.
        """
        if pooling not in POOLINGS:
            raise unknown_name("pooling", pooling, POOLINGS)
        if pooling == "auto" and source.architecture in list_architectures(inputs.auto_model):
            model, unexpected = source.open(inputs.auto_model, inputs)
            return cls(
                model,
                _capture_head_input(find_head(model, _make_probe(model, inputs))),
                "the input of the head",
                unexpected,
            )
        if pooling == "auto" and source.architecture in list_architectures("AutoModelForZeroShotImageClassification"):
            model, unexpected = source.open("AutoModel", inputs, logits=_embed)
            return cls(model, _embed, "image embeddings", unexpected)
        for way in ("pooler", "mean") if pooling == "auto" else (pooling,):
            try:
                model, unexpected = source.open("AutoModel", inputs, logits=_POOLED[way])
                if source.path is None:
                    with torch.inference_mode():
                        _POOLED[way](model, _make_probe(model, inputs))
            except OochubError:
                if (pooling, way) == ("auto", "pooler"):
                    continue  # it has none, or one without weights
                raise
            break
        words = "pooler_output" if way == "pooler" else way
        if getattr(model.config, "model_type", "") in _FILM_TYPES:
            words += f", of a film of {model.config.num_frames} equal frames"
        return cls(model, _POOLED[way], words, unexpected)

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Float32 (b, d)."""
        return self._vectors(self.model, inputs).float()


def _make_probe(model: nn.Module, inputs: Input) -> dict[str, torch.Tensor]:
    """Inputs of two rows where the model is: an object may lie on a GPU already."""
    device = next(model.parameters()).device
    return {name: values.to(device) for name, values in inputs.probe().items()}


def _capture_head_input(head: Head) -> Answers:
    """What goes into the head of a classifier."""

    def vectors(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        seen: dict[nn.Module, torch.Tensor] = {}

        def see(layer: nn.Module, given: Any) -> None:
            seen[layer] = given[0]

        handles = [layer.register_forward_pre_hook(see) for layer in head.layers]
        try:
            model(**inputs)
        finally:
            for handle in handles:
                handle.remove()
        return torch.cat([seen[layer].flatten(1) for layer in head.layers], dim=1)

    return vectors


def _embed(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
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


_FILM_TYPES = {
    "timesformer": "pixel_values",
    "videomae": "pixel_values",
    "vivit": "pixel_values",
    "videoprism_vision_model": "pixel_values_videos",
}
"""Types of models that read films, and the name of that input; an image is a film whose frames are all alike."""


def _repeat_frames(model: Any, inputs: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
    """The images of a model of films as films, (b, frames, 3, h, w); what other models read is as it was."""
    pixels, name = inputs.get("pixel_values"), _FILM_TYPES.get(getattr(model.config, "model_type", ""))
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


_POOLED: dict[str, Answers] = {"pooler": _read_pooler, "mean": _mean, "cls": _read_cls}
