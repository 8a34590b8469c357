"""The processor of a model that reads an image and a prompt: it renders the prompt and makes the model's inputs."""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from oochub.errors import OochubError
from oochub.inputs.pictures.chat_template import bounded_template, check_template_length
from oochub.inputs.pictures.image_processor import check_image_processor
from oochub.remote.fetch import fetch_model_folder
from oochub.storage.reading import read_json

if TYPE_CHECKING:
    import torch

_FILES = ("processor_config.json", "tokenizer_config.json", "preprocessor_config.json")
_NOT_INPUTS = ("labels",)  # for training


class ChatProcessor:
    """What stands between an image with a prompt and a model of transformers that answers in words.

    Args:
        processor: Its processor, with an image processor and a tokenizer; others that it may have are not used.

    Raises:
        OochubError: A processor without one of the two, whose image processor makes no sense, or whose chat template
            is too long.
    """

    def __init__(self, processor: Any) -> None:
        image_processor, tokenizer = (getattr(processor, name, None) for name in ("image_processor", "tokenizer"))
        lacking = "image processor" if image_processor is None else "tokenizer" if tokenizer is None else None
        if lacking is not None:
            raise OochubError(
                f"The processor of a model that answers in words needs an image processor and a tokenizer, but a "
                f"{type(processor).__name__} has no {lacking}. Save the model's own processor beside its weights."
            )
        if getattr(image_processor, "image_mean", None) is not None:  # some normalize by the image's own mean
            check_image_processor(image_processor)
        check_template_length(getattr(processor, "chat_template", None))
        self.processor = processor
        self.image_processor: Any = image_processor
        self.tokenizer: Any = tokenizer

    @property
    def has_template(self) -> bool:
        """Whether it has a chat template; else a prompt is rendered as it is."""
        return getattr(self.processor, "chat_template", None) is not None

    def render(self, prompt: str) -> str:
        """A prompt and an image as the text before the model's answer.

        Args:
            prompt: What the user says beside the image.

        Raises:
            OochubError: A chat template that fails, or that has no place for the image.
        """
        if not self.has_template:
            return self._image_token + prompt
        text = self._fill_template([{"type": "image"}, {"type": "text", "text": prompt}])
        if prompt.strip() not in text:
            raise OochubError(
                "The chat template of the model leaves out the prompt. Use the template that the model was published "
                "with (chat_template.jinja)."
            )
        if text == self._fill_template([{"type": "text", "text": prompt}]):
            raise OochubError(
                "The chat template of the model has no place for an image: it renders the same text with an image and "
                "without. Use the template that the model was published with (chat_template.jinja)."
            )
        return text

    def _fill_template(self, content: list[dict[str, str]]) -> str:
        from transformers import ProcessorMixin

        conversation = [{"role": "user", "content": content}]
        options = {"add_generation_prompt": True, "tokenize": False}
        try:  # the base class: some models' own also asks for their video processor
            with bounded_template():
                return str(ProcessorMixin.apply_chat_template(self.processor, conversation, **options))
        except Exception as error:  # whatever a template raises
            raise OochubError(
                f"The chat template of the model fails: {type(error).__name__}: {str(error)[:200]}. Use the template "
                "that the model was published with (chat_template.jinja)."
            ) from error

    def encode(self, answer: str) -> list[int]:
        """The tokens of an answer, without special ones, as they follow the rendered prompt."""
        return list(self.tokenizer(answer, add_special_tokens=False)["input_ids"])

    def __call__(self, image: Any, text: str) -> "dict[str, torch.Tensor]":
        """What the model is called with, one row each: `input_ids` (1, length), `pixel_values`, ...

        Args:
            image: A PIL image, RGB.
            text: A rendered prompt.

        Raises:
            OochubError: A text that the processor cannot put together with the image.
        """
        import torch

        try:
            made = self.processor(images=image, text=text, return_tensors="pt")
            if "image_grid_thw" in made and "mm_token_type_ids" not in made:  # needed, yet not given by every processor
                kinds = self.processor.create_mm_token_type_ids(made["input_ids"].tolist())
                made["mm_token_type_ids"] = torch.tensor(kinds)
        except (ValueError, TypeError, KeyError, IndexError, ImportError) as error:
            raise OochubError(
                f"The processor of the model cannot read an image with the prompt {text[:100]!r}: "
                f"{' '.join(str(error).split())[:300].rstrip('.')}. Check its chat template and its image token."
            ) from error
        tensors = {k: v for k, v in made.items() if isinstance(v, torch.Tensor) and k not in _NOT_INPUTS}
        return {k: v.float() if v.is_floating_point() else v for k, v in tensors.items()}

    def check_reads_prompt(self) -> None:
        """Checks that what the model is called with depends on the prompt.

        Raises:
            OochubError: It does not, as for models that only write what an image shows.
        """
        image = Image.new("RGB", (32, 32))
        one, other = (self(image, self.render(prompt)) for prompt in ("A cat?", "Are there two dogs here?"))
        if all(name in other and values.equal(other[name]) for name, values in one.items()):
            raise OochubError(
                f"The {type(self.processor).__name__} of the model leaves out the prompt, so the model cannot be "
                "asked. Use a model that reads an image and a prompt."
            )

    @cached_property
    def _image_token(self) -> str:
        """What stands before a prompt without a template: if the processor adds it (PaliGemma), or fails without it."""
        token = getattr(self.processor, "image_token", None)
        if self.has_template or not isinstance(token, str):
            return ""
        from transformers import logging

        image, level = Image.new("RGB", (32, 32)), logging.get_verbosity()
        logging.set_verbosity_error()  # it advises to write the token
        made = []
        try:
            for text in ("a", f"{token}a"):
                try:
                    made.append(np.asarray(self.processor(images=image, text=text)["input_ids"]).tolist())
                except (ValueError, TypeError, KeyError, IndexError):
                    made.append(None)
        finally:
            logging.set_verbosity(level)
        plain, explicit = made
        return token if explicit is not None and plain in (None, explicit) else ""

    def to_json_string(self) -> str:
        """What the inputs depend on: both processors, and a digest of the template."""
        template = str(getattr(self.processor, "chat_template", None))
        content = {
            "processor": type(self.processor).__name__,
            "image_processor": json.loads(self.image_processor.to_json_string()),
            "tokenizer": [type(self.tokenizer).__name__, len(self.tokenizer)],
            "chat_template": hashlib.sha256(template.encode()).hexdigest(),
        }
        return json.dumps(content)


