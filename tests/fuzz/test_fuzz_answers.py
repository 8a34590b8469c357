"""Answers of another program with one thing wrong, joined to a benchmark: refused, or the same numbers."""

import functools
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from fuzz_predictions import ROWS, arrays, evaluated, numbers_of
from mutations import bytes_cases, place_cases

NAMES = ["cat", "dog", "owl"]
IDS = [f"id{number}" for number in range(ROWS)]


@functools.cache
def data() -> DatasetDict:
    """The benchmark: ids, labels and groups."""
    features = {"example_id": Value("string"), "label": ClassLabel(names=NAMES), "group": Value("string")}
    rows = {"example_id": IDS, "label": arrays()["label"].tolist(), "group": arrays()["group"].tolist()}
    return DatasetDict({"test": Dataset.from_dict(rows, Features(features))})


def answers() -> dict[str, Any]:
    """A column of logits a class, and the labels."""
    logits = arrays()["logits"].astype(float)
    columns = {f"logit_{name}": logits[:, number].tolist() for number, name in enumerate(NAMES)}
    return {"example_id": IDS, **columns, "label": [NAMES[number] for number in arrays()["label"]]}


def _write_csv(columns: dict[str, Any], file: Path) -> None:
    pd.DataFrame(columns).to_csv(file, index=False)


def _write_parquet(columns: dict[str, Any], file: Path) -> None:
    pq.write_table(pa.table(columns), file)


def _write_npz(columns: dict[str, Any], file: Path) -> None:
    np.savez(file, **{name: np.asarray(values) for name, values in columns.items()})


WRITERS = {"answers.csv": _write_csv, "answers.parquet": _write_parquet, "answers.npz": _write_npz}


def _format(name: str) -> Format:
    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / name, out, benchmark=data())
        return Used(numbers=numbers_of(report), notes=report.notes)

    return Format(name=name, make=lambda folder: WRITERS[name](answers(), folder / name), use=use)


FORMATS = {name: _format(name) for name in WRITERS}


def _rewritten(name: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        columns = answers()
        change(columns)
        WRITERS[name](columns, folder / name)

    return mutate


def _first(column: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda columns: columns.update({column: [value, *columns[column][1:]]})


def _all(column: str, values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda columns: columns.update({column: values})


def _chosen(values: Any) -> Callable[[dict[str, Any]], None]:
    """A prediction alone, without logits."""

    def change(columns: dict[str, Any]) -> None:
        for name in NAMES:
            columns.pop(f"logit_{name}")
        columns["prediction"] = values

    return change


def _cut(rows: int) -> Callable[[dict[str, Any]], None]:
    return lambda columns: columns.update({name: values[:rows] for name, values in columns.items()})


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], set[str]]] = {
    "no id": (lambda columns: columns.pop("example_id"), {REFUSED}),
    "an id of another row": (_first("example_id", "id1"), {REFUSED}),
    "an unknown id": (_first("example_id", "../../x"), {REFUSED}),
    "an empty id": (_first("example_id", ""), {REFUSED}),
    "ids with a line end": (_first("example_id", "a\nb"), {REFUSED}),
    "ids of numbers": (_all("example_id", list(range(ROWS))), {REFUSED}),
    "no logit of a class": (lambda columns: columns.pop("logit_dog"), {REFUSED}),
    "a logit of no class": (_all("logit_gull", [0.0] * ROWS), {REFUSED}),
    "a logit nan": (_first("logit_dog", float("nan")), {REFUSED}),
    "a logit infinite": (_first("logit_dog", float("inf")), {REFUSED}),
    "a logit too large for float32": (_first("logit_dog", 1e300), {REFUSED}),
    "logits of text": (_all("logit_dog", ["much"] * ROWS), {REFUSED}),
    "logits of truths": (_all("logit_dog", [True] * ROWS), {REFUSED}),
    "logits of digits": (_all("logit_dog", ["1"] * ROWS), {REFUSED, CHANGED}),  # in a CSV they are numbers
    "logits of whole numbers": (_all("logit_dog", [1] * ROWS), {CHANGED}),
    "another label": (_all("label", ["cat"] * ROWS), {REFUSED}),
    "a label of no class": (_first("label", "gull"), {REFUSED}),
    "labels of numbers": (_all("label", arrays()["label"].tolist()), {SAME}),
    "labels of fractions": (_all("label", [0.5] * ROWS), {REFUSED}),
    "labels of one beyond the classes": (_all("label", [3] * ROWS), {REFUSED}),
    "no labels": (lambda columns: columns.pop("label"), {SAME}),
    "markup in a column's name": (_all("<script>", [1.0] * ROWS), {SAME}),
    "a split that is not there": (_all("split", ["tset"] * ROWS), {REFUSED}),
    "the split": (_all("split", ["test"] * ROWS), {SAME}),
    "a prediction of no class": (_all("prediction", ["gull"] * ROWS), {REFUSED}),
    "a list of an integer beyond 64 bits": (_all("logits", [json.dumps([2**70, 1, 2])] * ROWS), {REFUSED}),
    "names alone": (_chosen(["dog"] * ROWS), {CHANGED}),
    "numbers alone": (_chosen([2] * ROWS), {CHANGED}),
    "numbers of no class alone": (_chosen([3] * ROWS), {REFUSED}),
    "numbers below 0 alone": (_chosen([-1] * ROWS), {REFUSED}),
    "fractions alone": (_chosen([0.5] * ROWS), {REFUSED}),
    "names of no class alone": (_chosen(["gull"] * ROWS), {REFUSED}),
    "nothing alone": (_chosen([""] * ROWS), {REFUSED}),
    "truths alone": (_chosen([True] * ROWS), {REFUSED}),
    "a list of logits beside": (_all("logits", [json.dumps([0.5] * 3)] * ROWS), {REFUSED, CHANGED}),
    "no rows": (_cut(0), {REFUSED}),
    "the last row missing": (_cut(ROWS - 1), {REFUSED}),
}


