"""The raw Spawrious folder to a Parquet repository; run it: `python loading_scripts/spawrious.py --help`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from oochub.builders.sources.spawrious_compositions import TABLE_2
from oochub.loading_scripts.build_repository import FollowLinks, Out, build_parquet, run


def spawrious(
    data_dir: Annotated[Path, typer.Option(help="Folder that holds spawrious224/.")],
    out: Out,
    config: Annotated[list[str], typer.Option(help="Config, for example o2o_hard. Can be repeated.")],
    variant: Annotated[
        str, typer.Option(help="Which combinations: paper (Table 2) or released (the authors' code).")
    ] = "paper",
    composition: Annotated[
        str | None, typer.Option(help="TOML file with the composition, for the config composed.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Stop if a folder does not hold 3,168 files.")] = True,
    follow_links: FollowLinks = False,
    num_proc: int = 1,
) -> None:
    """Builds configs of Spawrious; without --no-strict only from the complete release."""
    for name in config:
        own: dict[str, Any] = {"composition": composition} if name == "composed" else {}
        own |= {"variant": variant} if name in TABLE_2 else {}
        options = {"strict": strict, "follow_links": follow_links, **own}
        build_parquet(f"spawrious/{name}", out, data_dir=str(data_dir), options=options, num_proc=num_proc)


if __name__ == "__main__":
    run(spawrious)
