"""The folder of a training run: its settings, its checkpoints, and its files when it is finished."""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError

from oochub.errors import OochubError, choose_wording
from oochub.storage.artifacts import RUN
from oochub.storage.files import check_writable, lock_target, take_place, write_whole
from oochub.storage.ownership import MANIFEST, FolderManifest, make_manifest, may_overwrite, remove
from oochub.storage.reading import read_json

_SETTINGS, _PROGRESS, _RECIPE, _LOG = "settings.json", "progress.json", "recipe.json", "training_log.json"
AUXILIARY_HEAD = "auxiliary_head.safetensors"
"""The second head of a run that had one; the model itself does without."""

_LAST = ("config.json", _RECIPE)  # in this order, after all others: config.json opens a model, the recipe ends a run


@dataclass
class Progress:
    """How far a run is.

    Attributes:
        epoch: Finished epochs.
        step: Batches seen in the epoch after those.
        global_step: Optimizer steps in all.
        batches: Batches in all.
        stage: Which stage of the run this is, from 0.
        stage_began: Optimizer steps before it.
        stage_steps: Optimizer steps that it has; 0 until they are known.
        best_epoch: The epoch, from 1, whose weights are the best so far; 0 before the first.
        best_value: Its number on the validation split.
        bad_epochs: Epochs since.
        sums: Running sums of the losses of the epoch, see `RobustTrainer`.
        history: One record per finished epoch.
    """

    epoch: int = 0
    step: int = 0
    global_step: int = 0
    batches: int = 0
    stage: int = 0
    stage_began: int = 0
    stage_steps: int = 0
    best_epoch: int = 0
    best_value: float | None = None
    bad_epochs: int = 0
    sums: list[list[float]] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)


class Checkpoint(NamedTuple):
    """A complete checkpoint: its folder and how far the run was."""

    folder: Path
    progress: Progress


