"""Sweeps: all runs of a recipe, one table of them, and what was selected from it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from tqdm import tqdm

from oochub import catalog
from oochub.errors import OochubError
from oochub.files import check_writable, written_whole
from oochub.sweep.head_kinds import features_track, hidden_width
from oochub.sweep.runs import Run, stages
from oochub.sweep.sweep_recipe import SweepRecipe
from oochub.sweep.sweep_table import run_table, selection_table, to_markdown, write_table
from oochub.sweep.workers import Measure, Workers

Rows = Iterator[tuple[Run, Mapping[str, Any]]]
MeasureTogether = Callable[[list[Run], Path], Rows]
"""Does runs in the folder of a sweep; yields each with its row, see `Workers.do`."""


class SweepResult(NamedTuple):
    """What a sweep left.

    Attributes:
        table: runs.parquet, a row a run.
        selected: selected.parquet, the selected settings (oracle.parquet when the rule is the oracle's).
        page: The same as Markdown.
        runs: How many runs the table has.
        failed: How many of them failed.
    """

    table: Path
    selected: Path
    page: Path
    runs: int
    failed: int


def sweep(
    recipe: SweepRecipe, out: str | Path, *, measure: Measure, jobs: int = 1, only: Iterable[str] = ()
) -> SweepResult:
    """Does every run of a recipe that is not done yet, in local processes.

    Each run has its folder `runs/<id>`, its row `rows/<id>.json` and what it printed in `logs/<id>.log`. A finished
    run is skipped and one that was killed goes on; a failed one becomes a row with its error and is tried again when
    the sweep is. `runs.parquet` is rewritten whole after each run.

    Args:
        recipe: What to run.
        out: The folder of the sweep.
        measure: Does one run; importable by name, since it is called in other processes.
        jobs: How many runs side by side, each in a process with one thread.
        only: See `oochub.sweep.runs.stages`.

    Raises:
        OochubError: A benchmark that this version does not have, a folder that holds another sweep or cannot be
            written, fewer than one job, or a recipe with an MLP head, which is for features.
    """
    if jobs < 1:
        raise OochubError(f"jobs must be 1 or more, got {jobs}.")
    if recipe.head != "linear":
        raise OochubError(f"head={recipe.head!r} is of heads on features. Add --features, or leave it out.")
    folder = _claimed(Path(out), recipe, "fine-tuning")
    with Workers(measure, folder, jobs=jobs) as workers:
        return _swept(recipe, folder, workers.do, only=only, track="fine-tuning")


def feature_sweep(
    recipe: SweepRecipe, out: str | Path, *, measure: MeasureTogether, only: Iterable[str] = ()
) -> SweepResult:
    """Like `sweep`, on features that were extracted once: each kind of head a track, in a folder of its own.

    Args:
        recipe: What to run.
        out: The folder of the sweep.
        measure: Does many runs together.
        only: See `oochub.sweep.runs.stages`.

    Raises:
        OochubError: As for `sweep`.
    """
    track = features_track(hidden_width(recipe.head, recipe.hidden_size))
    folder = _claimed(Path(out), recipe, track)
    return _swept(recipe, folder, partial(_together, measure, folder), only=only, track=track)


def _together(measure: MeasureTogether, folder: Path, runs: list[Run]) -> Rows:
    return measure(runs, folder)


def _claimed(folder: Path, recipe: SweepRecipe, track: str) -> Path:
    """The folder, after noting in it whose it is."""
    if recipe.missing_benchmarks:
        raise OochubError(
            f"The recipe {recipe.name} needs {', '.join(recipe.missing_benchmarks)}, which is not a benchmark of this "
            f"version (it has {', '.join(catalog.names('benchmark'))}). Its runs can be listed with --dry-run."
        )
    note, ours = check_writable(folder / "sweep.json"), {"recipe": recipe.name, "track": track}
    owner = json.loads(note.read_text("utf-8")) if note.is_file() else ours
    if owner != ours:
        held = f"{owner.get('recipe')} ({owner.get('track')})"
        raise OochubError(f"{folder} holds the sweep {held}, not {recipe.name} ({track}). Choose another --out.")
    with written_whole(note) as draft:
        draft.write_text(json.dumps(ours) + "\n", "utf-8")
    return folder


def _swept(
    recipe: SweepRecipe, folder: Path, do: Callable[[list[Run]], Rows], *, only: Iterable[str], track: str
) -> SweepResult:
    planned = stages(recipe, only=only)
    known: list[Run] = []
    rows: dict[str, Mapping[str, Any]] = {}
    table = pd.DataFrame()
    with tqdm(total=sum(map(len, planned)), desc=recipe.name, unit="run", disable=None) as bar:
        for stage in planned:
            settled = [_settled(run, table) for run in stage]
            known += settled
            rows |= {run.id: _row(folder, run) for run in settled}
            todo = [run for run in settled if not run.follows and rows[run.id].get("status") != "finished"]
            bar.update(len(stage) - len(todo))
            table = _write(recipe, folder, [(run, rows[run.id]) for run in known], track)
            for run, row in do(todo) if todo else ():
                with written_whole(folder / "rows" / f"{run.id}.json") as draft:
                    draft.write_text(json.dumps(row, indent=1) + "\n", "utf-8")
                rows[run.id] = row
                table = _write(recipe, folder, [(run, rows[run.id]) for run in known], track)
                bar.update()
    stem = "oracle" if recipe.select == "oracle" else "selected"
    write_table(selection_table(table), folder / f"{stem}.parquet", recipe)
    with written_whole(folder / f"{stem}.md") as draft:
        draft.write_text(to_markdown(table, recipe, track=track), "utf-8")
    failed = int((table["status"] == "failed").sum())
    return SweepResult(folder / "runs.parquet", folder / f"{stem}.parquet", folder / f"{stem}.md", len(table), failed)


def _settled(run: Run, table: pd.DataFrame) -> Run:
    """The run with the setting selected for what it follows; as it was where nothing is selected."""
    if run.follows is None or table.empty:
        return run
    task, method = run.follows
    found = table.loc[table["selected"] & (table["task"] == task) & (table["method"] == method), "setting"]
    return run.following(json.loads(found.iloc[0])) if len(found) else run


def _row(folder: Path, run: Run) -> dict[str, Any]:
    """What came of a run; empty when it was not tried."""
    if run.follows:
        task, method = run.follows
        return {"status": "failed", "error": f"no setting was selected for {method} on {task}"}
    file = folder / "rows" / f"{run.id}.json"
    return dict(json.loads(file.read_text("utf-8"))) if file.is_file() else {}


def _write(
    recipe: SweepRecipe, folder: Path, rows: Iterable[tuple[Run, Mapping[str, Any]]], track: str
) -> pd.DataFrame:
    table = run_table(recipe, [(run, row) for run, row in rows if row], track=track)
    write_table(table, folder / "runs.parquet", recipe)
    return table
