"""The commands of the catalog as one typer application: one command a step, each a file of a folder `commands`."""

import math
import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Annotated, Any

import typer

from oochub import catalog
from oochub.commands._options import out_console
from oochub.commands._signature import with_options
from oochub.errors import OochubError, speaking_shell


class _Commands(typer.core.TyperGroup):
    """The commands; none takes an empty text, which an unset variable of the shell leaves behind."""

    def parse_args(self, context: Any, words: list[str]) -> list[str]:
        for before, word in zip(["oochub", *words], words, strict=False):
            if not word or (word.startswith("--") and word.endswith("=")):
                place = f"after {before}" if not word else f"in {word}"
                raise OochubError(f"An empty text stands {place}. Give a value, or leave it out; is a variable unset?")
        parsed: list[str] = super().parse_args(context, words)
        return parsed


app = typer.Typer(
    name="oochub",
    cls=_Commands,
    help="Out-of-context benchmarks: build, train, predict, evaluate, report.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog="First steps:  oochub example toy  |  oochub demo  |  oochub list  |  oochub show models",
)
_IN_ORDER_OF_USE = (
    "list",
    "show",
    "build",
    "challenge",
    "push",
    "audit",
    "train",
    "sweep",
    "predict",
    "detect",
    "evaluate",
    "report",
    "compare",
)


def _print_version(version_only: bool) -> None:
    if version_only:
        out_console.print(f"oochub {version('oochub')}")
        raise typer.Exit


@app.callback()
def _set_up_process(
    version_only: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its hints are for programmers
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")  # read when `datasets` is imported


def _add_commands() -> None:
    names = catalog.names("command")
    first = [name for name in _IN_ORDER_OF_USE if name in names]
    for name in [*first, *(name for name in names if name not in first)]:
        app.command(name=name)(_refuse_infinite(with_options(catalog.get("command", name), name)))


def _refuse_infinite(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which gets finite numbers alone; ranges stand with each option."""

    @wraps(command)
    def run(**given: Any) -> None:
        for name, value in given.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise OochubError(f"--{name.replace('_', '-')} must be a finite number, got {value}.")
        with speaking_shell():
            command(**given)

    return run


_add_commands()
