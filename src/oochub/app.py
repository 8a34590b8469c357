"""The commands of the catalog as one typer application: one command a step, each a file of a folder `commands`."""

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from oochub import catalog
from oochub.commands._options import out_console

app = typer.Typer(
    name="oochub",
    help="Out-of-context benchmarks: build, train, predict, evaluate, report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="First steps:  oochub demo  |  oochub list  |  oochub show benchmark nooch",
)
_IN_ORDER_OF_USE = (
    "list",
    "show",
    "build",
    "challenge",
    "push",
    "train",
    "sweep",
    "predict",
    "detect",
    "evaluate",
    "report",
    "compare",
)


def _version(version_only: bool) -> None:
    if version_only:
        out_console.print(f"oochub {version('oochub')}")
        raise typer.Exit


@app.callback()
def _common(
    version_only: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its hints are for programmers
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")  # read when `datasets` is imported


def _add_commands() -> None:
    names = catalog.names("command")
    first = [name for name in _IN_ORDER_OF_USE if name in names]
    for name in [*first, *(name for name in names if name not in first)]:
        app.command(name=name)(catalog.get("command", name))


_add_commands()
