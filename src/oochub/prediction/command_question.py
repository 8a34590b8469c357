"""A command that was asked before, with the same model, data and settings: its cache key, before anything is imported.

The key of predictions (`oochub.models.cache_key`) needs the model's class and the rows of the data, and so torch,
transformers and `datasets`: most of the time of a command that runs no model. So a command also leaves a small file in
the cache, named by a digest of the question: what was typed, the bytes of the model's files, the paths, sizes and times
of the data's files, and the versions and files of the code. The file holds the key. Whatever the key depends on, the
digest depends on too. A question that cannot be told so is never recalled: a model or data of the Hub, a benchmark, a
plug-in, another runtime, an option that is the path of a file, several processes.
"""

import hashlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TextIO

from oochub import catalog
from oochub.errors import OochubError, OochubWarning
from oochub.records.provenance import drop_when_and_where, provenance
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import Settings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.cache_folder import FRESH, cache_folder, describe_state, digest_code, walk_entries
from oochub.storage.files import write_whole
from oochub.storage.kept_content import digest_content
from oochub.storage.reading import parse_json, read_bytes

_MODEL_FILES = (".safetensors", ".json", ".txt", ".model", ".jinja", ".md")
_NO_PATHS = ("splits", "mode", "label", "context", "group", "cluster", "image", "config", "device", "dtype")
"""Options that name something else than a file, also where a file of that name lies in the working directory."""
_VARIABLES = ("OOCHUB_", "HF_", "HUGGINGFACE_", "TRANSFORMERS_", "TOKENIZERS_", "CUDA_", "HIP_", "ROCR_", "TORCH_")
_ACCELERATORS = ("nvidia*", "kfd", "dxg", "dri/render*", "accel*", "davinci*", "neuron*")  # in /dev
_MOST_OUTSIDE = 100_000  # files outside the folder of the data


@dataclass(frozen=True)
class EarlierAnswer:
    """What is known of a question that was asked before.

    Attributes:
        key: Key of the predictions in the cache.
        warned: Warnings that came before the predictions were looked for.
    """

    key: str
    warned: tuple[str, ...]

    def warn(self) -> None:
        """Warns of the same again.

        Warns:
            OochubWarning: Each of them.
        """
        for text in self.warned:
            warnings.warn(text, OochubWarning, stacklevel=2)


