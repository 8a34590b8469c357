"""The raw Waterbirds folder to a Parquet repository; run it: `python loading_scripts/waterbirds.py --help`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.loading_scripts.build_repository import FollowLinks, Out, build_parquet, run


def waterbirds(
    data_dir: Annotated[Path, typer.Option(help="Folder that holds metadata.csv, or the one above it.")],
    out: Out,
    strict: Annotated[bool, typer.Option(help="Stop if the number of rows differs from the release's.")] = True,
    follow_links: FollowLinks = False,
    num_proc: int = 1,
) -> None:
    """Builds Waterbirds; without --no-strict only from the complete release."""
    options = {"strict": strict, "follow_links": follow_links}
    build_parquet("waterbirds", out, data_dir=str(data_dir), options=options, num_proc=num_proc)


if __name__ == "__main__":
    run(waterbirds)
