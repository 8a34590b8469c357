"""Several processes predict one data set: each makes its own parts, the first puts them together.

The everyday tests run the ranks as threads that meet at a barrier; the slow ones start torchrun.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from array_rows import array_data, array_model
from rank_threads import run_as_ranks

import oochub
from oochub.errors import OochubError
from oochub.models.acceleration import choose_device
from oochub.prediction import parts
from oochub.prediction.predictions import Predictions
from oochub.process.ranks import Ranks

SCRIPT = """
import sys
from oochub.prediction import parts
parts._ROWS = int(sys.argv.pop(1))
from oochub.cli import main
main()
"""


@pytest.fixture
def as_ranks(monkeypatch):
    """See `run_as_ranks`."""
    return partial(run_as_ranks, monkeypatch)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return array_model(tmp_path_factory.mktemp("model") / "model")


@pytest.fixture
def data():
    return array_data(validation=11, test=5)


@pytest.fixture
def put(monkeypatch):
    """Parts of four rows; the numbers of the parts that were made, by rank."""
    monkeypatch.setattr(parts, "_ROWS", 4)
    made, whole = {}, parts.Parts.put

    def counted(self, number, part):
        made.setdefault(Ranks.here().number, []).append(number)
        whole(self, number, part)

    monkeypatch.setattr(parts.Parts, "put", counted)
    return made


def predicted(model, data, **options):
    return oochub.predict(model, data, batch_size=2, cache=False, splits=list(data), **options)


def same(one, other):
    assert one.table.equals(other.table)
    assert one.metadata.fingerprint == other.metadata.fingerprint and one.metadata.notes == other.metadata.notes
    assert one.digest == other.digest


@pytest.mark.slow
def test_each_rank_makes_its_parts(model, data, tmp_path, put, as_ranks):
    """Faults planted: ranks that take the same parts; a first rank that does not wait for the others."""
    whole = predicted(model, data, out=tmp_path / "whole.parquet", features=True)
    put.clear()
    ends = as_ranks(2, lambda: predicted(model, data, out=tmp_path / "ranks.parquet", features=True))
    assert put == {0: [0, 2, 4], 1: [1, 3]}
    for end in ends:
        same(end, whole)
        assert (end.head.weight == whole.head.weight).all()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_what_is_missing_is_divided(model, data, tmp_path, put, as_ranks, monkeypatch):
    """Fault planted: ranks that divide all parts, or those that they see after the others have begun."""
    whole = predicted(model, data, out=tmp_path / "whole.parquet")

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("oochub.prediction.run_model._finish_parts", stopped)
        with pytest.raises(KeyboardInterrupt):
            predicted(model, data, out=tmp_path / "p.parquet")
    for number in (0, 2, 4):
        (tmp_path / ".p.parquet.parts" / f"part-{number:05d}.parquet").unlink()
    put.clear()
    for end in as_ranks(3, lambda: predicted(model, data, out=tmp_path / "p.parquet")):
        same(end, whole)
    assert put == {0: [0], 1: [2], 2: [4]}


def test_a_stream_needs_ids_and_has_each_once(model, data, tmp_path, put, as_ranks):
    """Fault planted: a stream that every rank reads whole."""

    def streams():  # of one rank alone, as in a process of its own: threads would share where it stands
        return {name: part.to_iterable_dataset(num_shards=2) for name, part in data.items()}

    whole = predicted(model, streams())
    for end in as_ranks(2, lambda: predicted(model, streams(), out=tmp_path / "stream.parquet")):
        order, expected = end.column("example_id").argsort(), whole.column("example_id").argsort()
        assert end.column("example_id")[order].tolist() == whole.column("example_id")[expected].tolist()
        assert end.logits[order] == pytest.approx(whole.logits[expected], abs=1e-5)

    def nameless():
        return {name: part.remove_columns("example_id") for name, part in streams().items()}

    ends = as_ranks(2, lambda: predicted(model, nameless(), out=tmp_path / "nameless.parquet"))
    assert "has no column example_id, but 2 processes read it, and" in " ".join(map(str, ends))


def test_several_ranks_need_a_file(model, data, as_ranks):
    for end in as_ranks(2, lambda: predicted(model, data)):
        assert isinstance(end, OochubError) and "2 processes predict into one file: name it with out=" in str(end)


def test_a_folder_that_is_not_shared_is_said(tmp_path):
    """Fault planted: machines with disks of their own go on until the end."""
    own = parts.Parts(tmp_path / "p.parquet", {})
    with pytest.raises(
        OochubError, match=r"cannot see .* of the first process\. All machines of torchrun write into one folder"
    ):
        own.check_shared()
    own.share()
    own.check_shared()
    with pytest.raises(OochubError, match=r"The part 3 of .*, made by another process, is missing"):
        own.check_complete({3})


def test_each_rank_has_its_device(monkeypatch):
    """Fault planted: every rank takes the first GPU."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert str(choose_device("auto")) == "cuda"
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert str(choose_device("auto")) == "cuda:1"
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(OochubError, match=r"Device 'cuda:2' is not available. Available: cpu, cuda:0, cuda:1"):
        choose_device("auto")


