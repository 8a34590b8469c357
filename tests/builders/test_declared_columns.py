"""Every column that a builder declares: one wrong value in the toy world's raw table, and the build refuses it by name.

The declarations are those that the builders give to the reader while a toy world is built; nothing is listed here.
"""

import csv
import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset_builder
from tried_configs import TRIED

import oochub
from oochub.builders.sources.raw_table import RawColumn, RawTable

_EVERY_DAY = ("wilds/amazon", "multinli/default")
_ROW = 3  # that is changed, the first is 0
_OF_LINES = (".txt", ".gz", "")  # lists without a line of names, tested with their builders


def _plan(benchmark: str, config: str, folder: Path) -> None:
    """What a build does before it makes a row: it reads every table."""
    load_dataset_builder(benchmark, config, data_dir=str(folder), follow_links=True)._split_generators(None)


def _declared(monkeypatch, benchmark: str, config: str, folder: Path) -> dict[tuple[Path, str, str], RawColumn]:
    """Each column with its file and, of a file of JSON, the list that it is of."""
    found: dict[tuple[Path, str, str], RawColumn] = {}
    add = RawTable._add

    def record(self, name, values, column, parsed, right):
        of_objects = self.file.suffix == ".json" and self.place(0).partition(" ")[0] if len(values) else ""
        known = found.get((self.file, of_objects, name), RawColumn())
        if self.file.is_file() and self.file.suffix not in _OF_LINES and len(values) > _ROW and known == RawColumn():
            found[self.file, of_objects, name] = column
        return add(self, name, values, column, parsed, right)

    monkeypatch.setattr(RawTable, "_add", record)
    _plan(benchmark, config, folder)
    monkeypatch.setattr(RawTable, "_add", add)
    return found


def _faults(column: RawColumn, other: Any, *, is_json: bool) -> Iterator[Any]:
    """Values that the column does not allow; `other` is that of another row."""
    if column.codes:
        yield 10**6 if is_json else "no such code"
    elif column.kind != "text":
        yield "x"
        if is_json:
            yield from (1.5, True, None) if column.kind != "number" else ("1", True)
        for bound, step in ((column.lowest, -1), (column.highest, 1)):
            if abs(bound) != float("inf"):
                yield int(bound) + step if is_json else str(int(bound) + step)
    elif is_json:
        yield from (7, [])
    if column.pattern:
        yield ""
    if column.folder is not None:
        yield from ("no_such_file.png", "../metadata.csv", "")
    if column.is_unique:
        yield other


def _plant(file: Path, key: str, name: str, column: RawColumn) -> Iterator[Any]:
    """Writes the file with one wrong value after the other."""
    text = file.read_text("utf-8")
    if key:
        content = json.loads(text)
        rows = content[{"category": "categories"}.get(key, f"{key}s")]
    else:
        separator = ";" if name not in next(csv.reader(text.splitlines())) else ","
        rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))
    right = rows[_ROW].get(name)
    for wrong in _faults(column, rows[_ROW - 1].get(name), is_json=bool(key)):
        if key and (wrong is None and column.default is not None):
            continue
        rows[_ROW][name] = wrong
        file.unlink()  # its bytes are those of the toy world's own
        with file.open("w", encoding="utf-8", newline="") as out:
            if key:
                json.dump(content, out)
            else:
                table = csv.DictWriter(out, list(rows[0]), delimiter=separator, lineterminator="\n")
                table.writeheader()
                table.writerows(rows)
        yield wrong
    rows[_ROW][name] = right
    file.write_text(text, "utf-8")


@pytest.mark.parametrize(
    "tried",
    [
        pytest.param(each, id="/".join(each), marks=() if "/".join(each) in _EVERY_DAY else pytest.mark.slow)
        for each in TRIED
    ],
)
def test_a_wrong_value_of_a_declared_column_is_refused(tried, raw, tmp_path, monkeypatch):
    """Planted faults seen: codes, range, uniqueness and files that `_add` or `parse_texts` passes over."""
    folder = shutil.copytree(raw("/".join(tried)), tmp_path / "raw", copy_function=os.link)
    declared = _declared(monkeypatch, *tried, folder)
    planted = 0
    for (file, key, name), column in declared.items():
        if not key and name not in next(csv.reader(file.read_text("utf-8").replace(";", ",").splitlines())):
            continue  # made of other columns
        for wrong in _plant(file, key, name, column):
            planted += 1
            with pytest.raises(oochub.OochubError) as error:
                _plan(*tried, folder)
            message = str(error.value)
            assert file.name in message, (name, wrong, message)
            assert name in message or "categories" in message or column.folder is not None, (name, wrong, message)
            assert f"line {_ROW + 2}" in message or f"row {_ROW}" in message or key, (name, wrong, message)
    print(f"declared columns: {planted} wrong values of {len(declared)} columns in {'/'.join(tried)}")  # noqa: T201