class RunFolder:
    """Knows whether a run in the folder is new, unfinished or finished, and keeps every file whole.

    A checkpoint is written under a name that begins with a dot and renamed; names with a dot are leftovers of a killed
    process and never read. The recipe is written last: a folder that has one holds a finished run.

    Args:
        folder: The output folder.
        settings: What the weights depend on, JSON types only; a run is the same run when they are equal.
        overwrite: Whether an earlier run with other settings may be thrown away.

    Raises:
        OochubError: The folder cannot be written, holds files of something else, or a run with other settings.
    """

    def __init__(self, folder: str | Path, settings: Mapping[str, Any], *, overwrite: bool) -> None:
        self.path = check_writable(Path(folder) / _RECIPE).parent
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))
        self._overwrite = overwrite
        self._check()
        check_writable(self.path, kind=RUN)

    @property
    def is_finished(self) -> bool:
        """Whether a run with these settings is complete; one whose files were edited is not, if it may be replaced."""
        if not (self._has_recipe and self._read_earlier_settings() == self._settings):
            return False
        manifest = FolderManifest.at(self.path)
        return not (may_overwrite() and manifest is not None and manifest.list_edited())

    @property
    def history(self) -> list[dict[str, Any]]:
        """The records of the epochs of a finished run."""
        history: list[dict[str, Any]] = read_json(self.path / _LOG)
        return history

    @property
    def recipe(self) -> dict[str, Any]:
        """The recipe of a finished run."""
        return _record(self.path / _RECIPE)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps another training out of the folder while a block runs; of the processes of one run the first does.

        A block that fails, as on a full disk, leaves no half-written checkpoint.

        Raises:
            OochubError: Another training is in the folder; its process and since when.
        """
        if os.environ.get("RANK", "0") != "0":
            yield
            return
        with lock_target(self.path, kind=RUN):
            try:
                yield
            except BaseException:
                self._sweep()
                raise

    def begin(self) -> None:
        """Makes the folder ready: settings written, leftovers gone, and with `overwrite` the earlier run too."""
        manifest = make_manifest(self.path, RUN.name)
        if manifest.owns(self._checkpoints / _SETTINGS):  # also of an earlier version
            manifest.add_folder(self._checkpoints, again=True)
        if self._read_earlier_settings() != self._settings:
            self._remove(self._checkpoints)
        manifest.add_folder(self._checkpoints)
        self._checkpoints.mkdir(parents=True, exist_ok=True)
        with write_whole(self._checkpoints / _SETTINGS) as draft:
            draft.write_text(_encode_json(self._settings))
        for name in (*_LAST[::-1], AUXILIARY_HEAD):
            self._remove(self.path / name)
        self._sweep()

    def last(self) -> Checkpoint | None:
        """The complete checkpoint that is furthest, None where there is none."""
        return max(self._complete(), key=lambda each: (each.progress.epoch, each.progress.step), default=None)

    def of_epoch(self, epoch: int) -> Path:
        """The path of the checkpoint of a finished epoch."""
        return self._checkpoints / f"epoch-{epoch}"

    def draft_of(self, progress: Progress) -> Path:
        """The path at which all processes write a checkpoint before `commit`."""
        return self._checkpoints / f".{self._name(progress)}"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turns what goes wrong while files are written, by any of the libraries, into an OochubError.

        A weight that two names share is stored once, and read back for both: Accelerate's line on it is left out.
        """
        log = logging.getLogger("accelerate.utils.other")
        log.addFilter(_is_other_line)
        try:
            yield
        except (OSError, RuntimeError, SafetensorError) as error:  # torch.save raises RuntimeError on a full disk
            raise OochubError(
                f"Cannot write to {self.path}: {str(error).splitlines()[0]}. Free disk space and run the same "
                "command again; it resumes from the last complete checkpoint."
            ) from error
        finally:
            log.removeFilter(_is_other_line)

    def commit(self, progress: Progress) -> None:
        """Makes a written draft the last checkpoint and removes all others but the best."""
        draft = self.draft_of(progress)
        (draft / _PROGRESS).write_text(_encode_json(asdict(progress)))
        target = self._checkpoints / self._name(progress)
        self._remove(target)
        draft.replace(target)
        for other in self._complete():
            if other.folder not in (target, self.of_epoch(progress.best_epoch)):
                self._remove(other.folder)

    @contextmanager
    def finish(self, recipe: Mapping[str, Any], history: list[dict[str, Any]]) -> Iterator[Path]:
        """Yields a folder for the model's files; when the block ends well they and the recipe stand in the run's."""
        draft = self.path / ".draft"
        with self.writing():
            make_manifest(self.path, RUN.name).add_folder(draft)
            draft.mkdir(exist_ok=True)
            yield draft
            (draft / _LOG).write_text(_encode_json(history))
            (draft / _RECIPE).write_text(_encode_json({**recipe, "settings": self._settings}))
            names = sorted(file.name for file in draft.iterdir())
            for name in [*(name for name in names if name not in _LAST), *_LAST]:
                take_place(draft / name, self.path / name)
            remove(draft)

    def clear(self) -> None:
        """Removes the checkpoints of a finished run."""
        self._remove(self._checkpoints)
        self._sweep()

    @property
    def _has_recipe(self) -> bool:
        return (self.path / _RECIPE).is_file()

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @staticmethod
    def _name(progress: Progress) -> str:
        return f"step-{progress.global_step}" if progress.step else f"epoch-{progress.epoch}"

    def _complete(self) -> list[Checkpoint]:
        files = [file for file in self._checkpoints.glob(f"*/{_PROGRESS}") if not file.parent.name.startswith(".")]
        return [Checkpoint(file.parent, Progress(**_record(file))) for file in files]

    def _remove(self, target: Path) -> None:
        manifest = FolderManifest.above(target)
        is_ours = manifest is not None and target.is_dir() and manifest.owns_folder(target)
        if is_ours and target.parent == self._checkpoints and not self._checkpoints.is_symlink():
            hidden = target.with_name(f".{target.name.lstrip('.')}.old")  # half a folder must not look like a whole one
            if target != hidden:
                remove(hidden)
                target.replace(hidden)
            target = hidden
        elif is_ours and target == self._checkpoints and not target.is_symlink():
            for path in target.iterdir():
                self._remove(path)
        remove(target)

    def _sweep(self) -> None:
        """Removes what a killed process left under names with a dot, and nothing of the user's."""
        for leftover in [*self._checkpoints.glob(".*"), *self.path.glob(".checkpoints*"), *self.path.glob(".draft*")]:
            self._remove(leftover)

    def _read_earlier_settings(self) -> dict[str, Any] | None:
        if self._has_recipe:
            return _record(self.path / _RECIPE, "settings")
        file = self._checkpoints / _SETTINGS
        return _record(file) if file.is_file() else None

    def _check(self) -> None:
        earlier = self._read_earlier_settings()
        if earlier is None:
            files = self.path.iterdir() if self.path.is_dir() else ()
            foreign = [file.name for file in files if not file.name.lstrip(".").startswith("checkpoints")]
            if foreign and MANIFEST not in foreign:
                raise OochubError(
                    f"{self.path} contains other files ({', '.join(sorted(foreign)[:5])}) but no training run. "
                    "Choose another --out."
                )
        elif earlier != self._settings and not self._overwrite:
            raise OochubError(
                f"{self.path} contains a{' finished' if self._has_recipe else 'n unfinished'} run that differs in "
                f"{_list_differences(earlier, self._settings)}. Choose another --out, or discard it with "
                f"{choose_wording('overwrite_output_dir=True', '--overwrite')}."
            )


def _record(file: Path, part: str | None = None) -> dict[str, Any]:
    """The object that a JSON file of a run holds, or one of its parts."""
    content = read_json(file)
    if part is not None and isinstance(content, dict):
        content = content.get(part, {})
    if not isinstance(content, dict):
        raise OochubError(f"{file} does not belong to a training run. Choose another --out, or remove the folder.")
    return content


def _encode_json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _list_differences(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    before, after = _flatten(earlier), _flatten(now)
    keys = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    shown = [f"{key} (there {before.get(key)!r}, now {after.get(key)!r})" for key in keys[:6]]
    return ", ".join(shown) + (f" and {len(keys) - 6} more" if len(keys) > 6 else "")


def _flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {prefix: value}
    return {
        k: v for key, part in value.items() for k, v in _flatten(part, f"{prefix}.{key}" if prefix else key).items()
    }


def _is_other_line(record: logging.LogRecord) -> bool:
    return "Removed shared tensor" not in record.getMessage()
