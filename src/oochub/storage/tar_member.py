"""A file that lies in a tar archive and is read in place: where its bytes begin, and how many they are."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from oochub.errors import OochubError

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
