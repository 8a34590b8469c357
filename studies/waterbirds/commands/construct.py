"""The command `oochub waterbirds construct`."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from oochub.commands._options import AsJson, out_console, print_result, writes
from oochub.studies.file_kinds import WATERBIRDS
from oochub.studies.waterbirds.waterbird_rows import SEED


def construct(
    out: Annotated[
        Path, typer.Option(callback=writes(WATERBIRDS), help="Folder for the images: the --data-dir of waterbirds.")
    ],
    cub: Annotated[Path, typer.Option(help="Folder CUB_200_2011, with images.txt, train_test_split.txt and images/.")],
    places: Annotated[
        Path, typer.Option(help="Places365 folder that contains b/, f/, l/ and o/, or its parent folder.")
    ],
    segmentations: Annotated[
        Path | None,
        typer.Option(help="Folder of CUB segmentations (default: segmentations/ in the CUB folder or next to it)."),
    ] = None,
    species: Annotated[
        Literal["released", "paper"],
        typer.Option(help="released: three land birds with tern in their names count as water birds."),
    ] = "released",
    seed: Annotated[
        int, typer.Option(help="Random seed for sampling. The default reproduces the row counts of the release.", min=0)
    ] = SEED,
    as_json: AsJson = False,
) -> None:
    """Construct Waterbirds images: birds cut out of CUB on backgrounds from Places365."""
    from oochub.studies.waterbirds.construct_waterbirds import construct_waterbirds

    construction = construct_waterbirds(
        out, cub=cub, places=places, segmentations=segmentations, seed=seed, species=species
    )
    if not as_json:
        table = Table("split", "bird", "place", "rows", box=None)
        for name, rows in construction.rows.items():
            table.add_row(*name.split("/"), f"{rows:,}")
        out_console.print(table)
    print_result({"data": str(out), "rows": dict(construction.rows), "seed": seed}, as_json)
