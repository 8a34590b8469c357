"""How the processes of a sweep end."""

import os
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest

from oochub.sweep.runs import RunResult
from oochub.sweep.workers import Workers

_KEPT = []


def with_a_lock(run: SimpleNamespace, folder: Path) -> RunResult:
    """A run whose process keeps a semaphore, as bars of progress do."""
    _KEPT.append(get_context("spawn").RLock())
    return RunResult.failure("that is all")


@pytest.mark.slow
def test_processes_end_without_a_word_on_semaphores(tmp_path):
    """In a process of its own, whose end tells what leaked. Fault seen: the processes terminated."""
    script = (
        "import sys; from pathlib import Path; from test_workers import run_two\n"
        "if __name__ == '__main__': run_two(Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    words = [sys.executable, "-c", script, str(tmp_path)]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["0", "1"]


def run_two(folder: Path) -> None:
    """Prints the two runs."""
    with Workers(with_a_lock, folder, jobs=2) as workers:
        done = [run.id for run, _ in workers.do([SimpleNamespace(id=str(number)) for number in range(2)])]
    print(*sorted(done))  # noqa: T201
