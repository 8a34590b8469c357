"""Images of a raw folder where they lie: in files of their own, or in tar archives that stay packed.

An archive's headers are read once; nothing is unpacked, and no link in it is followed. An image is then the archive,
the place where its bytes begin, and their number.
"""

import os
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pyarrow as pa

from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.storage.picture_file import check_beginning, check_inside, read_picture
from oochub.storage.reading import check_tar_end

Enter = Callable[[str], bool]
"""Whether to look into the folder, or the archive of that name without its suffix."""

_SUFFIXES = (".jpeg", ".jpg", ".png", ".webp")
_COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
_OF_ARCHIVE = re.compile(r"\.(tar(\.(gz|bz2|xz|zst))?|tgz)$")
_DECOMPRESS = "Decompress it to a plain .tar: images are read from it in place."
_BROKEN = (tarfile.TarError, OSError, ValueError, IndexError, OverflowError, MemoryError, RecursionError)
_AGAIN = "Download it again."


class Stored(NamedTuple):
    """An image that was found below a folder, the place.

    Attributes:
        name: Its path below the place, as folders and archive members name it; an archive's own name is left out.
        label: Its class as its source names it, "" where that is not known.
        archive: The archive that holds it, below the place; "" for a file of its own.
        offset: Position in the archive at which its bytes begin.
        size: Number of these bytes; -1 for a file of its own.
    """

    name: str
    label: str = ""
    archive: str = ""
    offset: int = 0
    size: int = -1

    @staticmethod
    def table(pictures: Sequence["Stored"]) -> pa.Table:
        """The images as a table of their fields, at least one."""
        return pa.table(dict(zip(Stored._fields, map(list, zip(*pictures, strict=True)), strict=True)))

    @staticmethod
    def is_picture(name: str) -> bool:
        """Whether a file's name is that of an image."""
        return name.lower().endswith(_SUFFIXES) and not name.startswith(".")

    def read(self, place: Path, *, within: Path | None = None) -> bytes:
        """The bytes, as they are stored.

        Args:
            place: The folder below which it was found.
            within: The folder that no link may lead out of; None follows every link.

        Raises:
            OochubError: There are none, or fewer than the archive promised; a file that is no image, or lies outside.
        """
        if not self.archive:
            return read_picture(place / self.name, root=within or place, follow_links=within is None)
        path = place / self.archive
        if within:
            check_inside(path, root=within)
        with path.open("rb") as file:
            file.seek(self.offset)
            data = file.read(self.size)
        if not data or self.size != len(data):
            raise OochubError(f"{self.name} in {path} is {'truncated' if data else 'empty'}. Download it again.")
        check_beginning(data, name=f"{self.name} in {path}")
        return data


def containers(
    place: Path,
    enter: Enter,
    *,
    is_last: Enter = lambda name: False,
    within: Path | None = None,
    above: tuple[Path, ...] = (),
) -> Iterator[Path]:
    """The folder `place`, and the folders and tar archives below it that `enter` lets in, by name.

    Args:
        place: A folder.
        enter: Tells whether to look into a folder or an archive below it.
        is_last: Tells whether a folder holds images alone and is not searched for more.
        within: The folder that no link may lead out of; None follows every link.
        above: Real paths of the folders that lead to this one.

    Raises:
        OochubError: An archive is compressed, so its members cannot be read in place, and no plain one of its name
            stands beside it; a folder that cannot be listed; a link that leads out of `within`, or back to a folder
            that holds it.
    """
    yield place
    if is_last(place.name):
        return
    try:
        with os.scandir(place) as entries:
            listing = sorted((e.name, e.is_dir(), e.is_symlink()) for e in entries if not e.name.startswith("."))
    except OSError as error:  # no permission, or a link to itself
        raise OochubError(f"{error.filename or place} cannot be listed: {error.strerror}. Unpack it again.") from error
    above = (*above, place.resolve())
    files = {name for name, is_folder, _ in listing if not is_folder}
    for name, is_folder, is_link in listing:
        path = place / name
        stem = name if is_folder else _OF_ARCHIVE.sub("", name)
        if (stem == name and not is_folder) or not enter(stem):
            continue
        if not is_folder and name != f"{stem}.tar":
            if f"{stem}.tar" in files:
                continue
            raise OochubError(f"{path} is compressed. {_DECOMPRESS}")
        if is_link and within:
            check_inside(path, root=within)
        if is_link and is_folder and any(folder.is_relative_to(path.resolve()) for folder in above):
            raise OochubError(f"{path} links to a folder that contains it, so folders form a circle. Remove the link.")
        if is_folder:
            yield from containers(path, enter, is_last=is_last, within=within, above=above)
        else:
            yield path


