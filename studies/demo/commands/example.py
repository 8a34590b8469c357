"""The command `oochub example`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, print_result, without_weight_bars
from oochub.errors import OochubError

PANEL = "Start"
_SIZE = 200


def example(
    out: Annotated[Path, typer.Argument(help="Folder for the images and the model.")],
    photographs: Annotated[
        bool, typer.Option("--photographs", help="Write 56 photographs with masks of their objects, and no model.")
    ] = False,
    control: Annotated[bool, typer.Option("--control", help="Make the background independent of the label.")] = False,
    size: Annotated[int, typer.Option(help="Number of training images of each breed.", min=8)] = _SIZE,
    seed: Annotated[int, typer.Option(help="Random seed for images and training.", min=0, max=2**32 - 1)] = 0,
    as_json: AsJson = False,
) -> None:
    """Create example images and train a small model on them (30 seconds), to try `oochub audit`."""
    if photographs:
        from oochub.studies.demo.photographs import photographs as write

        if control or size != _SIZE or seed:
            raise OochubError("--control, --size and --seed concern drawn images. Remove them with --photographs.")
        print_result({"photographs": str(write(out))}, as_json)
        return
    from oochub.studies.demo.example import example as run

    without_weight_bars()
    result = run(out, size=size, correlation=None if control else 0.95, seed=seed)
    print_result({"pictures": str(result.pictures), "model": str(result.model)}, as_json)
