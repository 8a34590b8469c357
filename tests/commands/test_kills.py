"""SIGKILL at 20 random moments of each step: the next run finishes, and its artifacts equal an undisturbed run's.

Each step runs in a child forked from a server that has imported everything, so that the moments fall into the work and
not into imports. One thread, deterministic algorithms.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from oochub.provenance import without_when_and_where

pytestmark = pytest.mark.slow
_KILLS = 20
_LONGEST = 120  # seconds
_BENCHMARK = "spawrious/o2o_hard"


def _build(inputs: Path, out: Path) -> None:
    from oochub.loading_scripts.parquet_repository import parquet_repository

    parquet_repository(_BENCHMARK, out / "spawrious", data_dir=str(inputs / "raw"))


def _train(inputs: Path, out: Path) -> None:
    from oochub.training import train

    arguments = {"num_train_epochs": 3, "save_steps": 2, "cache_dir": out / "pixels"}
    train(
        _BENCHMARK,
        out / "run",
        objective="group_dro",
        environments="group",
        arguments=arguments,
        data_dir=str(inputs / "raw"),
    )


def _predict(inputs: Path, out: Path) -> None:
    from oochub.data.load import load
    from oochub.prediction.predict import predict

    data = load(_BENCHMARK, data_dir=str(inputs / "raw"))
    predict(inputs / "run", data, features=True, out=out / "preds.parquet", batch_size=4)


def _evaluate(inputs: Path, out: Path) -> None:
    from oochub.evaluation.evaluate import evaluate

    evaluate(inputs / "preds.parquet").save(out / "report.json")


def _report(inputs: Path, out: Path) -> None:
    from oochub.report.report import Report

    Report.load(inputs / "report.json").to_html(out / "report.html")


_STEPS: dict[str, Callable[[Path, Path], None]] = {
    "build": _build,
    "train": _train,
    "predict": _predict,
    "evaluate": _evaluate,
    "report": _report,
}


_FORKSERVER = get_context("forkserver")  # forks from a process without threads; pytest's own has some
_FORKSERVER.set_forkserver_preload(
    [
        "oochub.studies.demo.effect",
        "oochub.report.page",
        "oochub.prediction.predict",
        "oochub.trainers.robust_trainer",
        "oochub.training",
        "oochub.loading_scripts.parquet_repository",
        "oochub.eval_modules.metrics.worst_group.worst_group",
        "transformers.models.resnet.modeling_resnet",
        "transformers.models.vit.image_processing_pil_vit",
    ]
)


def _work(name: str, inputs: Path, out: Path) -> None:
    """The step in its own process, with a cache of data sets of its own."""
    import datasets
    import torch

    torch.set_num_threads(1)
    datasets.config.HF_DATASETS_CACHE = str(out / "cache")
    datasets.disable_progress_bars()
    sys.stderr = Path(os.devnull).open("w")
    out.mkdir(parents=True, exist_ok=True)
    try:
        _STEPS[name](inputs, out)
    except BaseException as error:
        (out / "error.txt").write_text(repr(error))
        raise


def _started(name: str, inputs: Path, out: Path) -> Any:
    process = _FORKSERVER.Process(target=_work, args=(name, inputs, out))
    process.start()
    return process


def _finish(name: str, inputs: Path, out: Path) -> float:
    started = time.monotonic()
    process = _started(name, inputs, out)
    process.join(_LONGEST)
    error = out / "error.txt"
    message = error.read_text() if error.exists() else f"exit code {process.exitcode} (None: still running)"
    if process.exitcode is None:
        process.kill()
    assert process.exitcode == 0, message
    return time.monotonic() - started


def _artefacts(out: Path) -> dict[str, Any]:
    """Every file that the step leaves but caches and checkpoints, without when and where."""
    result: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if not path.is_file() or name.startswith(("cache/", "pixels/")) or "checkpoints" in name:
            continue
        if path.suffix == ".parquet" and "preds" in name:
            table = pq.read_table(path)
            metadata = without_when_and_where(json.loads(table.schema.metadata[b"oochub"]))
            result[name] = (table.replace_schema_metadata(None).to_pydict(), metadata)
        elif path.suffix == ".json":
            result[name] = without_when_and_where(json.loads(path.read_text()))
        else:
            result[name] = path.read_bytes()
    return result


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, spawrious) -> Path:
    """What each step reads, made by the steps before it, undisturbed."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "raw").symlink_to(spawrious)
    for name in ("train", "predict", "evaluate"):
        _finish(name, folder, folder)
    return folder


@pytest.mark.parametrize("name", list(_STEPS))
def test_killed_at_random_moments(name, inputs, tmp_path):
    """Planted fault seen: a writer that does not sweep what a killed one left."""
    undisturbed = tmp_path / "undisturbed"
    length = _finish(name, inputs, undisturbed)
    expected = _artefacts(undisturbed)
    assert expected
    seed = int(os.environ.get("OOCHUB_KILL_SEED", time.time_ns() % 1_000_000))
    moments = random.Random(seed)
    killed = attempts = 0
    while killed < _KILLS:
        out = tmp_path / f"out{attempts}"
        attempts += 1
        assert attempts <= 10 * _KILLS, f"only {killed} of {attempts} kills hit, seed {seed}"
        process = _started(name, inputs, out)
        moment = moments.uniform(0, length)
        time.sleep(moment)
        process.kill()  # SIGKILL
        process.join(_LONGEST)
        if process.exitcode == -signal.SIGKILL:
            killed += 1
        else:  # it had ended: this machine is faster now than it was undisturbed
            length = moment
        _finish(name, inputs, out)
        assert _artefacts(out) == expected, f"kill {killed} of seed {seed}"
        hidden = [path for path in out.rglob(".*draft-*") if "cache" not in path.parts]
        assert not hidden, (hidden, seed)
        shutil.rmtree(out)
    print(f"{name}: {killed} of {attempts} kills hit within {length:.2f} s, seed {seed}")  # noqa: T201
