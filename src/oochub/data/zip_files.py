"""The files in zip archives, read in place: a listing, and the bytes of each; nothing is unpacked."""

import io
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from oochub.errors import OochubError

_LARGEST = 2**28  # bytes of a member
_FAULTS = (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error)
_AGAIN = "Make the archive again."


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
                    raise OochubError(f"{archive} holds {name!r} twice. {_AGAIN}")
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
                    raise OochubError(f"{name} in {archive} is damaged ({error}). {_AGAIN}") from error
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
        raise OochubError(f"{archive} is no complete zip archive ({error}). {_AGAIN}") from error
    for member in listed:
        path = member.filename.replace("\\", "/")
        parts = PurePosixPath(path).parts
        if path.startswith("/") or ".." in parts or ":" in path.partition("/")[0] or "\n" in path:
            raise OochubError(f"{archive} holds {member.filename!r}, a path that points outside it. {_AGAIN}")
        if path.endswith("/") or any(part.startswith((".", "__")) for part in parts):
            continue
        if stat.S_ISLNK(member.external_attr >> 16):
            raise OochubError(f"{archive} holds {member.filename!r}, a link, which is not followed. {_AGAIN}")
        if member.flag_bits & 1:
            raise OochubError(f"{archive} is encrypted. Unpack it, and give the folder.")
        yield path, member.filename
