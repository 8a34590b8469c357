"""The command `oochub example`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, print_result, without_weight_bars, writes
from oochub.studies.file_kinds import EXAMPLE

PANEL = "Start"


def example(
    out: Annotated[Path, typer.Argument(callback=writes(EXAMPLE), help="Folder for the images and the model.")],
    control: Annotated[bool, typer.Option("--control", help="Make the background independent of the label.")] = False,
    size: Annotated[int, typer.Option(help="Number of training images of each breed.", min=8)] = 200,
    seed: Annotated[int, typer.Option(help="Random seed for images and training.", min=0, max=2**32 - 1)] = 0,
    as_json: AsJson = False,
) -> None:
    """Draws a folder of images and trains a small model on it, to try `oochub audit`: half a minute."""
    from oochub.studies.demo.example import example as run

    without_weight_bars()
    made = run(out, size=size, correlation=None if control else 0.95, seed=seed)
    print_result({"pictures": str(made.pictures), "model": str(made.model)}, as_json)
