"""Changes of files that are drawn: of bytes, of lines, of fields of JSON, of cells of CSV, of what a file is."""

import copy
import csv
import io
import json
import os
from pathlib import Path
from random import Random
from typing import Any

from fresh_cases import Change

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 0.5, 10**30, 2**63, float("nan"), float("inf"), "", " ", "nan", "None", "0", "1", "-1"),
    *("1e400", "9" * 400, "a\nb", "a\0b", "\u202eabc", "\ud800", "<script>alert(1)</script>", "=HYPERLINK(1)", "١"),
    *("../../x", "/etc/passwd", "https://host/x", [], {}, [[]], ["a"], {"a": 1}, "x" * 100_000),
)
"""Values of every type, and texts that something might take for more than text."""
_PLACES = ("missing", "folder", "fifo", "device", "loop", "other's bytes", "swapped", "renamed", "link out")
TEXTS = tuple(str(value) for value in HOSTILE if isinstance(value, str | int | float) and value != "\ud800")


def bytes_of(*patterns: str) -> Change:
    """A file whose bytes are damaged."""

    def change(folder: Path, rng: Random) -> str:
        file = _file(folder, rng, patterns)
        data = bytearray(file.read_bytes())
        at, end = sorted((rng.randrange(len(data) or 1), rng.randrange(len(data) or 1)))
        word = rng.choice(("flip", "cut", "insert", "zeros", "twice", "swap", "drop", "end"))
        if word == "flip":
            for _ in range(rng.choice((1, 1, 2, 8))):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif word == "cut":
            del data[at:]
        elif word == "insert":
            data[at:at] = rng.randbytes(rng.choice((1, 8, 300)))
        elif word == "zeros":
            data[at : at + 64] = bytes(len(data[at : at + 64]))
        elif word == "twice":
            data *= 2
        elif word == "swap":
            size = min(16, end - at)
            data[at : at + size], data[end : end + size] = data[end : end + size], data[at : at + size]
        elif word == "drop":
            del data[at : at + rng.choice((1, 4, 100))]
        else:
            data += rng.randbytes(9)
        file.write_bytes(bytes(data))
        return f"{file.name}: {word} at {at} of {len(data)}"

    return change


def place_of(*patterns: str) -> Change:
    """A file that is gone, something else, a copy of another, or under another name."""

    def change(folder: Path, rng: Random) -> str:
        file = _file(folder, rng, patterns)
        other = rng.choice([path for path in sorted(folder.rglob("*")) if path.is_file() and path != file] or [file])
        word = rng.choice(_PLACES)
        content = file.read_bytes()
        if word == "other's bytes":
            file.write_bytes(other.read_bytes())
        elif word == "swapped":
            file.write_bytes(other.read_bytes())
            other.write_bytes(content)
        elif word == "renamed":
            file.rename(file.with_name(rng.choice(("a b", "\u202egnp", "x" * 200, "#", "%41")) + file.suffix))
        else:
            file.unlink()
            if word == "folder":
                file.mkdir()
            elif word == "fifo":
                os.mkfifo(file)
            elif word == "device":
                file.symlink_to("/dev/null")
            elif word == "loop":
                file.symlink_to(file)
            elif word == "link out":
                file.symlink_to("/etc/hostname")
        return f"{file.name}: {word} ({other.name})"

    return change


def field_of(*patterns: str) -> Change:
    """A JSON file with one field deleted, renamed, of another value or type, doubled, or swapped with its neighbour."""

    def change(folder: Path, rng: Random) -> str:
        file = _file(folder, rng, patterns)
        content = json.loads(file.read_text("utf-8"))
        done = changed_field(content, rng)
        file.write_text(json.dumps(content), "utf-8")
        return f"{file.name}: {done}"

    return change


