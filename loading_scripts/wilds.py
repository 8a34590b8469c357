"""A raw folder of WILDS to a Parquet repository; run it: `python loading_scripts/wilds.py --help`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.loading_scripts.build_repository import FollowLinks, Out, build_parquet, run


def wilds(
    data_dir: Annotated[Path, typer.Option(help="Folder of a dataset, such as iwildcam_v2.0, or its parent.")],
    out: Out,
    config: Annotated[list[str], typer.Option(help="Config, for example iwildcam. Can be repeated.")],
    strict: Annotated[
        bool, typer.Option(help="Stop if a split's number of rows differs from the published one.")
    ] = True,
    follow_links: FollowLinks = False,
    num_proc: int = 1,
) -> None:
    """Builds configs of WILDS; without --no-strict only from the complete folders."""
    for name in config:
        options = {"strict": strict, "follow_links": follow_links}
        build_parquet(f"wilds/{name}", out, data_dir=str(data_dir), options=options, num_proc=num_proc)


if __name__ == "__main__":
    run(wilds)
