"""The command `oochub wilds submission`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, out_console, print_result, shown, writes
from oochub.settings.data_settings import DataSettings
from oochub.studies.file_kinds import SUBMISSION


def submission(
    raw: Annotated[DataSettings, shown(only=("data_dir",))],
    source: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER|PREDS.parquet", help="Folder of WILDS prediction files, or predictions."),
    ],
    out: Annotated[
        Path, typer.Option(callback=writes(SUBMISSION), help="Folder for scores and reports, or for prediction files.")
    ],
    replicate: Annotated[
        str, typer.Option(help="Seed in the names of the written files; each fold has its own.")
    ] = "seed:0",
    as_json: AsJson = False,
) -> None:
    """Score WILDS prediction files over splits and replicates, or write such files from predictions."""
    from oochub.prediction.predictions import Predictions
    from oochub.studies.wilds.submission_scores import submission_scores
    from oochub.studies.wilds.write_submission import write_submission

    if len(source) > 1 or source[0].suffix == ".parquet":
        opened = [Predictions.load(path) for path in source]
        files = write_submission(opened, out, replicate=replicate, data_dir=raw.data_dir)
        print_result({path.name: str(path) for path in files}, as_json)
        return
    table = submission_scores(source[0], out, kind=SUBMISSION, data_dir=raw.data_dir)
    if not as_json:
        out_console.print(table.title, *table.sentences, *table.to_terminal(width=max(80, out_console.width)), sep="\n")
    print_result({"scores": str(out / "scores.csv"), "reports": str(out / "reports")}, as_json)
