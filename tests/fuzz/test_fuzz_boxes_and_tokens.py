"""Predictions and answers of boxes and of tokens with one thing wrong: refused, or the same numbers."""

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from fuzz_predictions import evaluated, metadata, numbers_of
from mutations import bytes_cases, json_text_cases, place_cases

from oochub import Predictions
from oochub.inputs._stored_processors import GraphProcessor, TokenProcessor
from oochub.inputs.token_ids import TokenIds

_FILE, _ANSWERS = "predictions.parquet", "answers.parquet"
_ROWS = 12
_IDS = [f"id{number}" for number in range(_ROWS)]
_GROUPS = ["day", "night"] * (_ROWS // 2)
_BOX = [2.0, 2.0, 6.0, 6.0]


@functools.cache
def _boxes() -> dict[str, Any]:
    """Two boxes a row, of which one is true in every second row; the last row has none."""
    found = [[_BOX, [0.0, 0.0, 1.0 + row, 3.0]] for row in range(_ROWS - 1)] + [[]]
    true = [[_BOX] if row % 2 else [[20.0, 20.0, 30.0, 30.0]] for row in range(_ROWS - 1)] + [[]]
    return {"detected_boxes": found, "scores": [[0.875, 0.25]] * (_ROWS - 1) + [[]], "boxes": true}


@functools.cache
def _tokens() -> dict[str, Any]:
    """Rows of two lengths."""
    rng = np.random.default_rng(0)
    lengths = [4 - row % 2 for row in range(_ROWS)]
    truth = [[*rng.integers(0, 3, length - 1).tolist(), -100] for length in lengths]
    said = [rng.integers(0, 3, length).tolist() for length in lengths]
    return {"predicted_tokens": said, "tokens": truth, "kinds": [[0, 1, 6, -1][-length:] for length in lengths]}


def _columns(kind: str) -> dict[str, Any]:
    return dict(_boxes() if kind == "boxes" else _tokens())


def _predictions(kind: str) -> Predictions:
    names = {"class_names": ["head"]} if kind == "boxes" else {}
    return Predictions.from_arrays(**_columns(kind), **names, group=_GROUPS, example_id=_IDS)


def _make_unchecked(kind: str) -> Callable[[Path], None]:
    """A file of before, without a digest: what its rows hold must be found wrong by itself."""

    def make(folder: Path) -> None:
        made = _predictions(kind)
        said = metadata() | {"kind": kind, "class_names": list(made.class_names), "rows": {"test": _ROWS}, "facts": {}}
        pq.write_table(made.table.replace_schema_metadata({b"oochub": json.dumps(said).encode()}), folder / _FILE)

    return make


def _use(folder: Path, out: Path) -> Used:
    report = evaluated(folder / _FILE, out)
    return Used(numbers=numbers_of(report), notes=report.notes)


@functools.cache
def _data(kind: str) -> DatasetDict:
    """The benchmark that answers are of."""
    features: dict[str, Any] = {"example_id": Value("string"), "group": Value("string")}
    rows: dict[str, Any] = {"example_id": _IDS, "group": _GROUPS}
    if kind == "boxes":
        features |= {
            "boxes": List(List(Value("float32"), length=4)),
            "categories": List(ClassLabel(names=["head"])),
        }
        rows |= {"boxes": _boxes()["boxes"], "categories": [[0] * len(row) for row in _boxes()["boxes"]]}
    else:
        features |= {"tokens": List(Value("int32")), "kinds": List(Value("int8"))}
        rows |= {"tokens": _tokens()["tokens"], "kinds": _tokens()["kinds"]}
    return DatasetDict({"test": Dataset.from_dict(rows, Features(features))})


def _answered(kind: str) -> dict[str, Any]:
    said = {"boxes": ("detected_boxes", "scores"), "tokens": ("predicted_tokens",)}[kind]
    return {"example_id": _IDS, **{name: _columns(kind)[name] for name in said}}


def _use_answers(kind: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / _ANSWERS, out, benchmark=_data(kind))
        return Used(numbers=numbers_of(report), notes=report.notes)

    return use


_KINDS = ("boxes", "tokens")
CHECKED = {
    kind: Format(name=kind, make=lambda folder, kind=kind: _predictions(kind).save(folder / _FILE), use=_use)
    for kind in _KINDS
}
UNCHECKED = {
    kind: Format(name=f"{kind} of before", make=_make_unchecked(kind), use=_use, names=("kinds", "needs kind"))
    for kind in _KINDS
}
ANSWERS = {
    kind: Format(
        name=f"answers of {kind}",
        make=lambda folder, kind=kind: pq.write_table(pa.table(_answered(kind)), folder / _ANSWERS),
        use=_use_answers(kind),
    )
    for kind in _KINDS
}


def _column(file: str, name: str, values: Any) -> Callable[[Path], None]:
    """Another column in the place of one; None drops it."""

    def mutate(folder: Path) -> None:
        table = pq.read_table(folder / file)
        number, kept = table.column_names.index(name), table.schema.metadata
        table = table.remove_column(number)
        if values is not None:
            table = table.add_column(number, name, values if isinstance(values, pa.Array) else pa.array(values))
        pq.write_table(table.replace_schema_metadata(kept), folder / file)

    return mutate


def _first(values: list[Any], value: Any) -> list[Any]:
    return [value, *values[1:]]


def _of_boxes(name: str, values: list[Any]) -> dict[str, tuple[Any, set[str]]]:
    """Columns of boxes with one wrong thing, and what may come of it."""
    count = len(values[0])

    def with_box(box: Any) -> list[Any]:
        return _first(values, [box] * count)

    lists = pa.list_(pa.list_(pa.float64()))
    return {
        "a row null": (_first(values, None), {REFUSED}),
        "a box null": (with_box(None), {REFUSED}),
        "an empty box": (with_box([]), {REFUSED}),
        "a coordinate null": (with_box([None, 0.0, 1.0, 1.0]), {REFUSED}),
        "a coordinate nan": (with_box([math.nan, 0.0, 1.0, 1.0]), {REFUSED}),
        "a coordinate infinite": (with_box([0.0, 0.0, math.inf, 1.0]), {REFUSED}),
        "a coordinate beyond 32 bits": (pa.array(with_box([0.0, 0.0, 1e300, 1e300]), lists), {REFUSED}),
        "x2 below x1": (with_box([5.0, 0.0, 1.0, 1.0]), {REFUSED}),
        "y2 below y1": (with_box([0.0, 5.0, 1.0, 1.0]), {REFUSED}),
        "three numbers": (with_box([0.0, 0.0, 1.0]), {REFUSED}),
        "five numbers": (with_box([0.0, 0.0, 1.0, 1.0, 1.0]), {REFUSED}),
        "a box outside of the image": (with_box([-9.0, -9.0, -1.0, -1.0]), {SAME, CHANGED}),
        "a box without an area": (with_box([1.0, 1.0, 1.0, 1.0]), {SAME, CHANGED}),
        "flat": ([[0.0, 0.0, 1.0, 1.0]] * _ROWS, {REFUSED}),
        "deeper": ([[[_BOX]]] * _ROWS, {REFUSED}),
        "texts": ([[["a"] * 4]] * _ROWS, {REFUSED}),
        "truths": ([[[True] * 4]] * _ROWS, {REFUSED}),
        "structs": ([{"x1": 1.0}] * _ROWS, {REFUSED}),
        "nulls": (pa.nulls(_ROWS), {REFUSED}),
        "float64": (pa.array(values, lists), {SAME}),
        "whole numbers": (pa.array(values, pa.list_(pa.list_(pa.int64()))), {SAME}),
        "large lists": (pa.array(values, pa.large_list(pa.large_list(pa.float32()))), {SAME, REFUSED}),
        "none": (None, {REFUSED}),
    }


def _of_scores(name: str, values: list[Any]) -> dict[str, tuple[Any, set[str]]]:
    return {
        "a row null": (_first(values, None), {REFUSED}),
        "a score null": (_first(values, [None, 0.25]), {REFUSED}),
        "a score nan": (_first(values, [math.nan, 0.25]), {REFUSED}),
        "a score infinite": (_first(values, [math.inf, 0.25]), {REFUSED}),
        "a score less": (_first(values, [0.875]), {REFUSED}),
        "a score more": (_first(values, [0.875, 0.25, 0.25]), {REFUSED}),
        "scores out of 0 and 1": (_first(values, [7.0, -3.0]), {SAME}),  # a detector's own scale
        "nested": ([[[0.5]]] * _ROWS, {REFUSED}),
        "flat": ([0.5] * _ROWS, {REFUSED}),
        "texts": ([["a", "b"]] * _ROWS, {REFUSED}),
        "none": (None, {REFUSED}),
    }


def _of_tokens(name: str, values: list[Any]) -> dict[str, tuple[Any, set[str]]]:
    """Columns of tokens with one wrong thing; of `kinds` too."""
    is_truth, is_kind = name == "tokens", name == "kinds"
    own = {SAME, CHANGED} if not is_kind else {REFUSED}
    wide = [[abs(number) for number in row] for row in values]
    unsigned = {REFUSED} if is_truth or is_kind else {SAME}  # 100 in the place of -100 asks for more, 1 is a kind
    return {
        "a row null": (_first(values, None), {REFUSED}),
        "a token null": (_first(values, [None, 1, 1, 1]), {REFUSED}),
        "a token less": (_first(values, values[0][:-1]), {REFUSED}),
        "a token more": (_first(values, [*values[0], 1]), {REFUSED}),
        "a row empty": (_first(values, []), {REFUSED}),
        "-2": (_first(values, [-2, *values[0][1:]]), {REFUSED}),
        "of no vocabulary": (_first(values, [10**6, *values[0][1:]]), own),
        "beyond 32 bits": (_first(values, [2**40, *values[0][1:]]), {REFUSED}),
        "beyond 64 bits": (pa.array(_first(wide, [2**64 - 1, *wide[0][1:]]), pa.list_(pa.uint64())), {REFUSED}),
        "256": (_first(values, [256, *values[0][1:]]), own),
        "fractions": (_first(values, [0.5, *values[0][1:]]), {REFUSED}),
        "nan": (_first(values, [math.nan, *map(float, values[0][1:])]), {REFUSED}),
        "texts": ([["a"] * len(row) for row in values], {REFUSED}),
        "truths": ([[True] * len(row) for row in values], {REFUSED}),
        "nested": ([[[1]]] * _ROWS, {REFUSED}),
        "flat": ([1] * _ROWS, {REFUSED}),
        "nulls": (pa.nulls(_ROWS), {REFUSED}),
        "int64": (pa.array(values, pa.list_(pa.int64())), {SAME}),
        "uint16": (pa.array(wide, pa.list_(pa.uint16())), unsigned | {SAME, CHANGED}),
        "large lists": (pa.array(values, pa.large_list(pa.int32())), {SAME}),
        "none": (None, {REFUSED}),
    }


_CHANGES: dict[str, Callable[[str, list[Any]], dict[str, tuple[Any, set[str]]]]] = {
    "boxes": _of_boxes,
    "detected_boxes": _of_boxes,
    "scores": _of_scores,
    "tokens": _of_tokens,
    "predicted_tokens": _of_tokens,
    "kinds": _of_tokens,
}


def _changed(kind: str) -> list[tuple[Format, Case]]:
    cases = []
    for name, values in _columns(kind).items():
        for word, (column, outcomes) in _CHANGES[name](name, values).items():
            mutate = _column(_FILE, name, column)
            cases.append((UNCHECKED[kind], Case(name=f"{name} {word}", mutate=mutate, expect=frozenset(outcomes))))
            if name in _answered(kind):
                mutate = _column(_ANSWERS, name, column)
                cases.append((ANSWERS[kind], Case(name=f"{name} {word}", mutate=mutate, expect=frozenset(outcomes))))
    return cases


def _use_processor(folder: Path, out: Path) -> Used:
    """A batch of rows of two lengths, as a model of the folder is called with it."""
    rows = Dataset.from_dict({"input_ids": [[7, 8, 9], [5]]})
    batch = TokenIds(TokenIds.load_processor(str(folder), rows)).fetch(rows, None)([0, 1])
    return Used(numbers=dict(batch))


def _use_graphs(folder: Path, out: Path) -> Used:
    processor = GraphProcessor.from_pretrained(folder)
    return Used(numbers=[processor.column, processor.node_sizes, processor.edge_sizes])


PADDING = Format(
    name="tokens.json",
    make=lambda folder: TokenProcessor(padding=3).save_pretrained(folder),
    use=_use_processor,
    names=("padding",),
)
GRAPHS = Format(
    name="graphs.json",
    make=lambda folder: GraphProcessor(column="graph", node_sizes=(9, 4), edge_sizes=(5,)).save_pretrained(folder),
    use=_use_graphs,
    names=("node_sizes", "edge_sizes"),
)


def _texts(file: str, contents: dict[str, set[str]]) -> list[Case]:
    return [
        Case(
            name=f"{file} {text[:60]}",
            mutate=lambda folder, text=text: (folder / file).write_text(text) and None,
            expect=frozenset(outcomes),
        )
        for text, outcomes in contents.items()
    ]


_OF_PADDING = {
    **{
        f'{{"padding": {value}}}': {REFUSED}
        for value in ('"0"', "1.5", "true", "null", "[0]", "-1", "1e3", str(10**30))
    },
    '{"padding": 4}': {CHANGED},
    '{"padding": 3, "other": 1}': {REFUSED, SAME},
    '{"paddings": 3}': {REFUSED, CHANGED},  # a field of a later version
}
_SIZES = '{{"column": {}, "node_sizes": {}, "edge_sizes": {}}}'
_OF_GRAPHS = {
    _SIZES.format(*values): {REFUSED}
    for values in (
        ('"graph"', "[]", "[5]"),
        ('"graph"', "[9, 0]", "[5]"),
        ('"graph"', "[9, -4]", "[5]"),
        ('"graph"', "[9, 4.5]", "[5]"),
        ('"graph"', '["9", 4]', "[5]"),
        ('"graph"', "9", "[5]"),
        ('"graph"', "[[9]]", "[5]"),
        ('"graph"', "[9, 4]", "null"),
        ('"graph"', "[9, true]", "[5]"),
        ("3", "[9, 4]", "[5]"),
        ("null", "[9, 4]", "[5]"),
    )
}
_NAMED = {
    PADDING.name: (PADDING, "tokens.json", _OF_PADDING),
    GRAPHS.name: (GRAPHS, "graphs.json", _OF_GRAPHS),
}


def _of_processors() -> list[tuple[Format, Case]]:
    """A model without tokens.json pads with 0, and so does an empty record: its one field has a default."""
    cases = []
    for kind, file, contents in _NAMED.values():
        for case in (*json_text_cases(file), *_texts(file, contents)):
            is_default = kind is PADDING and case.name == f"{file} is {{}}"
            expect = frozenset({CHANGED}) if is_default else case.expect
            cases.append((kind, Case(name=case.name, mutate=case.mutate, expect=expect)))
    return [*cases, *((PADDING, case) for case in place_cases("tokens.json", missing=frozenset({CHANGED})))]


CASES = [
    *((CHECKED[kind], case) for kind in _KINDS for case in bytes_cases(_FILE, expect=frozenset({REFUSED, SAME}))),
    *((CHECKED[kind], case) for kind in _KINDS for case in place_cases(_FILE)),
    *(case for kind in _KINDS for case in _changed(kind)),
    *_of_processors(),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_boxes_and_tokens(campaign, kind, case):
    campaign.run(kind, case)
