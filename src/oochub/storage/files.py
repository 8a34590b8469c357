"""Writes files whole or not at all, never in the place of something else; a kill leaves the old or the new.

A draft's name holds the machine and process that write it, so the next writer of the same file removes what a killed
process left and never what a living one is writing. `oochub.storage.ownership` says whose file stands somewhere, and
each replacement asks there.
"""

import errno
import glob
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import TextIO

from oochub.errors import OochubError
from oochub.storage import ownership
from oochub.storage.artifacts import FileKind
from oochub.storage.ownership import mark

STREAMS = ("/dev/null", "/dev/stdout", "/dev/stderr")
"""What is written to, and has no place beside it."""


@contextmanager
def write_whole(target: Path | str, *, kind: FileKind | None = None) -> Iterator[Path]:
    """Yields a temporary path beside `target`; when the block ends well it takes the target's name.

    A link to a file is refused. An existing file keeps its mode, a new one follows the umask. /dev/null, /dev/stdout
    and /dev/stderr are written to.

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
            if str(target) != STREAMS[0]:  # standard output goes on where it is, also in a file or a pipe
                stream = sys.stdout if str(target) == STREAMS[1] else sys.stderr
                stream.flush()
                stream.buffer.write(Path(folder, "draft").read_bytes())
                stream.flush()
        return
    path = _prepare_target(target, kind)
    draft: Path | None = None
    try:
        prefix = ownership.make_draft_prefix(path, os.getpid())
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix, dir=path.parent)
        os.close(handle)
        draft = Path(name)
        yield draft
        draft.chmod(_choose_mode(path, default=0o666))  # mkstemp's 0600 would keep the file from colleagues
        if kind is not None and kind.is_marked:
            mark(draft, path.suffix)
        if kind is not None:  # somebody may have written there meanwhile
            kind.check(path)
        take_place(draft, path, kind=kind)
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
        draft = Path(tempfile.mkdtemp(prefix=ownership.make_draft_prefix(path, os.getpid()), dir=path.parent))
        yield draft
        for file in (draft, *draft.rglob("*")):
            if not file.is_symlink():
                default = 0o777 if file.is_dir() else 0o666
                file.chmod(_choose_mode(path / file.relative_to(draft), default=default))
        take_place(draft, path, kind=kind)
    except OSError as error:
        raise OochubError(f"Could not write {path}: {_explain_error(error)}. It is as it was before.") from error
    finally:
        if draft:
            shutil.rmtree(draft, ignore_errors=True)


def _explain_error(error: OSError) -> str:
    """Why something was not written; if an array was cut short, NumPy says the numbers alone, and no errno."""
    is_short = error.errno is None and " requested and " in str(error)
    return f"{os.strerror(errno.ENOSPC)} ({error})" if is_short else str(error.strerror or error)


def open_log(path: Path) -> TextIO:
    """Opens a log for writing, anew; it is listed before it is opened, and ours whatever it will hold.

    Raises:
        OochubError: Something that is not ours stands there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if (governor := ownership.find_governor(path, is_inside=True)) is not None:
        ownership.check_owned(path, governor)
        governor.add(path, None)
    return path.open("w", encoding="utf-8")


def take_place(draft: Path, path: Path, *, kind: FileKind | None = None) -> None:
    """Gives a finished file or folder the name of `path`, on the same disk; what of ours stood there is removed.

    It is listed in the manifest of the folder that it belongs to; a folder of a kind, else, gets a manifest of its own.
    A folder that holds files of others keeps them, so is filled file by file.

    Args:
        draft: The file or folder.
        path: Its place.
        kind: What it is; None if it is a part of a larger output.

    Raises:
        OSError: The name cannot be given; `path` is as it was.
        OochubError: What stands there is not ours, or was edited.
    """
    governor = ownership.find_governor(path, is_inside=kind is None)
    if not draft.is_dir():
        if governor is not None:
            ownership.check_owned(path, governor)
            governor.add(path, draft)
        if path.is_dir():  # the parts of larger predictions
            _move_away(path, lambda: draft.replace(path))
        else:
            draft.replace(path)
        return
    is_there = path.is_dir() and any(path.iterdir())
    own = ownership.FolderManifest.at(path) if path.is_dir() else None
    if governor is not None:
        ownership.check_way(path, governor)
    elif is_there and kind is None:
        raise ownership.refuse(path, "was not written by oochub")
    adopted = kind.adopt(path) if is_there and kind is not None and own is None and governor is None else ()
    owned = ownership.OwnedFolder(own or governor, adopted)
    is_shared = is_there and bool(ownership.plan_merge(draft, path, owned))
    files = [file.relative_to(draft) for file in ownership.list_files(draft, nested=True) if file.is_file()]
    listed = governor
    if governor is None and kind is not None:
        ownership.make_manifest(draft, kind.name, [file.as_posix() for file in files])
        if is_shared:  # what is there is listed too, before the first of it is replaced
            listed = own or ownership.make_manifest(
                path, kind.name, [file.relative_to(path).as_posix() for file in adopted]
            )
    if listed is not None:
        for file in files:
            listed.add(path / file, draft / file)
    if is_shared:
        ownership.merge(draft, path, owned)
    elif path.exists():
        _move_away(path, lambda: draft.replace(path))
    else:
        draft.replace(path)


