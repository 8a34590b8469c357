"""A full disk at each command: exit 2, words, and nothing half-written. RLIMIT_FSIZE stands for it."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

_LIMIT = 600  # bytes: enough for locks, for none of the results


@pytest.fixture(scope="module")
def inputs(spawrious, tmp_path_factory) -> Path:
    """What each command reads: a run, predictions, a report."""
    import oochub
    from oochub.data.load import load
    from oochub.training import train

    folder = tmp_path_factory.mktemp("made")
    train("spawrious/o2o_hard", folder / "run", arguments={"num_train_epochs": 1}, data_dir=str(spawrious))
    data = load("spawrious/o2o_hard", data_dir=str(spawrious))
    oochub.predict(folder / "run", data, out=folder / "preds.parquet")
    oochub.evaluate(folder / "preds.parquet").save(folder / "report.json")
    return folder


def _main_on_a_full_disk(words: list[str]) -> tuple[int, str]:
    """Runs the command with files that may not grow past the limit; exit code and what it said, through pipes."""
    done = subprocess.run(
        [str(Path(sys.executable).parent / "oochub"), *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (_LIMIT, _LIMIT)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.slow  # every command once more: half a minute
@pytest.mark.parametrize(
    "command",
    ["build", "predict", "report", *(pytest.param(c, marks=pytest.mark.campaign) for c in ("train", "evaluate"))],
)
def test_full_disk(command, inputs, spawrious, tmp_path):
    data, out = ["--data-dir", str(spawrious)], tmp_path / "out"
    benchmark = "spawrious/o2o_hard"
    words = {
        "build": ["build", benchmark, *data, "--out", str(out / "spawrious")],
        "train": ["train", benchmark, *data, "--num-train-epochs", "1", "--out", str(out / "run")],
        "predict": ["predict", str(inputs / "run"), benchmark, *data, "--out", str(out / "p.parquet")],
        "evaluate": ["evaluate", str(inputs / "preds.parquet"), "--out", str(out / "r.json")],
        "report": ["report", str(inputs / "report.json"), "--html", str(out / "r.html")],
    }[command]
    code, message = _main_on_a_full_disk(words)
    assert code == 2, (code, message)
    assert "File too large" in message and "Traceback" not in message, message
    left = [path for path in out.rglob("*") if path.is_file()] if out.exists() else []
    assert not [path for path in left if path.name in ("p.parquet", "r.json", "r.html", "recipe.json", "README.md")], (
        left
    )
    assert not [path for path in left if path.suffix == ".parquet"], left
