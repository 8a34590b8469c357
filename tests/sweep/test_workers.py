"""How the processes of a sweep end."""

import os
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
from own_group import wait_for_the_last

from oochub.sweep.runs import RunResult
from oochub.sweep.sweep import _Workers as Workers

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


def run_two(folder: Path, jobs: int = 2) -> None:
    """Prints the two runs."""
    with Workers(with_a_lock, folder, jobs=jobs) as workers:
        done = [run.id for run, _ in workers.do([SimpleNamespace(id=str(number)) for number in range(2)])]
    print(*sorted(done))  # noqa: T201


_AT_ITS_IMPORTS = """
import os, sys, time
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "torch" and "--multiprocessing-fork" in sys.orig_argv:
            os.mkdir(os.environ["WAITING"])
            time.sleep(600)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.slow
def test_a_process_that_still_imports_ends_with_the_sweep(tmp_path):
    """A folder stands for a word to this test. Fault seen: the watch began after the imports of torch and the rest."""
    (tmp_path / "sitecustomize.py").write_text(_AT_ITS_IMPORTS)
    script = (
        "import sys; from pathlib import Path; from test_workers import run_two\n"
        "if __name__ == '__main__': run_two(Path(sys.argv[1]), jobs=1)"
    )
    environment = {
        **{**os.environ, "WAITING": str(tmp_path / "waiting")},
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parent), *sys.path]),
    }
    words = [sys.executable, "-c", script, str(tmp_path)]
    process = subprocess.Popen(words, env=environment, start_new_session=True)
    until = time.monotonic() + 120
    while not (tmp_path / "waiting").exists():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    process.wait()
    wait_for_the_last(process.pid)
