"""The command `oochub imagenet_ood detect`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oochub.commands._options import (
    MORE,
    AsJson,
    open_model_file,
    out_console,
    print_result,
    shown,
    without_weight_bars,
    writes,
)
from oochub.errors import OochubError
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.studies.file_kinds import STUDY

if TYPE_CHECKING:
    from oochub.studies.imagenet_ood.model_list import StudiedModel

_Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--image-set",
        help="Config to compare with the in-distribution config (default: as in the paper, per table). Can be "
        "repeated.",
    ),
]
_Detectors = Annotated[
    list[str] | None,
    typer.Option(help="Detector, such as vim or knn:k=50 (default: as in the paper, per table). Can be repeated."),
]
_Tables = Annotated[
    list[str] | None,
    typer.Option(
        help="Table to create: 1, 2, 3, 4, differences, gain or random (default: all except 3 and random). Can be "
        "repeated."
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
    typer.Option(
        rich_help_panel=MORE, help="Allowed predictions: all classes, or only the classes present in the set."
    ),
]
_Reference = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=MORE,
        help="BENCHMARK/CONFIG, or predictions of one model, to fit detectors on (default: the ImageNet train split).",
    ),
]


def detect(
    raw: Annotated[DataSettings, shown(only=("data_dir",))],
    how: Annotated[ModelSettings, shown(only=("model_file", "revision"))],
    models: Annotated[
        str,
        typer.Argument(
            help="Model folders or Hub ids, or a text file with one per line (# for comments). Omit it when you pass "
            "--model-file."
        ),
    ],
    out: Annotated[
        Path, typer.Option(callback=writes(STUDY), help="Output folder for predictions, reports and tables.")
    ],
    id_set: Annotated[
        str, typer.Option("--id", rich_help_panel=MORE, help="In-distribution config of imagenet_ood.")
    ] = "imagenet_1k",
    sets: _Sets = None,
    earlier_sets: Annotated[list[str] | None, typer.Option("--set", hidden=True)] = None,  # its name of before
    pair: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=MORE, help="Pair of configs, as IN:OUT, instead of --image-set. Can be repeated."),
    ] = None,
    detector: _Detectors = None,
    table: _Tables = None,
    random: _Random = 0,
    classes: _Classes = "all",
    reference: _Reference = None,
    reference_rows: Annotated[
        int | None, typer.Option(rich_help_panel=MORE, help="Number of reference rows to sample (default: all).", min=1)
    ] = None,
    reported: Annotated[bool, typer.Option("--reported", help="Add the paper's numbers in separate columns.")] = False,
    batch_size: Annotated[
        int | None,
        typer.Option(rich_help_panel=MORE, help="Number of rows per batch (default: 32, or 128 on a GPU).", min=1),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the experiments of the ImageNet-OOD paper on a list of models. Run it again to resume."""
    from oochub.process.ranks import Ranks
    from oochub.remote.check_source import name_revision
    from oochub.studies.imagenet_ood.study import study

    without_weight_bars()
    result = study(
        name_revision(models, how.revision) if how.model_file is None else _open_file(how),
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
        for made_table in result.tables:
            out_console.print(made_table.to_terminal(width=max(80, out_console.width)))
        out_console.print(f"{len(result.extracted)} files of predictions made, {result.kept} found as they should be.")
    paths = {"numbers": str(result.folder / "numbers.csv")}
    paths |= {table.file: str(result.folder / "tables" / f"{table.file}.md") for table in result.tables}
    print_result(
        {**paths, "predicted": len(result.extracted), "kept": result.kept, "failed": dict(result.failed)}, as_json
    )
    if result.failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in result.failed.items())
        count = f"{len(result.failed)} model{'s' if len(result.failed) > 1 else ''} failed"
        raise OochubError(f"{count} and are in no table. {reasons} The same command tries again.")


def _open_file(how: ModelSettings) -> "StudiedModel":
    """The model that a user's own Python file makes."""
    from oochub.models.callable_model import wrap_callable
    from oochub.models.model_source import ModelSource
    from oochub.studies.imagenet_ood.model_list import OpenedModel, StudiedModel

    own_model = open_model_file("", how, PredictionSettings())
    source = ModelSource(wrap_callable(own_model.model, own_model.how, own_model.asked))
    name = (own_model.how.model_id or Path(str(how.model_file).partition(".py")[0]).name).replace("/", "--")
    return StudiedModel(name, OpenedModel(source, own_model.how, own_model.asked))


def _pair(words: str) -> tuple[str, str]:
    inside, _, outside = words.partition(":")
    if not (inside and outside):
        raise OochubError(f"--pair takes IN:OUT, as imagenet_1k:imagenet_ood, got {words!r}.")
    return inside, outside
