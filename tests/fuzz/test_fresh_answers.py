"""Answers of another program changed by a seed: an error, or the numbers that a plain join by id gives."""

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from drawn_changes import bytes_of, cells_of, place_of
from drawn_columns import Columns, Draw, cell, columns_of, retyped, rows
from formats_answers import IDS, NAMES, WRITERS, answers, data
from fresh_cases import Change, Reader, every_day, fresh
from fuzz_case import Format, Used
from fuzz_predictions import ROWS, arrays, evaluated, numbers_of
from plain_counts import share

_TRUTH = dict(zip(IDS, arrays()["label"].tolist(), strict=True))
_GROUP = dict(zip(IDS, arrays()["group"].tolist(), strict=True))
_LOGITS = tuple(f"logit_{name}" for name in NAMES)


def _use(name: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / name, out, benchmark=data(), metrics=["accuracy"])
        groups = {row.group: [row.n, round(float(row.accuracy), 9)] for row in report.group_rows}
        counts = {"all": [report["accuracy"].n, round(float(report["accuracy"]), 9)], "groups": groups}
        return Used(numbers=numbers_of(report), notes=report.notes, counts=json.loads(json.dumps(counts)))

    return use


def _columns_in(file: Path) -> Columns:
    if file.suffix == ".csv":
        lines = [line for line in csv.reader(file.read_text("utf-8-sig").splitlines()) if line]
        return {name: [line[k] for line in lines[1:]] for k, name in enumerate(lines[0])}
    if file.suffix == ".npz":
        with np.load(file, allow_pickle=False) as stored:
            return {name: [_plain(value) for value in stored[name].tolist()] for name in stored.files}
    table = pq.ParquetFile(file).read()
    return {name: table[name].to_pylist() for name in table.column_names}


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _count(name: str) -> Callable[[Path], Any]:
    def count(folder: Path) -> Any:
        columns = _columns_in(folder / name)
        place = {each: k for k, each in enumerate(columns["example_id"])}
        assert sorted(place) == sorted(IDS) and len(columns["example_id"]) == ROWS, "other ids"
        right = {each: _answer(columns, place[each]) == _TRUTH[each] for each in IDS}
        groups = {
            group: share([right[each] for each in IDS if _GROUP[each] == group]) for group in sorted({*_GROUP.values()})
        }
        return {"all": share(list(right.values())), "groups": groups}

    return count


def _answer(columns: Columns, at: int) -> int:
    if all(name in columns for name in _LOGITS):
        numbers = [np.float32(float(columns[name][at])) for name in _LOGITS]
    elif "logits" in columns:
        row = columns["logits"][at]
        numbers = [np.float32(number) for number in (json.loads(row) if isinstance(row, str) else row)]
    else:
        said = columns["prediction"][at]
        return NAMES.index(said) if said in NAMES else int(said)
    assert all(math.isfinite(number) for number in numbers)
    return int(np.argmax(numbers))


def _arrays(draw: Draw) -> Change:
    """An NPZ file with other columns."""

    def change(folder: Path, rng: Random) -> str:
        columns = _columns_in(folder / "answers.npz")
        done = draw(columns, rng)
        stored = {}
        for name, values in columns.items():
            array = (
                np.asarray(values) if not any(value is None for value in values) else np.array(list(map(str, values)))
            )
            if array.dtype == object:
                array = np.array(list(map(str, values)))
            stored[name] = array.astype(array.dtype.newbyteorder(">")) if rng.random() < 0.2 else array
        np.savez(folder / "answers.npz", **stored)
        return done

    return change


def _other_form(columns: Columns, rng: Random) -> str:
    """The same answers as one column of lists, or as predictions alone; or stale predictions beside the logits."""
    word = rng.choice(("lists", "names alone", "numbers alone", "stale names", "stale numbers", "no labels"))
    numbers = np.array([columns[name] for name in _LOGITS], float).T
    answer = numbers.argmax(1)
    if word in ("lists", "names alone", "numbers alone"):
        for name in _LOGITS:
            del columns[name]
    if word == "lists":
        columns["logits"] = numbers.tolist()
    elif word == "no labels":
        del columns["label"]
    else:
        if "stale" in word:
            answer = (answer + 1) % 3
        columns["prediction"] = [NAMES[k] for k in answer] if "names" in word else answer.tolist()
    return word


_VALUES = (0.0, -50.0, 50.0, math.nan, math.inf, 1e300, None, "much", "1", True, 10**30)
_DRAWS: dict[str, Draw] = {
    "logits": cell(*_LOGITS, values=_VALUES),
    "ids": cell("example_id", values=("id1", "id01", "ID0", " id0", "id0 ", "", None, "../../x", "id\n0")),
    "labels": cell("label", values=("cat", "Cat", "cat ", "gull", 0, 7, None, "")),
    "types": retyped(*_LOGITS, "label", "example_id"),
    "rows": rows,
    "forms": _other_form,
}


def _format(name: str) -> Format:
    return Format(
        name=name,
        make=lambda folder: WRITERS[name](answers(), folder / name),
        use=_use(name),
        count=_count(name),
        names=("group", "label"),
    )


_COMMON = {name: {"bytes": bytes_of(name), "place": place_of(name)} for name in WRITERS}
READERS = (
    Reader(
        kind=_format("answers.csv"),
        changes={
            "cells": cells_of("answers.csv", values=("cat", "dog", "id3", "0,5", "1_0")),
            **_COMMON["answers.csv"],
        },
    ),
    Reader(
        kind=_format("answers.parquet"),
        changes={
            **{name: columns_of("answers.parquet", draw, sealed=False) for name, draw in _DRAWS.items()},
            **_COMMON["answers.parquet"],
        },
    ),
    Reader(
        kind=_format("answers.npz"),
        changes={**{name: _arrays(draw) for name, draw in _DRAWS.items()}, **_COMMON["answers.npz"]},
    ),
)


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh(READERS))
def test_answers(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS))
def test_answers_every_day(campaign, kind, case):
    campaign.run(kind, case)


def test_the_join_is_that_of_a_table(tmp_path):
    """Reference: rows in another order are the same answers."""
    shuffled = {name: values[::-1] for name, values in answers().items()}
    for name in WRITERS:
        WRITERS[name](shuffled, tmp_path / name)
        WRITERS[name](answers(), tmp_path / f"usual-{name}")
        assert _count(name)(tmp_path) == _count(f"usual-{name}")(tmp_path)
