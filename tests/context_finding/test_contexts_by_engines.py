"""Contexts that several processes find are those of one: shares of torchrun, blocks of Ray, what kills leave.

Everyday ranks are threads that meet at a barrier, and a block for an actor is pickled; the slow ones start the
processes.
"""

import io
import os
import pickle
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import datasets
import numpy as np
import pytest
import torch
import transformers as hf
from PIL import Image
from process_tree import list_descendants
from rank_threads import run_as_ranks

import oochub
from oochub import errors
from oochub.context_finding import context_columns
from oochub.context_finding import measure_images as module
from oochub.context_finding.context_columns import make_way
from oochub.context_finding.measure_images import measure_images
from oochub.errors import OochubError
from oochub.prediction import ray_engine
from oochub.process.ranks import Ranks
from oochub.storage.cache import cache_folder
from oochub.storage.ownership import MANIFEST

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs oochub[ray]; `make ray` installs it")


def images(rows, seed=0):
    """Noise, each of another color."""
    rng, stored = np.random.default_rng(seed), []
    for _ in range(rows):
        file, color = io.BytesIO(), rng.integers(0, 200, (1, 1, 3))
        Image.fromarray((color + rng.integers(0, 55, (12, 9, 3))).astype(np.uint8)).save(file, "PNG")
        stored.append({"bytes": file.getvalue(), "path": None})
    features = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])}
    columns = {"image": stored, "label": [number % 2 for number in range(rows)]}
    return datasets.Dataset.from_dict(columns, datasets.Features(features))


def splits(train, test):
    return datasets.DatasetDict(train=images(train), test=images(test, seed=1))


@pytest.fixture
def short_blocks(monkeypatch):
    """Blocks of eight rows; the rank, split and first row of each that is measured, not taken from the cache."""
    monkeypatch.setattr(module, "_ROWS", 8)
    measured, whole = [], module._Measuring._measure

    def counted(self, contents, names):
        measured.append((Ranks.here().number, self._split, int(names[0].rpartition(" ")[2])))
        return whole(self, contents, names)

    monkeypatch.setattr(module._Measuring, "_measure", counted)
    return measured


def test_each_rank_measures_its_blocks_and_has_all(short_blocks, tmp_path, monkeypatch):
    """Of 3 and 2 blocks the first rank has 0, 2 and 1, the other one 1 and 0: five turns, one after the other."""
    data = splits(20, 12)
    expected = oochub.contexts(data, by="properties", cache=False)
    short_blocks.clear()
    written, write = [], context_columns.write_repository
    monkeypatch.setattr(
        context_columns, "write_repository", lambda *given, **named: written.append(write(*given, **named))
    )
    out = tmp_path / "found"
    for end in run_as_ranks(monkeypatch, 2, lambda: oochub.contexts(data, by="properties", out=out)):
        assert {name: part[:] for name, part in end.items()} == {name: part[:] for name, part in expected.items()}
    first, second = [(0, "test", 8), (0, "train", 0), (0, "train", 16)], [(1, "test", 0), (1, "train", 8)]
    assert sorted(short_blocks) == first + second and len(written) == 1
    assert oochub.load(out)["test"]["contexts"][:] == expected["test"]["contexts"][:]
    assert [each.name for each in tmp_path.iterdir()] == ["found"]


def test_several_ranks_share_the_cache_and_need_one(short_blocks, monkeypatch):
    data = splits(9, 9)
    for end in run_as_ranks(monkeypatch, 2, lambda: oochub.contexts(data, by="properties", cache=False)):
        assert isinstance(end, OochubError) and "2 processes share what they measure by the cache" in str(end)
    assert not short_blocks
    with pytest.raises(OochubError, match=r"which another process measured, is not there\..*OOCHUB_CACHE to a folder"):
        measure_images(data["train"], make_way("properties", {}), split="train", is_cached=True)