class CommandQuestion:
    """A question of the command line, and what is learned while it is answered.

    Args:
        command: Name of the command.
        model: Folder of the model, as typed.
        source: Folder or file of the data, as typed.
        how: How the model answers.
        asked: The other options of a prediction.
        others: All other options.
    """

    def __init__(
        self, command: str, model: str, source: str, how: ModelSettings, asked: PredictionSettings, *others: Settings
    ) -> None:
        self._command, self._model, self._source = command, model, source
        self._settings = {type(each).__name__: vars(each) for each in (how, asked, *others)}
        self._is_plain = (
            asked.cache
            and not asked.compile
            and (asked.runtime, asked.engine) == ("torch", "local")
            and (how.model_file, how.processor, how.image_processor) == (None, None, None)
            and source.partition("/")[0] not in catalog.names("benchmark")
            and os.environ.get("WORLD_SIZE", "1") == "1"
        )
        self._started = time.time()
        self._digest = self._compute_digest()
        self._key: str | None = None
        self._heard: list[str] = []
        self._warned: tuple[str, ...] = ()
        self._outside: dict[str, str] = {}

    def find(self) -> EarlierAnswer | None:
        """What is known, if the same was asked before and nothing that the answer depends on has changed since."""
        try:
            if self._digest is None:
                return None
            known = parse_json(read_bytes(self._file), name=str(self._file))
            if any(describe_state(path) != state for path, state in known["outside"].items()):
                return None
            return EarlierAnswer(str(known["key"]), tuple(map(str, known["warned"])))
        except (OochubError, OSError, KeyError, TypeError, AttributeError):  # not there, or damaged
            return None

    @contextmanager
    def answer(self) -> Iterator["CommandQuestion"]:
        """While it is open the question is answered; at its end what was noted is kept."""
        shown = warnings.showwarning

        def hear(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            self._heard.append(str(message) if issubclass(category, OochubWarning) else "")
            shown(message, category, filename, lineno, file, line)

        warnings.showwarning = hear
        try:
            yield self
        finally:
            warnings.showwarning = shown
        self._keep()

    def note(self, key: str | None, images: Iterable[str]) -> None:
        """Notes the key of the predictions when it is known, and that all warnings so far came before.

        Args:
            key: The key; None if the predictions cannot be cached.
            images: Paths of the files that the images lie in.
        """
        place = os.path.realpath(Path(self._source).expanduser())
        self._key, self._warned = key, tuple(self._heard)
        inside: dict[str, bool] = {}
        for path in images:
            folder = path[: path.rfind("/") + 1]
            if folder not in inside:
                inside[folder] = f"{os.path.realpath(folder)}/".startswith(f"{place}/")
            if not inside[folder]:
                self._outside[path] = describe_state(path)

    def _keep(self) -> None:
        is_odd = self._key is None or "" in self._warned or len(self._outside) > _MOST_OUTSIDE
        if is_odd or self._digest is None or self._compute_digest() != self._digest:
            return
        known = {"key": self._key, "warned": self._warned, "outside": self._outside}
        try:
            with write_whole(self._file) as draft:
                draft.write_text(json.dumps(known), "utf-8")
        except OochubError:  # the predictions could not be cached either, which was said
            return

    @property
    def _file(self) -> Path:
        return cache_folder("predictions") / "asked" / f"{self._digest}.json"

    def _compute_digest(self) -> str | None:
        """A digest of the question; None if none stands for it."""
        try:
            folder, place = Path(self._model).expanduser(), Path(self._source).expanduser()
            has_weights = any(folder.glob("*.safetensors")) and place.exists()
            if not self._is_plain or not has_weights or any(map(_is_path, _list_texts(self._settings))):
                return None
            if any(group.startswith("oochub.") for group in entry_points().groups):
                return None
            content = {
                "command": self._command,
                "typed": [self._model, self._source, str(folder.absolute()), str(place.absolute())],
                "settings": self._settings,
                "model": {file.name: digest_content(read_bytes(file)) for file in _list_model_files(folder)},
                "data": self._digest_entries(place),
                "code": digest_code(),
                "versions": drop_when_and_where(provenance()),
                "machine": _describe_machine(),
            }
            return digest_content(json.dumps(content, sort_keys=True).encode())
        except (OSError, ValueError, TypeError, RuntimeError):  # who opens it says what is wrong
            return None

    def _digest_entries(self, place: Path) -> str:
        """A digest of the paths, sizes and times of a file, or of all below a folder.

        Raises:
            ValueError: A file that changed as the command began: another change may have the same time.
        """
        digest = hashlib.sha256()
        for path in sorted(entry.path for entry in walk_entries(place)) if place.is_dir() else (str(place),):
            state = describe_state(path)
            digest.update(os.fsencode(path) + f"\n{state}\n".encode())
            if state and int(state.rpartition(" ")[2]) > (self._started - FRESH) * 1e9:
                raise ValueError(path)
        return digest.hexdigest()


def _list_texts(value: object) -> Iterator[str]:
    """The texts in the values of options that may be paths."""
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key not in _NO_PATHS:
                yield from _list_texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _list_texts(each)


def _is_path(text: str) -> bool:
    return Path(text).expanduser().exists()


def _list_model_files(folder: Path) -> list[Path]:
    """The files that the key of predictions may depend on."""
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in _MODEL_FILES and file.is_file())


def _describe_machine() -> dict[str, object]:
    """What decides which device runs a network and which packages are there, without importing them."""
    devices = [str(path) for pattern in _ACCELERATORS for path in sorted(Path("/dev").glob(pattern))]
    driver = Path("/proc/driver/nvidia/version")
    return {
        "platform": [*platform.uname()[:1], *platform.uname()[2:5], sys.executable],
        "devices": [*devices, driver.read_text("utf-8") if driver.is_file() else ""],
        "packages": [[path, describe_state(path)] for path in sys.path if path.endswith("-packages")],
        "variables": {name: os.environ[name] for name in sorted(os.environ) if name.startswith(_VARIABLES)},
    }
