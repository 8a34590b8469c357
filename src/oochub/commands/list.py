"""The command `oochub list`."""

import json
from typing import Annotated

import typer
from rich.table import Table

from oochub import catalog
from oochub.commands._options import AsJson, out_console


def list_(
    kind: Annotated[str | None, typer.Argument(help="One kind of them: benchmark, metric, ...; default all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Lists what the hub has, kind by kind: benchmarks, metrics, detectors, objectives, criteria, figures, commands."""
    kinds = [kind] if kind else catalog.kinds()
    summaries = {each: {name: catalog.summary(each, name) for name in catalog.names(each)} for each in kinds}
    if as_json:
        out_console.print_json(json.dumps(summaries))
        return
    for each, entries in summaries.items():
        table = Table(title=each, title_justify="left", box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True, style="bold")
        table.add_column()
        for name, text in entries.items():
            table.add_row(name, text)
        out_console.print(table if entries else f"[italic]{each}[/italic]\nnone in this version")
        out_console.print()
