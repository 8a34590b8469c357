"""Whose file it is: what oochub writes into a folder is listed in a manifest there, and nothing else is replaced.

The manifest is `.oochub.jsonl`, one line per file with its path, size, time and SHA-256. It is written before the first
file, and a file's line before the file takes its name, so that a kill leaves what the next run knows. A file is ours if
it is regular, is reached through no link below the folder, and has the content of one of its lines; its digest is
computed only if size or time differ. What stands alone carries a mark instead, where its format has comments: one with
a digest of the rest.
"""

import hashlib
import json
import os
import platform
import re
import stat
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from oochub.errors import OochubError, choose_wording

MANIFEST = ".oochub.jsonl"
"""Name of the list of what oochub wrote into a folder."""
_CACHE = "a cache"
_DRAFT = re.compile(r"\.draft-[0-9a-f]{8}-[0-9]+\.")  # what `oochub.storage.files` is still writing
_LONGEST_NAME = 100  # bytes of a target's name that stand in its draft's, of 255 that file systems allow
LINK = "is a link, and oochub replaces nothing through one"
"""Why a link is refused, see `refuse`."""

_overwrites: ContextVar[bool] = ContextVar("overwrites", default=False)
_claimed: list[str] = []  # real paths of the folders that this process is writing
_opened: dict[str, "FolderManifest"] = {}


_MARK = b"Written by oochub, SHA-256 of the rest "
_COMMENTS = {  # suffix: what a comment is made of
    **dict.fromkeys((".md", ".markdown", ".html", ".htm", ".svg", ".xml"), (b"\n<!-- ", b" -->\n")),
    **dict.fromkeys((".tex", ".latex", ".pdf"), (b"\n% ", b"\n")),
}
_LENGTH = 32


@contextmanager
def overwriting(allowed: bool = True) -> Iterator[None]:
    """While the block runs, files that are wanted are replaced even if others wrote them; links and folders never are.

    Args:
        allowed: Whether they are.
    """
    token = _overwrites.set(allowed)
    try:
        yield
    finally:
        _overwrites.reset(token)


def allow_overwriting(allowed: bool) -> None:
    """From here on `may_overwrite` says so; for a command line, which is over before a block could end."""
    _overwrites.set(allowed)


def may_overwrite() -> bool:
    """Whether `--overwrite` was given, see `overwriting`."""
    return _overwrites.get()


class _Content(NamedTuple):
    """What a file held when it was written; without a size, whatever it holds."""

    size: int | None
    time: int
    digest: str


