"""Declarations of own data with one thing wrong: the field is named with its line, or what is declared is the same."""

import copy
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz_case import CHANGED, REFUSED, SAFE, Case, Format, Used
from mutations import place_cases, text_cases
from toml_text import toml_text

import oochub
from oochub.data.benchmark_file import BenchmarkFile
from oochub.records.schema import to_json

_FILE = "benchmark.toml"
_DECLARED: dict[str, Any] = {
    "title": "Cows",
    "version": "1.0.0",
    "headline": "accuracy",
    "metrics": ["accuracy", "nll"],
    "chance": 0.5,
    "data": {"source": "rows.csv", "label": "species", "context": "place"},
    "usual": {"cow": ["grass"], "camel": ["sand"]},
    "in_context": {"name": "home", "split": "train", "where": {"challenge": ["easy"]}},
    "out_of_context": {"name": "abroad", "split": "train", "form": "worst_group", "column": "group", "percentile": 10},
    "words": {"inside": "at home"},
}
_WRONG: dict[str, Any] = {
    "a text": "abc",
    "an empty text": "",
    "a number": 7,
    "negative": -1,
    "huge": 10**18,
    "infinite": float("inf"),
    "not a number": float("nan"),
    "true": True,
    "a list": [],
    "a list of texts": ["abc"],
    "a table": {},
    "a long text": "a" * 100_000,
}


def _make(folder: Path) -> None:
    (folder / "rows.csv").write_text("species,place\ncow,grass\ncow,sand\ncamel,sand\ncamel,grass\n")
    (folder / _FILE).write_text(toml_text(_DECLARED))


def _use(folder: Path, out: Path) -> Used:
    found = BenchmarkFile.find(str(folder))
    if found is None:
        raise oochub.OochubError(f"There is no {_FILE}.")
    rows = oochub.load(folder)["train"]
    return Used(numbers=[to_json(found.declaration), rows.features["label"].names, rows["challenge"][:]])


BENCHMARK_FILE = Format(
    name="benchmark_file", make=_make, use=_use, names=(_FILE, "column", "side", "title", "class", "context")
)


def _writing(declared: dict[str, Any]) -> Callable[[Path], object]:
    return lambda folder: (folder / _FILE).write_text(toml_text(declared))


def _changed() -> Iterator[tuple[str, dict[str, Any]]]:
    for word, value in _WRONG.items():
        for key in _DECLARED:
            yield f"{key} {word}", _DECLARED | {key: value}
        for table in ("data", "in_context", "out_of_context", "usual"):
            for key in _DECLARED[table]:
                declared = copy.deepcopy(_DECLARED)
                declared[table][key] = value
                yield f"{table}.{key} {word}", declared
    for key in _DECLARED:
        yield f"{key} renamed", {f"{name}_" if name == key else name: value for name, value in _DECLARED.items()}
        yield f"{key} deleted", {name: value for name, value in _DECLARED.items() if name != key}


CASES = [
    *text_cases(_FILE, blank=frozenset({REFUSED}), bom=SAFE),
    *place_cases(_FILE),
    *(Case(name=name, mutate=_writing(declared), expect=SAFE | {REFUSED, CHANGED}) for name, declared in _changed()),
    *(
        Case(
            name=name,
            mutate=lambda folder, text=text: (folder / _FILE).write_text(text),
            expect=frozenset({REFUSED}),
        )
        for name, text in {
            "an include": 'include = "other.toml"\n' + toml_text(_DECLARED),
            "two million bytes": "#" * 2_000_000,
            "deep": "title = " + "[" * 100_000,
            "a source of another folder": toml_text(_DECLARED | {"data": {"source": "/etc"}}),
            "dates": toml_text(_DECLARED).replace('"1.0.0"', "2026-01-01"),
        }.items()
    ),
]


def test_the_writer_of_these_declarations():
    assert tomllib.loads(toml_text(_DECLARED)) == _DECLARED


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_benchmark_file(campaign, case):
    campaign.run(BENCHMARK_FILE, case)
