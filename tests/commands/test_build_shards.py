"""Shards from the shell: built, trained on and predicted; one process or several give what Parquet gives."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from trainings import made_split

from oochub.cli import main
from oochub.prediction.predictions import Predictions
from oochub.repository import write_webdataset as module

_TASK = "nooch/ce_car"
_SETTINGS = ("--num-train-epochs", "1", "--image-size", "16", "--argument", "cache=none")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs a command in an empty folder; returns (exit code, standard error)."""
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["oochub", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return int(stopped.value.code or 0), capsys.readouterr().err

    return call


@pytest.mark.slow
def test_weights_and_predictions_are_those_of_parquet(run, coco, tmp_path):
    """To the last bit, small images of mistakes included. Planted: shards in another order than the index has."""
    for form in ("parquet", "webdataset"):
        folder = tmp_path / form
        assert run("build", _TASK, "--data-dir", coco, "--format", form, "--out", folder / "nooch")[0] == 0
        code, said = run("train", folder / "nooch", *_SETTINGS, "--out", folder / "run")
        assert code == 0 and {line.split()[0] for line in said.splitlines()} <= {"epoch", "Kept:", "Next:"}
        words = ("--split", "test", "--no-cache", "--out", folder / "p.parquet")
        assert run("predict", tmp_path / "parquet" / "run", folder / "nooch", *words) == (0, "")
    one, other = ((tmp_path / form / "run" / "model.safetensors").read_bytes() for form in ("parquet", "webdataset"))
    assert one == other
    first, second = (Predictions.load(tmp_path / form / "p.parquet") for form in ("parquet", "webdataset"))
    assert first.digest == second.digest and first.metadata.notes == second.metadata.notes
    assert "thumbnail" in second.table.column_names


@pytest.mark.slow
def test_a_repository_has_one_form(run, coco, tmp_path):
    """Planted: the other form is looked for in the folder that is built anew."""
    build = ("build", "--data-dir", coco, "--out", "repo")
    assert run(*build, _TASK)[0] == 0
    code, said = run(*build, "nooch/all", "--format", "webdataset")
    assert (
        code == 2 and "repo holds configs as Parquet, but all configs of a repository must have the same format" in said
    )
    assert run(*build, _TASK, "--format", "webdataset")[0] == 0
    assert not list(Path("repo").rglob("*.parquet")) and list(Path("repo/ce_car").glob("train-*.tar"))
    code, said = run(*build, "nooch/all")
    assert code == 2 and "repo holds configs as WebDataset" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--shard-size", "5"), "--shard-size only applies to shards: add --format webdataset"),
        (("--format", "webdataset", "--shard-size", "0"), "--shard-size must be in megabytes, above 0, got 0"),
        (("--format", "webdataset", "--shard-size", "nan"), "--shard-size must be a finite number, got nan"),
    ],
)
def test_wrong_words(run, tmp_path, words, said):
    """Before anything is read or written."""
    code, error = run("build", _TASK, "--data-dir", tmp_path, "--out", "repo", *words)
    assert code == 2 and said in error and not Path("repo").exists()


SCRIPT = """
import os, sys
from pathlib import Path
from oochub.prediction import parts
from oochub.trainers.rows.examples import Examples

parts._ROWS = 8
read = Examples.__getitems__

def noted(self, rows):
    if "environment" in self.environment_names or len(self) == 48:
        with Path("seen").open("a") as file:
            file.write(f"{os.getpid()} {' '.join(map(str, rows))}\\n")
    return read(self, rows)

Examples.__getitems__ = noted
from oochub.cli import main
main()
"""


def _processes(folder: Path, *words: object) -> None:
    (folder / "job.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "job.py", *words]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.mark.campaign
def test_two_processes_with_two_workers_each(run, tmp_path, monkeypatch):
    """Three shards, which two processes do not divide: each of 48 rows once an epoch; predictions as by one process.

    Planted: each process reads all rows; workers that all read the rows of their process.
    """
    monkeypatch.setattr(module, "_LEAST", 3)
    parts = {"train": made_split(48, 1), "validation": made_split(13, 2)}
    splits = {
        name: module.SplitRows(len(part), lambda part=part: part.with_format("arrow").iter(7))
        for name, part in parts.items()
    }
    (tmp_path / "data").mkdir()
    made = module.write_webdataset(splits, tmp_path / "data", name="default", features=parts["train"].features)
    assert len(made.files["train"]) == 3
    words = ("--num-train-epochs", "2", "--per-device-train-batch-size", "4", "--image-size", "16")
    options = ("--argument", "cache=none", "--argument", "dataloader_num_workers=2")
    _processes(tmp_path, "train", "data", *words, *options, "--out", "run")
    lines = [line.split() for line in (tmp_path / "seen").read_text().splitlines()]
    seen = Counter(int(row) for _, *rows in lines for row in rows)
    assert seen == dict.fromkeys(range(48), 2)
    assert len({worker for worker, *_ in lines}) >= 4
    options = ("--split", "train", "--split", "validation", "--batch-size", "4", "--no-cache", "--num-workers", "2")
    _processes(tmp_path, "predict", "run", "data", *options, "--out", "two.parquet")
    assert run("predict", "run", "data", *options, "--out", "one.parquet")[0] == 0
    one, two = (Predictions.load(tmp_path / f"{name}.parquet") for name in ("one", "two"))
    assert len(one) == 61 and one.digest == two.digest and one.table.equals(two.table)
