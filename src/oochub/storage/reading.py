"""Reads files of which nothing is known yet: each way in which one can be wrong is an error that names it.

Files in tar and zip archives are read in place; nothing is unpacked.
"""

import io
import json
import math
import os
import re
import stat
import struct
import tarfile
import tokenize
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from oochub.errors import OochubError

NUMPY_FAULTS = (
    *(OSError, ValueError, KeyError, EOFError, AttributeError, TypeError, MemoryError, NotImplementedError),
    *(RuntimeError, SyntaxError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What NumPy raises on .npy and .npz files that are broken, nothing unpickled."""
_WEIGHTS = {"{": 190, "[": 48, ",": 34, '"': 16}
"""Bytes that Python takes, about, for what JSON begins or ends with a sign."""
_LIGHT = 500 * 10**6  # bytes that any content may take
_TIMES = 8  # as many as its text has, that it may take where that is more: real annotations take five


_READ = 2**20
_ADDRESS = re.compile(r"(.+\.tar)\?offset=(\d+)&size=(\d+)", re.DOTALL)


_LARGEST = 2**28  # bytes of a member
_FAULTS = (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error)
_AGAIN = "Make the archive again."
_LARGEST_TOML = 10**6  # bytes


def check_regular_file(file: Path | str) -> Path:
    """The path of a regular file, before a library opens it: a pipe would make that wait.

    Raises:
        OochubError: There is no such file, it is a folder or a device, or it cannot be reached.

    >>> check_regular_file("/dev/null")
    Traceback (most recent call last):
    oochub.errors.OochubError: Cannot read /dev/null: it is a pipe, socket or device, not a file. Check the path.
    """
    path = (file if isinstance(file, Path) else Path(file)).expanduser()  # making a Path costs as much as a read
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise _explain_unread(path, error) from error
    if stat.S_ISREG(mode):
        return path
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
    raise OochubError(f"Cannot read {path}: it is {kind}, not a file. Check the path.")


def read_bytes(file: Path | str, *, at_most: int = -1) -> bytes:
    """The content of a regular file; nothing else is opened.

    Args:
        file: Path of the file.
        at_most: How many of its first bytes are read; -1 takes all.

    Raises:
        OochubError: What `check_regular_file` raises, or the file cannot be read.

    >>> read_bytes("nope.json")
    Traceback (most recent call last):
    oochub.errors.OochubError: Cannot read nope.json: there is no such file. Check the path.
    """
    path = check_regular_file(file)
    try:
        with path.open("rb", buffering=0) as content:
            return content.read(at_most) or b""
    except OSError as error:
        raise _explain_unread(path, error) from error


def _explain_unread(path: Path, error: OSError | ValueError) -> OochubError:
    if isinstance(error, FileNotFoundError):
        return OochubError(f"Cannot read {path}: there is no such file. Check the path.")
    if isinstance(error, OSError):  # no permission, a loop of links, a name that is too long
        return OochubError(f"Cannot read {path}: {error.strerror or error}. Check the path and its permissions.")
    return OochubError(f"Cannot read {str(path)!r}: {error}. Check the path.")  # a null character in it


def read_text(file: Path | str, *, largest: int | None = None) -> str:
    """The text of a UTF-8 file, without its byte order mark.

    Args:
        file: Path of the file.
        largest: Bytes that it may have; None for any number.

    Raises:
        OochubError: What `read_bytes` raises, or the file has more bytes, or is not UTF-8; the line is named.
    """
    if largest is not None and (size := check_regular_file(file).stat().st_size) > largest:
        raise OochubError(f"{file} is not read: it has {size:,} bytes of {largest:,} allowed. Is it the right file?")
    content = read_bytes(file)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise OochubError(f"{file} is not UTF-8 text (line {line}). Save it as UTF-8, or download it again.") from None


def read_lines(file: Path | str) -> list[str]:
    r"""The lines of a UTF-8 file without their ends, \n or \r\n.

    Raises:
        OochubError: What `read_text` raises.
    """
    text = read_text(file).replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def read_json(file: Path | str, *, kept: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """The content of a JSON file; `schema.from_json` makes a record of it.

    Args:
        file: Path of the file.
        kept: What is kept of each object, inner ones first: a large file then takes little memory.

    Raises:
        OochubError: What `read_text` raises, or it is no JSON, cut off or nested too deeply; line and column are named.
    """
    return parse_json(read_text(file), name=str(file), kept=kept)


def parse_json(text: str | bytes, *, name: str, kept: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    r"""The content of JSON that stands in a file of another kind.

    Args:
        text: UTF-8.
        name: What errors call it.
        kept: As for `read_json`.

    Raises:
        OochubError: The text is no JSON, cut off, nested too deeply, holds half of a character, or see `check_weight`.

    >>> parse_json(r'{"a": "\ud800"}', name="car.json")
    Traceback (most recent call last):
    oochub.errors.OochubError: car.json is not read: its JSON holds half of a character. Make or fetch the file again.
    """
    check_weight(text, name=name)
    try:
        content = json.loads(text, object_hook=kept)
        if may_hold_half(text):
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        reason = "it is empty" if not text.strip() else f"{error.msg} at {place}"
        raise OochubError(f"{name} is not complete JSON: {reason}. Make or fetch the file again.") from None
    except UnicodeEncodeError:  # a surrogate without its other half, as \ud800
        reason = "its JSON holds half of a character"
    except RecursionError:
        reason = "its JSON is nested too deeply"
    except ValueError as error:  # no UTF-8, or a whole number of thousands of digits
        reason = str(error)
    raise OochubError(f"{name} is not read: {reason}. Make or fetch the file again.")


class TomlFile:
    """A TOML file: its content, and the line of each field for errors.

    Args:
        file: Its path.

    Raises:
        OochubError: What `read_text` raises, or it is no TOML.
    """

    def __init__(self, file: Path) -> None:
        self.file, text = file, read_text(file, largest=_LARGEST_TOML)
        try:
            self.content: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # a TOMLDecodeError, or a number of thousands of digits
            raise OochubError(f"{file} is not TOML: {error}. Fix it.") from None
        self._lines = text.splitlines()

    def at(self, *names: str | int) -> str:
        """The file and the line of a field, "mine/benchmark.toml, line 7"; the file alone if it is written another way.

        Args:
            *names: The tables that lead to it and its name; of a list of tables, also the number of one.
        """
        table: tuple[str | int, ...] = ()
        counts: Counter[tuple[str | int, ...]] = Counter()
        for number, line in enumerate(self._lines, 1):
            match = re.match(r"\s*(\[*)\s*([^\]=#\s][^\]=]*?)\s*[=\]]", line)
            parts = tuple(part.strip().strip("\"'") for part in match[2].split(".")) if match else ()
            if match and match[1]:
                table = parts
                if len(match[1]) > 1:
                    table, counts[parts] = (*parts, counts[parts]), counts[parts] + 1
            if match and (table if match[1] else (*table, *parts)) == names:
                return f"{self.file}, line {number}"
        return self.at(*names[:-1]) if len(names) > 1 else str(self.file)


def check_weight(text: str | bytes, *, name: str) -> None:
    """Checks that JSON is not made to fill the memory, as 100 MB of empty lists do: before it is parsed.

    Args:
        text: Text of the JSON.
        name: What errors call it.

    Raises:
        OochubError: Its content would take much more memory than that of any file of data does.

    >>> check_weight("[],,," * 6_000_000, name="car.json")
    Traceback (most recent call last):
    oochub.errors.OochubError: car.json is not read: 30 MB of JSON that would take 0.9 GB. Make or fetch the file again.
    """
    largest = max(_LIGHT, _TIMES * len(text))
    if len(text) * max(_WEIGHTS.values()) <= largest:
        return
    count = text.count if isinstance(text, str) else lambda sign: text.count(sign.encode())
    weight = sum([count(sign) * weight_of for sign, weight_of in _WEIGHTS.items()])
    if weight > largest:
        raise OochubError(
            f"{name} is not read: {len(text) / 1e6:.0f} MB of JSON that would take {weight / 1e9:.1f} GB. Make or "
            "fetch the file again."
        )


def parse_plain_number(text: str) -> float:
    """The number that a field of a table holds; nan where it is none, or is written as Python alone does.

    >>> parse_plain_number("1e-3"), parse_plain_number("1_0"), parse_plain_number("١"), parse_plain_number("")
    (0.001, nan, nan, nan)
    """
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


def may_hold_half(text: str | bytes) -> bool:
    r"""Whether JSON names half of a character, as \ud800; its other half may stand beside it.

    >>> may_hold_half(r'"a\ud83d\ude97"'), may_hold_half('"car"')
    (True, False)
    """
    return re.search(rb"\\u[dD][89a-fA-F]" if isinstance(text, bytes) else r"\\u[dD][89a-fA-F]", text) is not None  # type: ignore[arg-type]


class TarMember(NamedTuple):
    """A file in a tar archive that is not compressed.

    Attributes:
        archive: Path of the archive.
        offset: Bytes before the file's own.
        size: Size in bytes.
    """

    archive: str
    offset: int
    size: int

    @property
    def address(self) -> str:
        """The member as text, which stands where a file's path would.

        >>> TarMember("birds.tar", 512, 40).address
        'birds.tar?offset=512&size=40'
        """
        return f"{self.archive}?offset={self.offset}&size={self.size}"

    @classmethod
    def of(cls, address: str) -> "TarMember | None":
        """The member that an address names; None for the path of a file.

        >>> TarMember.of("birds.tar?offset=512&size=40")
        TarMember(archive='birds.tar', offset=512, size=40)
        >>> TarMember.of("birds/gull.jpg") is None
        True
        """
        match = _ADDRESS.fullmatch(address)
        return None if match is None else cls(match[1], int(match[2]), int(match[3]))

    def read(self) -> bytes:
        """Its bytes.

        Raises:
            OochubError: The archive is gone, or ends before them.
        """
        try:
            with Path(self.archive).open("rb") as file:
                content = os.pread(file.fileno(), self.size, self.offset)
        except (OSError, OverflowError) as error:
            raise OochubError(f"Cannot read {self.archive}: {error}. Copy the shard again.") from error
        if len(content) < self.size:
            raise OochubError(
                f"{self.archive} is truncated: it ends before byte {self.offset + self.size}. Copy it again."
            )
        return content


def check_tar_end(archive: tarfile.TarFile, file: Path, *, start: int = 0, again: str) -> None:
    """Checks that what follows the last member of an archive is its end: zeros alone, at least a block of them.

    tarfile takes a damaged header after the first for the end, and so a part of an archive for all of it.

    Args:
        archive: The archive, all of whose members were met.
        file: What errors call it.
        start: The byte of the file at which the archive begins.
        again: What to do if it is damaged.

    Raises:
        OochubError: Something else follows, or nothing; at which byte.
    """
    assert archive.fileobj is not None  # noqa: S101  it is open
    archive.fileobj.seek(archive.offset)
    rest, is_marked = archive.fileobj.read(_READ), False
    while rest:
        is_marked |= len(rest) >= tarfile.BLOCKSIZE
        if rest.strip(b"\0"):
            names = archive.getnames()
            after = f"after {names[-1]!r}, its member number {len(names)}" if names else "at its beginning"
            raise OochubError(
                f"{file} is corrupted: {after}, at byte {start + archive.offset}, there is neither a member nor the "
                f"end of the archive. {again}"
            )
        rest = archive.fileobj.read(_READ)
    if not is_marked:
        raise OochubError(
            f"{file} is truncated: at byte {start + archive.offset} it ends without the zeros that mark its end. "
            f"{again}"
        )


@dataclass(frozen=True)
class ZipFiles:
    """The files of archives as those of one folder.

    A folder around everything in an archive is left out. If there are several archives, the files of each lie in a
    folder with its name.

    Attributes:
        archives: Archives.
        members: Archive and name in it of each file, by its path.
    """

    archives: Sequence[Path]
    members: Mapping[str, tuple[Path, str]]

    @classmethod
    def find(cls, archives: Sequence[Path]) -> "ZipFiles":
        """Lists archives.

        Raises:
            OochubError: An archive that is damaged or encrypted, a path out of it, a link, a file that is there twice.
        """
        members: dict[str, tuple[Path, str]] = {}
        for archive in archives:
            names = list(_list_names(archive))
            tops = {path.partition("/")[0] if "/" in path else "" for path, _ in names}
            around = next(iter(tops)) if len(tops) == 1 else ""
            for path, name in names:
                inside = path[len(around) + 1 :] if around else path
                full = f"{archive.stem}/{inside}" if len(archives) > 1 else inside
                if full in members:
                    raise OochubError(f"{archive} contains {name!r} twice. {_AGAIN}")
                members[full] = archive, name
        return cls(archives, members)

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            OochubError: It is damaged or too large.
        """
        (content,) = self.read_all([path])
        return content

    def read_all(self, paths: Sequence[str]) -> Iterator[bytes]:
        """The bytes of several files; each archive is opened once for those that follow each other."""
        opened: zipfile.ZipFile | None = None
        try:
            for path in paths:
                archive, name = self.members[path]
                try:
                    if opened is None or opened.filename != str(archive):
                        opened = zipfile.ZipFile(archive)
                    if opened.getinfo(name).file_size > _LARGEST:
                        raise OochubError(f"{name} in {archive} has more than {_LARGEST:,} bytes, so it is not read.")
                    yield opened.read(name)
                except _FAULTS as error:
                    raise OochubError(f"{name} in {archive} is corrupted ({error}). {_AGAIN}") from error
        finally:
            if opened is not None:
                opened.close()

    def open(self, path: str) -> io.BytesIO:
        """A file as a stream."""
        return io.BytesIO(self.read(path))


def _list_names(archive: Path) -> Iterator[tuple[str, str]]:
    """The path of each file in an archive, with "/" between its parts, and its name there."""
    try:
        with zipfile.ZipFile(archive) as opened:
            listed = opened.infolist()
    except _FAULTS as error:
        raise OochubError(f"{archive} is not a complete zip archive ({error}). {_AGAIN}") from error
    for member in listed:
        path = member.filename.replace("\\", "/")
        parts = PurePosixPath(path).parts
        if path.startswith("/") or ".." in parts or ":" in path.partition("/")[0] or "\n" in path:
            raise OochubError(f"{archive} contains {member.filename!r}, a path that points outside it. {_AGAIN}")
        if path.endswith("/") or any(part.startswith((".", "__")) for part in parts):
            continue
        if stat.S_ISLNK(member.external_attr >> 16):
            raise OochubError(f"{archive} contains {member.filename!r}, a link, which is not followed. {_AGAIN}")
        if member.flag_bits & 1:
            raise OochubError(f"{archive} is encrypted. Unpack it, and give the folder.")
        yield path, member.filename
