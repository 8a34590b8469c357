"""The command `oochub imagenet_ood detect`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import MORE, AsJson, out_console, print_result, shown, without_weight_bars, writes
from oochub.errors import OochubError
from oochub.settings.data_settings import DataSettings
from oochub.studies.file_kinds import STUDY

_Sets = Annotated[
    list[str] | None,
    typer.Option("--image-set", help="Config to compare with it; repeatable. Default the paper's for each table."),
]
_Detectors = Annotated[
    list[str] | None,
    typer.Option(help="Detector, such as vim or knn:k=50; repeatable. Default the paper's for each table."),
]
_Tables = Annotated[
    list[str] | None,
    typer.Option(
        help="Table to make: 1, 2, 3, 4, differences, gain or random; repeatable. Default all but 3 and random."
    ),
]
_Random = Annotated[
    int,
    typer.Option(
        rich_help_panel=MORE, help="Number of random copies of each architecture, for the table random.", min=0
    ),
]
_Classes = Annotated[
    str,
    typer.Option(rich_help_panel=MORE, help="Classes that a prediction may be: all, or those present in its set."),
]
_Reference = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=MORE,
        help="BENCHMARK/CONFIG, or predictions by one model, to fit detectors on. Default ImageNet's train split.",
    ),
]


def detect(
    raw: Annotated[DataSettings, shown(only=("data_dir",))],
    models: Annotated[
        str, typer.Argument(help="A model folder or Hub id, or a text file with one per line (# for comments).")
    ],
    out: Annotated[
        Path, typer.Option(callback=writes(STUDY), help="Folder for the study: predictions, reports, tables.")
    ],
    id_set: Annotated[
        str, typer.Option("--id", rich_help_panel=MORE, help="The in-distribution config of imagenet_ood.")
    ] = "imagenet_1k",
    sets: _Sets = None,
    earlier_sets: Annotated[list[str] | None, typer.Option("--set", hidden=True)] = None,  # its name of before
    pair: Annotated[
        list[str] | None, typer.Option(rich_help_panel=MORE, help="IN:OUT instead of --image-set; repeatable.")
    ] = None,
    detector: _Detectors = None,
    table: _Tables = None,
    random: _Random = 0,
    classes: _Classes = "all",
    reference: _Reference = None,
    reference_rows: Annotated[
        int | None, typer.Option(rich_help_panel=MORE, help="Draw this many of its rows; default all.", min=1)
    ] = None,
    reported: Annotated[
        bool, typer.Option("--reported", help="Add the paper's numbers, in columns of their own.")
    ] = False,
    batch_size: Annotated[
        int | None,
        typer.Option(rich_help_panel=MORE, help="Rows per forward pass; default 32, or 128 on a GPU.", min=1),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Runs the ImageNet-OOD paper's experiments over models; run again, it goes on and predicts nothing twice."""
    from oochub.process.ranks import Ranks
    from oochub.studies.imagenet_ood.study import study

    without_weight_bars()
    result = study(
        models,
        out,
        data_dir=raw.data_dir,
        id_set=id_set,
        sets=[*(sets or ()), *(earlier_sets or ())] or None,
        pairs=[_pair(words) for words in pair] if pair else None,
        detectors=detector or None,
        tables=table or None,
        random=random,
        classes=classes,  # type: ignore[arg-type]  # checked at once
        reference=reference,
        reference_rows=reference_rows,
        reported=reported,
        batch_size=batch_size,
        tell=None if as_json else partial(out_console.print, markup=False),
    )
    if not Ranks.here().is_first:  # of several processes the first one speaks
        return
    if not as_json:
        for each in result.tables:
            out_console.print(each.to_terminal(width=max(80, out_console.width)))
        out_console.print(f"{len(result.extracted)} files of predictions made, {result.kept} found as they should be.")
    paths = {"numbers": str(result.folder / "numbers.csv")}
    paths |= {each.file: str(result.folder / "tables" / f"{each.file}.md") for each in result.tables}
    print_result(
        {**paths, "predicted": len(result.extracted), "kept": result.kept, "failed": dict(result.failed)}, as_json
    )
    if result.failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in result.failed.items())
        count = f"{len(result.failed)} model{'s' if len(result.failed) > 1 else ''} failed"
        raise OochubError(f"{count} and are in no table. {reasons} The same command tries again.")


def _pair(words: str) -> tuple[str, str]:
    inside, _, outside = words.partition(":")
    if not (inside and outside):
        raise OochubError(f"--pair takes IN:OUT, as imagenet_1k:imagenet_ood, got {words!r}.")
    return inside, outside
