"""Members of a ZIP archive that nobody vouches for: read into memory one by one, bounded, never extracted."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from oochub.errors import OochubError
from oochub.storage.reading import check_regular_file

_ZSTANDARD = 93  # of APPNOTE.TXT; Python's zipfile reads it from 3.14 on
_LARGEST = 1 << 28  # bytes of a member
_LIGHT, _TIMES = 1 << 30, 100  # bytes of all members, and as many as the file has where that is more
_LOCAL_HEADER = 30  # bytes
_ENCRYPTED = 1
_FAULTS = (BadZipFile, OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zlib.error, pa.ArrowException)


def iterate_members(path: Path, *, prefix: str = "", suffix: str = "") -> Iterator[tuple[str, bytes]]:
    """The names and contents of members, in the order of the archive; of a name twice, the last one.

    Stored, deflated and Zstandard members are read.

    Args:
        path: The archive.
        prefix: Only members whose names begin so.
        suffix: Only members whose names end so.

    Raises:
        OochubError: No archive, one that is damaged, encrypted or of another compression, a member above 256 MiB,
            or members that expand to more than 1 GiB and a hundred times the archive.
    """
    check_regular_file(path)
    try:
        with ZipFile(path) as archive, path.open("rb") as raw:
            chosen = {each.filename: each for each in archive.infolist()}
            wanted = [each for name, each in chosen.items() if name.startswith(prefix) and name.endswith(suffix)]
            largest = max(_LIGHT, _TIMES * path.stat().st_size)
            total = sum(each.file_size for each in wanted)
            if total > largest or any(each.file_size > _LARGEST for each in wanted):
                raise OochubError(
                    f"{path} is not read: its members expand to {total / 1e6:,.0f} MB. Write it again, or split it."
                )
            for each in wanted:
                yield each.filename, _read_member(archive, raw, each)
    except _FAULTS as error:
        raise OochubError(f"{path} is no complete ZIP archive: {error}. Write or fetch it again.") from error


def _read_member(archive: ZipFile, raw: BinaryIO, member: ZipInfo) -> bytes:
    """The content of a member, as long as the archive says and no longer."""
    if member.flag_bits & _ENCRYPTED:
        raise ValueError(f"{member.filename} is encrypted")
    if member.compress_type in (ZIP_STORED, ZIP_DEFLATED):
        with archive.open(member) as file:
            content = file.read(member.file_size + 1)
    elif member.compress_type == _ZSTANDARD:
        content = _read_zstandard(raw, member)
    else:
        raise ValueError(f"{member.filename} is compressed in the way {member.compress_type}")
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise ValueError(f"{member.filename} is not what the archive says of it")
    return content


def _read_zstandard(raw: BinaryIO, member: ZipInfo) -> bytes:
    raw.seek(member.header_offset)
    header = raw.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise ValueError(f"{member.filename} is not where the archive says")
    raw.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    packed = raw.read(member.compress_size)
    if not packed:
        return b""
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read(member.file_size + 1))
