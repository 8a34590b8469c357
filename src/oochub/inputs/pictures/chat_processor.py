"""Images with a prompt for a model that answers in words: the processor that renders the prompt and makes the inputs.

A chat template is a program that comes with a model: its length, its steps and what one step makes are bounded. The
sandbox of Jinja keeps it from files and from code, but not from loops that never end, nor from powers of a number with
a billion digits.
"""

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, wraps
from pathlib import Path
from threading import RLock
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from PIL import Image

from oochub.errors import OochubError
from oochub.inputs.pictures import Pictures
from oochub.inputs.pictures.image_processor import check_image_processor
from oochub.remote.remote_repository import fetch_model_folder
from oochub.storage.reading import read_json

if TYPE_CHECKING:
    import torch
    from _typeshed import TraceFunction

_LARGEST = 2**20  # characters, of a template or of what it makes, and numbers; published ones have 30,000 at most
_STEPS = 1_000_000  # lines of its code that are run; published ones take some hundreds
_BITS = 20  # of a whole number up to _LARGEST
_COUNTED = ("<template>", "jinja2/filters.py", "jinja2/runtime.py", "jinja2/utils.py")  # utils: lipsum
_MULTIPLYING = ("replace", "join", "do_replace", "sync_do_join", "do_join", "indent", "do_indent", "translate")
_Filter = Callable[..., object]
_compiling = RLock()  # the environment of transformers is exchanged for a while


_FILES = ("processor_config.json", "tokenizer_config.json", "preprocessor_config.json")
_NOT_INPUTS = ("labels",)  # for training


def check_template_length(template: object) -> None:
    """Checks that a template is not made to be read for minutes.

    Args:
        template: Its text; several by name, and none, are let through.

    Raises:
        OochubError: It has more than a million characters.
    """
    if isinstance(template, str) and len(template) > _LARGEST:
        raise OochubError(
            f"The chat template of the model has {len(template):,} characters; at most {_LARGEST:,} are read. Use the "
            "template that the model was published with (chat_template.jinja)."
        )


@contextmanager
def bounded_template() -> Iterator[None]:
    """A block in which a template takes a million steps at most, in this thread, and makes no huge numbers or texts.

    What transformers compiles in it computes with whole numbers up to a million, and with texts and lists of as many
    parts: a power or a repetition that takes hours or fills the memory is one step of Python.

    Raises:
        TimeoutError: It takes more steps.
        OverflowError: It makes larger numbers or texts.

    >>> from jinja2.sandbox import ImmutableSandboxedEnvironment
    >>> loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
    >>> with bounded_template():
    ...     ImmutableSandboxedEnvironment().from_string(loops).render()
    Traceback (most recent call last):
    TimeoutError: it takes more than 1,000,000 steps
    """
    count = 0

    def step(frame: FrameType, event: str, arg: object) -> "TraceFunction | None":
        nonlocal count
        count += 1
        if count > _STEPS:
            raise TimeoutError(f"it takes more than {_STEPS:,} steps")
        if event == "return":  # of a macro, a block or a concatenation too
            _check_size(arg)
        return step

    def enter(frame: FrameType, event: str, arg: object) -> "TraceFunction | None":
        return step if frame.f_code.co_filename.endswith(_COUNTED) else None

    from transformers.utils import chat_template_utils

    usual, plain = sys.gettrace(), chat_template_utils.ImmutableSandboxedEnvironment
    with _compiling:
        chat_template_utils.ImmutableSandboxedEnvironment = _BoundedEnvironment
        sys.settrace(enter)
        try:
            yield
        finally:
            sys.settrace(usual)
            chat_template_utils.ImmutableSandboxedEnvironment = plain


def _check_size(value: object) -> None:
    """Refuses a whole number above a million, or a text or list of more parts.

    Raises:
        OverflowError: It is one.
    """
    size = abs(value) if isinstance(value, int) else len(value) if isinstance(value, str | bytes | list | tuple) else 0
    if size > _LARGEST:
        raise OverflowError(f"it makes a number, text or list above {_LARGEST:,}")


