"""A model that is any function or module of PyTorch, or an ONNX file: it takes a batch of images, returns logits.

A user's own Python file makes one by `--model-file my_model.py:load`; it runs only if that is asked for.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.inputs.pictures.image_processor import ImageTransform, digest_code, load_image_processor, read_source
from oochub.models.onnx_file import OnnxFile, check_onnx_settings, is_onnx_file
from oochub.process.own_files import blame_file
from oochub.remote.check_source import name_revision
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import get_default, list_options
from oochub.settings.prediction_settings import PredictionSettings

_DEFAULT = "load"
_FORM = (
    'It must return a module of PyTorch, a function from images to logits, or {"model": net, "class_names": [...], '
    '"transform": f, ...}, the keywords of oochub.predict.'
)
_Record = TypeVar("_Record", ModelSettings, PredictionSettings)


class CallableModel(nn.Module):  # type: ignore[misc]
    """A function or module, with the names of its outputs, as a model of transformers looks to the rest of oochub.

    Args:
        function: Takes float32 (n, c, h, w) on the device, returns logits (n, k) as a tensor, an array or an object
            with `logits`. A module is put into evaluation mode.
        class_names: List of the names of the k outputs, in their order.
        processor: What makes the batch of images; None if `image_processor=` gives it.
        model_id: Name in reports. It makes a plain function one whose predictions are cached: the name stands for all
            that it computes.
        file: File that it is of, as typed: its name in reports if no other is given.

    Raises:
        OochubError: Names that are no list of texts.

    >>> model = CallableModel(lambda batch: batch.mean((2, 3)), ["red", "green", "blue"])
    >>> model(pixel_values=torch.ones(2, 3, 4, 4)).logits.shape, model.config.id2label[2]
    (torch.Size([2, 3]), 'blue')
    """

    def __init__(
        self,
        function: Callable[[torch.Tensor], object],
        class_names: object,
        *,
        processor: object = None,
        model_id: str | None = None,
        file: str = "",
    ) -> None:
        super().__init__()
        names = _check_names(class_names)
        self.function, self.processor, self._given_id, self._file = function, processor, model_id, file
        self.config = SimpleNamespace(id2label=dict(enumerate(names)), num_labels=len(names), problem_type=None)

    @property
    def model_id(self) -> str:
        """The name that was given, else its file, else the name of the function or of the module's class."""
        own = type(self.function) if isinstance(self.function, nn.Module) else self.function
        return self._given_id or self._file or str(getattr(own, "__name__", type(self.function).__name__))

    @property
    def revision(self) -> str | None:
        """A digest of what it computes; None for a plain function without a name that stands for it.

        For a module it covers its weights, and of each layer the source text of its class and its other attributes. It
        is None too if the transform, or an attribute, holds something that cannot be known.
        """
        if isinstance(self.processor, ImageTransform) and digest_code(self.processor.function) is None:
            return None
        if isinstance(self.function, OnnxFile):
            known: str | None = self.function.revision
        else:
            known = digest_module(self.function) if isinstance(self.function, nn.Module) else self._given_id
        if known is None:
            return None
        content = f"{self._given_id}\n{self.config.id2label}\n{known}\n"
        return hashlib.sha256(content.encode()).hexdigest()[:40]

    @property
    def has_layers(self) -> bool:
        """Whether it is a module or a file, in which the input of the last linear layer can be looked for."""
        return isinstance(self.function, nn.Module | OnnxFile)

    @property
    def details(self) -> Mapping[str, str]:
        """What predictions say of how it ran."""
        return self.function.details if isinstance(self.function, OnnxFile) else {}

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """The logits of a batch.

        Raises:
            OochubError: Inputs that are no images; an output of another form or number of columns.
        """
        if set(inputs) != {"pixel_values"}:
            raise OochubError(
                f"A function or module is called with one tensor of images, but the rows give {', '.join(inputs)}. Use "
                "a model of transformers for them, or Predictions.from_arrays with the logits."
            )
        pixels = inputs["pixel_values"]
        output = self.function(pixels)
        output = getattr(output, "logits", output)
        output = torch.from_numpy(output).to(pixels.device) if isinstance(output, np.ndarray) else output
        expected = (len(pixels), self.config.num_labels)
        if not isinstance(output, torch.Tensor):
            raise OochubError(
                f"{self.model_id} must return logits, a tensor or array {expected}, but it returned a "
                f"{type(output).__name__}."
            )
        if tuple(output.shape) != expected:
            raise OochubError(
                f"{self.model_id} must return logits {expected}: {expected[0]} images, and one column for each of the "
                f"{expected[1]} class_names. It returned {tuple(output.shape)}."
            )
        return ImageClassifierOutput(logits=output)


