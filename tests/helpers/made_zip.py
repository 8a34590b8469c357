"""ZIP archives byte by byte, as APPNOTE.TXT describes them: of Zstandard, and of members that lie."""

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa


class Member(NamedTuple):
    """A member: what it holds, and what the archive says of it where that is not the truth."""

    name: str
    content: bytes
    method: int = 93
    says_size: int | None = None
    flags: int = 0


def pack(member: Member) -> bytes:
    """The content, compressed: 0 as it is, 8 deflated, 93 Zstandard."""
    if member.method == 8:
        deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
        return deflater.compress(member.content) + deflater.flush()
    return bytes(pa.compress(member.content, "zstd", asbytes=True)) if member.method == 93 else member.content


def made_zip(members: Sequence[Member]) -> bytes:
    """The archive."""
    body, directory = b"", b""
    for member in members:
        packed, name = pack(member), member.name.encode()
        size = len(member.content) if member.says_size is None else member.says_size
        facts = struct.pack(
            "<HHHHHIIIHH",
            *(63, member.flags, member.method, 0, 33, zlib.crc32(member.content), len(packed), size, len(name), 0),
        )
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + facts + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name
        body += b"PK\x03\x04" + facts + name + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end
