"""The command `oochub demo`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import out_console, without_weight_bars, writes
from oochub.studies.file_kinds import DEMO

PANEL = "Start"


def demo(
    out: Annotated[
        Path, typer.Option(callback=writes(DEMO), help="Folder for the toy worlds, runs and reports.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Random seed for training.", min=0, max=2**32 - 1)] = 0,
) -> None:
    """Run the full workflow on toy worlds in minutes: build, train ERM and GroupDRO, evaluate, report."""
    from oochub.studies.demo.demo import demo as run

    without_weight_bars()

    run(out, seed=seed, console=out_console)
