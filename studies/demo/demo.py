"""The main job on toy worlds: one seed of the table of docs/effect.md, from raw folders to reports."""

import signal
import sys
import time
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oochub.errors import OochubError
from oochub.process.program import count_cores, serve_parent, start_process
from oochub.storage.files import check_writable, lock_target
from oochub.studies import file_kinds
from oochub.studies.demo.effect import DEMO, SIZES, Row, SideMeans, raw_folder, render, run, world_of


def demo(out: str | Path, *, seed: int = 0, size: str | int | None = None, console: Console | None = None) -> Path:
    """Renders the worlds, builds, trains ERM and GroupDRO, evaluates and reports.

    Args:
        out: Folder for everything; run again, what is there is reused.
        seed: Random seed for the trainings.
        size: Size of the toy worlds; None is the size of the table.
        console: Where to print.

    Returns:
        The page of ERM on Spawrious.
    """
    folder, printer = Path(out), console or Console()
    check_writable(folder, kind=file_kinds.DEMO)
    started = time.monotonic()
    table = Table(
        box=None,
        pad_edge=False,
        title="Toy worlds, × 100, below each its 95% interval over test images; 1 seed",
        title_justify="left",
    )
    for column in ("benchmark", "objective", "in context", "out of context", "gap, points"):
        table.add_column(column, no_wrap=column != "objective")
    pages = []
    with lock_target(folder, kind=file_kinds.DEMO):
        _render_worlds(folder / "raw", size)
        for number, row in enumerate(DEMO, 1):
            printer.print(f"[{number}/{len(DEMO)}] {row.benchmark}: {row.title} ...", markup=False)
            report = run(row, folder, seed=seed, size=size)
            means = SideMeans.of([report])
            benchmark = report.benchmark
            name = f"{benchmark.name}/{benchmark.config}\n{benchmark.primary_metric}"
            numbers = (means.inside.lines(), means.outside.lines(), means.gap.lines(signed=True))
            table.add_row(name, row.title, *numbers)
            pages.append(folder / "runs" / Path(str(report.model.id)).name / "report.html")
    printer.print()
    printer.print(table)
    printer.print(f"\n{time.monotonic() - started:.0f} s. The pages of the four runs, last that of ERM on Spawrious:")
    for page in (*pages[:2], *reversed(pages[2:])):
        printer.print(str(page), markup=False)
    return pages[2]


def _render_worlds(folder: Path, size: str | int | None) -> None:
    """Draws the worlds side by side, each in a process of its own; what is not there after it, `run` draws in turn."""
    worlds = {world_of(row): row for row in DEMO}.values()
    missing = [row for row in worlds if not raw_folder(row, folder).exists()]
    if min(len(missing), count_cores()) < 2:
        return
    context = get_context("spawn")  # a forked child of a process with threads can hang
    processes = []
    try:
        for row in missing:
            ours, its = context.Pipe()
            processes.append(context.Process(target=serve_parent, args=(its,)))
            start_process(processes[-1])
            ours.send(partial(_render, row, folder, SIZES[row.benchmark] if size is None else size))
        for process in processes:
            process.join()
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _render(row: Row, folder: Path, size: str | int, _: object) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that drafts are removed
    with suppress(OochubError):  # `run` will raise it again
        render(row, folder, size=size)