class FolderManifest:
    """The list of what oochub wrote into a folder.

    Args:
        root: The folder.

    Attributes:
        root: The folder.
        kind: Name of what the folder is, such as "an audit"; "" if its first line is damaged.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.kind = root, ""
        self._files: dict[str, set[_Content]] = {}
        self._folders: set[str] = set()
        self._state: tuple[int, int] = (0, 0)  # inode, and bytes that were read

    @classmethod
    def at(cls, root: Path) -> "FolderManifest | None":
        """The manifest of a folder; None if there is none."""
        if not _is_regular(root / MANIFEST):
            return None
        manifest = _opened.setdefault(os.path.realpath(root), cls(root))
        manifest.root = root
        manifest.refresh()
        return manifest

    @classmethod
    def above(cls, path: Path) -> "FolderManifest | None":
        """The manifest of the nearest folder above a path that has one; links are not resolved."""
        return next(filter(None, map(cls.at, _make_absolute(path).parents)), None)

    @property
    def is_cache(self) -> bool:
        """Whether the folder is a cache, whose files are named by what they are made of."""
        return self.kind == _CACHE

    def refresh(self) -> bool:
        """Reads the lines that are new; whether there were some."""
        file = self.root / MANIFEST
        try:
            state = file.lstat()
            if state.st_ino != self._state[0] or state.st_size < self._state[1]:
                self._files, self._folders, self._state = {}, set(), (state.st_ino, 0)
            if state.st_size == self._state[1]:
                return False
            with file.open("rb") as content:
                content.seek(self._state[1])
                lines = content.read()
        except OSError:
            return False
        whole = lines[: lines.rfind(b"\n") + 1]
        self._state = (state.st_ino, self._state[1] + len(whole))
        for line in whole.splitlines():
            self._take(line)
        return bool(whole)

    def _take(self, line: bytes) -> None:
        try:
            record = json.loads(line) if line else {}
            if "oochub" in record:
                self.kind = str(record["oochub"])
            if "gone" in record:
                self._folders.discard(record["gone"])
            if "path" in record and str(record["path"]).endswith("/"):
                self._folders.add(record["path"])
            elif "path" in record:
                content = _Content(record.get("size"), record.get("time", 0), record.get("sha256", ""))
                self._files.setdefault(record["path"], set()).add(content)
        except (ValueError, TypeError, RecursionError):  # torn by a kill: what it would say is not ours
            return

    def name(self, path: Path) -> str:
        """The path of a file as the manifest has it."""
        return _make_absolute(path).relative_to(_make_absolute(self.root)).as_posix()

    def lists(self, path: Path) -> bool:
        """Whether there is a line for a file, whatever it holds now."""
        name = self.name(path)
        return name in self._files or any(name.startswith(folder) for folder in self._folders)

    def has_size(self, path: Path) -> bool:
        """Whether a file is listed with the size that it has; its bytes are not read."""
        with suppress(OSError):
            size = path.lstat().st_size
            return self.lists(path) and all(file.size in (None, size) for file in self._files.get(self.name(path), ()))
        return False

    def owns(self, path: Path) -> bool:
        """Whether a file is regular, reached through no link below the folder, and as it was written."""
        self.refresh()
        while not self._has_line_of(path):
            if not self.refresh():  # a file's line comes before it, so another process has not just written it
                return False
        return True

    def _has_line_of(self, path: Path) -> bool:
        name = self.name(path)
        if not _is_regular(path) or any(parent.is_symlink() for parent in self._list_way(path)):
            return False
        if any(name.startswith(folder) for folder in self._folders):
            return True
        files = self._files.get(name, ())
        with suppress(FileNotFoundError):  # another process has just removed it
            state = path.lstat()
            if any(file.size is None or (file.size, file.time) == (state.st_size, state.st_mtime_ns) for file in files):
                return True
            same = {file.digest for file in files if file.size == state.st_size}
            return bool(same) and _digest_file(path) in same
        return False

    def owns_folder(self, folder: Path) -> bool:
        """Whether a folder is one of `add_folder`, or in one."""
        name = f"{self.name(folder)}/"
        return any(name.startswith(folder) for folder in self._folders)

    def is_edited(self, path: Path) -> bool:
        """Whether a file that is listed is another one by now."""
        is_direct = _is_regular(path) and not any(parent.is_symlink() for parent in self._list_way(path))
        return is_direct and self.lists(path) and not self.owns(path)

    def list_edited(self) -> list[Path]:
        """The files that are listed and are others by now."""
        return [path for name in self._files if self.is_edited(path := self.root / name)]

    def _list_way(self, path: Path) -> list[Path]:
        """The folders between this one and a path."""
        parts = self.name(path).split("/")[:-1]
        return [self.root.joinpath(*parts[:end]) for end in range(1, len(parts) + 1)]

    def add(self, path: Path, content: Path | None) -> None:
        """Lists a file before it takes its name.

        Args:
            path: Where it will stand.
            content: The draft with its bytes; None if it is ours whatever it will hold, such as a log.
        """
        self._append(_describe(self.name(path), content))

    def add_folder(self, folder: Path, *, again: bool = False) -> None:
        """Lists a folder that we are about to make: what will be in it is ours. One that is there is left alone.

        Args:
            folder: The folder.
            again: Whether one that is there is known to be ours.
        """
        if f"{self.name(folder)}/" not in self._folders and (again or not os.path.lexists(folder)):
            self._append({"path": f"{self.name(folder)}/"})

    def drop_folder(self, folder: Path) -> None:
        """Takes back `add_folder`, once the folder is gone: the next one of this name is not ours."""
        name = f"{self.name(folder)}/"
        if name in self._folders:
            self._append({"gone": name})

    def _append(self, said: Mapping[str, object]) -> None:
        line = f"\n{json.dumps(said, ensure_ascii=False)}\n".encode(errors="surrogatepass")
        handle = os.open(self.root / MANIFEST, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        try:
            os.write(handle, line)  # one call: lines of several processes do not mix
        finally:
            os.close(handle)
        self.refresh()


def _describe(name: str, content: Path | None) -> dict[str, object]:
    if content is None:
        return {"path": name}
    state = content.stat()
    return {"path": name, "size": state.st_size, "time": state.st_mtime_ns, "sha256": _digest_file(content)}


def make_manifest(root: Path, kind: str, files: Sequence[str] = ()) -> FolderManifest:
    """Writes the manifest of a folder, unless it has one.

    Args:
        root: The folder; made if it is not there.
        kind: Name of what it is.
        files: Paths in it of what an earlier version wrote.
    """
    root.mkdir(parents=True, exist_ok=True)
    if not _is_regular(root / MANIFEST):
        lines = [{"oochub": kind, "version": 1}, *(_describe(name, root / name) for name in files)]
        draft = root / f"{make_draft_prefix(root / MANIFEST, os.getpid())}{threading.get_ident()}"
        draft.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
        with suppress(FileExistsError):  # another process was first
            os.link(draft, root / MANIFEST)
        draft.unlink()
    manifest = FolderManifest.at(root)
    if manifest is None:
        raise OochubError(f"Cannot write {root}: {root / MANIFEST} is not a regular file. Remove it.")
    return manifest


def make_cache(root: Path) -> FolderManifest:
    """The manifest of a cache, made if there is none."""
    return FolderManifest.at(root) or make_manifest(root, _CACHE)


@contextmanager
def claim(root: Path) -> Iterator[None]:
    """While the block runs, what this process writes into a folder with a manifest belongs to it, of whatever kind.

    A block that fails before its first file takes the manifest away again.
    """
    place = os.path.realpath(root)
    _claimed.append(place)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if [path.name for path in root.iterdir()] == [MANIFEST]:
                (root / MANIFEST).unlink()
                root.rmdir()
        raise
    finally:
        _claimed.remove(place)


def shorten_name(name: str) -> str:
    """A name that leaves room for a prefix and a suffix."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 4]}-{zlib.crc32(encoded):08x}"


