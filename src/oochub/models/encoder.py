"""A model as an encoder: from its inputs to one vector a row, whatever it was made for."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError, unknown_name
from oochub.input import Input
from oochub.models.callable_model import CallableModel
from oochub.models.encoder_classifier import FILM_TYPES, POOLED, embed_images
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
        way: The same as a name of `POOLED`; "head" for the input of the head.
        unexpected: Weights of its file that it has no place for.
    """

    def __init__(
        self, model: Any, vectors: Answers, pooling: str, unexpected: tuple[str, ...] = (), *, way: str = "head"
    ) -> None:
        super().__init__()
        self.model, self._vectors, self.pooling, self.unexpected = model, vectors, pooling, unexpected
        self.way = way

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
        if isinstance(source.given, CallableModel):
            head = find_head(source.given, _make_probe(source.given, inputs))
            return cls(source.given, _capture_head_input(head), "the input of the head")
        if pooling == "auto" and source.architecture in list_architectures(inputs.auto_model):
            model, unexpected = source.open(inputs.auto_model, inputs)
            return cls(
                model,
                _capture_head_input(find_head(model, _make_probe(model, inputs))),
                "the input of the head",
                unexpected,
            )
        if pooling == "auto" and source.architecture in list_architectures("AutoModelForZeroShotImageClassification"):
            model, unexpected = source.open("AutoModel", inputs, logits=embed_images)
            return cls(model, embed_images, "image embeddings", unexpected, way="embedding")
        for way in ("pooler", "mean") if pooling == "auto" else (pooling,):
            try:
                model, unexpected = source.open("AutoModel", inputs, logits=POOLED[way])
                if source.path is None:
                    with torch.inference_mode():
                        POOLED[way](model, _make_probe(model, inputs))
            except OochubError:
                if (pooling, way) == ("auto", "pooler"):
                    continue  # it has none, or one without weights
                raise
            break
        words = "pooler_output" if way == "pooler" else way
        if getattr(model.config, "model_type", "") in FILM_TYPES:
            words += f", of a film of {model.config.num_frames} equal frames"
        return cls(model, POOLED[way], words, unexpected, way=way)

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Float32 (b, d)."""
        return self._vectors(self.model, inputs).float()


class ProbedEncoder(nn.Module):  # type: ignore[misc]
    """An encoder and a linear layer on its vectors.

    Args:
        encoder: The encoder.
        weight: (c, d).
        bias: (c,).
    """

    def __init__(self, encoder: Encoder, weight: torch.Tensor, bias: torch.Tensor) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(weight.shape[1], len(weight), device=weight.device, dtype=weight.dtype)
        self.head.weight.data, self.head.bias.data = weight, bias
        self.head.requires_grad_(False)

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """The logits (b, c) of a batch."""
        return ImageClassifierOutput(logits=self.head(self.encoder(**inputs)))


def _make_probe(model: nn.Module, inputs: Input) -> dict[str, torch.Tensor]:
    """Inputs of two rows where the model is: an object may lie on a GPU already."""
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    return {name: values.to(device) for name, values in inputs.probe().items()}


def _capture_head_input(head: Head) -> Answers:
    """What goes into the head of a classifier."""

    def vectors(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        if head.read is not None:
            return head.read(inputs)
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
