"""Changes of one thing in a file, with its structure in view: of JSON by path, of text, of bytes, of what it is."""

import copy
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fuzz_case import REFUSED, SAFE, SAME, Case

_WRONG: Mapping[str, Any] = {
    "null": None,
    "a text": "abc",
    "a fraction": 3.5,
    "true": True,
    "a list": [],
    "an object": {},
    "negative": -1,
    "huge": 10**30,
    "infinite": float("inf"),
    "not a number": float("nan"),
    "an empty text": "",
}
_OF_NUMBERS = ("negative", "huge", "infinite", "not a number", "a fraction")
Step = str | int
Expect = Callable[[str, str], frozenset[str]]
"""Of the dotted path of a field ("images[0].id") and what is done to it ("deleted", "a text") the outcomes."""


def json_cases(file: str, content: Any, expect: Expect) -> Iterator[Case]:
    """Every field of a JSON file deleted, renamed, doubled, of another type and extreme, one at a time.

    Args:
        file: Its path below the artifact's folder.
        content: What it holds, or a part of it that shows every field: of lists the first item is taken.
        expect: What each change allows.
    """
    for path in _paths(content):
        place, value = _dotted(path), _at(content, path)
        changes: dict[str, Callable[[Any], None]] = {}
        if isinstance(path[-1], str):
            changes["deleted"] = lambda inner, step=path[-1]: inner.pop(step)
            changes["renamed"] = lambda inner, step=path[-1]: inner.update({f"{step}_": inner.pop(step)})
        else:
            changes["deleted"] = lambda inner, step=path[-1]: inner.pop(step)
            changes["doubled"] = lambda inner, step=path[-1]: inner.append(copy.deepcopy(inner[step]))
        for word, wrong in _WRONG.items():
            if _differs(word, wrong, value):
                changes[word] = lambda inner, step=path[-1], wrong=wrong: inner.__setitem__(step, wrong)
        for word, change in changes.items():
            yield Case(
                name=f"{file} {place} {word}",
                mutate=lambda folder, path=path, change=change: _edit(folder / file, path, change),
                expect=expect(place, word),
            )


