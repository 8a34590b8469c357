"""The command `oochub sweep`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oochub.commands._options import (
    MORE,
    AsJson,
    check_pairs,
    out_console,
    print_result,
    shown,
    without_weight_bars,
    writes,
)
from oochub.errors import OochubError, check_models_extra
from oochub.settings.data_settings import DataSettings
from oochub.settings.report_settings import TableSettings
from oochub.storage.artifacts import CSV, LATEX, SWEEP, FileKind, format_csv

if TYPE_CHECKING:
    from oochub.sweep.sweep import SweepResult
    from oochub.sweep.sweep_recipe import SweepRecipe

PANEL = "Train"


def sweep(
    raw: Annotated[
        DataSettings,
        shown(only=("data_dir", "options")),
    ],
    printed: TableSettings,
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE", help="Recipe: a .toml file, or the name of a built-in recipe.")
    ],
    out: Annotated[
        Path | None, typer.Option(callback=writes(SWEEP), help="Folder for the sweep; not needed with --dry-run.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs and train nothing.")] = False,
    status: Annotated[
        bool,
        typer.Option(
            "--status", rich_help_panel=MORE, help="Print what is done, failed, running and left; run nothing."
        ),
    ] = False,
    jobs: Annotated[int, typer.Option(help="Number of parallel runs, each a process with one thread.", min=1)] = 1,
    only: Annotated[list[str] | None, typer.Option(help="Run only this task or method. Can be repeated.")] = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            callback=check_pairs, help="Override a recipe key or a training argument, as key=value. Can be repeated."
        ),
    ] = None,
    earlier_override: Annotated[
        list[str] | None, typer.Option("--set", hidden=True, callback=check_pairs)
    ] = None,  # its name of before
    latex: Annotated[
        Path | None,
        typer.Option(callback=writes(LATEX), help="Write a LaTeX table of the selected settings to this file."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(callback=writes(CSV), help="Write every number of the selected settings to this CSV file."),
    ] = None,
    features: Annotated[
        bool,
        typer.Option(
            "--features", help="Train only heads, on features that are extracted once. Reported as a separate track."
        ),
    ] = False,
    head: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=MORE, help="With --features, linear or mlp; set its width by --override hidden_size=256."
        ),
    ] = None,
    variant: Annotated[str | None, typer.Option(rich_help_panel=MORE, help="Variant of the recipe.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train every task x method x setting x seed of a recipe and select settings. Run it again to resume."""
    from oochub.records.typed_values import parse_options
    from oochub.sweep.sweep_recipe import keep_buildable_tasks

    overrides = parse_options([*(override or []), *(earlier_override or [])], by="--override")
    plan, chosen = _read_plan(recipe, variant, overrides | ({} if head is None else {"head": head}), raw), only or []
    if dry_run or status:
        if latex or csv:
            name = "--dry-run" if dry_run else "--status"
            raise OochubError(f"{name} trains nothing, so --latex and --csv have no numbers. Remove {name}.")
        planned = keep_buildable_tasks(plan, data_dir=raw.data_dir, needed=False, only=chosen)
        return _list_runs(planned, chosen, as_json) if dry_run else _print_status(planned, out, chosen, as_json)
    if out is None:
        raise OochubError("Pass --out FOLDER to run the sweep, or --dry-run to list its runs.")
    plan = keep_buildable_tasks(plan, data_dir=raw.data_dir, only=chosen)
    result = _run(plan, out, raw.data_dir, only=chosen, jobs=jobs, features=features)
    if not as_json:
        out_console.print(result.summary.to_terminal(width=out_console.width, shows_bold=out_console.is_terminal))
    written = _write_tables(result, printed, latex=latex, csv=csv)
    print_result(result.to_json() | written, as_json)
    if result.failed:
        raise OochubError(
            f"{result.failed} of {result.runs} runs failed; their errors are listed in {result.page}. Run the same "
            "command again to retry them."
        )


def _read_plan(recipe: str, variant: str | None, overrides: Mapping[str, object], raw: DataSettings) -> "SweepRecipe":
    """The recipe, with the options of its benchmarks that are given."""
    from oochub.data.load import get_builder_class
    from oochub.sweep.sweep_recipe import read_recipe

    plan, options = read_recipe(recipe, variant=variant, overrides=overrides), dict(raw.options or {})
    for benchmark in plan.benchmarks:
        get_builder_class(benchmark).checked_options(options)
    return replace(plan, options={**plan.options, **options})


def _write_tables(
    result: "SweepResult", printed: TableSettings, *, latex: Path | None, csv: Path | None
) -> dict[str, str]:
    """Writes the tables that were asked for, and returns their paths by kind."""
    from oochub.storage.parquet_file import read_parquet

    written: dict[str, str] = {}
    if latex is not None:
        written["latex"] = _write(latex, result.summary.to_latex(printed.style), LATEX)
    if csv is not None:
        written["csv"] = _write(csv, format_csv(read_parquet(result.selected).table.to_pandas()), CSV)
    return written


def _write(path: Path, text: str, kind: FileKind) -> str:
    from oochub.storage.files import write_whole

    with write_whole(path, kind=kind) as draft:
        draft.write_text(text, "utf-8")
    return str(path)


def _list_runs(plan: "SweepRecipe", only: Sequence[str], as_json: bool) -> None:
    """Prints the runs of a sweep that trains nothing."""
    from oochub.sweep.runs import RunListing, plan_stages

    listing = RunListing.of(plan, plan_stages(plan, only=only))
    if as_json:
        out_console.print_json(json.dumps(listing.to_json()))
    else:
        out_console.print(listing.terminal())


def _print_status(plan: "SweepRecipe", out: Path | None, only: Sequence[str], as_json: bool) -> None:
    """Prints what is done of a sweep, which another process may be running."""
    from oochub.sweep.sweep import find_status

    if out is None:
        raise OochubError("--status needs the folder of the sweep. Pass --out FOLDER.")
    status = find_status(plan, out, only=only)
    if as_json:
        out_console.print_json(json.dumps(status.to_json()))
    else:
        out_console.print(status.to_terminal(width=out_console.width, shows_bold=out_console.is_terminal))


def _run(
    plan: "SweepRecipe", out: Path, data_dir: str | None, *, only: Sequence[str], jobs: int, features: bool
) -> "SweepResult":
    """Trains the runs, or heads on features that are extracted once."""
    check_models_extra("Training")
    from oochub.sweep.measurement import check_raw_folders, measure
    from oochub.sweep.runs import plan_stages
    from oochub.sweep.sweep import feature_sweep
    from oochub.sweep.sweep import sweep as run

    tasks = dict.fromkeys(run.task for stage in plan_stages(plan, only=only) for run in stage)
    check_raw_folders(() if plan.missing_benchmarks else tasks, data_dir)
    if features:
        from oochub.sweep.feature_measurement import measure_on_features

        without_weight_bars()
        on_features = partial(measure_on_features, data_dir=data_dir, hidden=plan.hidden)
        return feature_sweep(plan, out, measure=on_features, only=only)
    return run(plan, out, measure=partial(measure, data_dir=data_dir), jobs=jobs, only=only)
