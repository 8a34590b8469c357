"""What the commands share: options with one meaning everywhere, and how a command says what it wrote."""

from collections.abc import Callable
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.highlighter import JSONHighlighter

from oochub.errors import OochubError
from oochub.records.parameters import parse_options
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.file_kind import FileKind
from oochub.storage.files import check_writable
from oochub.storage.reading import check_regular_file

if TYPE_CHECKING:
    from oochub.models.model_file import MadeModel


class _OutConsole(Console):
    """The console that results go to."""

    def print_json(self, json: str | None = None, *, data: object = None, **_: object) -> None:
        """Prints JSON in which control and bidi characters are escapes: a name may hold some, and redraws nothing."""
        from oochub.report.wording import escape_json

        value = data if json is None else loads(json)
        self.print(JSONHighlighter()(escape_json(dumps(value, indent=2, ensure_ascii=False))), soft_wrap=True)


out_console = _OutConsole(highlight=False, soft_wrap=True)


def check_pairs(option: typer.CallbackParam, pairs: list[str] | None) -> list[str] | None:
    """The pairs as they are, after a look whether each is key=value: before the command does anything."""
    parse_options(pairs or [], by=option.opts[0])
    return pairs


OUTPUT_CHECKS: set[Callable[[Path | None], Path | None]] = set()
"""What `writes` gave: by these a command is known to write, so that it takes `--overwrite`."""


def writes(kind: FileKind) -> Callable[[Path | None], Path | None]:
    """What checks the path of an option that is written, before the command does anything."""

    def check(path: Path | None) -> Path | None:
        if path is not None:
            check_writable(path, kind=kind)
        return path

    OUTPUT_CHECKS.add(check)
    return check


Model = Annotated[str, typer.Argument(help="A run of `oochub train`, a model folder, a Hub id, or an ONNX file.")]
ModelOrFile = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A run of `oochub train`, a model folder, a Hub id, or an ONNX file. Leave it out with --model-file.",
    ),
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="BENCHMARK/CONFIG such as nooch/ce_car; a folder of images; a Parquet, CSV, JSON or .tar file, or a "
        "folder of them; what build or challenge wrote; or a Hub id.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of text.", rich_help_panel="Output")
]


def renamed(before: str, now: str) -> Callable[[Any], None]:
    """A callback that refuses an option's old name and tells its new one."""

    def check(given: Any) -> None:
        if given:
            raise OochubError(f"{before} is now called {now}, as in `oochub audit`.")

    return check


def check_device(device: str) -> None:
    """Checks that there is such a device: before the command does anything slow.

    Raises:
        OochubError: There is none of that name.
    """
    if device != "auto":
        from oochub.models.acceleration import choose_device

        choose_device(device)


def check_models(*models: str | None, how: ModelSettings, device: str = "auto") -> None:
    """Checks that there are such models, the one whose processor is taken, and the device: before anything slow.

    Raises:
        OochubError: A name that is neither a model's folder nor on the Hub; a setting of the mode in two ways.
    """
    from oochub.remote.check_source import check_source

    check_device(device)
    if how.model_file is not None:
        from oochub.models.model_file import split_model_file

        split_model_file(how.model_file)
    for model in filter(None, models):
        if model.lower().endswith(".onnx"):
            check_regular_file(model)
            continue
        check_source(model, kind="model", hint="`oochub train` makes one.")
    if how.image_processor is not None:
        check_source(how.image_processor, kind="model", hint="--image-processor names a folder with a processor.")
    how.of_mode  # noqa: B018  it says what is given twice


def open_model_file(model: str, how: ModelSettings, asked: PredictionSettings) -> "MadeModel":
    """The model that was named; with --model-file the one that the user's own file makes, which is said on stderr."""
    from oochub.models.model_file import MadeModel, make_model

    if how.model_file is None:
        return MadeModel(model, how, asked)
    typer.echo(f"Running your own code: {how.model_file}", err=True)
    return make_model(how.model_file, how, asked)


def without_weight_bars() -> None:
    """Loading weights takes no time worth a bar; the work itself has one."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def print_result(result: dict[str, Any], as_json: bool) -> None:
    """Ends a command: prints the paths that it wrote, or the whole result as one JSON object."""
    if as_json:
        out_console.print_json(dumps(result))
        return
    for path in (value for value in result.values() if isinstance(value, str)):
        out_console.print(path)
