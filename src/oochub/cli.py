"""The command line: one command a step, from a raw folder to a report; each is a file of a folder `commands`."""

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console

from oochub import catalog
from oochub.commands._options import out_console
from oochub.errors import OochubError

app = typer.Typer(
    name="oochub",
    help="Out-of-context benchmarks: build, train, predict, evaluate, report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="First steps:  oochub demo  |  oochub list  |  oochub show benchmark nooch",
)
_err = Console(stderr=True, highlight=False, soft_wrap=True)

_INTERRUPTED = 130
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


def main() -> None:
    """Runs the command line: exit 0 fine, 2 what the user can fix, 130 interrupted, 1 a bug (with its traceback)."""
    try:
        app()
    except OochubError as error:
        _err.print(f"Error: {error}", markup=False)
        sys.exit(2)
    except SystemExit as stopped:
        if stopped.code == _INTERRUPTED:  # typer has caught the Ctrl-C
            _err.print("Interrupted. Nothing is half-written; the same command starts or goes on again.")
        raise


if __name__ == "__main__":
    main()
