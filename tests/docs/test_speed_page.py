"""The tables of docs/speed.md: each names its script, the commit and the machine, and is what the script printed."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("all_of_speed", ROOT / "speed" / "all.py")
everything = importlib.util.module_from_spec(spec)
spec.loader.exec_module(everything)


def test_each_table_names_its_script_and_commit() -> None:
    """Planted faults: a table without its line of source; a row written by hand above the last mark."""
    text = everything.PAGE.read_text("utf-8")
    stored = json.loads(everything.STORED.read_text("utf-8"))
    assert text == everything.page(stored)
    tables = text.partition(everything.START)[2].partition(everything.END)[0].split("\n## ")[1:]
    names = [
        re.search(r"^`python speed/(\w+)\.py`, commit [0-9a-f]{9}[^,]*, \d{4}-", table, re.MULTILINE)
        for table in tables
    ]
    assert all(names)
    assert sorted(name[1] for name in names if name) == sorted(stored)


def test_each_script_says_what_code_it_measures() -> None:
    """Planted fault: a room that no longer exists. What needs 11 GB of disk is run by hand."""
    programs = {path.stem for path in everything.SPEED.glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert set(everything.scripts()) == programs - {"all", "large_prediction"}
    for script in everything.scripts().values():
        assert len(script.code) > len(script.rooms), script


@pytest.mark.parametrize("changed", [True, False])
def test_a_table_is_old_once_its_code_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: bool
) -> None:
    """A clone of two commits, of which the second changes the measured room or another."""

    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    for name in ("speed/page.py", "src/oochub/report/page.py", "src/oochub/stats/mean.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('"""Pages.\n\nMeasured code: report.\n"""\n', "utf-8")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    first = git("rev-parse", "HEAD")
    (tmp_path / "src/oochub" / ("report/page.py" if changed else "stats/mean.py")).write_text("x = 1\n", "utf-8")
    git("commit", "-qam", "second")
    monkeypatch.setattr(everything, "ROOT", tmp_path)
    monkeypatch.setattr(everything, "SPEED", tmp_path / "speed")
    lines = list(everything.stale({"page": {"commit": first, "day": "2026-01-01"}}))
    assert [line.partition(",")[2] for line in lines] == [" 1 commits to its code since"] * changed
    assert list(everything.stale({})) == ["speed/page.py: never measured"]
    assert "not in this clone" in next(everything.stale({"page": {"commit": "0" * 9, "day": "2026-01-01"}}))


def test_a_name_that_is_no_script_is_refused() -> None:
    """Before anything is measured."""
    run = subprocess.run(
        [sys.executable, "speed/all.py", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "startup" in run.stderr


@pytest.mark.slow
def test_what_a_gpu_is_measured_by_runs() -> None:
    """At toy sizes on a processor: every row has its ratio. Without a GPU nothing else is measured."""
    command = [sys.executable, "speed/on_gpu.py"]
    run = subprocess.run([*command, "--tiny"], cwd=ROOT, capture_output=True, text=True, check=True)
    rows = re.findall(r"^\| (predict|training step).*\| (\d+\.\d\d) \(", run.stdout, re.MULTILINE)
    assert [what for what, _ in rows] == ["predict", *["training step"] * 3]
    assert all(float(ratio) > 0 for _, ratio in rows)
    if not torch.cuda.is_available():
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert run.returncode == 1 and "no GPU" in run.stderr and not run.stdout


@pytest.mark.campaign
@pytest.mark.parametrize("name", [name for name in everything.scripts() if name != "on_gpu"])
def test_every_script_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To its table, at a tenth of the rows where it can: nobody runs them between two releases. An hour in all."""
    monkeypatch.setenv("OOCHUB_BENCHMARK_SCALE", "0.1")
    printed = everything.measured(everything.scripts()[name])["tables"]
    assert re.search(r"^\|[-|]+\|$", printed, re.MULTILINE) and printed.count("\n|") > 1
