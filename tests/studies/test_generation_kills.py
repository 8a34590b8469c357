"""Generation that is killed at random moments and started again ends with the files of an undisturbed run.

On one process and on two, as torchrun starts them: when one is killed, torchrun ends the other. The processes are
forked from a server that has imported everything, so that the moments fall into the work. The slow tests kill a few
times, `make campaign` 20 times; OOCHUB_KILL_SEED=N draws the moments of an earlier run.
"""

import json
import os
import random
import shutil
import signal
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Any

import killed_command
import pytest
import tiny_generators
from killed_command import short_folder
from own_group import processes_of

from oochub.records.provenance import drop_when_and_where
from oochub.storage.ownership import MANIFEST
from oochub.storage.parquet_file import read_parquet

_LONGEST = 300.0  # seconds
_PATIENCE = 2.0  # seconds in which a process may see by itself that the other has ended


def _rank(number: int, count: int, port: int, *rest: Any) -> None:
    if count > 1:
        names = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "MASTER_PORT": port}
        os.environ |= {name: str(value) for name, value in names.items()} | {"MASTER_ADDR": "127.0.0.1"}
    killed_command._work(*rest)


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def run(words: list[str], place: Path, *, count: int, moment: float | None = None, victim: int = 0) -> list[int]:
    """Exit codes of the processes; one is killed after so many seconds of work, and the others with it."""
    place.mkdir(exist_ok=True)
    port, started = _free_port(), []
    for number in range(count):
        ready, child = killed_command._STEPS.Pipe(duplex=False)
        rest = (words, place / "cache", place, place / f"said_{number}.txt", child)
        process = killed_command._STEPS.Process(target=_rank, args=(number, count, port, *rest))
        process.start()
        child.close()
        started.append((process, ready))
    for _, ready in started:
        assert ready.poll(_LONGEST), "it did not start"
        ready.recv()
    processes = [process for process, _ in started]
    if moment is not None:
        processes[victim].join(moment)
        if processes[victim].exitcode is None:
            os.kill(processes[victim].pid, signal.SIGKILL)
            for each in processes:
                each.join(_PATIENCE)
                if each.exitcode is None:
                    os.kill(each.pid, signal.SIGKILL)
    for process in processes:
        process.join(_LONGEST)
        assert process.exitcode is not None, "it did not end"
        assert not processes_of(process.pid)
    return [process.exitcode for process in processes]


def left_behind(folder: Path) -> dict[str, Any]:
    """Every file but the manifest, the tables as rows and the record without when and where."""
    files: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".json":
            files[name] = drop_when_and_where(json.loads(path.read_text()))
        else:
            files[name] = read_parquet(path).table.to_pylist() if path.suffix == ".parquet" else path.read_bytes()
    return files


def _killed(times: int, count: int, folder: Path) -> None:
    models = ("--model", str(tiny_generators.pipeline(folder / "sd")))
    models += ("--captioner", str(tiny_generators.captioner(folder / "says")))
    small = ("--prompts", "3", "--images-per-prompt", "4", "--steps", "1", "--repeat", "0", "--background", "snow")
    seed = int(os.environ.get("OOCHUB_KILL_SEED", time.time_ns() % 1_000_000))
    moments, ends = random.Random(seed), Counter[str]()

    with short_folder() as scratch:

        def words(name: str) -> list[str]:
            return ["spawrious", "generate", *models, *small, "--out", str(folder / name)]

        assert run(words("alone"), scratch, count=1) == [0]
        expected = left_behind(folder / "alone")
        begun = time.monotonic()
        assert run(words("whole"), scratch, count=count) == [0] * count
        length = time.monotonic() - begun
        assert left_behind(folder / "whole") == expected
        for attempt in range(1000):
            codes = run(
                *(words("dogs"), scratch),
                count=count,
                moment=moments.uniform(0, length),
                victim=moments.randrange(count),
            )
            ends["killed" if any(codes) else "over before"] += 1
            made = len(list((folder / "dogs").rglob("*.png")))
            ends["killed with some images made"] += bool(any(codes) and 0 < made < len(expected))
            assert run(words("dogs"), scratch, count=count) == [0] * count, (attempt, seed)
            assert left_behind(folder / "dogs") == expected, (attempt, codes, seed)
            assert not list(folder.glob(".*"))
            shutil.rmtree(folder / "dogs")
            if ends["killed"] == times:
                break
    with Path(os.environ.get("OOCHUB_KILL_COUNTS", os.devnull)).open("a") as file:
        print(count, "processes, seed", seed, dict(ends), file=file)


@pytest.mark.campaign
@pytest.mark.parametrize("count", [1, 2])
def test_killed_a_few_times(count: int, tmp_path: Path) -> None:
    """Fault seen on two: a process that wrote a list before the other had written what the folder is."""
    _killed(2, count, tmp_path)


@pytest.mark.campaign
@pytest.mark.parametrize("count", [1, 2])
def test_killed_many_times(count: int, tmp_path: Path) -> None:
    """The same, 20 times."""
    _killed(20, count, tmp_path)
