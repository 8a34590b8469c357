"""A model of pictures and texts whose answer is a scaled cosine of their embeddings, as that of CLIP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from oochub import catalog
from oochub.errors import OochubError
from oochub.input import Input
from oochub.models.auto_model import auto_model
from oochub.models.model_source import ModelSource
from oochub.models.opening import opening
from oochub.models.text_encoder import TextEncoder

_TEXTS = ("a photo.", "something else.")  # at which the model is held against its own answer


@dataclass(frozen=True)
class DualEncoder:
    """A CLIP, SigLIP or other dual encoder with its weights, float32 and in evaluation mode.

    Attributes:
        model: That of transformers.
        scale: What cosines are multiplied by: CLIP's logit_scale, the inverse of ALIGN's temperature.
        bias: What is added then: SigLIP's, else 0.
        texts: Reads texts.
        unexpected: Weights of the file that the model has no place for.
    """

    auto_model: ClassVar[str] = "AutoModelForZeroShotImageClassification"
    model: Any
    scale: torch.Tensor
    bias: torch.Tensor
    texts: TextEncoder
    unexpected: tuple[str, ...]

    @classmethod
    def check_kind(cls, source: ModelSource, *, mode: str) -> None:
        """Says whether the model is of a kind that has dual encoders; its weights are not read.

        Raises:
            OochubError: It is not.
        """
        auto_model(source, (cls.auto_model,), mode=mode)

    @classmethod
    def opened(cls, source: ModelSource, inputs: Input, texts: TextEncoder, *, device: Any) -> "DualEncoder":
        """The model on its device.

        Args:
            source: The model.
            inputs: Of its pictures.
            texts: See `text_encoder`.
            device: Where it runs.

        Raises:
            OochubError: Weights that do not fit, or a model that answers with something else.
        """
        beside = texts.tokens(_TEXTS)
        model, unexpected = source.opened(cls.auto_model, inputs, beside=beside, logits="logits_per_image")
        model = model.to(device)
        encoder = cls(model, *_scale(model), texts, tuple(unexpected))
        encoder._check(inputs.probe(), beside)
        return encoder

    @classmethod
    def text_encoder(cls, source: ModelSource, inputs: Input, part: Any, *, tokenizer: Any = None) -> TextEncoder:
        """What reads the model's texts; its weights are not read.

        Args:
            source: The model.
            inputs: Of its pictures.
            part: A data set that it reads.
            tokenizer: Instead of the one beside the model or in its processor.

        Raises:
            OochubError: There is none.
        """
        if tokenizer is None:
            tokenizer = inputs.tokenizer
        if tokenizer is None:
            if source.path is None:
                raise OochubError(
                    "A model object needs the tokenizer of its texts: give its processor of pictures and texts as "
                    "processor=, or tokenizer=."
                )
            with opening(source.path, words="a model of pictures and texts with its tokenizer"):
                tokenizer = catalog.get("input", "texts").load_processor(source.path, part)
        return TextEncoder(tokenizer, source.config)

    @staticmethod
    def of_pictures(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Unit embeddings of pictures, float (n, d), with gradient.

        Args:
            model: That of transformers.
            inputs: What it is called with, without texts.
        """
        features: torch.Tensor = model.get_image_features(**inputs).pooler_output
        directions: torch.Tensor = features / features.norm(dim=-1, keepdim=True)
        return directions

    def of_texts(self, texts: Sequence[Sequence[str]]) -> torch.Tensor:
        """The mean unit embedding of each list of texts, made unit again: float (n, d), see `TextEncoder.ensembles`.

        Raises:
            OochubError: A text that is longer than the model reads.
        """
        return self.texts.ensembles(self.model, texts)

    def _check(self, pictures: Mapping[str, torch.Tensor], beside: Mapping[str, torch.Tensor]) -> None:
        """Holds scaled cosines against the model's own answer."""
        inputs, words = (
            {name: each.to(self.model.device) for name, each in given.items()} for given in (pictures, beside)
        )
        with torch.no_grad():
            own = self.model(**inputs, **words).logits_per_image
            weight = self.scale * self.texts.embeddings(self.model, _TEXTS)
            ours = self.of_pictures(self.model, inputs) @ weight.T + self.bias
        if own.shape != ours.shape or not torch.allclose(own, ours, rtol=1e-3, atol=1e-3):
            raise _not_served(self.model)


def _scale(model: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """What cosines are multiplied by, and what is added."""
    own = {name: weight.detach() for name, weight in model.named_parameters(recurse=False)}
    if "logit_scale" in own:
        return own["logit_scale"].exp(), own.get("logit_bias", torch.zeros_like(own["logit_scale"]))
    if "temperature" in own:
        return 1 / own["temperature"], torch.zeros_like(own["temperature"])
    raise _not_served(model)


def _not_served(model: Any) -> OochubError:
    return OochubError(
        f"{type(model).__name__} does not answer with scaled cosines of the embeddings of a picture and of texts, so "
        "zero_shot does not serve it. Take a CLIP, SigLIP, ALIGN, AltCLIP, BLIP or Chinese-CLIP model."
    )
