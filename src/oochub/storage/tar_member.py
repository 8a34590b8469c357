"""A file that lies in a tar archive and is read in place: where its bytes begin, and how many they are."""

import os
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

from oochub.errors import OochubError

_READ = 2**20
_ADDRESS = re.compile(r"(.+\.tar)\?offset=(\d+)&size=(\d+)", re.DOTALL)


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
        found = _ADDRESS.fullmatch(address)
        return None if found is None else cls(found[1], int(found[2]), int(found[3]))

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
                f"{self.archive} is cut short: it ends before byte {self.offset + self.size}. Copy it again."
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
                f"{file} is damaged: {after}, at byte {start + archive.offset}, there is neither a member nor the "
                f"end of the archive. {again}"
            )
        rest = archive.fileobj.read(_READ)
    if not is_marked:
        raise OochubError(
            f"{file} is cut off: at byte {start + archive.offset} it ends without the zeros that mark its end. {again}"
        )
