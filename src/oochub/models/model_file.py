"""A model that a user's own Python file makes: `--model-file my_model.py:load`; it runs only if that is asked for."""

import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

from oochub.errors import OochubError, unknown_name
from oochub.process.own_files import blame_file
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import get_default, list_options
from oochub.settings.prediction_settings import PredictionSettings

_DEFAULT = "load"
_FORM = (
    'It must return a module of PyTorch, a function from images to logits, or {"model": net, "class_names": [...], '
    '"transform": f, ...}, the keywords of oochub.predict.'
)


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


_Record = TypeVar("_Record", ModelSettings, PredictionSettings)


def _add(made: Mapping[object, object], record: _Record, what: str) -> _Record:
    """The record with those of its options that the mapping has."""
    given = {key: made[key] for key in record.keywords() if key in made}
    twice = next((key for key in given if getattr(record, key) != get_default(type(record), key)), None)
    if twice is not None:
        option = list_options(type(record))[twice].flag_alone
        raise OochubError(f"{option} was typed, and {what} says {twice} too. Remove one of them.")
    remake: Callable[..., _Record] = replace
    return remake(record, **given)
