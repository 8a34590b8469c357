"""The raw SpuriVerse folder to a Parquet repository; run it: `python loading_scripts/spuriverse.py --help`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.loading_scripts.build_repository import FollowLinks, Out, build_parquet, run


def spuriverse(
    data_dir: Annotated[Path, typer.Option(help="The authors' repository after adhoc/prepare_data.py.")],
    out: Out,
    strict: Annotated[bool, typer.Option(help="Stop if anchors or their drawn images are missing.")] = True,
    non_spurious: Annotated[bool, typer.Option(help="Take the images without the cue too.")] = True,
    follow_links: FollowLinks = False,
    num_proc: int = 1,
) -> None:
    """Builds SpuriVerse; without --no-strict only from the complete release."""
    options = {"strict": strict, "non_spurious": non_spurious, "follow_links": follow_links}
    build_parquet("spuriverse", out, data_dir=str(data_dir), options=options, num_proc=num_proc)


if __name__ == "__main__":
    run(spuriverse)
