"""The mark of a file of ours that stands alone: a comment with a digest of the rest, where the format has one."""

import hashlib
import zlib
from pathlib import Path

_MARK = b"Written by oochub, SHA-256 of the rest "
_COMMENTS = {  # suffix: what a comment is made of
    **dict.fromkeys((".md", ".markdown", ".html", ".htm", ".svg", ".xml"), (b"\n<!-- ", b" -->\n")),
    **dict.fromkeys((".tex", ".latex", ".pdf"), (b"\n% ", b"\n")),
}
_LENGTH = 32


def mark(file: Path, suffix: str) -> None:
    """Adds our mark to a finished file: a comment at the end, in a PNG a chunk of text.

    Args:
        file: The file.
        suffix: That of its name, which says the format.
    """
    content = file.read_bytes()
    text = _MARK + hashlib.sha256(content).hexdigest()[:_LENGTH].encode()
    if suffix.lower() == ".png":
        content = content[:-12] + _make_chunk(text) + content[-12:]  # before the last chunk, IEND
    else:
        begin, end = _COMMENTS[suffix.lower()]
        content += begin + text + end
    file.write_bytes(content)


def _make_chunk(text: bytes) -> bytes:
    body = b"tEXt" + b"Software\0" + text
    return (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def read_mark(file: Path) -> bool | None:
    """Whether a file is as it was when our mark was added to it; None if it has no mark."""
    content = file.read_bytes()
    begin = content.rfind(_MARK)
    if begin < 0:
        return None
    end = begin + len(_MARK) + _LENGTH
    said = content[begin + len(_MARK) : end].decode("ascii", "replace")
    if file.suffix.lower() == ".png":
        chunk = _make_chunk(content[begin:end])
        rest = content.removesuffix(content[-12:]).removesuffix(chunk) + content[-12:]
    elif file.suffix.lower() in _COMMENTS:
        first, last = _COMMENTS[file.suffix.lower()]
        rest = content.removesuffix(first + content[begin:end] + last)
    else:
        return False
    return len(rest) < len(content) and hashlib.sha256(rest).hexdigest()[:_LENGTH] == said