def _move_away(path: Path, replace: Callable[[], object]) -> None:
    """Removes a folder of ours once another thing has its name; if that fails, it is put back."""
    old = Path(tempfile.mkdtemp(prefix=ownership.make_draft_prefix(path, os.getpid()), dir=path.parent))
    try:
        path.replace(old / "old")
        replace()
    finally:
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
    folder = Path(tempfile.mkdtemp(prefix=ownership.make_draft_prefix(path, os.getpid()), dir=path.parent))
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
    return path.parent / f"{ownership.make_draft_prefix(path, os.getpid())}{what}"


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
        if path.is_symlink() and real.exists() and not (real.is_dir() and (kind is None or kind.is_folder)):
            raise ownership.refuse(path, ownership.LINK)
        if kind and not (kind.is_folder or kind.or_folder) and real.is_dir():
            raise OochubError(f"Cannot write {kind.name} to {path}: it is a folder. Choose a file's name.")
        if kind:
            kind.check(real)
        if kind and kind.beside is not None:
            beside, other = kind.beside(path)
            if os.path.lexists(beside):
                check_writable(beside, kind=other)
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
def claim_folder(target: Path | str, kind: FileKind) -> Iterator[None]:
    """Gives a folder its manifest before its first file; while the block runs, what is written into it is listed.

    What an earlier version wrote there is listed too. A block that fails before its first file leaves nothing.

    Raises:
        OochubError: The folder holds something else, or what would be replaced is not ours.
    """
    path = _prepare_target(target, kind)
    _sweep(path / ownership.MANIFEST)
    if ownership.FolderManifest.at(path) is None:
        adopted = kind.adopt(path) if path.is_dir() else ()
        ownership.make_manifest(path, kind.name, [file.relative_to(path).as_posix() for file in adopted])
    with ownership.claim(path):
        yield


@contextmanager
def lock_target(target: Path | str, *, kind: FileKind | None = None, patience: float = 1) -> Iterator[None]:
    """Holds a lock on `target`, a file or folder, present or not, while the block runs; it lies beside it, hidden.

    A process that was killed holds nothing: the next one takes its lock. A block that fails leaves no empty folder of
    those that were made for it.

    Args:
        target: What the block writes.
        kind: What a folder is that is written file by file, see `claim_folder`.
        patience: Seconds to wait for another process.

    Raises:
        OochubError: Another process holds it; which, and since when.
    """
    from filelock import FileLock, Timeout

    absent = [folder for folder in Path(target).expanduser().parents if not folder.exists()]  # the inner ones first
    path = _prepare_target(target, None)
    file = path.parent / f".{ownership.shorten_name(path.name)}.lock"
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
        with nullcontext() if kind is None else claim_folder(target, kind):
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
    governor = ownership.find_governor(path, is_inside=kind is None)
    if governor is not None:
        ownership.check_owned(path, governor)
    path = path.resolve() if path.is_symlink() else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OochubError(f"Could not make the folder {path.parent}: {error.strerror}.") from error
    _sweep(path)
    return path


def _choose_mode(path: Path, *, default: int) -> int:
    is_same = path.is_dir() if default & 0o111 else path.is_file()  # a file may come where a folder was
    umask = os.umask(0)
    os.umask(umask)
    return stat.S_IMODE(path.stat().st_mode) if is_same else default & ~umask


def _sweep(path: Path) -> None:
    """Removes the drafts of `path` whose process is gone; one that holds the old folder puts it back first."""
    for draft in path.parent.glob(glob.escape(ownership.make_draft_prefix(path, ""))[:-1] + "*"):
        process = draft.name.removeprefix(ownership.make_draft_prefix(path, "")[:-1]).partition(".")[0]
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
