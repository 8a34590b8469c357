"""Writes files whole or not at all: under a temporary name, then renamed; a kill leaves the old or the new.

A draft's name holds the machine and process that write it, so the next writer of the same file removes what a killed
process left and never what a living one is writing.
"""

import glob
import os
import platform
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oochub.errors import OochubError


@contextmanager
def written_whole(target: Path | str) -> Iterator[Path]:
    """Yields a temporary path beside `target`; when the block ends well it takes the target's name.

    Raises:
        OochubError: The folder cannot be made or written, or the disk is full; `target` is then as it was.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_whole(folder / "note.txt") as draft:
    ...     _ = draft.write_text("whole")
    >>> [path.name for path in folder.iterdir()]
    ['note.txt']
    """
    path = _ready(target)
    handle, name = tempfile.mkstemp(prefix=_prefix(path, os.getpid()), suffix=path.suffix, dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())  # mkstemp's 0600 would keep the file from colleagues
        draft.replace(path)
    except OSError as error:
        raise OochubError(f"Could not write {path}: {error.strerror or error}. It is as it was before.") from error
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def folder_written_whole(target: Path | str) -> Iterator[Path]:
    """Yields a temporary folder beside `target`; when the block ends well it takes the target's place.

    Raises:
        OochubError: As for `written_whole`.
    """
    path = _ready(target)
    draft = Path(tempfile.mkdtemp(prefix=_prefix(path, os.getpid()), dir=path.parent))
    try:
        yield draft
        draft.chmod(0o777 & ~_umask())
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=_prefix(path, os.getpid()), dir=path.parent))
            path.replace(old / "old")
            draft.replace(path)
            shutil.rmtree(old)
        else:
            draft.replace(path)
    except OSError as error:
        raise OochubError(f"Could not write {path}: {error.strerror or error}. It is as it was before.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_writable(target: Path | str) -> Path:
    """The path, when a file can be written there; nothing is made. For the check before the first slow step.

    Raises:
        OochubError: A parent of the path is a regular file, or its folder cannot be written.
    """
    path = Path(target).expanduser()
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise OochubError(f"Cannot write {path}: {parent} is a file, not a folder. Choose another output path.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OochubError(f"Cannot write {path}: no permission in {parent}. Choose another output path.")
    return path


def _ready(target: Path | str) -> Path:
    """The path after making its folder and sweeping old drafts of it."""
    path = check_writable(target)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OochubError(f"Could not make the folder {path.parent}: {error.strerror}.") from error
    _sweep(path)
    return path


def _prefix(path: Path, process: int | str) -> str:
    machine = zlib.crc32(platform.node().encode())
    return f".{path.name}.draft-{machine:08x}-{process}."


def _sweep(path: Path) -> None:
    """Removes the drafts of `path` whose process is gone; one that holds the old folder puts it back first."""
    for draft in path.parent.glob(glob.escape(_prefix(path, ""))[:-1] + "*"):
        process = draft.name.removeprefix(_prefix(path, "")[:-1]).partition(".")[0]
        if not process.isdigit() or _is_alive(int(process)):
            continue
        if (draft / "old").exists() and not path.exists():
            (draft / "old").replace(path)
        shutil.rmtree(draft) if draft.is_dir() else draft.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value
