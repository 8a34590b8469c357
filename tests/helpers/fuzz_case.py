"""Runs one thing of a valid artifact changed through the reader and what users do next, and says what came of it."""

import logging
import math
import re
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hang_watch import no_hang

from oochub.errors import OochubError

REFUSED, SAME, SAID, CHANGED = "refused", "same", "said", "changed"
SAFE = frozenset({REFUSED, SAME, SAID})
"""What may come of any change: an error that names the file, the same numbers, or others with a word of it."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One change of a valid artifact.

    Attributes:
        name: What is changed.
        mutate: Makes the change in a copy of the artifact's folder.
        expect: The outcomes that the change allows: "refused", an `OochubError` that names a file of the artifact or
            one of `names`; "same", the numbers of the unchanged artifact; "said", other numbers with a warning or a
            note; "changed", the numbers `numbers`, without a word.
        numbers: Of "changed", worked out by other means than the reader; None takes any.
        names: Words one of which a refusal may hold in place of a file's name: the id of the row that is wrong.
        says: A regular expression that a refusal must hold beside it: the line or row that is wrong.
    """

    name: str
    mutate: Callable[[Path], Any]
    expect: frozenset[str] = frozenset({REFUSED})
    numbers: Any = None
    names: tuple[str, ...] = ()
    says: str = ""


@dataclass(frozen=True, kw_only=True)
class Used:
    """What a reader made of an artifact: `numbers` (JSON types and arrays), and the `notes` that it left of it."""

    numbers: Any
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format that is read.

    Attributes:
        name: Of its cases.
        make: Writes a valid artifact into an empty folder.
        use: Reads it as users do, and goes on as they do; it may write into the second folder.
        names: What a refusal may name in place of a file: the thing that the file is of.
    """

    name: str
    make: Callable[[Path], Any]
    use: Callable[[Path, Path], Used]
    names: tuple[str, ...] = ()


@dataclass
class Campaign:
    """Artifacts that were made, in `folder`, and their cases, one after the other."""

    folder: Path
    bases: dict[str, tuple[Path, Used]] = field(default_factory=dict)

    def run(self, kind: Format, case: Case) -> str:
        """The outcome of a case, which must be one that it expects.

        Raises:
            AssertionError: Another outcome, a refusal that names nothing, an artifact that reading changed, or a file
                that is left of what was refused.
            BaseException: Whatever the reader raises beside `OochubError`; `Hang` where it does not end.
        """
        base, usual = self._base(kind)
        artifact, out = self.folder / "case" / base.name, self.folder / "out"
        for folder in (artifact.parent, out):
            _remove(folder)
            folder.mkdir(parents=True)
        shutil.copytree(base, artifact, symlinks=True)
        case.mutate(artifact)
        before = _state(artifact)
        outcome = _outcome(kind, case, artifact, out, usual)
        assert _state(artifact) == before, f"{case.name}: reading changed the artifact"
        assert outcome in case.expect, f"{case.name}: {outcome}, expected {' or '.join(sorted(case.expect))}"
        return outcome

    def _base(self, kind: Format) -> tuple[Path, Used]:
        if kind.name not in self.bases:
            base, out = self.folder / "base" / kind.name, self.folder / "out"
            for folder in (base, out):
                _remove(folder)
            base.mkdir(parents=True)
            out.mkdir()
            kind.make(base)
            with _heard() as words:
                used = kind.use(base, out)
            assert not words, f"a valid artifact of {kind.name} is met by {words}"
            self.bases[kind.name] = base, Used(numbers=_plain(used.numbers), notes=used.notes)
        return self.bases[kind.name]


def _outcome(kind: Format, case: Case, artifact: Path, out: Path, usual: Used) -> str:
    try:
        with no_hang(case.name), _heard() as words:
            used = kind.use(artifact, out)
    except OochubError as error:
        files = {path.name for path in artifact.rglob("*")} | {artifact.name}
        is_named = any(name in str(error) for name in (*files, *case.names, *kind.names))
        assert is_named, f"{case.name}: nothing is named in: {error}"
        assert re.search(case.says, str(error)), f"{case.name}: no {case.says} in: {error}"
        left = [path.name for path in out.iterdir()]
        assert not left, f"{case.name}: {left} left of what was refused"
        return REFUSED
    numbers = _plain(used.numbers)
    if words or set(used.notes) - set(usual.notes):
        return SAME if numbers == usual.numbers else SAID
    if numbers == usual.numbers:
        return SAME
    assert case.numbers is None or numbers == _plain(case.numbers), f"{case.name}: other numbers than worked out"
    return CHANGED


@contextmanager
def _heard() -> Iterator[list[str]]:
    """The warnings of the block: those of Python for users, and those of the package's log."""
    words: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            words.append(record.getMessage())

    ear, log = Ear(logging.WARNING), logging.getLogger("oochub")
    log.addHandler(ear)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield words
        words += [str(each.message) for each in caught if issubclass(each.category, UserWarning)]
    finally:
        log.removeHandler(ear)


def _state(folder: Path) -> dict[str, tuple[int, ...]]:
    """What lies below a folder: of each file what it is, its size and when it was written."""
    state = {}
    for path in folder.rglob("*"):
        entry = path.lstat()
        is_folder = stat.S_ISDIR(entry.st_mode)
        state[str(path)] = (entry.st_mode,) if is_folder else (entry.st_mode, entry.st_size, entry.st_mtime_ns)
    return state


def _plain(value: Any) -> Any:
    """Numbers in a form that compares exactly, nan equal to nan."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def _remove(folder: Path) -> None:
    if folder.exists():
        for path in folder.rglob("*"):
            if not path.is_symlink() and path.is_dir():
                path.chmod(0o755)
        shutil.rmtree(folder)