def _with_bytes(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def _npz_with(**columns: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=True, **columns)
    return stream.getvalue()


def _npy(header: bytes) -> bytes:
    """An NPZ whose array `logits` has this header."""
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("logits.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    return stream.getvalue()


_HUGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000, 3), }\n"
WHOLE = {
    "answers.csv": {
        "one line": b"example_id",
        "a head of nothing": b",,,\n",
        "semicolons": b"example_id;logit_cat\nid0;1\n",
        "zero bytes": b"\0" * 99,
        "an open quote": b'example_id,logit_cat\n"id0,1\n',
        "a byte order mark of UTF-16": "example_id,score\nid0,1\n".encode("utf-16"),
    },
    "answers.npz": {
        "an array alone": _npz_with(example_id=np.array(IDS))[:0] + b"\x93NUMPY\x01\x00",
        "objects": _npz_with(example_id=np.array(IDS, dtype=object), logits=np.zeros((ROWS, 3))),
        "deep arrays": _npz_with(example_id=np.array(IDS), logits=np.zeros((ROWS, 3, 1))),
        "no dimension": _npz_with(example_id=np.array(IDS), logits=np.float64(1)),
        "complex numbers": _npz_with(example_id=np.array(IDS), logits=np.zeros((ROWS, 3), complex)),
        "dates": _npz_with(example_id=np.array(IDS), logits=np.zeros((ROWS, 3), "datetime64[s]")),
        "bytes that are no UTF-8": _npz_with(example_id=np.array([b"\xff"] * ROWS), logits=np.zeros((ROWS, 3))),
        "structures": _npz_with(example_id=np.array(IDS), logits=np.zeros(ROWS, [("a", float)])),
        "lists without a number": _npz_with(example_id=np.array(IDS), logits=np.zeros((ROWS, 0))),
        "a huge array": _npy(_HUGE),
        "no header": _npy(b"x"),
        "half a character": _npz_with(example_id=np.array([*IDS[:-1], "\ud800"]), logits=np.zeros((ROWS, 3))),
        "no archive": b"PK\x03\x04",
    },
    "answers.parquet": {
        "text": b"PAR1",
        "empty": b"",
    },
}
SAME_NUMBERS = {  # of the arrays of `answers`, in other forms of NumPy
    "big endian": lambda: _npz_with(example_id=np.array(IDS), logits=arrays()["logits"].astype(">f8")),
    "the longest floats": lambda: _npz_with(example_id=np.array(IDS), logits=np.longdouble(arrays()["logits"])),
    "by columns": lambda: _npz_with(example_id=np.array(IDS, "S"), logits=np.asfortranarray(arrays()["logits"])),
}
_BYTES = {"answers.csv": {REFUSED, SAME, CHANGED}, "answers.npz": {REFUSED, SAME}}
CASES = [
    *(
        (FORMATS["answers.npz"], Case(name=word, mutate=_with_bytes("answers.npz", make()), expect=frozenset({SAME})))
        for word, make in SAME_NUMBERS.items()
    ),
    *(
        (FORMATS[name], Case(name=word, mutate=_rewritten(name, change), expect=frozenset(outcomes)))
        for name in WRITERS
        for word, (change, outcomes) in CHANGES.items()
    ),
    *(
        (FORMATS[name], Case(name=word, mutate=_with_bytes(name, content)))
        for name, contents in WHOLE.items()
        for word, content in contents.items()
    ),
    *(
        (FORMATS[name], case)
        for name in WRITERS
        for case in bytes_cases(name, expect=frozenset(_BYTES.get(name, {REFUSED, SAME, CHANGED})), flips=60)
    ),
    *((FORMATS[name], case) for name in WRITERS for case in place_cases(name)),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_answers(campaign, kind, case):
    campaign.run(kind, case)
