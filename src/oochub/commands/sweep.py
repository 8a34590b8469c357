"""The command `oochub sweep`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import MORE, AsJson, check_pairs, out_console, print_result, shown, writes
from oochub.settings.data_settings import DataSettings
from oochub.settings.report_settings import TableSettings
from oochub.storage.artifacts import CSV, LATEX, SWEEP

PANEL = "Train"


def sweep(
    raw: Annotated[
        DataSettings,
        shown(only=("data_dir", "options")),
    ],
    printed: TableSettings,
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE", help="A .toml file, or the name of one of the hub's recipes.")
    ],
    out: Annotated[
        Path | None, typer.Option(callback=writes(SWEEP), help="Folder for the sweep; not needed with --dry-run.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs and train nothing.")] = False,
    jobs: Annotated[
        int, typer.Option(help="Number of runs at the same time, each a process with one thread.", min=1)
    ] = 1,
    only: Annotated[list[str] | None, typer.Option(help="Keep only this task or method; repeatable.")] = None,
    override: Annotated[
        list[str] | None,
        typer.Option(callback=check_pairs, help="A key of the recipe or a training argument, key=value; repeatable."),
    ] = None,
    earlier_override: Annotated[
        list[str] | None, typer.Option("--set", hidden=True, callback=check_pairs)
    ] = None,  # its name of before
    latex: Annotated[
        Path | None, typer.Option(callback=writes(LATEX), help="Write a LaTeX table of the selected settings here.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(callback=writes(CSV), help="Write every number of the selected settings here.")
    ] = None,
    features: Annotated[
        bool, typer.Option("--features", help="Train heads on features that are extracted once, a separate track.")
    ] = False,
    head: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=MORE, help="With --features, linear or mlp; set its width by --override hidden_size=256."
        ),
    ] = None,
    variant: Annotated[str | None, typer.Option(rich_help_panel=MORE, help="One of the recipe's variants.")] = None,
    as_json: AsJson = False,
) -> None:
    """Trains every task x method x setting x seed of a recipe, and selects; run again, it goes on."""
    from oochub.data.load import check_options
    from oochub.errors import OochubError
    from oochub.records.parameters import parse_options
    from oochub.sweep.runs import RunListing, plan_stages
    from oochub.sweep.sweep_recipe import keep_buildable_tasks, read_recipe

    overrides = parse_options([*(override or []), *(earlier_override or [])], by="--override")
    overrides |= {} if head is None else {"head": head}
    plan = read_recipe(recipe, variant=variant, overrides=overrides)
    options = dict(raw.options or {})
    for benchmark in plan.benchmarks:
        check_options(benchmark, options)
    plan = replace(plan, options={**plan.options, **options})
    if dry_run:
        if latex or csv:
            raise OochubError("--dry-run trains nothing, so --latex and --csv have no numbers. Leave --dry-run out.")
        plan = keep_buildable_tasks(plan, data_dir=raw.data_dir, needed=False, only=only or ())
        listing = RunListing.of(plan, plan_stages(plan, only=only or ()))
        if as_json:
            out_console.print_json(json.dumps(listing.to_json()))
        else:
            out_console.print(listing.terminal())
        return
    if out is None:
        raise OochubError("Name the folder of the sweep with --out, or list its runs with --dry-run.")
    plan = keep_buildable_tasks(plan, data_dir=raw.data_dir, only=only or ())
    from functools import partial

    from rich.table import Column, Table

    from oochub.storage.artifacts import format_csv
    from oochub.storage.files import write_whole
    from oochub.storage.parquet_file import read_parquet
    from oochub.sweep.measurement import check_raw_folders, measure
    from oochub.sweep.sweep import feature_sweep
    from oochub.sweep.sweep import sweep as run
    from oochub.sweep.sweep_table import (
        SELECTION_HEADS,
        TRIALS,
        list_unselected,
        make_trial_tables,
        selection_rows,
        write_latex,
    )

    check_raw_folders(() if plan.missing_benchmarks else plan.tasks, raw.data_dir)
    if features:
        from oochub.commands._options import without_weight_bars
        from oochub.sweep.feature_measurement import measure_on_features

        without_weight_bars()
        on_features = partial(measure_on_features, data_dir=raw.data_dir, hidden=plan.hidden)
        result = feature_sweep(plan, out, measure=on_features, only=only or ())
    else:
        result = run(plan, out, measure=partial(measure, data_dir=raw.data_dir), jobs=jobs, only=only or ())
    runs, selected = (read_parquet(path).table.to_pandas() for path in (result.table, result.selected))
    if not as_json:
        table = Table(*(Column(head, overflow="fold") for head in SELECTION_HEADS), box=None, pad_edge=False)
        for row in selection_rows(selected):
            table.add_row(*row)
        out_console.print(table)
        trials = make_trial_tables(runs) if plan.trial_option else []
        for each in trials:
            out_console.print(f"\n{each.title}", *each.to_terminal(out_console.width), markup=False, sep="\n")
        if trials:
            out_console.print(TRIALS, markup=False)
        for sentence in list_unselected(runs):
            out_console.print(sentence, markup=False)
    written = {}
    for name, path, kind in (("latex", latex, LATEX), ("csv", csv, CSV)):
        if path is not None:
            text = write_latex(runs, plan, printed.style) if name == "latex" else format_csv(selected)
            with write_whole(path, kind=kind) as draft:
                draft.write_text(text, "utf-8")
            written[name] = str(path)
    left = {key: str(value) if isinstance(value, Path) else value for key, value in result._asdict().items()}
    print_result(left | written, as_json)
    if result.failed:
        raise OochubError(
            f"{result.failed} of {result.runs} runs failed; {result.page} lists their errors. "
            "The same command tries them again."
        )
