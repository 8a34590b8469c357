"""What the commands share: options with one meaning everywhere, completion in a shell, how it is said what was written.

Each field of a record that the function of a command takes is an option, declared there. A parameter whose type is a
record of `oochub.settings` stands for the options of its fields; the function gets the record, checked.
`Annotated[Record, shown(...)]` says what this command shows of it, or must be given.
"""

import csv
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass
from functools import wraps
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from rich.console import Console
from rich.highlighter import JSONHighlighter

from oochub import catalog
from oochub.errors import OochubError, check_models_extra
from oochub.records.typed_values import list_kinds, parse_options
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import Option, Settings, get_default, list_options, type_of
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.report_settings import OutputSettings
from oochub.storage.artifacts import FileKind
from oochub.storage.files import check_writable
from oochub.storage.ownership import allow_overwriting
from oochub.storage.reading import check_regular_file

if TYPE_CHECKING:
    from oochub.models.callable_model import MadeModel

MORE = "More"
"""The panel of a command's own options that `--help-all` alone shows; "More: Speed" is that of a record's."""


_ALL = "oochub.help_all"


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


Model = Annotated[str, typer.Argument(help="Model folder, Hub id, ONNX file, or output folder of `oochub train`.")]
ModelOrFile = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="Model folder, Hub id, ONNX file, or output folder of `oochub train`. Omit it when you pass --model-file.",
    ),
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="BENCHMARK/CONFIG, such as nooch/ce_car; a folder of images; a Parquet, CSV, JSON or .tar file, or a "
        "folder of such files; the output of `oochub build` or `oochub challenge`; or a Hub id.",
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
        OochubError: A name that is neither a model's folder nor on the Hub; a setting of the mode in two ways; what
            models need is not installed.
    """
    check_models_extra()
    from oochub.models.packaged_model import check_packages, is_packaged
    from oochub.remote.check_source import check_source, name_revision

    check_device(device)
    if how.model_file is not None:
        from oochub.models.callable_model import split_model_file

        split_model_file(how.model_file)
    for model in filter(None, models):
        if model.lower().endswith(".onnx"):
            check_regular_file(model)
            continue
        if is_packaged(model):
            check_packages(model)
            continue
        check_source(name_revision(model, how.revision), kind="model", hint="Run `oochub train` to create one.")
    if how.image_processor is not None:
        check_source(how.image_processor, kind="model", hint="--image-processor names a folder with a processor.")
    how.of_mode  # noqa: B018  it says what is given twice


def open_model_file(model: str, how: ModelSettings, asked: PredictionSettings) -> "MadeModel":
    """The model that was named; with --model-file the one that the user's own file makes, which is said on stderr."""
    from oochub.models.callable_model import MadeModel, make_model

    if how.model_file is None:
        return MadeModel(model, how, asked)
    typer.echo(f"Running your own code: {how.model_file}", err=True)
    return make_model(how.model_file, how, asked)


def without_weight_bars() -> None:
    """Loading weights takes no time worth a bar; the work itself has one.

    Raises:
        OochubError: What models need is not installed.
    """
    check_models_extra()
    from transformers.utils import logging

    logging.disable_progress_bar()


def print_result(result: dict[str, Any], as_json: bool) -> None:
    """Ends a command: prints the paths that it wrote, or the whole result as one JSON object."""
    if as_json:
        out_console.print_json(dumps(result))
        return
    for path in (value for value in result.values() if isinstance(value, str)):
        out_console.print(path)


def is_more(panel: str | None) -> bool:
    """Whether the options of a panel are shown by `--help-all` alone."""
    return (panel or "").partition(":")[0] == MORE


def shows_all(context: Any) -> bool:
    """Whether `--help-all` was typed."""
    return bool(context.meta.get(_ALL))


def _print_all(context: typer.Context, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        context.meta[_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


_HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all", is_eager=True, expose_value=False, callback=_print_all, help="Show all options and exit."
        ),
    ],
)


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """What a command shows of a record, see `shown`."""

    only: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    help: Mapping[str, str] | None = None

    def has(self, name: str) -> bool:
        """Whether the command has an option for the field."""
        return name not in self.but and (not self.only or name in self.only)


