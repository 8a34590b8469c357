"""Sweeps: all runs of a recipe, one table of them, and what was selected from it.

Processes do one run after the other, and none outlives the sweep.
"""

import json
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from oochub import catalog
from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.process.program import serve_parent, start_process
from oochub.records.schema import from_json, to_json
from oochub.storage.artifacts import SWEEP
from oochub.storage.files import check_writable, claim_folder, lock_target, open_log, write_whole
from oochub.storage.parquet_file import read_parquet
from oochub.sweep.runs import Run, RunResult, plan_stages
from oochub.sweep.selection import ORACLES
from oochub.sweep.sweep_progress import BAR, SweepDisplay, SweepStatus, read_status
from oochub.sweep.sweep_recipe import SweepRecipe, name_features_track
from oochub.sweep.sweep_table import SweepSummary, make_run_table, make_selection_table, write_table

_PAUSE = 20
"""Times as long as writing the table took, it is not written again where runs end many a second: heads on features."""

_LOOK = 1  # seconds between two looks at the logs of runs

Results = Iterator[tuple[Run, RunResult]]
MeasureTogether = Callable[[list[Run], Path], Results]
"""Does runs in the folder of a sweep; yields each with its result."""


Measure = Callable[[Run, Path], RunResult]
"""Trains a run in a folder, or goes on with it, and returns its result; `seconds` are filled in by who calls it."""


class _Workers:
    """Processes with one thread each; a context, whose end, whatever its reason, ends them.

    Args:
        measure: Does one run; importable by name, since it is called in the processes.
        folder: Folder of the sweep. A run has the folder `runs/<id>`; what it prints goes to `logs/<id>.log`.
        jobs: Number of processes.
    """

    def __init__(self, measure: Measure, folder: Path, *, jobs: int) -> None:
        self._measure, self._folder, self._jobs = measure, folder, jobs
        self._context = get_context("spawn")  # a forked child of a process with threads can hang
        self._processes: dict[Any, Any] = {}  # by the pipe to each

    def __enter__(self) -> "_Workers":
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

    def do(self, runs: Iterable[Run], display: SweepDisplay | None = None) -> Iterator[tuple[Run, RunResult]]:
        """Does the runs, as many at a time as there are jobs.

        Args:
            runs: Runs to do.
            display: Shows those that are running; None shows nothing.

        Yields:
            Each run when it is over, with what `measure` returned, or the error for which it failed; and seconds.
        """
        waiting, working = deque(runs), dict[Any, Run]()
        while waiting or working:
            while waiting and len(working) < self._jobs:
                pipe = next((pipe for pipe in self._processes if pipe not in working), None) or self._start_process()
                working[pipe] = waiting.popleft()
                pipe.send(working[pipe])
            if display is not None:
                display.show_running(working.values())
            for pipe in connection.wait(list(working), timeout=_LOOK):
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

    def _start_process(self) -> Any:
        pipe, theirs = self._context.Pipe()
        self._processes[pipe] = self._context.Process(target=serve_parent, args=(theirs,))
        start_process(self._processes[pipe])
        theirs.close()  # else the end of the process would not end the pipe
        pipe.send(partial(_serve_runs, measure=self._measure, folder=self._folder))
        return pipe


def _serve_runs(pipe: Any, *, measure: Measure, folder: Path) -> None:
    import torch
    from tqdm import tqdm

    torch.set_num_threads(1)
    tqdm.set_lock(threading.RLock())  # the usual one has a semaphore of the system, which a stop would leave behind
    while (run := pipe.recv()) is not None:
        with open_log(folder / "logs" / f"{run.id}.log") as log:
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
        started = time.monotonic()
        try:
            result = measure(run, folder / "runs" / run.id)
        except Exception as error:
            traceback.print_exc()
            result = RunResult.failure(error)
        pipe.send(replace(result, seconds=round(time.monotonic() - started, 1)))


