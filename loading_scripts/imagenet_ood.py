"""Raw ImageNet folders to a Parquet repository; run it: `python loading_scripts/imagenet_ood.py --help`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.loading_scripts.build_repository import FollowLinks, Out, build_parquet, run


def imagenet_ood(
    data_dir: Annotated[Path, typer.Option(help="Folder that holds imagenet/, imagenet-21k/, imagenet-c/, ...")],
    out: Out,
    config: Annotated[
        list[str], typer.Option(help="Config, for example imagenet_ood, imagenet_1k, fog_3. Can be repeated.")
    ],
    file_list: Annotated[Path | None, typer.Option(help="List of the files of imagenet_ood or openimage_o.")] = None,
    strict: Annotated[bool, typer.Option(help="Stop if a set is not complete.")] = True,
    follow_links: FollowLinks = False,
    num_proc: int = 1,
) -> None:
    """Builds configs of ImageNet-OOD; without --no-strict only from complete sets."""
    options = {"strict": strict, "follow_links": follow_links} | ({"file_list": str(file_list)} if file_list else {})
    for name in config:
        build_parquet(f"imagenet_ood/{name}", out, data_dir=str(data_dir), options=options, num_proc=num_proc)


if __name__ == "__main__":
    run(imagenet_ood)