def shown(*, only: tuple[str, ...] = (), but: tuple[str, ...] = (), needs: tuple[str, ...] = (), **help: str) -> _Shown:
    """What a command shows of a record that it takes.

    Args:
        only: The fields that it has alone; none is all.
        but: The fields that it has not.
        needs: The fields that must be given.
        **help: Other words for `--help`, of a field that means more here.
    """
    return _Shown(only=only, but=but, needs=needs, help=help)


def with_options(command: Callable[..., None], name: str) -> Callable[..., None]:
    """The command as typer takes it: with an option for each field of its records, which it is called with.

    Args:
        command: The function of a command.
        name: The command's, by which fields say who shows them.
    """
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    records: dict[str, tuple[type[Settings], dict[str, Option]]] = {}
    dropped: set[str] = set()  # what the command itself does not take
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        record = _record(hints[parameter.name])
        if record is None:
            parameters.append(parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        kind, shows = record
        about = {field: one for field, one in list_options(kind).items() if shows.has(field) and _is_shown(one, name)}
        records[parameter.name] = kind, about
        parameters += [_make_parameter(kind, field, one, shows) for field, one in about.items()]

    for declared in parameters:
        for about in get_args(declared.annotation)[1:]:
            if isinstance(about, typer.models.ParameterInfo) and about.autocompletion is None:
                about.autocompletion = find_completion(declared.name)
    if any(map(_is_output, parameters)):
        if _OVERWRITE not in {parameter.name for parameter in parameters}:
            about = {_OVERWRITE: list_options(OutputSettings)[_OVERWRITE]}
            parameters.append(_make_parameter(OutputSettings, _OVERWRITE, about[_OVERWRITE], _Shown()))
            dropped = {_OVERWRITE}
        _make_eager(next(parameter for parameter in parameters if parameter.name == _OVERWRITE))

    panels = (
        getattr(about, "rich_help_panel", None)
        for parameter in parameters
        for about in get_args(parameter.annotation)[1:]
    )
    if any(map(is_more, panels)):
        parameters.append(_HELP_ALL)

    @wraps(command)
    def run(**typed: Any) -> None:
        for name in (_HELP_ALL.name, *dropped):
            typed.pop(name, None)
        settings = {}
        for place, (kind, about) in records.items():
            words = {field: typed.pop(_name_variable(one)) for field, one in about.items()}
            given = {field: value for field, value in words.items() if value is not None and value != []}
            settings[place] = kind(**{field: _parse_value(value, about[field]) for field, value in given.items()})
        command(**typed, **settings)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what `inspect` reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__
    return run


_OVERWRITE = "overwrite"


def _is_output(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is the path of something that is written, see `oochub.commands._options.writes`."""
    about = get_args(parameter.annotation)[1:]
    return any(getattr(entry, "callback", None) in OUTPUT_CHECKS for entry in about)


def _make_eager(parameter: inspect.Parameter) -> None:
    """Lets the option of what may be replaced hold before the paths are checked, and until the command ends."""

    def allow(context: typer.Context, given: bool) -> bool:
        if not context.resilient_parsing:
            allow_overwriting(given)
        return given

    about = get_args(parameter.annotation)[1]
    about.is_eager, about.callback = True, allow


def records_of(command: Callable[..., None]) -> Iterator[tuple[type[Settings], _Shown]]:
    """The records that a command's function takes, and what the command shows of each."""
    yield from filter(None, map(_record, get_type_hints(command, include_extras=True).values()))


def _record(annotation: Any) -> tuple[type[Settings], _Shown] | None:
    kind, *others = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if not (isinstance(kind, type) and issubclass(kind, Settings)):
        return None
    return kind, next((other for other in others if isinstance(other, _Shown)), _Shown())


def _is_shown(about: Option, command: str) -> bool:
    return about.commands is None or command in about.commands


def _name_variable(about: Option) -> str:
    """The name of the parameter that typer sees, which is that of the option."""
    return about.flag_alone.strip("-").replace("-", "_")


def _make_parameter(kind: type[Settings], field: str, about: Option, shows: _Shown) -> inspect.Parameter:
    """What typer reads an option from."""
    typed = type_of(kind, field) if about.typed is None else about.typed
    alone = next(kind for kind in list_kinds(typed) if kind is not type(None))
    if get_origin(alone) is Iterable:
        typed = alone = list[str]
        typed |= None
    words = (shows.help or {}).get(field, about.help)
    words = f"{words.removesuffix('.')}, as {about.form}." if about.form else words
    default = MISSING if field in shows.needs else get_default(kind, field)
    given = typer.Option(
        about.flag,
        help=f"{words} Can be repeated." if get_origin(alone) is list else words,
        rich_help_panel=about.panel if about.common or default is MISSING else f"{MORE}: {about.panel}",
        metavar=about.metavar,
        min=about.least if about.least is not None else about.above,
        max=about.most if alone is int else None,  # of nan typer would say that it is too large
    )
    return inspect.Parameter(
        _name_variable(about),
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[alone if default is MISSING else typed, given],
    )


def _parse_value(typed: Any, about: Option) -> Any:
    """The value of what was typed."""
    return typed if about.parse is None else about.parse(typed, about.flag_alone)


_KINDS = {
    **{name: name for name in ("objective", "metric", "detector", "mode", "criterion", "probe")},
    "contexts": "context",
    "plot": "figure",
    "export": "bridge",
}
"""Parameters whose values are names of the catalog, and their kind."""
_DATA = ("source", "sources", "benchmark", "truth")
_TABLES = ("metadata.csv", "metadata.parquet", "train/metadata.csv", "train/metadata.parquet")
_Completions = list[tuple[str, str]]


def find_completion(parameter: str) -> Callable[[str], _Completions] | None:
    """What completes the values of a parameter of a command, as typer calls it; None leaves them to the shell.

    Args:
        parameter: The name of the parameter.

    >>> complete = find_completion("objective")
    >>> [value for value, _ in complete("group")]
    ['group_dro']
    """

    def complete(incomplete: str) -> _Completions:
        if parameter in _KINDS:
            return _list_things(_KINDS[parameter], incomplete)
        if parameter in _DATA:
            return _list_data(incomplete)
        return _list_recipes(incomplete) if parameter == "recipe" else _list_columns(incomplete)

    has_values = parameter in (*_KINDS, *_DATA, "recipe") or parameter.endswith("_column")
    return complete if has_values else None


def _list_things(kind: str, typed: str) -> _Completions:
    return [(name, catalog.summary(kind, name)) for name in catalog.names(kind) if name.startswith(typed)]


def _list_data(typed: str) -> _Completions:
    """Benchmarks, and the configs of one whose name is written; a shell completes files where none is near."""
    name, slash, config = typed.partition("/")
    if not slash:
        return _list_things("benchmark", typed)
    if name not in catalog.names("benchmark"):
        return []
    from oochub.data.load import get_builder_class

    configs = get_builder_class(name).builder_configs
    return [(f"{name}/{config_named}", "") for config_named in configs if config_named.startswith(config)]


def _list_recipes(typed: str) -> _Completions:
    from oochub.sweep.sweep_recipe import list_recipes

    return [(name, "") for name in list_recipes() if name.startswith(typed)]


def _list_columns(typed: str) -> _Completions:
    """The columns of the first table that was named before, or of that in a folder that was named."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")  # as bash, or another shell, says
    for word in line.split():
        path = Path(word).expanduser()
        for file in (path, *(path / name for name in _TABLES)):
            with suppress(OSError, ValueError, csv.Error):  # nothing is said while a user types
                if names := _read_head(file) if file.is_file() else []:
                    return [(name, "") for name in names if name.startswith(typed)]
    return []


def _read_head(file: Path) -> Sequence[str]:
    """The names of a table's columns; none for a file of another kind."""
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(file).names)
    if file.suffix == ".csv":
        with file.open(encoding="utf-8-sig", newline="") as lines:
            return next(csv.reader(lines), [])
    return []
