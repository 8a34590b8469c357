"""Answers of another program with one thing wrong, joined to a benchmark: refused, or the same numbers."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from fuzz_case import Format, Used
from fuzz_predictions import ROWS, arrays, evaluated, numbers_of

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


def _write_lines(columns: dict[str, Any], file: Path) -> None:
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


_WRITERS = {
    "answers.csv": _write_csv,
    "answers.jsonl": _write_lines,
    "answers.parquet": _write_parquet,
    "answers.npz": _write_npz,
}


def _use(name: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / name, out, benchmark=data(), metrics=["accuracy"])
        return Used(numbers=numbers_of(report), notes=report.notes)

    return use


GIVEN_ANSWERS = {
    name: Format(
        name=name,
        make=lambda folder, name=name: _WRITERS[name](answers(), folder / name),
        use=_use(name),
        names=("group", "label"),
    )
    for name in _WRITERS
}
