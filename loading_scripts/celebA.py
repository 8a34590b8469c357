"""The raw CelebA folder to a Parquet repository; run it: `python loading_scripts/celebA.py --help`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.loading_scripts.build_repository import FollowLinks, Out, build_parquet, run


def celebA(
    data_dir: Annotated[Path, typer.Option(help="Folder that holds img_align_celeba/.")],
    out: Out,
    strict: Annotated[bool, typer.Option(help="Stop if the number of rows differs from the release's.")] = True,
    follow_links: FollowLinks = False,
    num_proc: int = 1,
) -> None:
    """Builds CelebA hair color; without --no-strict only from the complete release."""
    options = {"strict": strict, "follow_links": follow_links}
    build_parquet("celebA", out, data_dir=str(data_dir), options=options, num_proc=num_proc)


if __name__ == "__main__":
    run(celebA)
