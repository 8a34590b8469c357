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
    places: Annotated[Path, typer.Option(help="Folder of Places365 that holds b/, f/, l/, o/, or the one above it.")],
    segmentations: Annotated[
        Path | None, typer.Option(help="Folder of CUB's segmentations; default segmentations/ in or beside it.")
    ] = None,
    species: Annotated[
        Literal["released", "paper"],
        typer.Option(help="released: three land birds with tern in their names count as water birds."),
    ] = "released",
    seed: Annotated[
        int, typer.Option(help="Random seed for what is drawn; the default gives the release's numbers of rows.", min=0)
    ] = SEED,
    as_json: AsJson = False,
) -> None:
    """Puts birds cut out of CUB before places of Places365, as Waterbirds was made."""
    from oochub.studies.waterbirds.construct_waterbirds import construct_waterbirds

    made = construct_waterbirds(out, cub=cub, places=places, segmentations=segmentations, seed=seed, species=species)
    if not as_json:
        table = Table("split", "bird", "place", "rows", box=None)
        for name, rows in made.rows.items():
            table.add_row(*name.split("/"), f"{rows:,}")
        out_console.print(table)
    print_result({"data": str(out), "rows": dict(made.rows), "seed": seed}, as_json)
