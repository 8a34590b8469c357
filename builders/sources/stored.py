"""A picture of a raw folder, in a file of its own or in an archive that stays packed."""

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pyarrow as pa

from oochub.errors import OochubError
from oochub.picture_file import check_inside, read_picture

WNID = re.compile(r"n[0-9]{8}")
_SUFFIXES = (".jpeg", ".jpg", ".png", ".webp")


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

    @classmethod
    def of(cls, path: Path | PurePosixPath, *, archive: str = "", offset: int = 0, size: int = -1) -> "Stored":
        """The picture of that path; its class is the last folder that a wnid names, else what its name begins with.

        Raises:
            OochubError: A name that is not UTF-8, so that no data set can hold it.

        >>> Stored.of(PurePosixPath("train/n01440764/n01440764_18.JPEG")).wnid
        'n01440764'
        """
        name = path.as_posix()
        try:
            name.encode()
        except UnicodeEncodeError:
            where = f" in {archive}" if archive else ""
            raise OochubError(f"The name of {name!r}{where} is not UTF-8. Rename it.") from None
        names = [path.name.partition("_")[0], *path.parts[:-1]]
        wnid = next((name for name in reversed(names) if WNID.fullmatch(name)), "")
        return cls(name, wnid, archive, offset, size)

    @staticmethod
    def table(pictures: Sequence["Stored"]) -> pa.Table:
        """The pictures as a table of their fields, at least one."""
        return pa.table(dict(zip(Stored._fields, map(list, zip(*pictures, strict=True)), strict=True)))

    @staticmethod
    def is_picture(name: str) -> bool:
        """Whether a file's name is that of a picture."""
        return name.lower().endswith(_SUFFIXES) and not name.startswith(".")

    def read(self, place: Path, *, within: Path | None = None) -> bytes:
        """The bytes, as they are stored.

        Args:
            place: The folder below which it was found.
            within: The folder that no link may lead out of; None follows every link.

        Raises:
            OochubError: There are none, or fewer than the archive promised; a file that is no picture, or lies outside.
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
            raise OochubError(f"{self.name} in {path} is {'cut off' if data else 'empty'}. Download it again.")
        return data