class SweepResult(NamedTuple):
    """What a sweep left.

    Attributes:
        table: runs.parquet, one row per run.
        selected: selected.parquet, the selected settings (oracle.parquet when the rule is an oracle's).
        page: What was found, as Markdown.
        runs: Number of runs in the table.
        failed: Number of them that failed.
        summary: What was found.
    """

    table: Path
    selected: Path
    page: Path
    runs: int
    failed: int
    summary: SweepSummary

    def to_json(self) -> dict[str, Any]:
        """The paths and counts as JSON types."""
        paths = {name: str(getattr(self, name)) for name in ("table", "selected", "page")}
        return paths | {"runs": self.runs, "failed": self.failed}


def sweep(
    recipe: SweepRecipe, out: str | Path, *, measure: Measure, jobs: int = 1, only: Iterable[str] = ()
) -> SweepResult:
    """Does every run of a recipe that is not done yet, in local processes.

    Each run has its folder `runs/<id>`, its row `rows/<id>.json` and what it printed in `logs/<id>.log`. A finished
    run is skipped and one that was killed goes on; a failed one becomes a row with its error and is tried again when
    the sweep is. `runs.parquet` is rewritten whole after every run.

    Args:
        recipe: What to run.
        out: The folder of the sweep.
        measure: Does one run; importable by name, since it is called in other processes.
        jobs: How many runs side by side, each in a process with one thread.
        only: See `oochub.sweep.runs.plan_stages`.

    Raises:
        OochubError: A benchmark that this version does not have, a folder that holds another sweep, cannot be
            written or is written by another process, fewer than one job, or a recipe with an MLP head, which is for
            features.
    """
    if jobs < 1:
        raise OochubError(f"jobs must be 1 or more, got {jobs}.")
    if recipe.head != "linear":
        raise OochubError(f"head={recipe.head!r} is of heads on features. Add --features, or remove it.")
    folder = _claim_folder(Path(out), recipe, "fine-tuning")
    with lock_target(folder, kind=SWEEP), _Workers(measure, folder, jobs=jobs) as workers:
        return _sweep_recipe(recipe, folder, workers.do, only=only, track="fine-tuning", pause=0, jobs=jobs)


def feature_sweep(
    recipe: SweepRecipe, out: str | Path, *, measure: MeasureTogether, only: Iterable[str] = ()
) -> SweepResult:
    """Like `sweep`, on features that were extracted once: each kind of head a track, in a folder of its own.

    `runs.parquet` is rewritten as runs end, in at most a twentieth of the time, and at the end of each stage.

    Args:
        recipe: What to run.
        out: The folder of the sweep.
        measure: Does many runs together.
        only: See `oochub.sweep.runs.plan_stages`.

    Raises:
        OochubError: What `sweep` raises.
    """
    if recipe.soup:
        raise OochubError(f"soup={recipe.soup!r} mixes whole networks. Remove --features, or the soup.")
    track = name_features_track(recipe.hidden)
    folder = _claim_folder(Path(out), recipe, track)
    with lock_target(folder, kind=SWEEP):
        return _sweep_recipe(
            recipe, folder, lambda runs, _: measure(runs, folder), only=only, track=track, pause=_PAUSE
        )


def _claim_folder(folder: Path, recipe: SweepRecipe, track: str) -> Path:
    """The folder, after noting in it whose it is."""
    if recipe.missing_benchmarks:
        raise OochubError(
            f"The recipe {recipe.name} needs {', '.join(recipe.missing_benchmarks)}, which is not a benchmark of this "
            f"version (it has {', '.join(catalog.names('benchmark'))}). Its runs can be listed with --dry-run."
        )
    note, own = check_writable(folder, kind=SWEEP) / "sweep.json", {"recipe": recipe.name, "track": track}
    owner = json.loads(note.read_text("utf-8")) if note.is_file() else own
    if owner != own:
        held = f"{owner.get('recipe')} ({owner.get('track')})"
        raise OochubError(f"{folder} contains the sweep {held}, not {recipe.name} ({track}). Choose another --out.")
    with claim_folder(folder, SWEEP), write_whole(note) as draft:
        draft.write_text(json.dumps(own) + "\n", "utf-8")
    return folder


