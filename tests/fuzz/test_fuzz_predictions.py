"""Files of predictions with one thing wrong, evaluated and shown: refused, or the same numbers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz_case import CHANGED, REFUSED, SAFE, SAID, SAME, Case, Format, Used
from fuzz_predictions import ROWS, evaluated, metadata, numbers_of, predictions
from mutations import bytes_cases, json_cases, place_cases

_FILE, _JSON = "predictions.parquet", "metadata.json"


def _use(folder: Path, out: Path) -> Used:
    report = evaluated(folder / _FILE, out)
    return Used(numbers=numbers_of(report), notes=report.notes)


def _make_unchecked(folder: Path) -> None:
    table = predictions().table.replace_schema_metadata({b"oochub": json.dumps(metadata()).encode()})
    pq.write_table(table, folder / _FILE)
    (folder / _JSON).write_text(json.dumps(metadata()))


CHECKED = Format(name="predictions", make=lambda folder: predictions().save(folder / _FILE), use=_use)
UNCHECKED = Format(name="predictions of before", make=_make_unchecked, use=_use, names=("group",))


def _with_metadata(case: Case) -> Callable[[Path], None]:
    """The change of the metadata, which lie as JSON beside the file, brought into the file."""

    def mutate(folder: Path) -> None:
        case.mutate(folder)
        table = pq.read_table(folder / _FILE)
        content = (folder / _JSON).read_bytes()
        pq.write_table(table.replace_schema_metadata({b"oochub": content}), folder / _FILE)

    return mutate


_FREE = ("facts", "training", "provenance", "notes", "fingerprint", "version", "model", "config")


def _of_metadata(place: str, change: str) -> frozenset[str]:
    if place.startswith(_FREE):  # no number depends on them; a wrong type is refused, or shown as it is
        return SAFE
    if change in ("deleted", "renamed") and place in ("schema_version", "kind"):
        return frozenset({SAME, REFUSED})  # files of before lack them
    if place == "benchmark":
        return frozenset({REFUSED, SAID, SAME})  # rows without sides have the same numbers; a note says the rest
    return frozenset({REFUSED})


def _column(name: str, change: Callable[[pa.Table], Any]) -> Callable[[Path], None]:
    """Another column in the place of one; None drops it."""

    def mutate(folder: Path) -> None:
        table = pq.read_table(folder / _FILE)
        column, kept = change(table), table.schema.metadata
        number = table.column_names.index(name)
        table = table.remove_column(number)
        if column is not None:
            table = table.add_column(number, name, pa.array(column) if isinstance(column, list) else column)
        pq.write_table(table.replace_schema_metadata(kept), folder / _FILE)

    return mutate


def _values(table: pa.Table, name: str) -> list[Any]:
    return list(table.column(name).to_pylist())


def _first(name: str, value: Any) -> Callable[[pa.Table], Any]:
    return lambda table: [value, *_values(table, name)[1:]]


_LABELS = {
    "fractions": (lambda t: pa.array([1.7] * ROWS), {REFUSED}),
    "whole floats": (lambda t: t["label"].cast(pa.float64()), {REFUSED}),
    "truths": (lambda t: pa.array([True] * ROWS), {REFUSED}),
    "texts": (lambda t: pa.array(["cat"] * ROWS), {REFUSED}),
    "digits": (lambda t: t["label"].cast(pa.string()), {REFUSED}),
    "int8": (lambda t: t["label"].cast(pa.int8()), {SAME}),
    "uint64": (lambda t: t["label"].cast(pa.uint64()), {SAME}),
    "dictionary": (lambda t: t["label"].dictionary_encode(), {SAME, REFUSED}),
    "lists": (lambda t: pa.array([[0]] * ROWS), {REFUSED}),
    "dates": (lambda t: t["label"].cast(pa.int32()).cast(pa.date32()), {REFUSED}),
    "decimals": (lambda t: t["label"].cast(pa.decimal128(20, 0)), {REFUSED}),
    "bytes": (lambda t: pa.array([b"0"] * ROWS), {REFUSED}),
    "nulls": (lambda t: pa.nulls(ROWS), {REFUSED}),
    "one null": (_first("label", None), {REFUSED}),
    "one beyond the classes": (_first("label", 3), {REFUSED}),
    "one far beyond": (_first("label", 2**40), {REFUSED}),
    "one of -2": (_first("label", -2), {REFUSED}),
    "none": (lambda t: None, {REFUSED}),
}
_LOGITS = {
    "truths": (lambda t: [[True, False, False]] * ROWS, {REFUSED}),
    "whole numbers": (lambda t: [[1, 2, 3]] * ROWS, {REFUSED}),
    "texts": (lambda t: [["1", "2", "3"]] * ROWS, {REFUSED}),
    "a number each": (lambda t: [1.0] * ROWS, {REFUSED}),
    "nested": (lambda t: [[[1.0], [2.0], [3.0]]] * ROWS, {REFUSED}),
    "of two classes": (lambda t: [row[:2] for row in _values(t, "logits")], {REFUSED}),
    "of four classes": (lambda t: [[*row, 0.0] for row in _values(t, "logits")], {REFUSED}),
    "ragged": (_first("logits", [1.0]), {REFUSED}),
    "ragged to the same sum": (lambda t: [[1.0] * 2, [1.0] * 4, *_values(t, "logits")[2:]], {REFUSED}),
    "with an empty row": (_first("logits", []), {REFUSED}),
    "with a null row": (_first("logits", None), {REFUSED}),
    "with a null": (_first("logits", [None, 1.0, 2.0]), {REFUSED}),
    "with nan": (_first("logits", [float("nan"), 1.0, 2.0]), {REFUSED}),
    "with an infinite one": (_first("logits", [float("inf"), 1.0, 2.0]), {REFUSED}),
    "beyond float32": (_first("logits", [1e300, 1.0, 2.0]), {REFUSED}),
    "float64": (lambda t: t["logits"].cast(pa.list_(pa.float64())), {SAME}),
    "large lists": (lambda t: t["logits"].cast(pa.large_list(pa.float32())), {SAME, REFUSED}),
    "lists of a fixed size": (lambda t: t["logits"].cast(pa.list_(pa.float32(), 3)), {SAME, REFUSED}),
    "structs": (lambda t: [{"a": 1.0, "b": 2.0, "c": 3.0}] * ROWS, {REFUSED}),
    "none": (lambda t: None, {REFUSED}),
}
_IDS = {
    "numbers": (lambda t: list(range(ROWS)), {SAME, REFUSED}),
    "one null": (_first("example_id", None), {REFUSED}),
    "one twice": (_first("example_id", "1"), {REFUSED}),
    "lists": (lambda t: [[k] for k in range(ROWS)], {REFUSED, SAME}),
    "bytes": (lambda t: [str(k).encode() for k in range(ROWS)], {SAME, REFUSED}),
    "large texts": (lambda t: t["example_id"].cast(pa.large_string()), {SAME}),
    "a lone slash": (_first("example_id", "../../x"), {SAME}),
    "markup": (_first("example_id", "<script>alert(1)</script>"), {SAME}),
    "a line end": (_first("example_id", "a\nb|c"), {SAME}),
    "none": (lambda t: None, {REFUSED}),
}
_SPLITS = {
    "numbers": (lambda t: [3] * ROWS, {REFUSED}),
    "one null": (_first("split", None), {REFUSED}),
    "another name": (lambda t: ["other"] * ROWS, {REFUSED}),
    "one of another name": (_first("split", "other"), {REFUSED}),
    "lists": (lambda t: [["test"]] * ROWS, {REFUSED}),
    "dictionary": (lambda t: t["split"].dictionary_encode(), {SAME, REFUSED}),
    "none": (lambda t: None, {REFUSED}),
}
_GROUPS = {
    "nulls": (lambda t: pa.nulls(ROWS), SAFE | {CHANGED}),  # no group is known: the report has no groups
    "one null": (_first("group", None), SAFE),
    "lists": (lambda t: [["day"]] * ROWS, SAFE),
    "nan": (lambda t: [float("nan")] * ROWS, SAFE),
    "structs": (lambda t: [{"a": 1}] * ROWS, SAFE),
    "bytes": (lambda t: [value.encode() for value in _values(t, "group")], SAFE | {CHANGED}),
    "markup": (lambda t: [f"<b>{value}</b>" for value in _values(t, "group")], SAFE | {CHANGED}),
    "dictionary": (lambda t: t["group"].dictionary_encode(), {SAME}),
}
COLUMNS = {"label": _LABELS, "logits": _LOGITS, "example_id": _IDS, "split": _SPLITS, "group": _GROUPS}


def _table(change: Callable[[pa.Table], pa.Table], *, keep: bool = True) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        table = pq.read_table(folder / _FILE)
        changed = change(table)
        pq.write_table(changed.replace_schema_metadata(table.schema.metadata if keep else None), folder / _FILE)

    return mutate


_TABLES = {
    "without rows": (lambda t: t.slice(0, 0), {REFUSED}),
    "without its last row": (lambda t: t.slice(0, ROWS - 1), {REFUSED}),
    "with its rows twice": (lambda t: pa.concat_tables([t, t]), {REFUSED}),
    "with its rows reversed": (lambda t: t.take(list(range(ROWS))[::-1]), SAFE | {CHANGED}),  # the bootstrap's order
    "with its columns reversed": (lambda t: t.select(t.column_names[::-1]), {SAME}),
    "with a column twice": (lambda t: t.append_column("label", t["label"]), {REFUSED}),
    "with a column of no name": (lambda t: t.append_column("", t["label"]), {SAME, REFUSED}),
    "with a column of nested lists": (lambda t: t.append_column("deep", pa.array([[[[1]]]] * ROWS)), {SAME}),
}
CASES = [
    *((CHECKED, case) for case in bytes_cases(_FILE, expect=frozenset({REFUSED, SAME}), flips=160)),
    *((CHECKED, case) for case in place_cases(_FILE)),
    *((UNCHECKED, case) for case in bytes_cases(_FILE, expect=frozenset({REFUSED, SAME, CHANGED}), flips=40)),
    *(
        (UNCHECKED, Case(name=case.name, mutate=_with_metadata(case), expect=case.expect))
        for case in json_cases(_JSON, metadata(), _of_metadata)
    ),
    *(
        (UNCHECKED, Case(name=f"{name}: {word}", mutate=_column(name, change), expect=frozenset(outcomes)))
        for name, changes in COLUMNS.items()
        for word, (change, outcomes) in changes.items()
    ),
    *(
        (UNCHECKED, Case(name=word, mutate=_table(change), expect=frozenset(outcomes)))
        for word, (change, outcomes) in _TABLES.items()
    ),
    (UNCHECKED, Case(name="without metadata", mutate=_table(lambda t: t, keep=False))),
]
for word, content in {
    "not JSON": b"{",
    "not UTF-8": b'{"benchmark": "\xe9"}',
    "a list": b"[]",
    "null": b"null",
    "a text": b'"abc"',
    "nested": b"[" * 100_000,
    "empty": b"",
}.items():
    cases = Case(name="", mutate=lambda folder, content=content: (folder / _JSON).write_bytes(content))
    CASES.append((UNCHECKED, Case(name=f"metadata {word}", mutate=_with_metadata(cases))))


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_predictions(campaign, kind, case):
    campaign.run(kind, case)
