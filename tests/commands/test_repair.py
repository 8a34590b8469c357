"""`oochub repair` as its user types it: what it prints, its exit codes, what it refuses, and a second run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from oochub.cli import main
from oochub.storage import artifacts
from oochub.studies.demo.example import Example, example

COLUMNS = ("--label-column", "breed", "--context-column", "background")
TYPED = {
    "repair": lambda i, o: ["repair", f"{i('dogs')}/model", f"{i('dogs')}/pictures", *COLUMNS, "--out", f"{o}/repaired"]
}
WRITTEN = {("repair", "--out"): artifacts.REPAIR}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["oochub", "repair", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return call


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return example(tmp_path_factory.mktemp("planted") / "example", size=60)


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return example(tmp_path_factory.mktemp("control") / "example", correlation=None)


@pytest.mark.slow
def test_the_last_line_says_better(run: Run, planted: Example, tmp_path: Path) -> None:
    """The paths, then the verdict; a second run takes what stands there, and gives the same numbers as JSON."""
    words = (planted.model, planted.pictures, *COLUMNS, "--out", tmp_path / "out")
    code, out, err = run(*words)
    assert code == 0, err
    assert out.strip().splitlines()[-1] == "The repaired model is better in unusual contexts."
    assert str(tmp_path / "out" / "model") in out and str(tmp_path / "out" / "repair.html") in out
    weights = (tmp_path / "out" / "model" / "model.safetensors").stat().st_mtime_ns
    record = (tmp_path / "out" / "repair.json").stat().st_mtime_ns
    code, out, err = run(*words, "--json")
    said = json.loads(out)
    assert code == 0 and said["outcome"] == "better" and said["outside"]["difference"]["low"] > 0
    assert (tmp_path / "out" / "model" / "model.safetensors").stat().st_mtime_ns == weights
    assert (tmp_path / "out" / "repair.json").stat().st_mtime_ns == record


@pytest.mark.slow
def test_a_control_is_left_alone(run: Run, control: Example, tmp_path: Path) -> None:
    """Its background says nothing: no model is written, and the exit code says whether that is decided."""
    code, out, err = run(control.model, control.pictures, *COLUMNS, "--out", tmp_path / "out", "--json")
    said = json.loads(out)
    assert said["outcome"] in ("nothing_to_repair", "not_shown"), err
    assert code == (0 if said["outcome"] == "nothing_to_repair" else 3)
    assert said["outcome"] == "nothing_to_repair" or said["needed"] > 0
    assert not (tmp_path / "out" / "model").exists() and "model" not in said
