"""Changes of the columns of a Parquet file that are drawn; the seal is made anew, as anyone can, or left out."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from drawn_changes import HOSTILE, changed_field
from fresh_cases import Change

from oochub.storage.parquet_file import seal

Columns = dict[str, list[Any]]
Draw = Callable[[Columns, Random], str]
"""Changes columns in place and says how."""


def columns_of(pattern: str, draw: Draw, *, sealed: bool | None = None) -> Change:
    """A Parquet file with other columns and its metadata kept.

    Args:
        pattern: Of the file.
        draw: The change.
        sealed: Whether the file is sealed anew; None draws it.
    """

    def change(folder: Path, rng: Random) -> str:
        file = rng.choice(sorted(folder.glob(pattern)))
        table = pq.ParquetFile(file).read()
        columns = {name: table[name].to_pylist() for name in table.column_names}
        done = draw(columns, rng)
        arrays = {name: _array(values, table, name) for name, values in columns.items()}
        made = pa.table(arrays).replace_schema_metadata(_with_rows(table.schema.metadata or {}, columns))
        return f"{file.name}: {done}, {_written(made, file, rng, sealed)}"

    return change


def metadata_of(pattern: str, key: bytes, *, sealed: bool | None = None) -> Change:
    """A Parquet file with one field of the JSON below a key of its metadata changed."""

    def change(folder: Path, rng: Random) -> str:
        file = rng.choice(sorted(folder.glob(pattern)))
        table = pq.ParquetFile(file).read()
        said = dict(table.schema.metadata)
        if rng.random() < 0.1:
            said[key] = rng.choice((b"{", b"[]", b"null", b"3", b"\xff", b"[" * 100_000, b"", b'"\\ud800"'))
            done = f"{said[key][:9]!r}"
        else:
            content = json.loads(said[key])
            done = changed_field(content, rng)
            said[key] = json.dumps(content).encode()
        return f"{done}, {_written(table.replace_schema_metadata(said), file, rng, sealed)}"

    return change


def cell(*names: str, values: tuple[Any, ...] = ()) -> Draw:
    """One cell of a column becomes another row's, a value given, or a hostile one; or the whole column does."""

    def draw(columns: Columns, rng: Random) -> str:
        name = rng.choice([name for name in names if name in columns])
        at = rng.randrange(len(columns[name]))
        old, new = columns[name][at], rng.choice((rng.choice(columns[name]), rng.choice(values or HOSTILE)))
        whole = rng.random() < 0.2
        columns[name] = [new if whole or k == at else value for k, value in enumerate(columns[name])]
        return f"{name} of {'all rows' if whole else f'row {at}'} {old!r:.30} to {new!r:.30}"

    return draw


def retyped(*names: str) -> Draw:
    """A column of another type."""

    def draw(columns: Columns, rng: Random) -> str:
        name = rng.choice([name for name in names if name in columns])
        word, to = rng.choice(
            (
                ("texts", str), ("lists", lambda value: [value]), ("bytes", lambda value: str(value).encode()),
                ("floats", lambda value: float(value) if isinstance(value, int) else 0.5), ("truths", bool),
                ("nulls", lambda value: None), ("records", lambda value: {"a": str(value)}),
            )
        )  # fmt: skip
        columns[name] = [to(value) for value in columns[name]]
        return f"{name} as {word}"

    return draw


def rows(columns: Columns, rng: Random) -> str:
    """Rows twice, fewer, in another order; a column less, twice, or two swapped."""
    n = len(next(iter(columns.values())))
    word = rng.choice(("twice", "less", "order", "all twice", "column less", "columns swapped", "one column's order"))
    take = list(range(n))
    if word == "twice":
        take.append(rng.randrange(n))
    elif word == "less":
        del take[rng.randrange(n)]
    elif word == "all twice":
        take *= 2
    elif word == "order":
        rng.shuffle(take)
    if word in ("twice", "less", "order", "all twice"):
        columns.update({name: [values[k] for k in take] for name, values in columns.items()})
        return f"rows {word}"
    one, other = rng.sample(sorted(columns), 2)
    if word == "column less":
        del columns[one]
    elif word == "columns swapped":
        columns[one], columns[other] = columns[other], columns[one]
    else:
        rng.shuffle(columns[one])
    return f"{word}: {one}, {other}"


def _array(values: list[Any], table: pa.Table, name: str) -> pa.Array:
    """The values as they were typed, else as they say, else as text."""
    texts = [None if value is None else _text(value) for value in values]
    usual = [(values, table.schema.field(name).type)] if name in table.column_names else []
    for given, kind in (*usual, (values, None), (texts, pa.string())):
        try:
            return pa.array(given, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    raise AssertionError(f"no array of {values!r:.80}")


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()


def _with_rows(said: Mapping[bytes, bytes], columns: Columns) -> dict[bytes, bytes]:
    """The metadata with the number of rows of each split, as whoever forges them counts them."""
    if b"oochub" not in said or "split" not in columns:
        return dict(said)
    known, counts = json.loads(said[b"oochub"]), {}
    for name in columns["split"]:
        counts[str(name)] = counts.get(str(name), 0) + 1
    return {**said, b"oochub": json.dumps(known | {"rows": counts}, sort_keys=True).encode()}


def _written(table: pa.Table, file: Path, rng: Random, sealed: bool | None) -> str:
    pq.write_table(table, file)
    if rng.random() < 0.7 if sealed is None else sealed:
        seal(file)
        return "sealed"
    return "no seal"
