"""The command `oochub challenge`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from oochub.commands._options import MORE, AsJson, Source, check_pairs, out_console, print_result, shown, writes
from oochub.errors import OochubError
from oochub.settings.data_settings import DataSettings
from oochub.settings.probe_settings import ProbeSettings
from oochub.storage.artifacts import REPOSITORY

if TYPE_CHECKING:
    from oochub.prediction.predictions import Predictions

PANEL = "Data"

_Column = str | None
_Label = Annotated[_Column, typer.Option(help="Label column, if the criterion needs one (default: label).")]
_Value = Annotated[_Column, typer.Option(help="threshold, membership: column of numbers or names.")]
_Allowed = Annotated[
    str | None,
    typer.Option(help="membership: allowed values, such as 1..245 or road,grass. All other examples are hard."),
]
_Present = Annotated[
    _Column,
    typer.Option(rich_help_panel=MORE, help="co_occurrence, gist: column that says whether the object is present."),
]
_ContextAreas = Annotated[
    _Column,
    typer.Option(rich_help_panel=MORE, help="co_occurrence: columns of areas, a,b,c, or one column of lists."),
]
_Beta = Annotated[
    float | None,
    typer.Option(rich_help_panel=MORE, help="co_occurrence: smallest area of a context that counts as present."),
]
_Similarity = Annotated[
    _Column, typer.Option(rich_help_panel=MORE, help="gist: column of the similarity to the mean scene.")
]
_Tau = Annotated[
    str | None,
    typer.Option(rich_help_panel=MORE, help="gist: threshold, or two, for positives and negatives: 0.5,0.4."),
]
_Parameters = Annotated[
    list[str] | None,
    typer.Option(
        callback=check_pairs,
        rich_help_panel=MORE,
        help="Another parameter of the criterion, as key=value. Can be repeated.",
    ),
]
_HardRows = Annotated[
    int | None, typer.Option(rich_help_panel=MORE, help="gist: number of hard examples, instead of --tau.", min=0)
]
_Swap = Annotated[
    ProbeSettings,
    shown(
        only=("masks", "boxes", "segmenter", "backgrounds", "fill"),
        masks="swap: folder of masks (EXAMPLE_ID.png, white on the object), raw COCO, or a column.",
    ),
]
_Others = Annotated[list[Path] | None, typer.Argument(hidden=True, metavar="")]  # of --of
_Of = Annotated[
    list[Path] | None,
    typer.Option(
        rich_help_panel=MORE, help="hardest: predictions by each model; the largest loss counts. Can be repeated."
    ),
]
_SWAP = "swap"
_HARDEST = "hardest"
_Criterion = Annotated[
    str,
    typer.Option(
        help="Criterion; see `oochub list criterion`. swap puts every object on other backgrounds, as "
        "`oochub audit --probe background` does."
    ),
]


def challenge(
    source: Source,
    data: DataSettings,
    criterion: _Criterion,
    swap: _Swap,
    out: Annotated[
        Path,
        typer.Option(
            callback=writes(REPOSITORY),
            help="Output folder for the dataset: new, empty, or a challenge set to replace.",
        ),
    ],
    others: _Others = None,
    of: _Of = None,
    label: _Label = None,
    context: Annotated[_Column, typer.Option(help="mismatch: column with the same codes as the label.")] = None,
    value: _Value = None,
    at: Annotated[float | None, typer.Option(help="threshold, hardest: values of at least this are hard.")] = None,
    allowed: _Allowed = None,
    inside: Annotated[bool, typer.Option("--inside", help="membership: values inside are hard instead.")] = False,
    present: _Present = None,
    context_areas: _ContextAreas = None,
    beta: _Beta = None,
    similarity: _Similarity = None,
    tau: _Tau = None,
    hard_positives: _HardRows = None,
    hard_negatives: _HardRows = None,
    parameter: _Parameters = None,
    earlier_parameter: Annotated[
        list[str] | None, typer.Option("--set", hidden=True, callback=check_pairs)
    ] = None,  # its name of before
    restrict_train: Annotated[
        bool, typer.Option("--restrict-train", rich_help_panel=MORE, help="Remove hard examples from the train split.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", rich_help_panel=MORE, help="Replace an existing challenge column.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a challenge set from any dataset; a criterion decides which examples are out of context."""
    from oochub import catalog
    from oochub.records.typed_values import check_parameters, parse_options
    from oochub.repository.write_repository import write_challenge_repository

    arguments: dict[str, Any] = dict(label=label, context=context, value=value, at=at, present=present, beta=beta)
    arguments |= dict(similarity=similarity, hard_positives=hard_positives, hard_negatives=hard_negatives)
    arguments |= dict(allowed=_parse_members(allowed) if allowed else None, inside=inside or None)
    arguments |= dict(context_areas=context_areas.split(",") if context_areas else None)
    arguments |= dict(tau=_parse_thresholds(tau) if tau else None)
    own = parse_options([*(parameter or []), *(earlier_parameter or [])], by="--parameter")
    arguments = {key: value for key, value in arguments.items() if value is not None} | own
    ensemble = _load_ensemble(criterion, of or [], others or [], has_losses="losses" in arguments)
    if criterion == _SWAP:
        if label or restrict_train or replace:
            raise OochubError("--label, --restrict-train and --replace do not apply to swap. Remove them.")
        probe = catalog.get("probe", "background")
        check_parameters(probe, arguments | swap.of_probe, kind="parameter of swap")
        challenge_set = probe(**arguments, **swap.of_probe).write_pairs(source, out, data)
    elif swap.of_probe:
        raise OochubError(f"--{next(iter(swap.of_probe))} needs --criterion swap. Remove it, or choose that criterion.")
    else:
        challenge_set = write_challenge_repository(
            source,
            out,
            criterion,
            arguments,
            ensemble=ensemble,
            settings=data,
            restrict_train=restrict_train,
            replace=replace,
        )
    if not as_json:
        _print(challenge_set.counts, challenge_set.dropped)
    counts = {"counts": challenge_set.counts, "dropped": challenge_set.dropped}
    print_result({"repository": str(out), **counts}, as_json)


