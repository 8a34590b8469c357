"""Finds the pictures of ImageNet and its kin where they lie: in folders, or in tar archives that stay packed.

A tree of class folders, a tar for each class, one tar of them all (with pictures or with class tars in it) and the
shards of a WebDataset are read alike. An archive's headers are read once; a picture is then the archive, the place
where its bytes begin, and their number.
"""

import os
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tqdm import tqdm

from oochub.errors import OochubError
from oochub.picture_file import open_picture

WNID = re.compile(r"n\d{8}")
_SUFFIXES = (".jpeg", ".jpg", ".png", ".webp")
_COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")

Enter = Callable[[str], bool]
"""Whether to look into the folder, or the archive of that name without its suffix."""


class Stored(NamedTuple):
    """A picture that was found below a folder, the place.

    Attributes:
        name: Its path below the place, as folders and archive members name it; an archive's own name is left out.
        wnid: Its class, "" where that is not known.
        archive: The archive that holds it, below the place; "" for a file of its own.
        offset: Where in the archive its bytes begin.
        size: How many they are; -1 for a file of its own.
    """

    name: str
    wnid: str = ""
    archive: str = ""
    offset: int = 0
    size: int = -1

    def read(self, place: Path) -> bytes:
        """The bytes, as they are stored.

        Raises:
            OochubError: There are none, or fewer than the archive promised.
        """
        path = place / (self.archive or self.name)
        with path.open("rb") as file:
            file.seek(self.offset)
            data = file.read(self.size)
        if not data or 0 <= self.size != len(data):
            what = f"{self.name} in {path}" if self.archive else str(path)
            raise OochubError(f"{what} is {'cut off' if data else 'empty'}. Unpack or download it again.")
        return data


def containers(place: Path, enter: Enter) -> Iterator[Path]:
    """The folder `place`, and the folders and tar archives below it that `enter` lets in, by name.

    A folder that a wnid names holds the pictures of a class and is not searched for more.

    Raises:
        OochubError: An archive is compressed, so its members cannot be read in place.
    """
    yield place
    if WNID.fullmatch(place.name):
        return
    with os.scandir(place) as entries:
        listing = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    for name, is_folder in listing:
        if is_folder:
            if enter(name):
                yield from containers(place / name, enter)
        elif name.endswith(_COMPRESSED):
            raise OochubError(
                f"{place / name} is compressed. Decompress it to a plain .tar: the pictures of one are read in place."
            )
        elif name.endswith(".tar") and enter(name.removesuffix(".tar")):
            yield place / name


def stored_pictures(place: Path, *, enter: Enter = lambda name: True) -> Iterator[Stored]:
    """Every picture below `place`: folder by folder and archive by archive, by name within a folder.

    Args:
        place: A folder.
        enter: Which folders and archives below it to look into.

    Yields:
        Pictures, told by the suffix of their names (.JPEG, .jpg, .png, .webp); other files are passed over. The class
        is that of the last folder that a wnid names, else the wnid that the file's own name begins with.

    Raises:
        OochubError: An archive is broken or compressed, or a member's path leads out of it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "n01440764"
    >>> folder.mkdir()
    >>> _ = (folder / "n01440764_10026.JPEG").write_bytes(b"...")
    >>> [stored[:2] for stored in stored_pictures(folder.parent)]
    [('n01440764/n01440764_10026.JPEG', 'n01440764')]
    """
    bar = tqdm(list(containers(place, enter)), desc=f"Listing {place.name}", unit="folder", disable=None, delay=2)
    for container in bar:
        below = container.relative_to(place)
        if container.is_dir():
            for name in sorted(path.name for path in container.iterdir() if _is_picture(path.name)):
                yield _stored(below / name)
        else:
            yield from _of_archive(container, below, enter)


def _is_picture(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES) and not name.startswith(".")


def _stored(path: Path | PurePosixPath, *, archive: str = "", offset: int = 0, size: int = -1) -> Stored:
    names = [path.name.partition("_")[0], *path.parts[:-1]]
    wnid = next((name for name in reversed(names) if WNID.fullmatch(name)), "")
    return Stored(path.as_posix(), wnid, archive, offset, size)


def _of_archive(file: Path, below: Path, enter: Enter) -> Iterator[Stored]:
    try:
        with tarfile.open(file, "r:") as archive:
            yield from _members(archive, file, below, 0, enter)
    except tarfile.TarError as error:
        raise OochubError(f"{file} is not a whole plain tar archive ({error}). Download it again.") from error


def _members(archive: tarfile.TarFile, file: Path, below: Path, start: int, enter: Enter) -> Iterator[Stored]:
    """The pictures of an archive that begins at byte `start` of `file`; nothing is extracted, no link is followed."""
    for member in archive:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or "\\" in member.name:
            raise OochubError(
                f"{file} holds {member.name!r}, a path that leads out of the archive. Nothing was read from it: get it "
                "from its publisher."
            )
        if not member.isreg() or not all(enter(part) for part in path.parts[:-1]):
            continue
        if path.suffix == ".tar" and enter(path.stem):
            with tarfile.open(fileobj=archive.extractfile(member), mode="r:") as inner:
                yield from _members(inner, file, below, start + member.offset_data, enter)
        elif _is_picture(path.name):
            if member.issparse():
                raise OochubError(f"{path} in {file} is stored as a sparse file. Pack the archive again without.")
            place = below.parent / path
            yield _stored(place, archive=below.as_posix(), offset=start + member.offset_data, size=member.size)


def codec_and_size(data: bytes, where: str) -> tuple[str, int, int]:
    """What the bytes of a picture are, whatever its file is called: (codec, width, height); pixels are not decoded.

    Raises:
        OochubError: The bytes do not begin as any picture does; `where` names them.

    >>> import io
    >>> from PIL import Image
    >>> picture = io.BytesIO()
    >>> Image.new("RGB", (3, 2)).save(picture, "WEBP")
    >>> codec_and_size(picture.getvalue(), "n01440764_1.JPEG")
    ('WEBP', 3, 2)
    """
    picture = open_picture(data, name=where)
    return str(picture.format), picture.width, picture.height