def make_draft_prefix(path: Path, process: int | str) -> str:
    """How the names of the drafts of a path begin that a process of this machine writes; `is_draft` knows them."""
    machine = zlib.crc32(platform.node().encode())
    return f".{shorten_name(path.name)}.draft-{machine:08x}-{process}."


def is_draft(path: Path) -> bool:
    """Whether a path is, or lies in, what `oochub.storage.files` is writing, or was when its process was killed."""
    return _DRAFT.search(str(path)) is not None


def is_claimed(manifest: FolderManifest) -> bool:
    """Whether this process is writing the folder of a manifest."""
    return os.path.realpath(manifest.root) in _claimed


def find_governor(path: Path, *, is_inside: bool) -> FolderManifest | None:
    """The manifest that a file is to be listed in; None if it stands alone.

    Args:
        path: The file.
        is_inside: Whether it is written as part of a larger output, so that the nearest manifest is meant.
    """
    if is_draft(path):
        return None
    manifest = FolderManifest.above(path)
    if manifest is None or not (is_inside or manifest.is_cache or is_claimed(manifest) or manifest.lists(path)):
        return None
    return manifest


def refuse(path: Path, why: str) -> OochubError:
    """The error for a path that is wanted and not ours.

    Args:
        path: The path.
        why: What it is, after "it".
    """
    hint = "Move it away or choose another output path."
    if _is_regular(path):
        hint = f"Move it away, choose another output path, or {choose_wording('delete it', 'add --overwrite')}."
    return OochubError(f"Cannot write {path}: it {why}. {hint}")