class _BoundedFilters(dict[str, _Filter]):
    """Filters that take numbers and texts that are not too large, those that are added later too."""

    def __setitem__(self, name: str, function: _Filter) -> None:
        @wraps(function)  # what Jinja passes to it is an attribute
        def bounded(*args: object, **named: object) -> object:
            _check_arguments(function, args, named)
            return function(*args, **named)

        super().__setitem__(name, bounded)


class _BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox of Jinja in which what one step may make is bounded."""

    intercepted_binops = frozenset(("**", "*", "%", "+"))

    def __init__(self, *args: object, **settings: object) -> None:
        super().__init__(*args, **settings)
        plain, self.filters = self.filters, _BoundedFilters()
        for name, function in plain.items():
            self.filters[name] = function

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Applies an operator to what is not too large, if that cannot make anything that is."""
        _check_operator(operator, left, right)
        value = super().call_binop(context, operator, left, right)
        _check_size(value)
        return value

    def call(self, context: Context, function: object, /, *args: object, **named: object) -> object:
        """Calls a function with numbers and texts that are not too large."""
        _check_arguments(function, args, named)
        return super().call(context, function, *args, **named)

    def wrap_str_format(self, value: object) -> Callable[..., str] | None:
        """The safe form of a method `format`, of a text whose widths are not too large."""
        _check_widths(str(getattr(value, "__self__", "")), ())
        return super().wrap_str_format(value)