def test_ranks_are_those_of_torchrun(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    assert Ranks.here() == Ranks()
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert Ranks.here() == Ranks(number=3, count=4)


@pytest.fixture(scope="module")
def job(tmp_path_factory, model):
    """The words of a prediction of 1,000 rows in 25 parts by so many processes, into a file."""
    folder = tmp_path_factory.mktemp("job")
    array_data(validation=800, test=200).save_to_disk(folder / "data")
    (folder / "job.py").write_text(SCRIPT)

    def words(out, ranks):
        python = [sys.executable]
        if ranks > 1:
            python += ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)]
        source = [str(model), str(folder / "data"), "--out", str(out)]
        return [*python, str(folder / "job.py"), "40", "predict", *source, "--batch-size", "4", "--no-cache"]

    return words


def _ended(words):
    return subprocess.run(words, capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"})


@pytest.fixture(scope="module")
def alone(job, tmp_path_factory):
    """What one process predicts."""
    out = tmp_path_factory.mktemp("alone") / "one.parquet"
    assert _ended(job(out, 1)).returncode == 0
    return Predictions.load(out)


LAST = """
import atexit, os, sys
from pathlib import Path
atexit.register(lambda: print(*sorted(file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm"))))
from oochub.process.ranks import Ranks
Ranks.here().join("cpu")
print(*Ranks.here().values(int(os.environ["RANK"])))
"""


@pytest.mark.slow
def test_no_thread_of_gloo_is_left_when_python_ends():
    """It asks for Python's lock to release what it sent; if Python ends meanwhile, the process is aborted."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    own = [os.environ | meet | {"RANK": rank, "LOCAL_RANK": rank} for rank in "01"]
    ranks = [subprocess.Popen([sys.executable, "-c", LAST], stdout=subprocess.PIPE, text=True, env=env) for env in own]
    for rank in ranks:
        numbers, names = rank.communicate(timeout=120)[0].splitlines()
        assert numbers == "0 1" and "gloo" not in names and rank.returncode == 0


@pytest.mark.slow
def test_torchrun_gives_what_one_process_gives(job, alone, tmp_path):
    end = _ended(job(tmp_path / "two.parquet", 2))
    assert end.returncode == 0, end.stderr
    assert end.stdout.count("two.parquet") == 1
    same(Predictions.load(tmp_path / "two.parquet"), alone)


@pytest.mark.campaign
@pytest.mark.parametrize("next_ranks", [1, 2, 3])
def test_a_rank_that_is_killed(job, alone, tmp_path, next_ranks):
    """Torchrun stops the others; what is complete is kept, for any number of processes."""
    out = tmp_path / "p.parquet"
    run = subprocess.Popen(job(out, 2), stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    folder = tmp_path / ".p.parquet.parts"
    deadline = time.monotonic() + 200
    while len(list(folder.glob("part-*"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.002)
    ranks = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    os.kill(int(ranks[1]), signal.SIGKILL)
    run.communicate(timeout=120)
    assert run.returncode != 0 and not out.exists()
    kept = {file.name: file.stat().st_mtime_ns for file in folder.glob("part-*.parquet")}
    assert 4 <= len(kept) < 25
    end = _ended(job(out, next_ranks))
    assert end.returncode == 0, end.stderr
    same(Predictions.load(out), alone)
