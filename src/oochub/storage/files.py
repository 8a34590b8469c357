"""Writes files whole or not at all, never in the place of something else; a kill leaves the old or the new.

A draft's name holds the machine and process that write it, so the next writer of the same file removes what a killed
process left and never what a living one is writing. `FileKind` says what may stand under a name, and what may be
replaced there.
"""

import errno
import glob
import os
import platform
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from oochub.errors import OochubError

STREAMS = ("/dev/null", "/dev/stdout", "/dev/stderr")
"""What is written to, and has no place beside it."""
_LONGEST_NAME = 100  # bytes of a target's name that stand in its draft's, of 255 that file systems allow


@dataclass(frozen=True)
class FileKind:
    """What a command writes: its name in messages, the suffixes that fit, and how an existing one is recognized.

    Attributes:
        name: Name with its article, "a report".
        suffixes: The allowed ends of the file's name, (".json",); () allows any.
        recognizes: Whether an existing file or folder that is not empty is of this kind, so may be replaced.
        is_folder: Whether it is a folder.
        or_folder: Whether it is a file, or a folder of the same name where it is very large.

    >>> def is_page(path: Path) -> bool:
    ...     return path.read_bytes()[:15].lower() == b"<!doctype html>"
    >>> FileKind("a page", (".html",), is_page).check(Path("page.json"))
    Traceback (most recent call last):
    oochub.errors.OochubError: Cannot write a page to page.json: its name must end in .html.
    """

    name: str
    suffixes: tuple[str, ...]
    recognizes: Callable[[Path], bool]
    is_folder: bool = False
    or_folder: bool = False

    def check(self, path: Path) -> None:
        """Refuses a suffix that does not fit, and a path that holds something else; links are followed.

        Raises:
            OochubError: What is there, and what to do.
        """
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            raise OochubError(f"Cannot write {self.name} to {path}: its name must end in {' or '.join(self.suffixes)}.")
        if self.is_folder and path.exists() and not path.is_dir():
            raise OochubError(f"Cannot write {self.name} to {path}: it is a file. Choose another folder.")
        is_empty = not path.exists() or (not any(path.iterdir()) if path.is_dir() else not path.stat().st_size)
        if not is_empty and not self.recognizes(path):
            raise OochubError(
                f"Cannot write {self.name} to {path}: what stands there is not {self.name}, and is not replaced. "
                "Choose another output path, or move it away."
            )


@contextmanager
def write_whole(target: Path | str, *, kind: FileKind | None = None) -> Iterator[Path]:
    """Yields a temporary path beside `target`; when the block ends well it takes the target's name.

    A link is followed: the file that it points to is replaced. An existing file keeps its mode, a new one follows the
    umask. /dev/null, /dev/stdout and /dev/stderr are written to.

    Raises:
        OochubError: What `check_writable` raises, or the disk is full; `target` is then as it was.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with write_whole(folder / "note.txt") as draft:
    ...     _ = draft.write_text("whole")
    >>> [path.name for path in folder.iterdir()]
    ['note.txt']
    """
    if str(target) in STREAMS:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder, "draft")
            _copy_to_stream(Path(folder, "draft"), str(target))
        return
    path = _prepare_target(target, kind)
    draft: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=_make_prefix(path, os.getpid()), suffix=path.suffix, dir=path.parent)
        os.close(handle)
        draft = Path(name)
        yield draft
        draft.chmod(_choose_mode(path, default=0o666))  # mkstemp's 0600 would keep the file from colleagues
        take_place(draft, path)
    except OSError as error:
        raise OochubError(f"Could not write {path}: {_explain_error(error)}. It is as it was before.") from error
    finally:
        if draft:
            draft.unlink(missing_ok=True)


