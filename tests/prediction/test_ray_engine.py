"""A prediction on Ray is that of one process. Everyday without a cluster: what tasks and actors do, and the checks."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec

import datasets
import pytest
import torch
from array_rows import array_data, array_model
from model_folders import pictures
from process_tree import list_descendants
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

import oochub
from oochub import catalog, errors
from oochub.errors import OochubError
from oochub.models.extraction import Extraction
from oochub.prediction import ray_engine
from oochub.prediction.predictions import Predictions

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs oochub[ray]")
SCRIPT = """
import sys
from oochub.prediction import parts
parts._ROWS = 40
from oochub.cli import main
main()
"""


@pytest.mark.parametrize("zoom", [None, 1.5])
def test_tasks_and_actors_do_what_one_process_does(zoom, monkeypatch):
    """Without Ray between them. Faults planted: a row's place in its pass as its number; pixels not normalized."""
    monkeypatch.setattr(ray_engine, "_resolve_reference", lambda reference: reference)
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic", num_labels=2)
    extraction = Extraction(ResNetForImageClassification(config).eval())
    inputs = catalog.get("input", "pictures")(ViTImageProcessorPil(size={"height": 16, "width": 16}))
    rows = pictures(7).add_column("example_id", [f"p{k}" for k in range(7)])
    device = torch.device("cpu")
    expected = list(inputs.batches(rows, batch_size=3, device=device, zoom=zoom))
    answer = partial(ray_engine._answer_pass, inputs=inputs, extraction=extraction, device="cpu")
    actor = ray_engine._Answering([answer], torch.get_num_threads())
    job = [partial(ray_engine._read_pass, inputs=inputs, rows=rows, batch_size=3, zoom=zoom, skips=False)]
    read = [ray_engine._read({"item": first}, job=job) for first in (0, 3, 6)]
    assert all(each["made"].batches[0].inputs["pixel_values"].dtype == torch.uint8 for each in read)
    for row, batch in zip(map(actor, read), expected, strict=True):
        (made,) = row["made"].batches
        assert made.rows == batch.rows and made.columns == batch.columns
        for name, values in extraction(batch).items():
            assert torch.equal(made.inputs[name], values)


def test_broken_rows_keep_their_numbers(monkeypatch):
    """Fault planted: the number of a broken row within its pass."""
    monkeypatch.setattr(ray_engine, "_resolve_reference", lambda reference: reference)
    inputs = catalog.get("input", "pictures")(ViTImageProcessorPil(size={"height": 16, "width": 16}))
    table = pictures(5).with_format("arrow")[:].to_pydict()
    table["image"][4] = {"bytes": b"no picture", "path": None}
    rows = datasets.Dataset.from_dict(table, pictures(5).features)
    rows = rows.add_column("example_id", list("abcde"))
    read = partial(ray_engine._read_pass, inputs=inputs, rows=rows, batch_size=3, zoom=None)
    passes = ray_engine._read({"item": 3}, job=[partial(read, skips=True)])["made"]
    assert [(each.example, each.row) for each in passes.broken] == [("e", 4)] and passes.batches[0].rows == [3]
    fault = ray_engine._read({"item": 3}, job=[partial(read, skips=False)])["made"]
    assert isinstance(fault, OochubError) and "example e" in str(fault)
    assert ray_engine._Answering([len], 1)({"made": fault})["made"] is fault  # the actors pass it on


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "dask"}, r"No engine named 'dask'. Allowed: local, ray"),
        ({"actors": 2}, r"ray_address= and actors= need engine=ray"),
        ({"ray_address": "auto"}, r"ray_address= and actors= need engine=ray"),
    ],
)
def test_what_does_not_fit_is_said_before_the_model_is_opened(options, words):
    with pytest.raises(OochubError, match=words):
        oochub.predict("nowhere", array_data(test=4), **options)


@needs_ray
@pytest.mark.parametrize("actors", [0, -1, True])
def test_a_number_of_actors(actors):
    with pytest.raises(OochubError, match="actors must be a whole number, 1 or larger"):
        oochub.predict("nowhere", array_data(test=4), engine="ray", actors=actors)


@needs_ray
def test_a_stream_and_torchrun_are_refused(monkeypatch):
    with pytest.raises(OochubError, match="Ray reads rows by number, and rows of a stream have none"):
        oochub.predict("nowhere", array_data(test=4)["test"].to_iterable_dataset(), engine="ray")
    with pytest.raises(OochubError, match="compile cannot be combined with engine='ray'"):
        oochub.predict("nowhere", array_data(test=4), engine="ray", compile=True)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(OochubError, match="torchrun started 2 processes, but Ray starts its own"):
        oochub.predict("nowhere", array_data(test=4), engine="ray")


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:port"])
def test_a_cluster_that_is_not_there(address, monkeypatch):
    """Fault planted: Ray is asked itself, which waits for a minute and ends the process."""
    monkeypatch.setattr("ray.init", lambda *_, **__: pytest.fail("Ray was asked"))
    engine = ray_engine.RayEngine(address)
    with pytest.raises(OochubError, match=f"No cluster of Ray at {address}: .*`ray start --head` starts one"):
        engine._start_actors(torch.device("cpu"))


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(OochubError, match=r"pip install 'oochub\[ray\]'"):
        oochub.predict("nowhere", array_data(test=4), engine="ray")


@pytest.fixture
def job(tmp_path):
    """The words of a prediction of 1,000 rows in 25 parts, by an engine."""
    array_model(tmp_path / "model")
    array_data(validation=800, test=200).save_to_disk(tmp_path / "data")
    (tmp_path / "job.py").write_text(SCRIPT)

    def words(out, engine="ray"):
        source = [str(tmp_path / "model"), str(tmp_path / "data"), "--out", str(out), "--engine", engine]
        return [sys.executable, str(tmp_path / "job.py"), "predict", *source, "--batch-size", "4", "--no-cache"]

    return words


def _environment():
    return os.environ | {"OMP_NUM_THREADS": "1"}


def _ended(words):
    return subprocess.run(words, capture_output=True, text=True, timeout=900, env=_environment())


def _same(one, other):
    one, other = Predictions.load(one), Predictions.load(other)
    assert one.table.equals(other.table) and one.digest == other.digest
    assert one.metadata.fingerprint == other.metadata.fingerprint


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize(
    "killed",
    [
        pytest.param("", marks=pytest.mark.campaign),
        "ray::MapWorker",
        pytest.param("driver", marks=pytest.mark.campaign),
    ],
)
def test_ray_gives_what_one_process_gives(job, tmp_path, killed):
    """Undisturbed, with an actor killed in the middle, and with the process that asks killed and run again."""
    assert _ended(job(tmp_path / "one.parquet", "local")).returncode == 0
    out, folder = tmp_path / "ray.parquet", tmp_path / ".ray.parquet.parts"
    run = subprocess.Popen(job(out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment())
    deadline = time.monotonic() + 600
    while killed and len(list(folder.glob("part-*"))) < 2 and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if killed == "driver":
        os.kill(run.pid, signal.SIGKILL)
        run.communicate(timeout=120)
        assert not out.exists() and len(list(folder.glob("part-*"))) >= 2
        assert _ended(job(out)).returncode == 0
    else:
        workers = [pid for pid, name in list_descendants(run.pid).items() if killed and name.startswith(killed)]
        assert bool(workers) == bool(killed)
        for pid in workers[:1]:
            os.kill(pid, signal.SIGKILL)
        said, faults = run.communicate(timeout=900)
        assert run.returncode == 0 and said.count("ray.parquet") == 1, faults
    _same(tmp_path / "one.parquet", out)
