"""The command `oochub show`."""

from typing import Annotated

import typer

from oochub.commands._options import out_console


def show(
    kind: Annotated[str, typer.Argument(help="What it is, as `oochub list` has it: benchmark, metric, ...")],
    name: Annotated[str, typer.Argument(help="Its name; nooch/all is one config of a benchmark.")],
) -> None:
    """Shows one thing: of a benchmark its files and where to get them, of the others their documentation."""
    from oochub.report.showing import describe

    out_console.print(describe(kind, name), markup=False)