def check_way(path: Path, manifest: FolderManifest) -> None:
    """Refuses a path that a manifest is to list, if it is a link or leads through one.

    Raises:
        OochubError: The link.
    """
    place = manifest.root
    for part in manifest.name(path).split("/"):
        place = place / part
        if place.is_symlink():
            raise refuse(place, LINK)


def check_owned(path: Path, manifest: FolderManifest) -> None:
    """Refuses a path that a manifest is to list, if something stands there that is not ours.

    Raises:
        OochubError: The path, and why.
    """
    check_way(path, manifest)
    if not os.path.lexists(path) or path.is_dir() or manifest.owns(path):
        return
    if not os.path.lexists(path):  # another process has just removed it
        return
    is_regular = _is_regular(path)
    if is_regular and (manifest.is_cache or not path.stat().st_size):  # of a cache the name says what it is made of
        return
    if not (may_overwrite() and is_regular):
        was = "was changed after oochub wrote it" if manifest.lists(path) else "was not written by oochub"
        raise refuse(path, was)


def list_files(folder: Path, *, nested: bool = False) -> Iterator[Path]:
    """All below a folder that is no folder, and the folders without content; links are not followed.

    Args:
        folder: The folder.
        nested: Whether to look into folders that have a manifest of their own.
    """
    try:
        with os.scandir(folder) as entries:
            entries_sorted = sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:  # another process has just removed it
        return
    for entry in entries_sorted:
        path = Path(entry.path)
        if not entry.is_dir(follow_symlinks=False):
            if entry.name != MANIFEST:
                yield path
        elif nested or not _is_regular(path / MANIFEST):
            inner = list(list_files(path, nested=nested))
            yield from inner or [path]


def match(name: str, patterns: Sequence[str]) -> bool:
    """Whether a path in a folder is of one of these patterns, or stands where one of them needs a folder.

    >>> match("model/config.json", ["model/*"]), match("model", ["model/*"]), match("mode", ["model/*"])
    (True, True, False)
    """
    parts = [pattern.split("/") for pattern in patterns]
    heads = ["/".join(part[:end]) for part in parts for end in range(1, len(part)) if part[end - 1] != "*"]
    return any(fnmatchcase(name, pattern) for pattern in (*patterns, *heads))


def remove(path: Path) -> bool:
    """Removes a file, or all below a folder, as far as a manifest says that it is ours; links are left alone.

    Args:
        path: A file or folder.

    Returns:
        Whether nothing is left.
    """
    if not os.path.lexists(path):
        return True
    above = FolderManifest.above(path)
    if path.is_symlink() or not path.is_dir():
        if above is None or not (above.owns(path) or (may_overwrite() and above.is_edited(path))):
            return False
        path.unlink(missing_ok=True)
        return True
    own, is_ours = path / MANIFEST, above is not None and above.owns_folder(path)
    left = [remove(entry) for entry in path.iterdir() if entry != own]
    if not all(left) or not (left or is_ours or _is_regular(own)):  # an empty folder of somebody else stays
        return False
    own.unlink(missing_ok=True)
    path.rmdir()
    if above is not None:
        above.drop_folder(path)
    return True


