"""Does single runs of docs/results.md again with other threads and instructions.

Run by `python docs/make/repeated_runs.py`. Their numbers are docs/results/repeats.parquet: what the
same row and the same seed give elsewhere. Goes on where it was stopped.
"""

import json
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import typer
from results_runs import HERE, KEY, RECIPES, render

from oochub.process.program import end_with_parent
from oochub.storage.files import write_whole
from oochub.storage.parquet_file import write_parquet
from oochub.sweep.measurement import measure
from oochub.sweep.runs import Run, plan_stages
from oochub.sweep.sweep_recipe import read_recipe

TABLE = HERE / "repeats.parquet"
SEED = 0
METHODS = {
    "nooch/ce_car": ("ERM", "GroupDRO", "JTT"),
    "spawrious/o2o_hard": ("ERM", "GroupDRO, by group"),
}
"""What is run again: ERM, the groups' method of docs/effect.md, and JTT, at one place, for the number of its steps."""


class RunPlace(NamedTuple):
    """The place of a run: how many threads, which instructions, and which repeat it is.

    Attributes:
        threads: Number of threads of torch.
        instructions: "all" of the processor, or "AVX2" alone, as on an older one.
        time: Number of the repeat, from 1; the second shows whether the same place gives the same number.
    """

    threads: int
    instructions: str
    time: int


PLACES = (
    RunPlace(1, "all", 1),
    RunPlace(1, "all", 2),
    RunPlace(2, "all", 1),
    RunPlace(1, "AVX2", 1),
    RunPlace(2, "AVX2", 1),
)
_LIMITS = {"all": {}, "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}}
_SIDES, _ENDS = ("in_context", "out_of_context"), ("", ".low", ".high", ".n")


def runs_again() -> list[Run]:
    """The runs of docs/results that are done again, as their recipes have them."""
    every = [run for file in RECIPES.values() for stage in plan_stages(read_recipe(file)) for run in stage]
    chosen = [run for run in every if run.method in METHODS.get(run.task, ()) and run.seed == SEED]
    return sorted(chosen, key=lambda run: (list(METHODS).index(run.task), METHODS[run.task].index(run.method)))


def row_of(run: Run, place: RunPlace, raw: Path, folder: Path) -> dict[str, Any]:
    """The numbers of a run at a place; a run that is finished is not done again.

    Args:
        run: The run to train.
        place: The place to run it at.
        raw: The raw folder of its benchmark.
        folder: Holds runs and rows.

    Returns:
        task, method, seed, threads, instructions, time; in_context and out_of_context, each with `.low`, `.high` (95%
        over test images) and `.n`; steps, the optimizer's over all stages.
    """
    stem = f"{run.id}-{place.threads}-{place.instructions}-{place.time}"
    file = folder / "rows" / f"{stem}.json"
    if not file.is_file():
        before = dict(os.environ)
        try:  # torch reads these when it is imported, so a process of its own is begun with them
            os.environ.update({"OMP_NUM_THREADS": str(place.threads), **_LIMITS[place.instructions]})
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), end_with_parent) as process:
                numbers = process.submit(_measure_run, run, folder / "runs" / stem, str(raw), place.threads).result()
        finally:
            os.environ.clear()
            os.environ.update(before)
        row = {"task": run.task, "method": run.method, "seed": run.seed, **place._asdict(), **numbers}
        with write_whole(file) as draft:
            draft.write_text(json.dumps(row), "utf-8")
    row = json.loads(file.read_text("utf-8"))
    assert isinstance(row, dict)  # noqa: S101 written above
    return row


def _measure_run(run: Run, folder: Path, raw: str, threads: int) -> dict[str, Any]:
    import torch

    torch.set_num_threads(threads)
    result = measure(run, folder, data_dir=raw)
    steps = json.loads((folder / "training_log.json").read_text("utf-8"))[-1]["global_step"]
    names = {f"{side}{end}": f"{side}/{result.headline}{end}" for side in _SIDES for end in _ENDS}
    return {name: result.numbers[of] for name, of in names.items()} | {"steps": steps}


def write(rows: list[dict[str, Any]], target: Path) -> None:
    """Writes the table of all runs, with the versions in its metadata."""
    about = {"versions": {name: version(name) for name in ("torch", "transformers", "numpy")}}
    arrow = pa.Table.from_pandas(pd.DataFrame.from_records(rows), preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), KEY: json.dumps(about).encode()})
    write_parquet(arrow, target)


def main(
    folder: Annotated[Path, typer.Option(help="Holds worlds and runs.")] = Path("runs/repeats"),
    table: Annotated[Path, typer.Option(help="The Parquet table.")] = TABLE,
) -> None:
    """Does every run that is not done yet and writes the table."""
    worlds = render(folder / "worlds")
    jobs = [(run, place) for run in runs_again() for place in (PLACES[:1] if run.method == "JTT" else PLACES)]
    rows = [row_of(run, place, worlds[run.task.partition("/")[0]], folder) for run, place in jobs]
    write(rows, table)


if __name__ == "__main__":
    typer.run(main)
