"""Shards from the shell: built, trained on and predicted; one process or several give what Parquet gives."""

from pathlib import Path

import pytest

from oochub.prediction.predictions import Predictions

_TASK = "nooch/ce_car"
_SETTINGS = ("--num-train-epochs", "1", "--image-size", "16", "--argument", "cache=none")


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """In an empty folder; returns (exit code, standard error)."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run(*words)[::2]


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
        code == 2
        and "repo contains configs as Parquet, but all configs of a repository must have the same format" in said
    )
    assert run(*build, _TASK, "--format", "webdataset")[0] == 0
    assert not list(Path("repo").rglob("*.parquet")) and list(Path("repo/ce_car").glob("train-*.tar"))
    code, said = run(*build, "nooch/all")
    assert code == 2 and "repo contains configs as WebDataset" in said


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
