"""What can be seen of a sweep: each run as it ends, the epochs of those that are running, and what is left.

A run writes a line for each epoch to its log, `logs/<run>.log`, and the sweep and `--status` read the last of them.
"""

import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.errors import OochubError
from oochub.records.document import Block, Document, DocumentForms
from oochub.records.table import Table
from oochub.report import format_numbers
from oochub.storage.files import lock_target
from oochub.sweep.runs import Run, RunResult, format_setting

if TYPE_CHECKING:
    from tqdm import tqdm

_EPOCH = re.compile(r"epoch (\d+) of (\d+): (.*)")
_END = 4096  # bytes of a log that are read


class EpochLog:
    """A callback of a training that prints a line for each epoch: its time, losses and number."""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Prints the line."""
        logs, now = logs or {}, datetime.now().isoformat(sep=" ", timespec="seconds")
        names = {"loss": "loss", "eval_loss": "validation loss"}
        losses = ", ".join(f"{title} {logs[name]:.4f}" for name, title in names.items() if name in logs)
        print(  # noqa: T201  it is the log
            f"{now} epoch {int(logs.get('epoch', 0))} of {int(args.num_train_epochs)}: {losses}", flush=True
        )


class Epoch(NamedTuple):
    """The last epoch of a run: its number, how many there are, and its losses in words."""

    number: int
    of: int
    losses: str


def read_epoch(folder: Path, run: Run) -> Epoch | None:
    """The last epoch that a run of the sweep in a folder has logged; None before the first.

    Args:
        folder: Folder of the sweep.
        run: The run.
    """
    try:
        with (folder / "logs" / f"{run.id}.log").open("rb") as log:
            log.seek(max(log.seek(0, 2) - _END, 0))
            epochs = _EPOCH.findall(log.read().decode("utf-8", errors="replace"))
    except OSError:
        return None
    return Epoch(int(epochs[-1][0]), int(epochs[-1][1]), epochs[-1][2]) if epochs else None


def name_run(run: Run) -> str:
    """A run in words: its method, setting, seed and task."""
    return f"{_name_method(run)}, {run.task}"


def _name_method(run: Run) -> str:
    parts = (run.method, format_setting(run.setting), run.left_out and f"without {run.left_out}", f"seed {run.seed}")
    return ", ".join(filter(None, parts))


def estimate_left(seconds: Sequence[float], runs: int, jobs: int) -> str:
    """How long so many runs take, by those that have ended: "about 2 min left"; "" if none has.

    >>> estimate_left([50, 70], 3, 1), estimate_left([], 3, 1)
    ('about 3 min left', '')
    """
    if not seconds or not runs:
        return ""
    left = timedelta(seconds=round(statistics.fmean(seconds) * runs / jobs))
    minutes = round(left.total_seconds() / 60)
    if minutes < 1:
        return "less than a minute left"
    hours, rest = divmod(minutes, 60)
    return f"about {f'{hours} h {rest} min' if hours else f'{minutes} min'} left"


BAR = "{desc}: {n_fmt}/{total_fmt} |{bar:10}| {elapsed}{postfix}"
"""The form of the bar: the time left is that of `SweepDisplay`, which leaves out runs that were done before."""


class SweepDisplay:
    """Shows a sweep while it runs: one bar on a terminal, whatever the number of processes, else one line a run.

    Args:
        bar: Bar of `oochub.process.follow`, whose total is the number of runs; if it is hidden, lines are printed.
        folder: Folder of the sweep.
        jobs: Runs at a time.
    """

    def __init__(self, bar: "tqdm", folder: Path, *, jobs: int) -> None:
        self._bar, self._folder, self._jobs = bar, folder, jobs
        self._seconds: list[float] = []
        self._skipped = self._ended = self._todo = 0

    def start_stage(self, todo: int, skipped: int) -> None:
        """Counts the runs of a stage that are to be done, and those that are done already."""
        self._todo += todo
        self._skipped += skipped
        self._bar.update(skipped)

    def show_running(self, runs: Iterable[Run]) -> None:
        """Shows the first of the runs that are running, one or more, behind the bar, with its epoch."""
        if self._bar.disable:
            return
        first, *others = runs
        epoch = read_epoch(self._folder, first)
        at = [] if epoch is None else [f"epoch {epoch.number}/{epoch.of}, {epoch.losses}"]
        more = [f"{len(others)} more at once"] if others else []
        parts = [self._left(), ", ".join([_name_method(first), *at]), *more, first.task]
        self._bar.set_postfix_str("; ".join(filter(None, parts)))

    def show_end(self, run: Run, result: RunResult) -> None:
        """Counts a run that has ended, and prints its line if there is no terminal."""
        self._ended += 1
        self._seconds += [] if result.seconds is None else [result.seconds]
        if self._bar.disable:
            number = result.numbers.get(f"out_of_context/{result.headline}")
            measured = "" if number is None else f": {result.headline} {number:.3f} out of context"
            ending = f"failed: {result.error}" if result.status == "failed" else f"done{measured}"
            took = "" if result.seconds is None else f" ({result.seconds:.0f} s)"
            line = (
                f"{self._skipped + self._ended} of {self._bar.total}: {name_run(run)}: {ending}{took}; {self._left()}"
            )
            print(line.rstrip("; "), file=sys.stderr, flush=True)  # noqa: T201
        self._bar.update()

    def _left(self) -> str:
        return estimate_left(self._seconds, self._todo - self._ended, self._jobs)


@dataclass(frozen=True, kw_only=True)
class SweepStatus(DocumentForms):
    """What is done of a sweep.

    Attributes:
        total: Number of runs, those that follow what is not selected yet included.
        finished: Number of runs that came to their end.
        failed: Runs that failed, each with its error.
        running: Runs that are running, each with its last epoch.
        left: What the rest will take, in words; "" if that is not known.
    """

    total: int
    finished: int
    failed: tuple[tuple[str, str], ...]
    running: tuple[tuple[str, str], ...]
    left: str

    @property
    def waiting(self) -> int:
        """Number of runs that have not begun, or were stopped."""
        return self.total - self.finished - len(self.failed) - len(self.running)

    def to_json(self) -> dict[str, Any]:
        """The status as JSON types."""
        parts = {name: dict(getattr(self, name)) for name in ("failed", "running")}
        return {"total": self.total, "finished": self.finished, **parts, "waiting": self.waiting, "left": self.left}

    def _document(self) -> Document:
        counts = {"failed": len(self.failed), "running": len(self.running), "waiting": self.waiting}
        rest = [f"{format_numbers.count(count)} {name}" for name, count in counts.items() if count]
        done = f"{format_numbers.count(self.finished)} of {format_numbers.count(self.total)} runs are done"
        tables = (
            Table(heads=heads, rows=rows, left=frozenset({0, 1}))
            for heads, rows in ((("Running", "Epoch"), self.running), (("Failed", "Error"), self.failed))
            if rows
        )
        sentence = ", ".join([done, *rest])
        return Document(
            headline=f"{sentence}; {self.left}." if self.left else f"{sentence}.",
            blocks=tuple(Block(table=table) for table in tables),
            apart=True,
        )


def read_status(folder: Path, runs: Sequence[Run], results: Iterator[RunResult | None]) -> SweepStatus:
    """What is done of the sweep in a folder; nothing is written.

    Args:
        folder: Folder of the sweep.
        runs: Its runs.
        results: What came of each; None for one without a row.
    """
    pairs = [*zip(runs, results, strict=True)]
    ended = [result for _, result in pairs if result is not None]
    is_running = _is_locked(folder)
    running = []
    for run, result in pairs if is_running else ():
        if result is None and (folder / "logs" / f"{run.id}.log").is_file():
            epoch = read_epoch(folder, run)
            at = "not yet" if epoch is None else f"{epoch.number} of {epoch.of}, {epoch.losses}"
            running.append((name_run(run), at))
    seconds = [result.seconds for result in ended if result.seconds is not None and result.status == "finished"]
    return SweepStatus(
        total=len(runs),
        finished=sum(result.status == "finished" for result in ended),
        failed=tuple(
            (name_run(run), str(result.error)) for run, result in pairs if result and result.status == "failed"
        ),
        running=tuple(running),
        left=estimate_left(seconds, len(runs) - len(ended), max(len(running), 1)),
    )


def _is_locked(folder: Path) -> bool:
    """Whether another process writes the sweep."""
    try:
        with lock_target(folder, patience=0):
            return False
    except OochubError:
        return True
