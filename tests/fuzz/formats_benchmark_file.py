"""Declarations of own data with one thing wrong: the field is named with its line, or what is declared is the same."""

from pathlib import Path
from typing import Any

from fuzz_case import Format, Used
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
