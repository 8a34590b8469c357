"""The command `oochub spawrious generate`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from oochub.commands._options import (
    MORE,
    AsJson,
    check_device,
    out_console,
    print_result,
    shown,
    without_weight_bars,
    writes,
)
from oochub.settings.prediction_settings import PredictionSettings
from oochub.studies.file_kinds import GENERATION
from oochub.studies.spawrious.generation.generation_settings import GenerationSettings


def generate(
    made: GenerationSettings,
    asked: Annotated[PredictionSettings, shown(only=("device", "dtype"))],
    out: Annotated[
        Path, typer.Option(callback=writes(GENERATION), help="Folder for the images: the --data-dir of spawrious.")
    ],
    images_per_prompt: Annotated[
        int, typer.Option(help="Number of images for each prompt in each folder.", min=1)
    ] = 44,
    prompts: Annotated[int, typer.Option(help="Number of the 72 prompts to use, evenly spread.", min=1, max=72)] = 72,
    repeat: Annotated[
        list[int] | None, typer.Option(rich_help_panel=MORE, help="Repeat: 0 or 1 (default: both). Can be repeated.")
    ] = None,
    background: Annotated[
        list[str] | None, typer.Option(help="Background, one of the six (default: all). Can be repeated.")
    ] = None,
    breed: Annotated[
        list[str] | None, typer.Option(help="Breed, one of the four (default: all). Can be repeated.")
    ] = None,
    most_tries: Annotated[
        int, typer.Option(rich_help_panel=MORE, help="Stop if fewer than one image in this many is fit.", min=1)
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """Generate dog images from prompts, as in Spawrious; keep those that a captioner recognizes as a dog."""
    check_device(asked.device)
    from oochub.process.follow import follow
    from oochub.process.ranks import Ranks
    from oochub.records.schema import to_json
    from oochub.studies.spawrious.generation.generate_spawrious import generate_spawrious, jobs_left
    from oochub.studies.spawrious.generation.generation_plan import GenerationPlan

    names = {"repeats": repeat, "backgrounds": background, "breeds": breed}
    plan = GenerationPlan(
        **made.of_plan,
        prompts=prompts,
        dtype=asked.dtype,
        images_per_prompt=images_per_prompt,
        most_tries=most_tries,
        **{name: tuple(given) for name, given in names.items() if given},  # type: ignore[arg-type]
    )
    was_done = out.is_dir() and not jobs_left(out, plan)
    without_weight_bars()
    bar = partial(follow, desc="prompts", unit="prompt", disable=None)
    record = generate_spawrious(out, plan, device=asked.device, bar=bar)
    if not Ranks.here().is_first:
        return
    if not as_json:
        if was_done:
            out_console.print("Nothing to do: all images are there.")
        out_console.print(_build_table(record))
        if not record.safety_checker:
            out_console.print(f"Note: {record.model.name} has no safety checker; look at the images yourself.")
    shares = {} if not as_json else {"shares": to_json(record.shares)}
    print_result({"pictures": str(out), "contact_sheet": str(out / "contact_sheet.png")} | shares, as_json)


def _build_table(record: Any) -> Table:
    table = Table("", "images", "fit", "share", "95% interval", "flagged", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for share in record.shares:
        if not (share.breed and share.background):  # the cells stand in generation.json
            number = share.estimate
            interval = f"[{number.low:.3f}, {number.high:.3f}]"
            counts = (f"{share.tried:,}", f"{share.accepted:,}")
            name = share.breed or share.background or "all"
            table.add_row(name, *counts, f"{number:.3f}", interval, f"{share.flagged:,}")
    return table