def wrap_callable(model: object, how: ModelSettings, asked: PredictionSettings | None = None) -> object:
    """A function, module or ONNX file as a CallableModel; a folder, an id, a model of transformers, ... as it is.

    Args:
        model: What the user gave.
        how: How it answers; `class_names`, `transform` and `model_id` are read.
        asked: What is to be predicted, if an ONNX file is to be checked for it.

    Raises:
        OochubError: Names or a transform for a model that has its own, or none for one that has not.

    >>> wrap_callable("runs/erm", ModelSettings())
    'runs/erm'
    """
    model = name_revision(model, how.revision)
    if isinstance(model, CallableModel):
        return model
    if isinstance(model, str | os.PathLike) and is_onnx_file(model):
        return _wrap_onnx_file(Path(model), how, asked)
    given = [name for name in ("class_names", "transform", "model_id") if getattr(how, name) is not None]
    if isinstance(model, (str, bytes)) or hasattr(model, "__fspath__") or hasattr(model, "config"):
        if given:
            words = choose_wording(" and ".join(given), "--class-names")
            raise OochubError(
                f"{words} are for a function or a module of PyTorch or an ONNX file; a model of transformers has its "
                "own class names and processor. Remove them."
            )
        return model
    if not callable(model):
        return model  # what is no model at all is said where it is opened
    if how.class_names is None:
        option = choose_wording("class_names=['cat', 'dog']", "--class-names cat,dog")
        raise OochubError(
            f"A {type(model).__name__} does not have class names. Pass them in output order: {option}. The labels of "
            "the data are matched to them by name."
        )
    if how.mode not in ("auto", "head", "localization"):
        raise OochubError(
            f"mode={how.mode!r} needs a model of transformers; a function or module answers with its own outputs, or "
            "with boxes (localization). Remove mode."
        )
    processors = [name for name in ("transform", "image_processor", "processor") if getattr(how, name) is not None]
    if len(processors) != 1:
        got = " and ".join(processors) or "none"
        option = choose_wording("transform=", 'in what the function of --model-file returns, "transform":')
        raise OochubError(
            f"Pass one of image_processor and transform, which make what the model reads from an image; got {got}. "
            f"Pass a function from a PIL image to a tensor (c, h, w) as {option}."
        )
    processor = None if how.transform is None else ImageTransform(how.transform)
    file = "" if how.model_file is None else _name_file(Path(how.model_file))
    return CallableModel(model, how.class_names, processor=processor, model_id=how.model_id, file=file)


def _name_file(file: Path) -> str:
    """A path as typed; an absolute one by its last part, for a report holds no path."""
    return file.name if file.is_absolute() else str(file)


def _wrap_onnx_file(file: Path, how: ModelSettings, asked: PredictionSettings | None) -> CallableModel:
    """See `wrap_callable`."""
    if how.mode not in ("auto", "head"):
        raise OochubError(
            f"mode={how.mode!r} needs a model of transformers; an ONNX file answers with its own outputs."
        )
    given = [name for name in ("transform", "image_processor", "processor") if getattr(how, name) is not None]
    if len(given) > 1:
        raise OochubError(f"Pass one of transform=, image_processor= and processor=; got {' and '.join(given)}.")
    if asked is not None:
        check_onnx_settings(asked)
    opened = OnnxFile(file.expanduser())
    names = _check_names(opened.class_names() if how.class_names is None else how.class_names)
    if opened.classes not in (None, len(names)):
        raise OochubError(
            f"{file} has {opened.classes} outputs, but {len(names)} class names are given. Name each one."
        )
    processor = how.image_processor if how.processor is None else how.processor
    if how.transform is not None:
        processor = ImageTransform(how.transform)
    elif processor is None:
        processor = opened.load_processor()
    elif isinstance(processor, str | os.PathLike):
        processor = load_image_processor(os.fspath(processor))
    opened.check_processor(processor)
    return CallableModel(opened, names, processor=processor, model_id=how.model_id, file=_name_file(file))