def plan_merge(draft: Path, path: Path, owned: "OwnedFolder") -> list[Path]:
    """What stands in a folder and stays there when a draft takes its place: files, links and folders of others.

    Args:
        draft: The new content.
        path: The folder.
        owned: What of it is ours.

    Raises:
        OochubError: Something of others stands where a new file would.
    """
    new = {file.relative_to(draft).as_posix() for file in list_files(draft, nested=True)}
    folders = {parent.as_posix() for name in new for parent in Path(name).parents}
    folders |= {entry.relative_to(draft).as_posix() for entry in draft.rglob("*") if entry.is_dir()}
    kept = []
    for file in list_files(path, nested=True):
        name = file.relative_to(path).as_posix()
        if owned.has(file) or (name in folders and file.is_dir() and not file.is_symlink()):
            continue
        if name in new or name in folders or any(parent.as_posix() in new for parent in Path(name).parents):
            if not (name in new and _is_regular(file) and may_overwrite()):
                raise refuse(file, LINK if file.is_symlink() else owned.why(file))
            continue
        kept.append(file)
    return kept


class OwnedFolder:
    """What of a folder that is to be replaced is ours.

    Args:
        manifest: The manifest that lists it, its own or one above; None for one of an earlier version.
        adopted: Files that an earlier version wrote into it.
    """

    def __init__(self, manifest: FolderManifest | None, adopted: Sequence[Path] = ()) -> None:
        self._manifest, self._adopted = manifest, set(adopted)

    def has(self, file: Path) -> bool:
        """Whether a file is ours and unchanged, or another process has just removed it."""
        is_ours = file in self._adopted or (self._manifest is not None and self._manifest.owns(file))
        return is_ours or not os.path.lexists(file)

    def why(self, file: Path) -> str:
        """Why one is not."""
        is_listed = self._manifest is not None and self._manifest.lists(file)
        return "was changed after oochub wrote it" if is_listed else "was not written by oochub"


def merge(draft: Path, path: Path, owned: OwnedFolder) -> None:
    """Moves each file of a draft into a folder that holds files of others, and removes ours that are not in it."""
    new = {file.relative_to(draft): file for file in list_files(draft, nested=True)}
    old = [file for file in list_files(path, nested=True) if owned.has(file)]
    for name, file in new.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            (path / name).mkdir(exist_ok=True)
        else:
            file.replace(path / name)
    for file in old:
        if file.relative_to(path) not in new:
            file.unlink(missing_ok=True)
            for parent in file.relative_to(path).parents[:-1]:
                with suppress(OSError):  # one that holds something stays
                    (path / parent).rmdir()
    if (draft / MANIFEST).exists():
        (draft / MANIFEST).replace(path / MANIFEST)


def _make_absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  no link is followed


def _digest_file(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def mark(file: Path, suffix: str) -> None:
    """Adds our mark to a finished file: a comment at the end, in a PNG a chunk of text.

    Args:
        file: The file.
        suffix: That of its name, which says the format.
    """
    content = file.read_bytes()
    text = _MARK + hashlib.sha256(content).hexdigest()[:_LENGTH].encode()
    if suffix.lower() == ".png":
        content = content[:-12] + _make_chunk(text) + content[-12:]  # before the last chunk, IEND
    else:
        begin, end = _COMMENTS[suffix.lower()]
        content += begin + text + end
    file.write_bytes(content)


def _make_chunk(text: bytes) -> bytes:
    body = b"tEXt" + b"Software\0" + text
    return (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def read_mark(file: Path) -> bool | None:
    """Whether a file is as it was when our mark was added to it; None if it has no mark."""
    content = file.read_bytes()
    begin = content.rfind(_MARK)
    if begin < 0:
        return None
    end = begin + len(_MARK) + _LENGTH
    text = content[begin + len(_MARK) : end].decode("ascii", "replace")
    if file.suffix.lower() == ".png":
        chunk = _make_chunk(content[begin:end])
        rest = content.removesuffix(content[-12:]).removesuffix(chunk) + content[-12:]
    elif file.suffix.lower() in _COMMENTS:
        first, last = _COMMENTS[file.suffix.lower()]
        rest = content.removesuffix(first + content[begin:end] + last)
    else:
        return False
    return len(rest) < len(content) and hashlib.sha256(rest).hexdigest()[:_LENGTH] == text
