"""The command `oochub list`."""

import json
from contextlib import nullcontext
from typing import Annotated

import typer
from rich.table import Table

from oochub import catalog
from oochub.commands._options import AsJson, out_console

PANEL = "Start"


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="Kind to list (benchmark, metric, ...), or a benchmark to list its configs (default: all kinds)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what oochub provides, by kind, or the configs of a benchmark, as in `oochub list nooch`."""
    if kind in catalog.names("benchmark"):
        _list_configs(kind, as_json)
        return
    kinds = [kind] if kind else catalog.kinds()
    summaries = {kind: {name: catalog.summary(kind, name) for name in catalog.names(kind)} for kind in kinds}
    if as_json:
        out_console.print_json(json.dumps(summaries))
        return
    for kind_listed, entries in summaries.items():
        table = Table(title=kind_listed, title_justify="left", box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True, style="bold")
        table.add_column()
        for name, text in entries.items():
            table.add_row(name, text)
        out_console.print(table if entries else f"[italic]{kind_listed}[/italic]\nnone in this version")
        out_console.print()


def _list_configs(benchmark: str, as_json: bool) -> None:
    """Every config, a line each; page by page where they are more than a terminal shows."""
    from datasets import get_dataset_config_names

    configs = get_dataset_config_names(benchmark)
    if as_json:
        out_console.print_json(json.dumps({benchmark: configs}))
        return
    paged = out_console.is_terminal and len(configs) >= out_console.height
    with out_console.pager() if paged else nullcontext():
        for config in configs:
            out_console.print(f"{benchmark}/{config}", markup=False)