@lru_cache(maxsize=1024)
def _read_class(kind: object) -> str:
    """The source text of a class; a network has a dozen of them, and is digested several times."""
    return read_source(kind)


def digest_module(module: nn.Module) -> str | None:
    """A digest of what a module computes, 40 hexadecimal digits; None if an attribute holds what cannot be known.

    It covers its weights, and of each layer the source text of its class and its other attributes.

    >>> digest_module(nn.ReLU()) == digest_module(nn.ReLU()), digest_module(nn.ReLU()) == digest_module(nn.ELU())
    (True, False)
    """
    layers = list(module.modules())
    kinds: dict[str, object] = {f"{type(layer).__module__}.{type(layer).__qualname__}": type(layer) for layer in layers}
    own = [{k: v for k, v in vars(layer).items() if k[0] != "_" and k != "training"} for layer in layers]
    digest = digest_code(own)  # strides, probabilities, functions, ...
    if digest is None:
        return None
    content = f"{module!r}\n{digest}\n{digest_state(module.state_dict())}\n"
    content += "\n".join(f"{name}\n{_read_class(kind)}" for name, kind in kinds.items())
    return hashlib.sha256(content.encode()).hexdigest()[:40]


def digest_state(state: Mapping[str, torch.Tensor]) -> str:
    """A digest of weights by name, 40 hexadecimal digits.

    >>> one, two = ({"scale": torch.tensor(value)} for value in (1.0, 2.0))
    >>> digest_state(one) == digest_state(one), digest_state(one) == digest_state(two)
    (True, False)
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(state.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:40]


def unknown_model(model: object) -> OochubError:
    """The error for what is no model at all."""
    return OochubError(
        "The model must be a folder, an id on the Hub, a model of transformers, or a function or module of PyTorch "
        f"with class_names=, got a {type(model).__name__}. Predictions by another program go to "
        "Predictions.from_arrays."
    )


@contextmanager
def leave_as_it_was(model: object) -> Iterator[None]:
    """A block after which a module is on its device and in training or evaluation mode as before.

    >>> layer = nn.Linear(2, 2)
    >>> with leave_as_it_was(layer):
    ...     _ = layer.eval()
    >>> layer.training
    True
    """
    if not isinstance(model, nn.Module):
        yield
        return
    modes: Mapping[nn.Module, bool] = {layer: layer.training for layer in model.modules()}
    places = {tensor.device for tensor in (*model.parameters(), *model.buffers())}
    try:
        yield
    finally:
        for layer, mode in modes.items():
            layer.training = mode
        if len(places) == 1 and {tensor.device for tensor in (*model.parameters(), *model.buffers())} != places:
            model.to(places.pop())


def _check_names(names: object) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise OochubError(f"class_names must be a list of texts, one for each output, got {names!r:.80}.")
    wrong = next((name for name in names if not isinstance(name, str) or not name.strip()), None)
    if wrong is not None or not names:
        raise OochubError(f"class_names must be texts, one for each output, got {wrong if names else 'none'!r:.80}.")
    return list(names)  # two may be alike, as the cranes of ImageNet: where names are matched, that is said


class MadeModel(NamedTuple):
    """What a file made.

    Attributes:
        model: See `oochub.predict`.
        how: How the model answers, with what the file says.
        asked: The settings of prediction, with what the file says.
    """

    model: object
    how: ModelSettings
    asked: PredictionSettings


def split_model_file(typed: str) -> tuple[Path, str]:
    """The file and the name of its function, of "my_model.py:load"; without a name it is `load`.

    Raises:
        OochubError: There is no such file, or it is a folder.

    >>> split_model_file(__file__)[1]
    'load'
    """
    place, _, name = typed.rpartition(":")
    if not place or not name.isidentifier():
        place, name = typed, _DEFAULT
    file = Path(place).expanduser()
    if file.is_dir():
        raise OochubError(f"--model-file names the folder {place}; it must be a Python file, as my_model.py:load.")
    if not file.is_file():
        raise OochubError(
            f"There is no file {place}. --model-file must have the form FILE.py:FUNCTION, for example my_model.py:load."
        )
    return file, name


def make_model(typed: str, how: ModelSettings, asked: PredictionSettings) -> MadeModel:
    """Runs the function of a user's file and takes what it returns.

    Files beside it can be imported. What it prints goes to stderr.

    Args:
        typed: The file and its function, "my_model.py:load".
        how: What else was typed of the model.
        asked: What else was typed of the prediction.

    Raises:
        OochubError: No such file or function, an error in it (with the line of the file), or a result that is no model.
    """
    if asked.engine == "ray":
        raise OochubError(
            "--engine ray starts processes that do not have the code of --model-file. Remove one of them."
        )
    file, name = split_model_file(typed)
    with redirect_stdout(sys.stderr):
        module = _run_file(file)
        function = _find_function(module, name, file)
        try:
            model = function()
        except (Exception, SystemExit) as error:
            raise blame_file(error, file, f"{name}()") from error
    if model is None:
        raise OochubError(f"{name}() of {file} returned nothing. {_FORM}")
    if not isinstance(model, Mapping):
        return MadeModel(model, how, asked)
    return _take_keywords(model, how, asked, f"{name}() of {file}")


def _run_file(file: Path) -> ModuleType:
    """The file as a module, whose classes and functions have a source text."""
    name = f"oochub_model_file_{file.stem}"
    spec = spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise OochubError(f"{file} is not a Python file (.py).")
    module = module_from_spec(spec)
    sys.modules[name] = module
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: no file beside it takes the place of an installed package
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise blame_file(error, file) from error
    return module


def _find_function(module: ModuleType, name: str, file: Path) -> Callable[[], object]:
    own = [key for key, member in vars(module).items() if getattr(member, "__module__", None) == module.__name__]
    if not hasattr(module, name):
        raise unknown_name(f"function of {file}", name, own, "Write it as --model-file FILE.py:NAME.")
    function: object = getattr(module, name)
    is_module = hasattr(function, "state_dict") and not isinstance(function, type)
    if not callable(function) or is_module:
        raise OochubError(
            f"{name} of {file} is a {type(function).__name__}, but must be a function: def load(): return {name}."
        )
    return function


def _take_keywords(
    made: Mapping[object, object], how: ModelSettings, asked: PredictionSettings, what: str
) -> MadeModel:
    """A mapping as the model and the records; what was typed too is an error."""
    if "model" not in made:
        raise OochubError(f"{what} returned a mapping without 'model'. {_FORM}")
    allowed = ("model", *ModelSettings.keywords(), *PredictionSettings.keywords())
    for key in made:
        if key not in allowed:
            raise unknown_name(f"keyword of oochub.predict, which {what} returned,", str(key), allowed)
    how = replace(_add(made, how, what), said_by_file=tuple(map(str, made)))
    return MadeModel(made["model"], how, _add(made, asked, what))


def _add(made: Mapping[object, object], record: _Record, what: str) -> _Record:
    """The record with those of its options that the mapping has."""
    given = {key: made[key] for key in record.keywords() if key in made}
    twice = next((key for key in given if getattr(record, key) != get_default(type(record), key)), None)
    if twice is not None:
        option = list_options(type(record))[twice].flag_alone
        raise OochubError(f"{option} was typed, and {what} says {twice} too. Remove one of them.")
    remake: Callable[..., _Record] = replace
    return remake(record, **given)