@contextmanager
def write_whole_folder(target: Path | str, *, kind: FileKind | None = None) -> Iterator[Path]:
    """Yields a temporary folder beside `target`; when the block ends well it takes the target's place.

    Raises:
        OochubError: What `write_whole` raises.
    """
    path = _prepare_target(target, kind)
    draft: Path | None = None
    try:
        draft = Path(tempfile.mkdtemp(prefix=_make_prefix(path, os.getpid()), dir=path.parent))
        yield draft
        for file in (draft, *draft.rglob("*")):
            if not file.is_symlink():
                default = 0o777 if file.is_dir() else 0o666
                file.chmod(_choose_mode(path / file.relative_to(draft), default=default))
        take_place(draft, path)
    except OSError as error:
        raise OochubError(f"Could not write {path}: {_explain_error(error)}. It is as it was before.") from error
    finally:
        if draft:
            shutil.rmtree(draft, ignore_errors=True)


def _explain_error(error: OSError) -> str:
    """Why something was not written; if an array was cut short, NumPy says the numbers alone, and no errno."""
    is_short = error.errno is None and " requested and " in str(error)
    return f"{os.strerror(errno.ENOSPC)} ({error})" if is_short else str(error.strerror or error)


def take_place(draft: Path, path: Path) -> None:
    """Gives a finished file or folder the name of `path`, on the same disk; what stood there is removed.

    Raises:
        OSError: The name cannot be given; `path` is as it was.
    """
    old: Path | None = None
    try:
        if path.exists() and (path.is_dir() or draft.is_dir()):
            old = Path(tempfile.mkdtemp(prefix=_make_prefix(path, os.getpid()), dir=path.parent))
            path.replace(old / "old")
        draft.replace(path)
    finally:
        if old:
            _put_back(old, path)  # when it was stopped between the two
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def make_scratch_folder() -> Iterator[Path]:
    """Yields a new folder for temporary files; those that killed processes of this user left are removed.

    >>> with make_scratch_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    path = Path(tempfile.gettempdir(), f"oochub-{os.getuid()}")
    _sweep(path)
    folder = Path(tempfile.mkdtemp(prefix=_make_prefix(path, os.getpid()), dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def name_scratch_folder(what: str) -> Path:
    """The path of a folder for temporary files of this process, not made yet; those of killed processes are removed.

    Args:
        what: Goes into it, of the same process always the same path for the same.

    Raises:
        OSError: No folder for temporary files can be written.
    """
    path = Path(tempfile.gettempdir(), f"oochub-{os.getuid()}")
    _sweep(path)
    return path.parent / f"{_make_prefix(path, os.getpid())}{what}"


def check_writable(target: Path | str, *, kind: FileKind | None = None) -> Path:
    """The path, when a file can be written there; nothing is made. For the check before the first slow step.

    Args:
        target: A file or folder, present or not.
        kind: What shall be written; None allows every suffix and replaces every regular file or folder.

    Raises:
        OochubError: A parent of the path is a regular file, its folder cannot be written, the path is a pipe, a
            socket or a device, or what stands there is not of the kind.
    """
    if not isinstance(target, str | os.PathLike):
        raise OochubError(f"Cannot write to {target!r:.80}: give the path of a file or folder, as text or a Path.")
    path = Path(target).expanduser()
    if str(path) in STREAMS and not (kind and kind.is_folder):
        return path
    try:
        real = path.resolve() if path.is_symlink() else path
        if real.is_symlink():  # from Python 3.13 on `resolve` says nothing
            raise OochubError(f"Cannot write {path}: its links lead in a loop. Choose another output path.")
        mode = real.stat().st_mode if real.exists() else None
        if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OochubError(f"Cannot write {path}: it is a pipe, socket or device. Choose another output path.")
        if kind and not (kind.is_folder or kind.or_folder) and real.is_dir():
            raise OochubError(f"Cannot write {kind.name} to {path}: it is a folder. Choose a file's name.")
        if kind:
            kind.check(real)
        parent = next(folder for folder in real.absolute().parents if folder.exists())
        if not parent.is_dir():
            raise OochubError(f"Cannot write {path}: {parent} is a file, not a folder. Choose another output path.")
        inside = [real] if kind and kind.is_folder and real.is_dir() else []  # files are added to it
        for folder in (parent, *inside):
            if not os.access(folder, os.W_OK | os.X_OK):
                raise OochubError(f"Cannot write {path}: no permission in {folder}. Choose another output path.")
            tempfile.TemporaryFile(dir=folder).close()  # root has every permission, and yet not on a read-only disk
    except (OSError, RuntimeError) as error:  # a loop of links, a name that is too long, a read-only disk
        raise OochubError(f"Cannot write {path}: {error}. Choose another output path.") from error
    return path


@contextmanager
def lock_target(target: Path | str, *, patience: float = 1) -> Iterator[None]:
    """Holds a lock on `target`, a file or folder, present or not, while the block runs; it lies beside it, hidden.

    A process that was killed holds nothing: the next one takes its lock. A block that fails leaves no empty folder of
    those that were made for it.

    Args:
        target: What the block writes.
        patience: Seconds to wait for another process.

    Raises:
        OochubError: Another process holds it; which, and since when.
    """
    from filelock import FileLock, Timeout

    absent = [folder for folder in Path(target).expanduser().parents if not folder.exists()]  # the inner ones first
    path = _prepare_target(target, None)
    file = path.parent / f".{_shorten_name(path.name)}.lock"
    lock = FileLock(file, timeout=patience)
    try:
        lock.acquire()
    except Timeout:
        holder = ""
        with suppress(OSError):  # it has just ended
            holder = file.read_text("utf-8", errors="replace")
        raise OochubError(
            f"Another process writes {path}{f' ({holder})' if holder else ''}. Wait for its end, or choose another."
        ) from None
    try:
        now = datetime.now().isoformat(sep=" ", timespec="seconds")
        with suppress(OSError):  # the disk is full: the lock holds without its note, and who writes more says so
            file.write_text(f"process {os.getpid()} on {platform.node()}, since {now}", "utf-8")
        yield
        absent = []
    finally:
        file.unlink(missing_ok=True)  # while it is held: a lock on a file without a name counts for nobody
        lock.release()
        with suppress(OSError):  # one that holds something stays
            for folder in absent:
                folder.rmdir()


def _prepare_target(target: Path | str, kind: FileKind | None) -> Path:
    """The path behind its links, after making its folder and sweeping old drafts of it."""
    path = check_writable(target, kind=kind)
    path = path.resolve() if path.is_symlink() else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OochubError(f"Could not make the folder {path.parent}: {error.strerror}.") from error
    _sweep(path)
    return path


def _copy_to_stream(draft: Path, name: str) -> None:
    """Writes the draft to the device; standard output goes on where it is, also in a file or a pipe."""
    if name == STREAMS[0]:
        return
    stream = sys.stdout if name == STREAMS[1] else sys.stderr
    stream.flush()
    stream.buffer.write(draft.read_bytes())
    stream.flush()


def _choose_mode(path: Path, *, default: int) -> int:
    is_same = path.is_dir() if default & 0o111 else path.is_file()  # a file may come where a folder was
    return stat.S_IMODE(path.stat().st_mode) if is_same else default & ~_read_umask()


def _shorten_name(name: str) -> str:
    """A name that leaves room for a prefix and a suffix."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 4]}-{zlib.crc32(encoded):08x}"


def _make_prefix(path: Path, process: int | str) -> str:
    machine = zlib.crc32(platform.node().encode())
    return f".{_shorten_name(path.name)}.draft-{machine:08x}-{process}."


def _sweep(path: Path) -> None:
    """Removes the drafts of `path` whose process is gone; one that holds the old folder puts it back first."""
    for draft in path.parent.glob(glob.escape(_make_prefix(path, ""))[:-1] + "*"):
        process = draft.name.removeprefix(_make_prefix(path, "")[:-1]).partition(".")[0]
        if not process.isdigit() or _is_alive(int(process)):
            continue
        _put_back(draft, path)
        shutil.rmtree(draft, ignore_errors=True) if draft.is_dir() else draft.unlink(missing_ok=True)


def _put_back(draft: Path, path: Path) -> None:
    if (draft / "old").exists() and not path.exists():
        (draft / "old").replace(path)


def _is_alive(process: int) -> bool:
    """Whether it runs; one that has ended and that nobody has waited for yet (a zombie, on Linux) does not."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] not in "ZX"
    except ProcessLookupError:
        return False
    except OSError:  # of another user, or a system without /proc
        return True


def _read_umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value