def text_cases(
    file: str,
    *,
    blank: frozenset[str] = SAFE,
    bom: frozenset[str] = SAFE,
    utf_16: frozenset[str] = frozenset({REFUSED}),
) -> Iterator[Case]:
    """A text file that is cut, of another encoding, or of no text at all.

    Args:
        file: Its path below the artifact's folder.
        blank: What an empty file allows.
        bom: What a mark of byte order before the text and other line ends allow: the text is the same.
        utf_16: What that encoding allows, which JSON knows.
    """
    changes: dict[str, tuple[Callable[[bytes], bytes], frozenset[str]]] = {
        "empty": (lambda data: b"", blank),
        "blank": (lambda data: b" \n\n", blank),
        "cut in half": (lambda data: data[: len(data) // 2], SAFE),
        "without its last byte": (lambda data: data.rstrip()[:-1], SAFE),
        "Latin-1": (lambda data: _inserted(data, b"\xe9"), frozenset({REFUSED})),
        "with a zero byte": (lambda data: _inserted(data, b"\0"), frozenset({REFUSED})),
        "UTF-16": (lambda data: data.decode().encode("utf-16"), utf_16),
        "with a mark of byte order": (lambda data: b"\xef\xbb\xbf" + data, bom),
        "with line ends of Windows": (lambda data: data.replace(b"\n", b"\r\n"), bom),
        "an image": (lambda data: b"\x89PNG\r\n\x1a\n" + bytes(range(256)), frozenset({REFUSED})),
        "an archive": (lambda data: b"PK\x03\x04" + bytes(range(256)), frozenset({REFUSED})),
        "an unfinished download": (lambda data: b"<html><body>Not found</body></html>", frozenset({REFUSED})),
    }
    for word, (change, outcome) in changes.items():
        yield Case(name=f"{file} {word}", mutate=_rewriting(file, change), expect=outcome)


def json_text_cases(file: str) -> Iterator[Case]:
    """A JSON file as text: cut at many places, of another encoding, nested deeply, of another content."""
    yield from text_cases(file, blank=frozenset({REFUSED}), bom=frozenset({REFUSED, SAME}), utf_16=SAFE)
    for content in ("null", "true", "3", '"text"', "[]", "{}", "[[]]", "NaN", "{]", "{'a': 1}", "1e999"):
        yield Case(name=f"{file} is {content}", mutate=_rewriting(file, lambda _, text=content: text.encode()))
    for word, text in {"lists": "[" * 100_000, "objects": '{"a":' * 100_000}.items():
        yield Case(name=f"{file} nested {word}", mutate=_rewriting(file, lambda _, text=text: text.encode()))
    for tenth in range(1, 10):
        yield Case(
            name=f"{file} cut at {tenth}/10",
            mutate=_rewriting(file, lambda data, tenth=tenth: data[: len(data) * tenth // 10]),
        )


def bytes_cases(file: str, *, expect: frozenset[str], flips: int = 40, seed: int = 0) -> Iterator[Case]:
    """A binary file that is empty, cut, longer, of another magic number, or with one bit flipped.

    Args:
        file: Its path below the artifact's folder.
        expect: What a flipped bit allows.
        flips: How many bits are flipped, one a case, at places spread over the file.
        seed: Of the places.
    """
    for word, change in {
        "empty": lambda data: b"",
        "of one byte": lambda data: data[:1],
        "cut in half": lambda data: data[: len(data) // 2],
        "without its last byte": lambda data: data[:-1],
        "without its first byte": lambda data: data[1:],
        "of zeros": lambda data: bytes(len(data)),
        "of text": lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
        "a page of HTML": lambda data: b"<html><body>Not found</body></html>",
        "with another magic number": lambda data: b"PK\x03\x04" + data[4:],
    }.items():
        yield Case(name=f"{file} {word}", mutate=_rewriting(file, change), expect=expect & SAFE or expect)
    for number in range(flips):
        share = (number * 0.6180339887498949 + seed * 0.137) % 1  # spread evenly, without chance
        yield Case(
            name=f"{file} with a bit flipped at {share:.4f}",
            mutate=_rewriting(file, lambda data, share=share, bit=number % 8: flipped(data, share, bit)),
            expect=expect,
        )


def place_cases(file: str, *, missing: frozenset[str] = frozenset({REFUSED})) -> Iterator[Case]:
    """What stands in the place of a file: nothing, a folder, a fifo, a device, a link that leads nowhere or in a loop.

    Args:
        file: Its path below the artifact's folder.
        missing: What a file that is not there allows; a link to nothing is such.
    """

    def instead(make: Callable[[Path], Any]) -> Callable[[Path], None]:
        def mutate(folder: Path) -> None:
            (folder / file).unlink()
            make(folder / file)

        return mutate

    yield Case(name=f"{file} missing", mutate=lambda folder: (folder / file).unlink(), expect=missing)
    yield Case(name=f"{file} a folder", mutate=instead(Path.mkdir), expect=missing | {REFUSED})
    yield Case(name=f"{file} a fifo", mutate=instead(os.mkfifo), expect=missing | {REFUSED})
    yield Case(name=f"{file} a link to a fifo", mutate=instead(_link_to_fifo), expect=missing | {REFUSED})
    yield Case(
        name=f"{file} a device", mutate=instead(lambda path: path.symlink_to("/dev/null")), expect=missing | {REFUSED}
    )
    yield Case(
        name=f"{file} a link to nothing",
        mutate=instead(lambda path: path.symlink_to("nowhere")),
        expect=missing | {REFUSED},
    )
    yield Case(
        name=f"{file} a loop of links", mutate=instead(lambda path: path.symlink_to(path)), expect=missing | {REFUSED}
    )


def flipped(data: bytes, share: float, bit: int) -> bytes:
    """The bytes with one bit of the one at that share of their length flipped."""
    changed = bytearray(data)
    changed[int(share * len(data))] ^= 1 << bit
    return bytes(changed)


def edited(file: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """A mutation of a JSON file that changes what it holds in place."""

    def mutate(folder: Path) -> None:
        content = json.loads((folder / file).read_text("utf-8"))
        change(content)
        (folder / file).write_text(json.dumps(content), "utf-8")

    return mutate


def _rewriting(file: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        path = folder / file
        path.write_bytes(change(path.read_bytes()))

    return mutate


def _inserted(data: bytes, piece: bytes) -> bytes:
    """The piece in the middle of a line in the middle."""
    middle = len(data) // 2
    return data[:middle] + piece + data[middle:]


def _link_to_fifo(path: Path) -> None:
    fifo = path.with_name("pipe")
    os.mkfifo(fifo)
    path.symlink_to(fifo)


def _edit(file: Path, path: tuple[Step, ...], change: Callable[[Any], None]) -> None:
    content = json.loads(file.read_text("utf-8"))
    change(_at(content, path[:-1]))
    text = json.dumps(content)
    file.write_text(text, "utf-8")


def _paths(content: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The places of every field, of lists of the first item."""
    if path:
        yield path
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _paths(value, (*path, key))
    elif isinstance(content, list) and content:
        yield from _paths(content[0], (*path, 0))


def _at(content: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        content = content[step]
    return content


def _dotted(path: tuple[Step, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _differs(word: str, wrong: Any, value: Any) -> bool:
    """Whether that value is wrong where `value` stands: of another type, or out of any range."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if word in _OF_NUMBERS and is_number:
        return not (word == "a fraction" and isinstance(value, float))
    if word in ("huge", "infinite", "not a number") or wrong == value:
        return False
    if word == "an empty text":
        return isinstance(value, str)
    return type(wrong) is not type(value)
