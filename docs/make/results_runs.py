"""Does the runs of docs/results.md and keeps their numbers in docs/results/runs.parquet.

Run by `python docs/make/results_runs.py`. Renders the toy worlds, sweeps both recipes of docs/results,
and resumes where it was interrupted.
"""

import json
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pyarrow as pa
import typer

from oochub import catalog
from oochub.builders.toy_worlds.toy_coco import toy_coco
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.errors import OochubError
from oochub.records.schema import from_json
from oochub.storage.parquet_file import write_parquet
from oochub.sweep.measurement import measure
from oochub.sweep.runs import Run, RunResult, plan_stages
from oochub.sweep.sweep import sweep
from oochub.sweep.sweep_recipe import SweepRecipe, read_recipe
from oochub.sweep.sweep_table import make_run_table

HERE = Path(__file__).resolve().parents[1] / "results"
TABLE = HERE / "runs.parquet"
RECIPES = {"nooch": HERE / "toy_nooch.toml", "spawrious": HERE / "toy_spawrious.toml"}
KEY = b"oochub"

_SIDES = ("in_context", "out_of_context")
_ENDS = ("", ".low", ".high", ".n")


def render(folder: Path, *, nooch: str | int = 8000, spawrious: str | int = "medium") -> dict[str, Path]:
    """The raw folder of each benchmark below `folder`; rendered when it is not there yet.

    Args:
        folder: Holds the worlds.
        nooch: Images of the toy COCO, in half of whose scenes with an object it is a car.
        spawrious: Images of the toy Spawrious in each of its folders.
    """
    return {
        "nooch": toy_coco(folder / "nooch", size=nooch, correlation=0.93, focus="car"),
        "spawrious": toy_spawrious(folder / "spawrious", size=spawrious),
    }


def given_to(run: Run) -> str:
    """What a method learns from besides images: "labels", "environments", or "label x context" groups.

    The environments of NOOCH are label x context themselves.
    """
    if not catalog.get("objective", run.objective).needs_environments:
        return "labels"
    return "label x context" if run.environments == "group" or run.task.startswith("nooch/") else "environments"


def rows_of(recipe: SweepRecipe, folder: Path) -> pd.DataFrame:
    """The numbers of a sweep's finished runs, one row per run.

    Args:
        recipe: The recipe of the sweep.
        folder: Folder of the sweep.

    Returns:
        task, method, objective, given (see `given_to`), settings (JSON: what the recipe fixes for this method), seed,
        metric (the benchmark's primary one), and `in_context`, `out_of_context` and `gap`, each with `.low`, `.high`
        (its 95% interval over test images) and, but for the gap, `.n`. Methods of which a run is missing are left
        out.
    """
    runs = [run for stage in plan_stages(recipe) for run in stage]
    files = [(run, folder / "rows" / f"{run.id}.json") for run in runs]
    results = [
        (run, from_json(RunResult, json.loads(file.read_text("utf-8")), what=str(file)))
        for run, file in files
        if file.is_file()
    ]
    finished = [(run, result) for run, result in results if result.status == "finished"]
    if not finished:
        return pd.DataFrame()
    table, records = make_run_table(recipe, finished), []
    for (run, _), row in zip(finished, table.to_dict("records"), strict=True):
        own = {name: value for name, value in run.fixed.items() if name not in recipe.arguments}
        own |= {name: run.fixed[name] for name in recipe.arguments if run.fixed[name] != recipe.arguments[name]}
        records.append(
            {name: row[name] for name in ("task", "method", "objective")}
            | {"given": given_to(run), "settings": json.dumps(own), "seed": row["seed"], "metric": row["headline"]}
            | {f"{side}{end}": row[f"{side}/{row['headline']}{end}"] for side in _SIDES for end in _ENDS}
            | {f"gap{end}": row[f"gap{end}"] for end in _ENDS[:3]}
        )
    kept = pd.DataFrame.from_records(records)
    whole = kept.groupby(["task", "method"])["seed"].transform("nunique") == len(recipe.seeds)
    return kept[whole].astype({f"{side}.n": "int64" for side in _SIDES}).reset_index(drop=True)


def write(tables: list[pd.DataFrame], planned: list[tuple[str, str]], target: Path) -> None:
    """Writes the table of all runs, with the versions and what was planned and not run in its metadata.

    Args:
        tables: Tables that `rows_of` returned.
        planned: Task and method of every run that the recipes list.
        target: The file.
    """
    table = pd.concat(tables, ignore_index=True)
    done = set(zip(table["task"], table["method"], strict=True))
    about: dict[str, Any] = {
        "not_run": [list(pair) for pair in dict.fromkeys(planned) if pair not in done],
        "versions": {name: version(name) for name in ("torch", "transformers", "numpy")},
    }
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), KEY: json.dumps(about).encode()})
    write_parquet(arrow, target)


def main(
    folder: Annotated[Path, typer.Option(help="Holds worlds and sweeps.")] = Path("runs/results"),
    table: Annotated[Path, typer.Option(help="The Parquet table.")] = TABLE,
    jobs: Annotated[int, typer.Option(help="Runs side by side, one thread each.")] = 2,
    collect: Annotated[bool, typer.Option("--collect", help="Train nothing: take the runs that are finished.")] = False,
) -> None:
    """Does every run that is not done yet and writes the table."""
    recipes = {name: read_recipe(file) for name, file in RECIPES.items()}
    if not collect:
        worlds = render(folder / "worlds")
        for name, recipe in recipes.items():
            result = sweep(recipe, folder / name, measure=partial(measure, data_dir=str(worlds[name])), jobs=jobs)
            if result.failed:
                raise OochubError(
                    f"{result.failed} of {result.runs} runs failed; their errors are listed in {result.page}."
                )
    tables = [rows_of(recipe, folder / name) for name, recipe in recipes.items()]
    planned = [(run.task, run.method) for recipe in recipes.values() for stage in plan_stages(recipe) for run in stage]
    write(tables, planned, table)


if __name__ == "__main__":
    typer.run(main)
