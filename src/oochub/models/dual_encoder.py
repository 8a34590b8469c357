"""A model of images and texts whose answer is a scaled cosine of their embeddings, as that of CLIP.

Texts are read as transformers' zero-shot pipeline reads them. Those that stand for each class are made of templates,
of names in words, or come from a file.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from oochub import catalog
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.input import Input
from oochub.models.model_source import ModelSource
from oochub.models.open_model import model_load_errors
from oochub.storage.reading import read_json, read_lines

_TEXTS = ("a photo.", "something else.")  # at which the model is held against its own answer


_BATCH = 256
_LONGEST_SHOWN = 80  # characters of a text


@dataclass(frozen=True)
class TextEncoder:
    """Makes tokens and embeddings of texts.

    Args:
        tokenizer: Tokenizer of the model.
        config: Config of the model, one of `AutoModelForZeroShotImageClassification`.
    """

    tokenizer: Any
    config: Any

    def tokens(self, texts: Sequence[str]) -> Mapping[str, torch.Tensor]:
        """What the model is called with for texts; those of SigLIP are padded to full length, as in training.

        Raises:
            OochubError: A text that is longer than the model reads.
        """
        longest = min(self.tokenizer.model_max_length, self.config.text_config.max_position_embeddings)
        for text, numbers in zip(texts, self.tokenizer(list(texts))["input_ids"], strict=True):
            if len(numbers) > longest:
                shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
                raise OochubError(
                    f"The text {shown!r} has {len(numbers)} tokens, but the model reads at most {longest}. Shorten it."
                )
        is_full = "siglip" in self.config.model_type
        padding = {"padding": "max_length", "max_length": longest} if is_full else {"padding": True}
        tokens: Mapping[str, torch.Tensor] = self.tokenizer(list(texts), return_tensors="pt", **padding)
        return tokens

    def embeddings(self, model: Any, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors, float (n, d), on the device of the model.

        Args:
            model: Model with its weights, in evaluation mode.
            texts: Texts, one or more.

        Raises:
            OochubError: A text that is longer than the model reads.
        """
        embeddings: list[torch.Tensor] = []
        for start in range(0, len(texts), _BATCH):
            tokens = {
                name: tensor.to(model.device) for name, tensor in self.tokens(texts[start : start + _BATCH]).items()
            }
            with torch.no_grad():
                features = model.get_text_features(**tokens).pooler_output
            embeddings.append(features / features.norm(dim=-1, keepdim=True))
        return torch.cat(embeddings)

    def ensembles(self, model: Any, texts: Sequence[Sequence[str]]) -> torch.Tensor:
        """The mean embedding of each list of texts, made unit again: float (n, d), on the device of the model.

        Args:
            model: Model with its weights, in evaluation mode.
            texts: Lists of texts, one or more, each of one text or more; each text is read once.

        Raises:
            OochubError: A text that is longer than the model reads.
        """
        once = list(dict.fromkeys(text for own in texts for text in own))
        embeddings, numbers = self.embeddings(model, once), {text: number for number, text in enumerate(once)}
        means = torch.stack([embeddings[[numbers[text] for text in own]].mean(0) for own in texts])
        directions: torch.Tensor = means / means.norm(dim=-1, keepdim=True)
        return directions


@dataclass(frozen=True)
class DualEncoder:
    """A CLIP, SigLIP or other dual encoder with its weights, float32 and in evaluation mode.

    Attributes:
        model: The model of transformers.
        scale: Factor of the cosines: CLIP's logit_scale, the inverse of ALIGN's temperature.
        bias: Number that is added then: SigLIP's, else 0.
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
    def open(cls, source: ModelSource, inputs: Input, texts: TextEncoder, *, device: Any) -> "DualEncoder":
        """The model on its device.

        Args:
            source: The model.
            inputs: How its images are read.
            texts: See `text_encoder`.
            device: Device that it runs on.

        Raises:
            OochubError: Weights that do not fit, or a model that answers with something else.
        """
        beside = texts.tokens(_TEXTS)
        model, unexpected = source.open(cls.auto_model, inputs, beside=beside, logits="logits_per_image")
        model = model.to(device)
        encoder = cls(model, *_scale(model), texts, tuple(unexpected))
        encoder._check(inputs.probe(), beside)
        return encoder

    @classmethod
    def text_encoder(cls, source: ModelSource, inputs: Input, part: Any, *, tokenizer: Any = None) -> TextEncoder:
        """What reads the model's texts; its weights are not read.

        Args:
            source: The model.
            inputs: How its images are read.
            part: A data set that it reads.
            tokenizer: Tokenizer to use instead of the one beside the model or in its processor.

        Raises:
            OochubError: There is no tokenizer.
        """
        if tokenizer is None:
            tokenizer = inputs.tokenizer
        if tokenizer is None:
            if source.path is None:
                raise OochubError(
                    "A model object needs the tokenizer of its texts: give its processor of images and texts as "
                    "processor=, or tokenizer=."
                )
            with model_load_errors(source.path, words="a model of images and texts with its tokenizer"):
                tokenizer = catalog.get("input", "texts").load_processor(source.path, part)
        return TextEncoder(tokenizer, source.config)

    @staticmethod
    def embed_pictures(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Unit embeddings of images, float (n, d), with gradient.

        Args:
            model: A dual encoder of transformers.
            inputs: What the model is called with, without texts.
        """
        features: torch.Tensor = model.get_image_features(**inputs).pooler_output
        directions: torch.Tensor = features / features.norm(dim=-1, keepdim=True)
        return directions

    def _check(self, pictures: Mapping[str, torch.Tensor], beside: Mapping[str, torch.Tensor]) -> None:
        """Holds scaled cosines against the model's own answer."""
        inputs, words = (
            {name: tensor.to(self.model.device) for name, tensor in given.items()} for given in (pictures, beside)
        )
        with torch.no_grad():
            own = self.model(**inputs, **words).logits_per_image
            weight = self.scale * self.texts.embeddings(self.model, _TEXTS)
            ours = self.embed_pictures(self.model, inputs) @ weight.T + self.bias
        if own.shape != ours.shape or not torch.allclose(own, ours, rtol=1e-3, atol=1e-3):
            raise _explain_not_served(self.model)