def _load_ensemble(criterion: str, of: list[Path], others: list[Path], *, has_losses: bool) -> "list[Predictions]":
    """The predictions whose losses `hardest` compares; others are the files that follow that of --of."""
    from oochub.prediction.predictions import Predictions

    if (of and criterion != _HARDEST) or (others and not of):
        raise OochubError(
            f"Unexpected argument: {others[0]}." if others else f"--of needs --criterion {_HARDEST}. Remove it."
        )
    if criterion == _HARDEST and not of and not has_losses:
        raise OochubError(
            "hardest needs the predictions of an ensemble, --of P1.parquet P2.parquet, or columns of losses, "
            "--parameter losses=[first,second]."
        )
    return [Predictions.load(path) for path in (*of, *others)]


def _parse_members(text: str) -> Any:
    """The set that `1..245` or `road,grass,3..5` means."""
    from oochub.records.typed_values import parse_value

    members: list[Any] = []
    for part in text.split(","):
        span = re.fullmatch(r"\s*(-?\d+)\.\.(-?\d+)\s*", part)
        first_to_last = range(int(span[1]), int(span[2]) + 1) if span else range(0)
        if span and "," not in text:
            return first_to_last
        members += first_to_last if span else [parse_value(part.strip(), by="--allowed")]
    return members


def _parse_thresholds(text: str) -> tuple[float, ...]:
    from oochub.records.typed_values import parse_value

    thresholds = tuple(parse_value(part, by="--tau") for part in text.split(","))
    if len(thresholds) > 2 or not all(type(part) in (int, float) for part in thresholds):
        raise OochubError(f"--tau must be a number, or two separated by a comma, got {text!r}.")
    return thresholds


def _print(counts: dict[str, dict[str, int]], dropped: int) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("split")
    for kind in next(iter(counts.values())):
        table.add_column(kind.replace("_", " "), justify="right")
    for split, of_kind in counts.items():
        table.add_row(split, *(f"{n:,}" for n in of_kind.values()))
    out_console.print(table)
    without = [split for split, of_kind in counts.items() if not sum(of_kind.values()) - of_kind["easy"]]
    if without:
        out_console.print(f"Nothing is hard in {', '.join(without)}.")
    if dropped:
        out_console.print(f"Dropped the {dropped:,} hard examples of train.")