def changed_field(content: Any, rng: Random) -> str:
    """Changes one field of JSON types in place, and says which and how."""
    places = list(_places(content))
    if not places:
        return "nothing to change"
    inner, step, path = rng.choice(places)
    word = rng.choice(("hostile", "hostile", "near", "deleted", "renamed", "doubled", "neighbour"))
    value = inner[step]
    if word == "deleted":
        del inner[step]
    elif word == "renamed" and isinstance(inner, dict):
        inner[str(step).upper()] = inner.pop(step)
    elif word == "doubled" and isinstance(inner, list):
        inner.insert(step, copy.deepcopy(value))
    elif word == "neighbour" and len(inner) > 1:
        other = rng.choice([key for key in (inner if isinstance(inner, dict) else range(len(inner))) if key != step])
        inner[step], inner[other] = inner[other], inner[step]
    elif word == "near" and isinstance(value, int | float):
        inner[step] = rng.choice((value + 1, value - 1, value * 2, -value, float(value), str(value)))
    elif word == "near" and isinstance(value, str):
        inner[step] = rng.choice((value.upper(), f" {value}", value[:-1], value + "s", value.replace("_", "-")))
    else:
        inner[step] = copy.deepcopy(rng.choice(HOSTILE))
    new = inner[step] if (step in inner if isinstance(inner, dict) else step < len(inner)) else None
    return f"{path} {word} {value!r:.40} to {new!r:.40}"


def _places(content: Any, path: str = "") -> Any:
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for step, value in items:
        yield content, step, f"{path}/{step}"
        yield from _places(value, f"{path}/{step}")


def cells_of(pattern: str, *, separator: str = ",", head: bool = True, values: tuple[str, ...] = ()) -> Change:
    """A table of text with one thing wrong in a cell, a row, a name, or their order.

    Args:
        pattern: Of the file.
        separator: Between cells.
        head: Whether the first line is one of names.
        values: That a cell may become beside the hostile ones: those that a reader might take for another.
    """

    def change(folder: Path, rng: Random) -> str:
        file = _file(folder, rng, (pattern,))
        rows = list(csv.reader(io.StringIO(file.read_text("utf-8")), delimiter=separator))
        done = changed_rows(rows, rng, head=head, values=values)
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
        file.write_text(text.getvalue(), "utf-8", newline="")
        return f"{file.name}: {done}"

    return change


def changed_rows(rows: list[list[str]], rng: Random, *, head: bool, values: tuple[str, ...] = ()) -> str:
    """Changes one thing of a table in place, and says what."""
    at, other = (rng.randrange(int(head), len(rows)) for _ in range(2))
    column = rng.randrange(len(rows[at]))
    word = rng.choice((*("cell", "near", "another's") * 2, "row twice", "row less", "order", "swap", "names", "column"))
    old, there = rows[at][column], column % len(rows[other])  # lines may have cells of other numbers
    if word == "cell":
        rows[at][column] = rng.choice((*TEXTS, *values, *values))
    elif word == "near":
        rows[at][column] = rng.choice((old.upper(), f" {old}", f"{old} ", old[:-1], f"{old}0", f"-{old}", f'"{old}"'))
    elif word == "another's":
        rows[at][column] = rows[other][there]
    elif word == "row twice":
        rows.insert(other, list(rows[at]))
    elif word == "row less":
        del rows[at]
    elif word == "order":
        body = rows[int(head) :]
        rng.shuffle(body)
        rows[int(head) :] = body
    elif word == "swap":
        rows[at][column], rows[other][there] = rows[other][there], rows[at][column]
    elif word == "names" and head and len(rows[0]) > 1:
        a, b = rng.sample(range(len(rows[0])), 2)
        rows[0][a], rows[0][b] = rows[0][b], rows[0][a]
    else:
        for row in rows:
            row.extend(row[column : column + 1])
    new = [cell for row in rows[at : at + 1] for cell in row[column : column + 1]]
    return f"line {at + 1} column {column} {word} {old!r:.30} to {new!r:.30}"


def lines_of(pattern: str, *, values: tuple[str, ...] = ()) -> Change:
    """A file of lines with one of them wrong, doubled, less, or elsewhere."""

    def change(folder: Path, rng: Random) -> str:
        file = _file(folder, rng, (pattern,))
        lines = [[line] for line in file.read_text("utf-8").splitlines()]
        done = changed_rows(lines, rng, head=False, values=values)
        file.write_text("".join(f"{' '.join(line)}\n" for line in lines), "utf-8")
        return f"{file.name}: {done}"

    return change


def one_of(*changes: Change) -> Change:
    """One of several changes."""
    return lambda folder, rng: rng.choice(changes)(folder, rng)


def _file(folder: Path, rng: Random, patterns: tuple[str, ...]) -> Path:
    found = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    assert found, f"no {patterns} in {folder}"
    return rng.choice(found)