def _scale(model: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """What cosines are multiplied by, and what is added."""
    own = {name: weight.detach() for name, weight in model.named_parameters(recurse=False)}
    if "logit_scale" in own:
        return own["logit_scale"].exp(), own.get("logit_bias", torch.zeros_like(own["logit_scale"]))
    if "temperature" in own:
        return 1 / own["temperature"], torch.zeros_like(own["temperature"])
    raise _explain_not_served(model)


def _explain_not_served(model: Any) -> OochubError:
    return OochubError(
        f"{type(model).__name__} does not return scaled cosines between embeddings of an image and of texts, so "
        "zero_shot cannot use it. Use a CLIP, SigLIP, ALIGN, AltCLIP, BLIP or Chinese-CLIP model."
    )


TEMPLATE_SETS: Mapping[str, tuple[str, ...]] = {
    "photo": ("a photo of a {}.",),
    "imagenet_7": (
        "itap of a {}.",
        "a bad photo of the {}.",
        "a origami {}.",
        "a photo of the large {}.",
        "a {} in a video game.",
        "art of the {}.",
        "a photo of the small {}.",
    ),
}
"""Templates by name; "imagenet_7" is the subset of its 80 that OpenAI found best for ImageNet (notebook
Prompt_Engineering_for_ImageNet of github.com/openai/CLIP)."""
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])", re.IGNORECASE)
_PLACE = re.compile(r"\b[Aa] \{\}|\{\}")
_COCO_SUFFIX = re.compile(r"-(other|stuff|merged)$")

Templates = Sequence[str] | str
Given = Mapping[str, Sequence[str] | str]


def write_prompts(
    names: Sequence[str], templates: Sequence[str], *, given: Given | None = None
) -> list[tuple[str, ...]]:
    """The texts of each class.

    A name is put in words: the first synonym, with spaces for "_"; COCO-Stuff's "-other", "-stuff" and the number of
    "crane2" are no words. "a {}" becomes "an {}" before a vowel (which OpenAI's code does not do).

    Args:
        names: Names of the classes.
        templates: Texts with {} for the name.
        given: Texts of each class as they are, instead.

    Raises:
        OochubError: Given texts for another class, for too few of them, or none for a class.

    >>> write_prompts(["polar_bear", "albatross, mollymawk"], ["a photo of a {}."])
    [('a photo of a polar bear.',), ('a photo of an albatross.',)]
    """
    if given is None:
        return [tuple(_fill_template(template, name) for template in templates) for name in names]
    for name in given:
        if name not in names:
            raise unknown_name("class of the dataset", name, names, "The prompts give texts for each class.")
    missing = [name for name in names if name not in given]
    if missing:
        raise OochubError(
            f"The prompts have no text for {len(missing)} of {len(names)} classes: {', '.join(missing[:6])}. Add them."
        )
    return [_check_texts(given[name], what=f"The prompts of {name!r}") for name in names]


def read_templates(templates: Templates, *, what: str) -> tuple[str, ...]:
    """Templates of a name, a file, a text or a list of texts.

    Args:
        templates: A name of `TEMPLATE_SETS`, a file .txt of one text per line, or texts.
        what: What errors call them: those that are "templates" need {} in each.

    Raises:
        OochubError: Nothing, something that is no text, or a file that cannot be read.

    >>> read_templates("a sketch of a {}.", what="templates")
    ('a sketch of a {}.',)
    """
    if isinstance(templates, str) and templates in TEMPLATE_SETS:
        return TEMPLATE_SETS[templates]
    is_file = isinstance(templates, str) and templates.endswith(".txt")
    texts = _check_texts(read_lines(str(templates)) if is_file else templates, what=what)
    without = [text for text in texts if "{}" not in text]
    if without and what == "templates":
        raise OochubError(
            f"templates must be one of {', '.join(TEMPLATE_SETS)}, a .txt file with one per line, or texts with {{}} "
            f"for the class, got {without[0]!r}. {choose_wording('', 'A text with a comma stands in a file. ')}Texts "
            f"that name their class themselves are {choose_wording('prompts=', '--mode-option prompts=FILE')}."
        )
    return texts


def read_prompts(source: Any) -> Given:
    """The texts of each class from a mapping or a JSON file: an object of class to text, or to a list of texts.

    Raises:
        OochubError: No such file, or it holds something else.
    """
    content = read_json(source) if isinstance(source, str | Path) else source
    if not isinstance(content, Mapping) or not content:
        raise OochubError(
            f"prompts must map classes to texts, or be a JSON file that does, got {str(content)[:60]!r}. For example "
            '{"car": ["a photo of a car.", "a car on a road."]}.'
        )
    return content


def _check_texts(value: Any, *, what: str) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else ()
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise OochubError(f"{what} must be a text or a list of texts, got {value!r}. Pass at least one.")
    return texts


def _fill_template(template: str, name: str) -> str:
    words = _convert_to_words(name)
    return _PLACE.sub(lambda place: _ARTICLE.sub(r"\1n ", place[0].replace("{}", words)), template)


def _convert_to_words(name: str) -> str:
    first = name.split(",")[0].replace("_", " ").strip() or name
    return re.sub(r"(?<=[a-z])\d$", "", _COCO_SUFFIX.sub("", first))
