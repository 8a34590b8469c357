"""Predictions and answers of boxes and of tokens with one thing wrong: refused, or the same numbers."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from fuzz_case import Format, Used
from fuzz_predictions import evaluated, numbers_of

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


def _use(folder: Path, out: Path) -> Used:
    report = evaluated(folder / _FILE, out)
    return Used(numbers=numbers_of(report), notes=report.notes)


@functools.cache
def _data(kind: str) -> DatasetDict:
    """The benchmark that answers are of."""
    features: dict[str, Any] = {"example_id": Value("string"), "group": Value("string")}
    rows: dict[str, Any] = {"example_id": _IDS, "group": _GROUPS}
    if kind == "boxes":
        features |= {"boxes": List(List(Value("float32"), length=4)), "categories": List(ClassLabel(names=["head"]))}
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
    kind: Format(
        name=kind,
        make=lambda folder, kind=kind: _predictions(kind).save(folder / _FILE),
        use=_use,
        names=("kinds", "tokens", "boxes", "scores", "group"),
    )
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
