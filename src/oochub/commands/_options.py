"""What the commands share: options with one meaning everywhere, and how a command says what it wrote."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console

out_console = Console(highlight=False, soft_wrap=True)

BenchmarkName = Annotated[str, typer.Argument(metavar="BENCHMARK/CONFIG", help="For example nooch/ce_car.")]
DataDir = Annotated[str | None, typer.Option(help="The raw folder; default $OOCHUB_DATA/<benchmark>.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the benchmark, key=value; repeatable.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def without_weight_bars() -> None:
    """Loading weights takes no time worth a bar; the work itself has one."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def done(result: dict[str, Any], as_json: bool) -> None:
    """Ends a command: prints the paths that it wrote, or the whole result as one JSON object."""
    if as_json:
        out_console.print_json(json.dumps(result))
        return
    for path in (value for value in result.values() if isinstance(value, str)):
        out_console.print(path)
