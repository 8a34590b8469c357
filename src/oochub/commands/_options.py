"""What the commands share: options with one meaning everywhere, and how a command says what it wrote."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from oochub.data.columns import Columns, parse_usual
from oochub.errors import OochubError
from oochub.records.parameters import parse_options
from oochub.storage.files import FileKind, check_writable

out_console = Console(highlight=False, soft_wrap=True)


def check_pairs(option: typer.CallbackParam, pairs: list[str] | None) -> list[str] | None:
    """The pairs as they are, after a look whether each is key=value: before the command does anything."""
    parse_options(pairs or [], by=option.opts[0])
    return pairs


def writes(kind: FileKind) -> Callable[[Path | None], Path | None]:
    """What checks the path of an option that is written, before the command does anything."""

    def check(path: Path | None) -> Path | None:
        if path is not None:
            check_writable(path, kind=kind)
        return path

    return check


def check_device(device: str) -> str:
    """The name as it is, after a look whether there is such a device: before the command does anything."""
    if device != "auto":
        from oochub.models.acceleration import choose_device

        choose_device(device)
    return device


def check_usual(texts: list[str] | None) -> list[str] | None:
    """The usual contexts as they are typed, after a look whether each is CLASS=CONTEXT,CONTEXT."""
    parse_usual(texts or [])
    return texts


Model = Annotated[str, typer.Argument(help="A run of `oochub train`, a model folder, or a Hub id.")]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="BENCHMARK/CONFIG such as nooch/ce_car; a folder of pictures; a Parquet, CSV, JSON or .tar file, or a "
        "folder of them; what build or challenge wrote; or a Hub id.",
    ),
]
ConfigName = Annotated[str | None, typer.Option("--config", help="The configuration, of a source with several.")]
ImageColumn = Annotated[str | None, typer.Option(help="Own data: column of pictures or paths; default image.")]
LabelColumn = Annotated[str | None, typer.Option(help="Own data: column of labels; default label.")]
ContextColumn = Annotated[
    str | None, typer.Option(help="Column of contexts, from which groups and challenges follow; default context.")
]
GroupColumn = Annotated[str | None, typer.Option(help="Own data: column of groups; default group, or label/context.")]
Usual = Annotated[
    list[str] | None,
    typer.Option(
        callback=check_usual,
        help="The usual contexts of a class, CLASS=CONTEXT,CONTEXT; repeatable. Default: those more frequent with it.",
    ),
]
DataDir = Annotated[str | None, typer.Option(help="The raw folder; default $OOCHUB_DATA/<benchmark>.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", callback=check_pairs, help="An option of the benchmark, key=value; repeatable."),
]
Preprocessing = Annotated[
    Literal["auto", "fused", "processor"],
    typer.Option(help="auto: fused (fast) where it gives what the model's own processor does, else processor."),
]
ImageProcessor = Annotated[
    str | None,
    typer.Option(metavar="FOLDER_OR_ID", help="Of another model, where this one has no preprocessor_config.json."),
]
ContextModel = Annotated[
    str | None, typer.Option(help="What the way looks with: a model folder or a Hub id; not for properties.")
]
ContextNames = Annotated[str | None, typer.Option(help="zero_shot: the contexts to look for, grass,beach,road.")]
ContextOptions = Annotated[
    list[str] | None, typer.Option(callback=check_pairs, help="Another setting of the way, key=value; repeatable.")
]
ChooseOn = Annotated[
    Literal["auto", "train", "half"],
    typer.Option(
        "--choose-on",
        help="Rows that contexts are chosen on: train, half of the other splits, auto (train, else half).",
    ),
]
CorrectionName = Annotated[
    Literal["holm", "benjamini_hochberg"], typer.Option("--correction", help="Over all found contexts that are tested.")
]
Device = Annotated[
    str, typer.Option(callback=check_device, help="auto (a GPU if there is one), cpu, cuda, cuda:1, mps.")
]
Dtype = Annotated[
    Literal["auto", "float32", "bfloat16", "float16"],
    typer.Option(help="What the network computes in; auto is float32."),
]
Limit = Annotated[int | None, typer.Option(help="At most so many rows of each split, at random: a quick look.", min=1)]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="Leave out and count pictures that cannot be read.")]
NumWorkers = Annotated[
    int | None, typer.Option(help="Threads that decode pictures; default one a core, 0 decodes between passes.", min=0)
]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Take predictions of before where nothing changed.")]
Compile = Annotated[
    bool,
    typer.Option("--compile", help="Compile the network first, for many rows: needs a C++ compiler; logits alone."),
]
ModeName = Annotated[
    str, typer.Option("--mode", help="How the model answers: auto, by its architecture, or one of `oochub list mode`.")
]
LabelMapFile = Annotated[
    str | None,
    typer.Option("--label-map", help="A .csv or .json file: a class of the data, the classes of the model for it."),
]
Restrict = Annotated[bool, typer.Option("--restrict", help="Leave out rows of classes that the model does not know.")]
ModeOptions = Annotated[
    list[str] | None,
    typer.Option("--mode-option", callback=check_pairs, help="Another setting of the mode, key=value; repeatable."),
]
ProbeOptions = Annotated[
    list[str] | None,
    typer.Option(
        callback=check_pairs, help="Another setting of the probe, key=value: rows, seed, label_map; repeatable."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def columns_of(
    *, image: str | None, label: str | None, context: str | None, group: str | None, usual: list[str] | None
) -> Columns:
    """The columns that were named by the five options above."""
    return Columns(image=image, label=label, context=context, group=group, usual=parse_usual(usual) if usual else None)


def check_models(*models: str | None, image_processor: str | None) -> None:
    """Checks that there are such models, and the one whose processor is taken: before the command does anything slow.

    Raises:
        OochubError: One that is neither a folder of a model nor on the Hub.
    """
    from oochub.remote.check_source import check_source

    for model in filter(None, models):
        check_source(model, kind="model", hint="`oochub train` makes one.")
    if image_processor is not None:
        check_source(image_processor, kind="model", hint="--image-processor names a folder with a processor.")


def context_settings(model: str | None, names: str | None, pairs: list[str] | None, *, by: str) -> dict[str, Any]:
    """The settings of a way to find contexts: its model, its names, and the others by the option `by`."""
    given = {"model": model, "names": None if names is None else [name.strip() for name in names.split(",")]}
    return parse_options(pairs or [], by=by) | {name: value for name, value in given.items() if value is not None}


def probe_settings(
    masks: Path | None, boxes: str | None, segmenter: str | None, pairs: list[str] | None
) -> dict[str, Any]:
    """The settings of a probe: what says where the object is, and the others by `--probe-option`."""
    given = {"masks": None if masks is None else str(masks), "boxes": boxes, "segmenter": segmenter}
    others = parse_options(pairs or [], by="--probe-option")
    return others | {name: value for name, value in given.items() if value is not None}


def mode_settings(label_map: str | None, restrict: bool, pairs: list[str] | None) -> dict[str, Any]:
    """The settings of a mode that were given by the three options above.

    Raises:
        OochubError: A setting in two ways.
    """
    own = {"label_map": label_map, "restrict": restrict or None}
    settings = {name: value for name, value in own.items() if value is not None}
    others = parse_options(pairs or [], by="--mode-option")
    twice = next((name for name in others if name in settings), None)
    if twice is not None:
        raise OochubError(f"--mode-option {twice}= and --{twice.replace('_', '-')} say one thing. Give one of them.")
    return {**settings, **others}


def without_weight_bars() -> None:
    """Loading weights takes no time worth a bar; the work itself has one."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def done(result: dict[str, Any], as_json: bool) -> None:
    """Ends a command: prints the paths that it wrote, or the whole result as one JSON object."""
    if as_json:
        out_console.print_json(json.dumps(result))
        return
    for path in (value for value in result.values() if isinstance(value, str)):
        out_console.print(path)
