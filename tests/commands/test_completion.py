"""What a shell completes after TAB, by the completion of a command as a shell calls it and by its parts."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oochub import catalog
from oochub.commands._options import find_completion


def complete(parameter: str, typed: str) -> list[str]:
    completion = find_completion(parameter)
    assert completion is not None
    return [value for value, _ in completion(typed)]


@pytest.mark.parametrize(
    ("parameter", "kind"),
    [
        ("objective", "objective"),
        ("metric", "metric"),
        ("contexts", "context"),
        ("plot", "figure"),
        ("export", "bridge"),
    ],
)
def test_every_name_of_a_kind_is_completed(parameter: str, kind: str) -> None:
    assert complete(parameter, "") == catalog.names(kind)
    assert complete(parameter, catalog.names(kind)[-1][:4]) and not complete(parameter, "no such")


def test_benchmarks_then_configs_then_files() -> None:
    assert complete("source", "spaw") == ["spawrious"]
    assert complete("benchmark", "spawrious/o2o_h") == ["spawrious/o2o_hard"]
    assert complete("source", "photos/tr") == []  # a shell then completes files


@pytest.mark.parametrize("variable", ["COMP_WORDS", "_TYPER_COMPLETE_ARGS"])
def test_columns_are_those_of_the_table_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A table, or that of a folder. Planted fault seen: the columns of the last table."""
    (tmp_path / "birds.csv").write_text("\ufefffile_name,bird,place\na.jpg,owl,wood\n", "utf-8")
    (tmp_path / "folder").mkdir()
    pq.write_table(pa.table({"file_name": ["a"], "breed": ["corgi"]}), tmp_path / "folder" / "metadata.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMP_WORDS", raising=False)
    for words, columns in (
        ("audit model birds.csv --label-column", ["file_name", "bird", "place"]),
        ("audit model folder --label-column", ["file_name", "breed"]),
        ("compare birds.csv folder --label-column", ["file_name", "bird", "place"]),
        ("audit model broken.parquet absent.csv --label-column", []),
    ):
        monkeypatch.setenv(variable, f"oochub {words}")
        assert complete("label_column", "") == columns
    monkeypatch.setenv(variable, "oochub build birds.csv --context-column")
    assert complete("context_column", "pl") == ["place"]


def test_other_values_are_left_to_the_shell() -> None:
    assert find_completion("out") is None and find_completion("seed") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("oochub train --objective group", "group_dro"),
        ("oochub train spawrious/o2o_h", "spawrious/o2o_hard"),
        ("oochub sweep nooch_s", "nooch_suite"),
        ("oochub build birds.csv --label-column bi", "bird"),
    ],
)
def test_a_shell_gets_them(tmp_path: Path, words: str, completed: str) -> None:
    (tmp_path / "birds.csv").write_text("file_name,bird\na.jpg,owl\n", "utf-8")
    asked = {"_OOCHUB_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    program = [sys.executable, "-c", "import sys; sys.argv = ['oochub']; from oochub.cli import main; main()"]
    ended = subprocess.run(program, cwd=tmp_path, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert ended.stdout.split() == [completed], ended