def _sweep_recipe(
    recipe: SweepRecipe,
    folder: Path,
    do: Callable[[list[Run], SweepDisplay], Results],
    *,
    only: Iterable[str],
    track: str,
    pause: float,
    jobs: int = 1,
) -> SweepResult:
    planned = plan_stages(recipe, only=only)
    runs: list[Run] = []
    results: dict[str, RunResult | None] = {}
    table = pd.DataFrame()
    with follow(total=sum(map(len, planned)), desc=recipe.name, bar_format=BAR, disable=None) as bar:
        display = SweepDisplay(bar, folder, jobs=jobs)
        for stage in planned:
            settled = [_settle_run(run, table) for run in stage]
            runs += settled
            results |= {run.id: _read_result(folder, run) for run in settled}
            finished = {name for name, result in results.items() if result is not None and result.status == "finished"}
            todo = [run for run in settled if not run.follows and run.id not in finished]
            display.start_stage(len(todo), len(stage) - len(todo))
            due = 0.0
            table = _write(recipe, folder, runs, results, track)
            for run, result in do(todo, display) if todo else ():
                with write_whole(folder / "rows" / f"{run.id}.json") as draft:
                    draft.write_text(json.dumps(to_json(result), indent=1) + "\n", "utf-8")
                results[run.id] = result
                if time.monotonic() >= due:
                    began = time.monotonic()
                    _write(recipe, folder, runs, results, track)
                    due = time.monotonic() + pause * (time.monotonic() - began)
                display.show_end(run, result)
            table = _write(recipe, folder, runs, results, track)
    stem = "oracle" if recipe.select in ORACLES else "selected"
    write_table(make_selection_table(table), folder / f"{stem}.parquet", recipe)
    summary = SweepSummary.of(recipe, table, folder, track=track)
    with write_whole(folder / f"{stem}.md") as draft:
        draft.write_text(f"# Sweep {recipe.name}\n\n{summary.to_markdown()}", "utf-8")
    failed = int((table["status"] == "failed").sum())
    return SweepResult(
        folder / "runs.parquet", folder / f"{stem}.parquet", folder / f"{stem}.md", len(table), failed, summary
    )


def find_status(recipe: SweepRecipe, out: str | Path, *, only: Iterable[str] = ()) -> SweepStatus:
    """What is done of a sweep, failed, running and left; another process may be running it.

    Args:
        recipe: Its recipe.
        out: Its folder.
        only: See `oochub.sweep.runs.plan_stages`.

    Raises:
        OochubError: A folder without a sweep.
    """
    folder = Path(out).expanduser()
    if not (folder / "sweep.json").is_file():
        raise OochubError(f"{folder} contains no sweep. Run `oochub sweep` with --out {folder} first.")
    table = read_parquet(folder / "runs.parquet").table.to_pandas() if (folder / "runs.parquet").is_file() else None
    stages = plan_stages(recipe, only=only)
    runs = [run if table is None else _settle_run(run, table) for stage in stages for run in stage]
    return read_status(folder, runs, (None if run.follows else _read_result(folder, run) for run in runs))


def _settle_run(run: Run, table: pd.DataFrame) -> Run:
    """The run with the setting selected for what it follows; as it was where nothing is selected."""
    if run.follows is None or table.empty:
        return run
    task, method = run.follows
    settings = table.loc[table["selected"] & (table["task"] == task) & (table["method"] == method), "setting"]
    return run.following(json.loads(settings.iloc[0])) if len(settings) else run


def _read_result(folder: Path, run: Run) -> RunResult | None:
    """What came of a run; None when it was not tried."""
    if run.follows:
        task, method = run.follows
        return RunResult.failure(f"no setting was selected for {method} on {task}")
    file = folder / "rows" / f"{run.id}.json"
    if not file.is_file():
        return None
    return from_json(RunResult, json.loads(file.read_text("utf-8")), what=str(file))


def _write(
    recipe: SweepRecipe, folder: Path, runs: Iterable[Run], results: Mapping[str, RunResult | None], track: str
) -> pd.DataFrame:
    tried = [(run, result) for run in runs if (result := results[run.id]) is not None]
    table = make_run_table(recipe, tried, track=track)
    write_table(table, folder / "runs.parquet", recipe)
    return table