def stored_pictures(
    place: Path,
    *,
    enter: Enter = lambda name: True,
    is_last: Enter = lambda name: False,
    within: Path | None = None,
    passed: list[str] | None = None,
) -> Iterator[Stored]:
    """Every image below `place`: folder by folder and archive by archive, by name within a folder.

    Args:
        place: A folder.
        enter: Tells whether to look into a folder or an archive below it.
        is_last: Tells whether a folder holds images alone and is not searched for more.
        within: The folder that no link may lead out of; None follows every link.
        passed: Takes the names of archive members that are called like images and are links or devices, of which
            none is followed; None refuses every link and device.

    Yields:
        Images, told by the suffix of their names (.JPEG, .jpg, .png, .webp); other files are passed over.

    Raises:
        OochubError: An archive is broken, cut off or compressed, or a member's path leads out of it; as for
            `containers`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "snow"
    >>> folder.mkdir()
    >>> _ = (folder / "snow_corgi_7.png").write_bytes(b"...")
    >>> [stored.name for stored in stored_pictures(folder.parent)]
    ['snow/snow_corgi_7.png']
    """
    listed = list(containers(place, enter, is_last=is_last, within=within))
    for container in follow(listed, desc=f"Listing {place.name}", unit="folder", disable=None, delay=2):
        below = container.relative_to(place)
        if container.is_dir():
            folder = "" if container == place else f"{below.as_posix()}/"
            with os.scandir(container) as entries:  # a Path for each would take most of the time
                names = sorted(entry.name for entry in entries if Stored.is_picture(entry.name))
            yield from (Stored(folder + name) for name in names)
        else:
            yield from tar_pictures(container, below, enter, passed)


def tar_pictures(file: Path, below: Path, enter: Enter, passed: list[str] | None) -> Iterator[Stored]:
    """The images of an archive, those of archives in it too, in their order.

    tarfile takes a damaged header after the first for the end of the archive; here an archive ends with the zeros that
    mark its end, or it is damaged.

    Args:
        file: The archive.
        below: Its path below the place that images are named by.
        enter: Tells whether to look into a folder or an archive in it.
        passed: Takes the names of links and devices that are called like images; None refuses them all.

    Raises:
        OochubError: No regular file or no plain tar; a damaged header, a cut end; a path that leads out of the archive;
            a member that is compressed, sparse, or, where `passed` is None, a link or device.
    """
    if not file.is_file():
        raise OochubError(f"{file} is not a file, so it is not a tar archive. Remove it, or {_AGAIN.lower()}")
    try:
        with tarfile.open(file, "r:") as archive:
            yield from _iterate_members(archive, file, below, 0, enter, passed)
    except OochubError:
        raise
    except _BROKEN as error:
        raise OochubError(f"{file} is not a complete plain tar archive ({error}). {_AGAIN}") from error


def _iterate_members(
    archive: tarfile.TarFile, file: Path, below: Path, start: int, enter: Enter, passed: list[str] | None
) -> Iterator[Stored]:
    """The images of an archive that begins at byte `start` of `file`."""
    last = -1
    for member in archive:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or "\\" in member.name:
            raise OochubError(
                f"{file} holds {member.name!r}, a path that points outside the archive. Nothing was read from it: "
                "get it from its publisher."
            )
        if member.size < 0 or member.offset <= last:
            raise OochubError(f"{file} is corrupted: the header of {member.name!r} points backwards. {_AGAIN}")
        last = member.offset
        is_plain = member.isreg() or member.isdir()
        if not is_plain and passed is None:
            kind = "a link" if member.issym() or member.islnk() else "a device or pipe"
            raise OochubError(
                f"{file} holds {member.name!r}, {kind}, which is not followed. Pack it again from plain files, or "
                "get it from its publisher."
            )
        if not all(enter(part) for part in path.parts[:-1]):
            continue
        if not member.isreg():
            if passed is not None and not is_plain and Stored.is_picture(path.name):
                passed.append(f"{path} in {file}")
        elif path.suffix == ".tar" and enter(path.stem):
            with tarfile.open(fileobj=archive.extractfile(member), mode="r:") as inner:
                yield from _iterate_members(inner, file, below, start + member.offset_data, enter, passed)
        elif path.name.endswith(_COMPRESSED):
            raise OochubError(f"{path} in {file} is compressed. {_DECOMPRESS}")
        elif Stored.is_picture(path.name):
            if member.issparse():
                raise OochubError(
                    f"{path} in {file} is stored as a sparse file. Pack the archive again without sparse files."
                )
            place = start + member.offset_data
            yield Stored((below.parent / path).as_posix(), "", below.as_posix(), place, member.size)
    check_tar_end(archive, file, start=start, again=_AGAIN)
