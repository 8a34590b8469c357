"""The models of a study: a text file with one per line, or a single model; all checked before the first is loaded."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from oochub.errors import OochubError
from oochub.remote.check_source import split_revision
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.reading import read_lines

if TYPE_CHECKING:
    from oochub.models.model_source import ModelSource

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_LISTS = (".txt", ".list", ".csv")
_OF_THE_MODEL = ("*.json", "*.safetensors", "*.bin")


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """A model that a user's own Python file made, and how it answers.

    Attributes:
        source: The model.
        how: See `oochub.predict`.
        asked: See `oochub.predict`.
        token: Stands for a model whose weights no digest covers; each run has its own.
    """

    source: "ModelSource"
    how: ModelSettings
    asked: PredictionSettings
    token: str = field(default_factory=lambda: uuid4().hex)


class StudiedModel(NamedTuple):
    """A model of the list, or a copy of its architecture with random weights.

    Attributes:
        name: Its name, of its folder and in its rows.
        source: Folder or Hub id, or the model that a user's own file made.
        seed: Random seed for the random weights; None for the model itself.
    """

    name: str
    source: str | OpenedModel
    seed: int | None = None

    def copies(self, count: int) -> list["StudiedModel"]:
        """This architecture with random weights, seeds 0 to count - 1.

        >>> StudiedModel("resnet", "runs/resnet").copies(1)
        [StudiedModel(name='resnet-random-0', source='runs/resnet', seed=0)]
        """
        return [StudiedModel(f"{self.name}-random-{seed}", self.source, seed) for seed in range(count)]


def read_models(models: str | Path | StudiedModel | Iterable[str | Path]) -> list[StudiedModel]:
    """The models of a list file, of a list, or the single one that is named.

    Args:
        models: A text file with a folder or Hub id a line, `#` before comments; or one folder or Hub id; or several.
            Relative folders are taken from where the command runs. A `StudiedModel` is itself.

    Raises:
        OochubError: No such file, no model in it, or lines that are no model; every such line is named.

    >>> [one.name for one in read_models(["microsoft/resnet-50"])]
    ['microsoft--resnet-50']
    """
    if isinstance(models, StudiedModel):
        return [models]
    if isinstance(models, str | Path):
        path = Path(models).expanduser()
        if path.suffix in _LISTS and not path.exists():
            raise OochubError(f"There is no list of models at {path}. Write one: one model folder or Hub id per line.")
        if not path.exists() or path.is_dir():
            return _parse_models([("", str(models))])
        lines = [
            (f"line {number}: ", line.partition("#")[0].strip()) for number, line in enumerate(read_lines(path), 1)
        ]
        names = [(where, line) for where, line in lines if line]
        if not names:
            raise OochubError(f"{path} names no model. Write one model folder or Hub id per line; # begins a comment.")
        return _parse_models(names, f"{path}: ")
    named = [("", str(model)) for model in models]
    if not named:
        raise OochubError("There are no models. Pass model folders or Hub ids.")
    return _parse_models(named)


def model_state(model: StudiedModel) -> dict[str, Any]:
    """What a model's predictions depend on: the content of its files, or the commit of the Hub that lies in the cache.

    The Hub is not asked: a newer commit counts once it was downloaded.
    """
    if isinstance(model.source, OpenedModel):
        return {"name": model.name, "weights": model.source.source.revision or model.source.token}
    folder = Path(model.source).expanduser()
    if not folder.is_dir():
        state: dict[str, Any] = {"hub": model.source, "commit": _find_cached_commit(model.source)}
    elif model.seed is None:
        state = {"name": model.name, "files": _digest_folder(folder, _OF_THE_MODEL)}
    else:  # its weights are not read
        state = {"files": _digest_folder(folder, ("config.json", "preprocessor_config.json"))}
    return state | ({} if model.seed is None else {"random_seed": model.seed})


def check_classes(models: Iterable[StudiedModel], classes: int) -> None:
    """Checks that every model can be had and tells `classes` classes apart, from its config alone.

    Raises:
        OochubError: Models that cannot, each named.
    """
    from oochub.models.open_model import read_model_config

    wrong = []
    for model in models:
        own = model.source if isinstance(model.source, OpenedModel) else None
        try:
            config = own.source.config if own else read_model_config(str(Path(str(model.source)).expanduser()))
        except OochubError as error:
            wrong.append(str(error).rstrip("."))
            continue
        if config.num_labels != classes:
            name = model.name if own else model.source
            wrong.append(f"{name} tells {config.num_labels} classes apart, the sets have {classes}")
    _refuse(wrong)


def _parse_models(lines: Iterable[tuple[str, str]], file: str = "") -> list[StudiedModel]:
    wrong, models = [], dict[str, StudiedModel]()
    for where, line in lines:
        fault = _find_fault(line)
        if fault is not None:
            wrong.append(f"{where}{fault}")
            continue
        model = StudiedModel(_name(line), line)
        if model.name in models:
            other = models[model.name].source
            shared = f"{line} and {other} would share one folder: rename one"
            wrong.append(f"{where}{f'{line} is named twice' if other == line else shared}")
        models.setdefault(model.name, model)
    _refuse(wrong, file)
    return list(models.values())


def _refuse(wrong: list[str], file: str = "") -> None:
    if wrong:
        faults = "; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise OochubError(f"{file}{faults}. Nothing was started; correct or remove what is named.")


def _find_fault(line: str) -> str | None:
    try:
        folder = Path(line).expanduser()
        is_folder, is_file = folder.is_dir(), folder.is_file()
    except (OSError, RuntimeError) as error:  # too long a name, a loop of links, an unknown home
        return f"{line[:100]!r} cannot be a folder: {getattr(error, 'strerror', None) or error}"
    if is_folder:
        return None if (folder / "config.json").is_file() else f"{line} holds no finished model (no config.json)"
    if is_file:
        return f"{line} is a file, not a model folder"
    bare, _ = split_revision(line)
    if folder.is_absolute() or line.startswith(("./", "../")) or bare.count("/") > 1:
        return f"there is no folder {line}"
    return None if _HUB_ID.fullmatch(bare) else f"{line!r} is neither a model folder nor a Hub id"


def _name(line: str) -> str:
    folder = Path(line).expanduser()
    return folder.absolute().name if folder.is_dir() else line.strip("/").replace("/", "--")


def _digest_folder(folder: Path, patterns: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for file in sorted({file for pattern in patterns for file in folder.glob(pattern)}):
        digest.update(f"{file.name} {file.stat().st_size}\n".encode())
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def _find_cached_commit(name: str) -> str | None:
    from huggingface_hub import try_to_load_from_cache

    bare, revision = split_revision(name)
    path = try_to_load_from_cache(bare, "config.json", revision=revision)
    return Path(path).parent.name if isinstance(path, str) else None
