"""Finds the pictures in a tar archive by its headers; nothing is unpacked, and no link is followed."""

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from oochub.builders.sources.stored import Stored
from oochub.errors import OochubError

COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
DECOMPRESS = "Decompress it to a plain .tar: the pictures of one are read in place."
_BROKEN = (tarfile.TarError, OSError, ValueError, IndexError, OverflowError, MemoryError, RecursionError)
_AGAIN = "Download it again."
_READ = 2**20


def tar_pictures(file: Path, below: Path, enter: Callable[[str], bool], passed: list[str]) -> Iterator[Stored]:
    """The pictures of an archive, those of archives in it too, in their order.

    tarfile takes a damaged header after the first for the end of the archive; here an archive ends with the zeros that
    mark its end, or it is damaged.

    Args:
        file: The archive.
        below: Its path below the place that pictures are named by.
        enter: Which folders and archives in it to look into.
        passed: Takes the names of links and devices that are called like pictures.

    Raises:
        OochubError: No regular file or no plain tar; a damaged header, a cut end; a path that leads out of the archive;
            a member that is compressed or sparse.
    """
    if not file.is_file():
        raise OochubError(f"{file} is not a file, so no tar archive. Remove it, or {_AGAIN.lower()}")
    try:
        with tarfile.open(file, "r:") as archive:
            yield from _members(archive, file, below, 0, enter, passed)
    except OochubError:
        raise
    except _BROKEN as error:
        raise OochubError(f"{file} is not a whole plain tar archive ({error}). {_AGAIN}") from error


def _members(
    archive: tarfile.TarFile, file: Path, below: Path, start: int, enter: Callable[[str], bool], passed: list[str]
) -> Iterator[Stored]:
    """The pictures of an archive that begins at byte `start` of `file`."""
    last = -1
    for member in archive:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or "\\" in member.name:
            raise OochubError(
                f"{file} holds {member.name!r}, a path that leads out of the archive. Nothing was read from it: get it "
                "from its publisher."
            )
        if member.size < 0 or member.offset <= last:
            raise OochubError(f"{file} is damaged: the header of {member.name!r} leads back. {_AGAIN}")
        last = member.offset
        if not all(enter(part) for part in path.parts[:-1]):
            continue
        if not member.isreg():
            passed += [f"{path} in {file}"] if Stored.is_picture(path.name) and not member.isdir() else []
        elif path.suffix == ".tar" and enter(path.stem):
            with tarfile.open(fileobj=archive.extractfile(member), mode="r:") as inner:
                yield from _members(inner, file, below, start + member.offset_data, enter, passed)
        elif path.name.endswith(COMPRESSED):
            raise OochubError(f"{path} in {file} is compressed. {DECOMPRESS}")
        elif Stored.is_picture(path.name):
            if member.issparse():
                raise OochubError(f"{path} in {file} is stored as a sparse file. Pack the archive again without.")
            yield Stored.of(
                below.parent / path, archive=below.as_posix(), offset=start + member.offset_data, size=member.size
            )
    _check_end(archive, file, start)


def _check_end(archive: tarfile.TarFile, file: Path, start: int) -> None:
    """Checks that what follows the last member is the end: zeros alone, at least a block of them."""
    assert archive.fileobj is not None  # noqa: S101  it is open
    archive.fileobj.seek(archive.offset)
    rest, is_marked = archive.fileobj.read(_READ), False
    while rest:
        is_marked |= len(rest) >= tarfile.BLOCKSIZE
        if rest.strip(b"\0"):
            names = archive.getnames()
            after = f"after {names[-1]!r}, its member number {len(names)}" if names else "at its beginning"
            raise OochubError(
                f"{file} is damaged: {after}, at byte {start + archive.offset}, stands neither a member nor the end of "
                f"the archive. {_AGAIN}"
            )
        rest = archive.fileobj.read(_READ)
    if not is_marked:
        raise OochubError(
            f"{file} is cut off: at byte {start + archive.offset} it ends without the zeros that mark its end. {_AGAIN}"
        )
