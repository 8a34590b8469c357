"""The processes of a sweep: each does one run after the other, and none outlives the sweep."""

import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing import connection, get_context, resource_tracker
from pathlib import Path
from typing import Any

from oochub.sweep.runs import Run, RunResult
from oochub.sweep.worker import worker

Measure = Callable[[Run, Path], RunResult]
"""Trains a run in a folder, or goes on with it, and returns its result; `seconds` are filled in by who calls it."""


class Workers:
    """Processes with one thread each; a context, whose end, whatever its reason, ends them.

    Args:
        measure: Does one run; importable by name, since it is called in the processes.
        folder: Of the sweep. A run has the folder `runs/<id>`; what it prints goes to `logs/<id>.log`.
        jobs: How many processes.
    """

    def __init__(self, measure: Measure, folder: Path, *, jobs: int) -> None:
        self._measure, self._folder, self._jobs = measure, folder, jobs
        self._context = get_context("spawn")  # a forked child of a process with threads can hang
        self._processes: dict[Any, Any] = {}  # by the pipe to each

    def __enter__(self) -> "Workers":
        (self._folder / "logs").mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, error: object, *_: object) -> None:
        for pipe, process in self._processes.items():
            if error is None:
                with suppress(OSError):  # it has ended already
                    pipe.send(None)  # it ends itself, and gives back its semaphores
            else:
                process.terminate()
            process.join()

    def do(self, runs: Iterable[Run]) -> Iterator[tuple[Run, RunResult]]:
        """Does the runs, as many at a time as there are jobs.

        Yields:
            Each run when it is over, with what `measure` returned, or the error for which it failed; and seconds.
        """
        waiting, working = deque(runs), dict[Any, Run]()
        while waiting or working:
            while waiting and len(working) < self._jobs:
                pipe = next((pipe for pipe in self._processes if pipe not in working), None) or self._started()
                working[pipe] = waiting.popleft()
                pipe.send(working[pipe])
            for pipe in connection.wait(list(working)):
                run = working.pop(pipe)
                try:
                    result: Any = pipe.recv()  # type: ignore[call-arg, union-attr]
                except EOFError:
                    process = self._processes.pop(pipe)
                    process.join()
                    result = RunResult.failure(
                        f"its process ended with exit code {process.exitcode}; see logs/{run.id}.log"
                    )
                yield run, result

    def _started(self) -> Any:
        pipe, theirs = self._context.Pipe()
        self._processes[pipe] = self._context.Process(target=worker, args=(theirs,))
        resource_tracker.ensure_running()  # starting it would lift the block
        # A child inherits the block: it leaves Ctrl-C to the sweep, which ends it.
        earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._processes[pipe].start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
        theirs.close()  # else the end of the process would not end the pipe
        pipe.send(partial(_work, measure=self._measure, folder=self._folder))
        return pipe


def _work(pipe: Any, *, measure: Measure, folder: Path) -> None:
    import torch
    from tqdm import tqdm

    torch.set_num_threads(1)
    tqdm.set_lock(threading.RLock())  # the usual one has a semaphore of the system, which a stop would leave behind
    while (run := pipe.recv()) is not None:
        with (folder / "logs" / f"{run.id}.log").open("w") as log:
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
        started = time.monotonic()
        try:
            result = measure(run, folder / "runs" / run.id)
        except Exception as error:
            traceback.print_exc()
            result = RunResult.failure(error)
        pipe.send(replace(result, seconds=round(time.monotonic() - started, 1)))