def load_chat_processor(source: str) -> ChatProcessor:
    """The processor of a folder or Hub id; a video processor that it may have is neither needed nor read.

    Args:
        source: Folder or Hub id.

    Raises:
        OochubError: There is no processor of images and prompts.
        OSError: A file is missing or broken.
        ImportError: The processor needs another package.
    """
    import transformers

    place = fetch_model_folder(source)
    name = _find_class_name(place)
    kind: Any = getattr(transformers, name, None) if name else None
    if kind is None or transformers.ProcessorMixin not in getattr(kind, "__mro__", ()):
        raise OochubError(
            f"{source} has no processor of images and prompts ({', '.join(_FILES[:2])} name none). Save the model's "
            "own processor beside its weights."
        )
    if "image_processor" not in kind.get_attributes():
        raise OochubError(
            f"{source} has the processor {name}, which reads no images. Save the processor of the model's images and "
            "prompts beside its weights."
        )
    return ChatProcessor(_leave_out_videos(kind).from_pretrained(place, trust_remote_code=False))


def _find_class_name(place: str) -> str | None:
    """The class that the files name, else that of the model's type."""
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    for file in _FILES:
        content = read_json(Path(place) / file) if (Path(place) / file).is_file() else None
        name = content.get("processor_class") if isinstance(content, Mapping) else None
        if isinstance(name, str):
            return name
    config = read_json(Path(place) / "config.json")
    name = PROCESSOR_MAPPING_NAMES.get(config.get("model_type")) if isinstance(config, Mapping) else None
    return None if name is None else str(name[0] if isinstance(name, tuple) else name)


class _NoVideos:
    """Stands for a video processor; all of its settings are None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def _leave_out_videos(kind: Any) -> Any:
    """The processor class without its video processor, whose backend many environments lack."""
    from transformers import ProcessorMixin

    every = kind.get_attributes()
    kept = [name for name in every if "video" not in name]
    if kept == every:
        return kind

    class _WithoutVideos(ProcessorMixin):  # type: ignore[misc]
        def __init__(self, *args: object, **options: object) -> None:
            given = {**dict(zip(every, args, strict=False)), **options}
            super().__init__(**{name: value for name, value in given.items() if name in kept or name not in every})

        @classmethod
        def get_attributes(cls) -> list[str]:
            return list(kept)

        @classmethod
        def _get_arguments_from_pretrained(cls, *args: object, **options: object) -> list[object]:
            loaded = iter(super()._get_arguments_from_pretrained(*args, **options))
            return [next(loaded) if name in kept else None for name in every]

    absent = {name: _NoVideos() for name in every if name not in kept}
    made: Any = type(kind.__name__, (kind, _WithoutVideos), {"__module__": kind.__module__, **absent})
    return made
