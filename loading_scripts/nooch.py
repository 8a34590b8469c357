"""Raw COCO and COCO-Stuff to a Parquet repository of NOOCH; run it: `python loading_scripts/nooch.py --help`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.loading_scripts.build_repository import FollowLinks, Out, build_parquet, run


def nooch(
    data_dir: Annotated[Path, typer.Option(help="The COCO folder; `oochub show benchmark nooch` draws its tree.")],
    out: Out,
    config: Annotated[list[str], typer.Option(help="Config, for example ce_car. Can be repeated.")],
    contexts: Annotated[
        str, typer.Option(help="Contexts: computed from the training split, or published.")
    ] = "computed",
    strict: Annotated[bool, typer.Option(help="Stop if the folder does not hold all of COCO.")] = True,
    follow_links: FollowLinks = False,
    num_proc: int = 1,
) -> None:
    """Builds configs of NOOCH; without --no-strict only from the complete images and the official split."""
    for name in config:
        options = {"contexts": contexts, "strict": strict, "follow_links": follow_links}
        build_parquet(f"nooch/{name}", out, data_dir=str(data_dir), options=options, num_proc=num_proc)


if __name__ == "__main__":
    run(nooch)