def test_a_block_travels_to_an_actor(short_blocks, monkeypatch):
    """Its rows, the way and its model, not opened; then as Ray calls it: a number in, tables or an error out."""
    monkeypatch.setattr(ray_engine, "_resolve_reference", lambda reference: reference)
    torch.manual_seed(0)
    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=2)
    model = hf.ResNetForImageClassification(config).eval()
    processor = hf.ConvNextImageProcessorPil(size={"shortest_edge": 16}, crop_pct=1.0)
    way, part = make_way("clusters", {"model": model, "image_processor": processor}), images(20)
    how = {"skip_broken": False, "cache": False, "is_cached": False}
    with module._Measuring(part, way, "train", **how) as here:
        there = pickle.loads(pickle.dumps(here))  # noqa: S301
        actor = ray_engine._Answering([there.measure], torch.get_num_threads())
        for first in (0, 8, 16):
            made, expected = actor({"made": first})["made"], here.measure(first)
            assert [table.equals(other) for table, other in zip(made, expected, strict=True)] == [True]
    table = part.with_format("arrow")[:].to_pydict()
    table["image"][9] = {"bytes": b"no image", "path": None}
    broken = datasets.Dataset.from_dict(table, part.features)
    with module._Measuring(broken, way, "train", **how) as here:
        fault = ray_engine._Answering([here.measure], 1)({"made": 8})["made"]
    assert isinstance(fault, OochubError) and "example 9" in str(fault)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "dask"}, r"No engine named 'dask'. Allowed: local, ray"),
        ({"actors": 2}, r"ray_address= and actors= need engine=ray"),
        ({"engine": "ray"}, r"pip install 'oochub\[ray\]'"),
    ],
)
def test_an_engine_is_looked_at_before_the_data(options, words, monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(OochubError, match=words):
        oochub.contexts("nowhere", by="properties", **options)


@needs_ray
def test_torchrun_and_ray_are_one_too_many(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(OochubError, match="torchrun started 2 processes, but Ray starts its own"):
        oochub.contexts("nowhere", by="properties", engine="ray")


SCRIPT = """
import os, signal, sys
from oochub.context_finding import measure_images
from oochub.process.ranks import Ranks
measure_images._ROWS = 16
if sys.argv.pop(1) == "killed" and Ranks.here().number == 1:
    measure, blocks = measure_images._Measuring._measure, []
    def die_at_the_third(*given):
        blocks.append(given)
        if len(blocks) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return measure(*given)
    measure_images._Measuring._measure = die_at_the_third
from oochub.cli import main
main()
"""
"""`oochub` in blocks of 16 rows; of several processes, the second may be killed in its third block."""


def words_of(folder, out, *more):
    way = ["--contexts", "clusters", "--context-model", str(folder / "model")]
    return ["contexts", str(folder / "data"), *way, "--out", str(out), *more]


@pytest.fixture(scope="module")
def job(tmp_path_factory, request):
    """A folder with a network and so many images, and what one process finds there."""
    folder = tmp_path_factory.mktemp("job")
    torch.manual_seed(0)
    config = hf.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[2, 2], num_labels=2)
    hf.ResNetForImageClassification(config).eval().save_pretrained(folder / "model")
    hf.ConvNextImageProcessorPil(size={"shortest_edge": 48}, crop_pct=1.0).save_pretrained(folder / "model")
    splits(*request.param).save_to_disk(folder / "data")
    (folder / "job.py").write_text(SCRIPT)
    ended([sys.executable, "-m", "oochub.cli", *words_of(folder, folder / "one")], folder / "cache")
    return folder, content(folder / "one")


def start(words, cache):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OOCHUB_CACHE": str(cache)}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def ended(words, cache):
    run = start(words, cache)
    said, faults = run.communicate(timeout=600)
    assert run.returncode == 0, faults
    return said


def content(folder):
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != MANIFEST)  # it holds times
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def list_parts():
    """The blocks that are whole; a draft, which a killed process leaves and the next one removes, is none."""
    return [file for file in cache_folder("contexts").glob("*.parquet") if not file.name.startswith(".")]


def wait_for_parts(run, count):
    deadline = time.monotonic() + 300
    while len(list_parts()) < count and run.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize("job", [(252, 44)], indirect=True)  # 16 and 3 blocks
def test_torchrun_finds_what_one_process_finds(job, tmp_path):
    """Byte for byte, after a rank was killed: the two processes that follow measure what is missing alone."""
    (folder, expected), out = job, tmp_path / "found"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    words, cache = [*torchrun, str(folder / "job.py")], os.environ["OOCHUB_CACHE"]
    run = start([*words, "killed", *words_of(folder, out)], cache)
    run.communicate(timeout=300)
    assert run.returncode != 0 and not out.exists()
    kept = {file: file.stat().st_ino for file in list_parts()}
    assert 2 <= len(kept) < 19
    assert ended([*words, "whole", *words_of(folder, out)], cache).count("found\n") == 1
    assert all(file.stat().st_ino == kept[file] for file in kept)  # reading one marks its time of use
    assert content(out) == expected


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("job", [(256 * 16 - 100, 256 * 3 - 10)], indirect=True)
@pytest.mark.parametrize("killed", ["ray::MapWorker", pytest.param("driver", marks=pytest.mark.campaign)])
def test_ray_finds_what_one_process_finds(job, tmp_path, killed):
    """With an actor killed in the middle, and with the process that asks killed and run again."""
    (folder, expected), out, cache = job, tmp_path / "found", os.environ["OOCHUB_CACHE"]
    words = [sys.executable, "-m", "oochub.cli", *words_of(folder, out, "--engine", "ray")]
    run = start(words, cache)
    wait_for_parts(run, 3)
    if killed == "driver":
        os.kill(run.pid, signal.SIGKILL)
        run.communicate(timeout=120)
        assert not out.exists()
        ended(words, cache)
    else:
        actors = [number for number, name in list_descendants(run.pid).items() if name.startswith(killed)]
        assert actors
        os.kill(actors[0], signal.SIGKILL)
        said, faults = run.communicate(timeout=600)
        assert run.returncode == 0 and said.count("found\n") == 1, faults
    assert content(out) == expected