def _check_operator(operator: str, left: object, right: object) -> None:
    for value in (left, right):
        _check_size(value)
    if operator == "**" and isinstance(left, int) and isinstance(right, int) and abs(left) > 1:
        _check_size(right * abs(left).bit_length() * (_LARGEST // _BITS))
    if operator == "*":
        sizes = [
            len(value) if isinstance(value, str | bytes | list | tuple) else value if isinstance(value, int) else 0
            for value in (left, right)
        ]
        _check_size(sizes[0] * sizes[1])
    if operator == "%" and isinstance(left, str):
        _check_widths(left, right)


def _check_arguments(function: object, args: tuple[object, ...], named: Mapping[str, object]) -> None:
    values = [getattr(function, "__self__", None), *args, *named.values()]
    for value in values:
        _check_size(value)
        if isinstance(value, str):
            _check_widths(value, args)
    texts = [len(value) for value in values if isinstance(value, str | bytes | list | tuple | range)]
    if getattr(function, "__name__", "") in _MULTIPLYING and texts:
        _check_size(math.prod(max(text, 1) for text in texts))


def _check_widths(form: str, values: object) -> None:
    """Refuses a format of texts with a width above a million; one with `*` takes it from its values."""
    for number in re.findall(r"\d{7,}", form) if "%" in form or "{" in form else ():
        _check_size(int(number[:20]))
    for value in values if isinstance(values, tuple) else ():
        _check_size(value)


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
            batch = self.processor(images=image, text=text, return_tensors="pt")
            if (
                "image_grid_thw" in batch and "mm_token_type_ids" not in batch
            ):  # needed, yet not given by every processor
                kinds = self.processor.create_mm_token_type_ids(batch["input_ids"].tolist())
                batch["mm_token_type_ids"] = torch.tensor(kinds)
        except (ValueError, TypeError, KeyError, IndexError, ImportError) as error:
            raise OochubError(
                f"The processor of the model cannot read an image with the prompt {text[:100]!r}: "
                f"{' '.join(str(error).split())[:300].rstrip('.')}. Check its chat template and its image token."
            ) from error
        tensors = {k: v for k, v in batch.items() if isinstance(v, torch.Tensor) and k not in _NOT_INPUTS}
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
        tokens = []
        try:
            for text in ("a", f"{token}a"):
                try:
                    tokens.append(np.asarray(self.processor(images=image, text=text)["input_ids"]).tolist())
                except (ValueError, TypeError, KeyError, IndexError):
                    tokens.append(None)
        finally:
            logging.set_verbosity(level)
        plain, explicit = tokens
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
    own_kind: Any = type(kind.__name__, (kind, _WithoutVideos), {"__module__": kind.__module__, **absent})
    return own_kind


_GRAY = (128, 128, 128)


class ImageQuestion(NamedTuple):
    """What a model is asked of one image.

    Attributes:
        prompt: What the user says beside the image.
        answers: The words of each answer, in the order of the classes or options.
    """

    prompt: str
    answers: tuple[str, ...]


class ImageQuestions(Pictures):
    """Images as a model that answers in words reads them, each with its prompt and the tokens of the answers.

    A batch has what the model is called with, and `answer_ids` int64 (n, answers, longest), filled with -1, and
    `answer_lengths` float32 (n, answers), the characters of each. With `with_blank` it has the same inputs of a gray
    image of the same size, under `blank_`.

    A mode that reads such inputs sets `ask` before it opens the model.

    Args:
        processor: A `ChatProcessor`, or the processor of transformers of such a model.
        preprocessing: "auto" or "processor": the model's own processor reads every image.

    Raises:
        OochubError: "fused", or a processor without an image processor or a tokenizer.
    """

    auto_model: ClassVar[str] = "AutoModelForImageTextToText"
    beside: ClassVar[tuple[str, ...]] = ("example_id", "question", "options")

    def __init__(self, processor: Any, *, preprocessing: str = "auto") -> None:
        if preprocessing == "fused":
            raise OochubError(
                'preprocessing="fused" cannot stand in for the processor of a model that answers in words. Remove it.'
            )
        is_given = not isinstance(processor, ChatProcessor)
        self.processor = ChatProcessor(processor) if is_given else processor
        self.tokenizer = self.processor.tokenizer if is_given else None  # of an object: no file stands for it
        self._fused, self._normalize, self._check, self._is_settled = None, None, None, True
        self.ask: Callable[[Mapping[str, object]], ImageQuestion] = lambda row: ImageQuestion(
            "What is in this image?", ("Yes",)
        )
        self.with_blank = False

    @classmethod
    def words(cls) -> str:
        """What the inputs are called."""
        return "images and prompts"

    @classmethod
    def takes(cls, processor: Any) -> bool:
        """See `Input.takes`: a processor with an image processor and a tokenizer."""
        return isinstance(processor, ChatProcessor) or hasattr(processor, "image_processor")

    @classmethod
    def load_processor(cls, source: str | None, dataset: Any, *, training: bool = False) -> Any:
        """See `Input.load_processor`."""
        if source is None:
            raise OochubError("A model object needs processor=, its processor of images and prompts.")
        return load_chat_processor(source)

    @classmethod
    def of(cls, processor: Any, *, normalize: bool = True, preprocessing: str = "auto") -> Self:
        """See `Input.of`."""
        return cls(processor, preprocessing=preprocessing)

    @property
    def std(self) -> tuple[float, ...]:
        """None: pixels are patches of many forms, and ODIN does not perturb them."""
        return ()

    def encode_answers(self, answers: Sequence[str]) -> "torch.Tensor":
        """Their tokens, int64 (answers, longest), filled with -1."""
        import torch

        numbers = [torch.tensor(self.processor.encode(answer), dtype=torch.long) for answer in answers]
        return torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True, padding_value=-1)

    def _process(self, picture: Any, row: Mapping[str, object] | None = None) -> "Mapping[str, torch.Tensor]":
        import torch
        from PIL import Image

        prompt, answers = self.ask(row or {})
        text = self.processor.render(prompt)
        tensors: dict[str, torch.Tensor] = self.processor(picture, text)
        if self.with_blank:
            blank = self.processor(Image.new("RGB", picture.size, _GRAY), text)
            tensors |= {f"blank_{name}": values for name, values in blank.items()}
        lengths = torch.tensor([[float(len(answer)) for answer in answers]])
        return {**tensors, "answer_ids": self.encode_answers(answers).unsqueeze(0), "answer_lengths": lengths}
