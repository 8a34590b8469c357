"""Commands that a report prints, of the names that it knows: one composer for all that suggest one."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub import catalog
from oochub.records.origin_records import Asked
from oochub.report import wording
from oochub.settings.context_settings import ContextSettings
from oochub.settings.data_settings import DataSettings, LabelSettings
from oochub.settings.model_settings import TYPED, ModelSettings
from oochub.settings.option import Option, Settings, list_options, type_of
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.probe_settings import ProbeSettings

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_PLACES = ("model", "model_file", "source", "predictions", "report")  # of what was typed
_LONGEST_OPTION = 4_000  # the names of many classes
_PROBE = (DataSettings, ModelSettings, PredictionSettings, ProbeSettings)
_KINDS: Mapping[str, tuple[type[Settings], ...]] = {
    "audit": (*_PROBE, ContextSettings, LabelSettings),
    "repair": (DataSettings, ModelSettings, PredictionSettings, ContextSettings),
    "predict": (DataSettings, ModelSettings, PredictionSettings),
    "train": (DataSettings,),
}
"""The records of options that a command takes."""
_OF_IMAGES = ("--label-column", "--image-column", "--config", "--data-dir", "--option")
"""Options of data by which a page of all rows finds their images."""


@dataclass(frozen=True)
class ReportCommands:
    """Writes commands about the model and the data of a report, as they are typed.

    What the report does not know stands in capitals. A report may be anyone's: names of several lines, names that are
    options and options of another kind are left out, so that nothing in it names a file that runs but `--model-file`.

    Args:
        report: The report.
    """

    report: "ReportRecord"

    @cached_property
    def asked(self) -> Asked:
        """What was typed, as far as it can stand in a command."""
        request = self.report.provenance.asked or Asked()
        names = {name: value for name in _PLACES if (value := getattr(request, name)) and wording.can_be_typed(value)}
        places: dict[str, Any] = {name: names.get(name) for name in _PLACES}
        return replace(request, **places, data=_check_options(request.data), contexts=_check_options(request.contexts))

    @property
    def has_features(self) -> bool:
        """Whether the input of the model's last layer can be found, as that of transformers can."""
        request, given = self.asked, self.report.provenance.asked
        if given is None or request.has_features is not None:
            return request.has_features is not False
        return not request.model_file and request.model is not None and not request.model.lower().endswith(".onnx")

    @property
    def model(self) -> tuple[str, ...]:
        """The words that name the model."""
        return ("--model-file", self.asked.model_file) if self.asked.model_file else (self.asked.model or "MODEL",)

    @property
    def source(self) -> str:
        """The data that were typed, else the benchmark if it is installed here."""
        benchmark = self.report.benchmark
        is_here = benchmark.name in catalog.names("benchmark")
        return self.asked.source or (f"{benchmark.name}/{benchmark.config}" if is_here else "SOURCE")

    @property
    def record(self) -> str:
        """The file of the report."""
        return self.asked.report or "REPORT"

    def options(self, command: str, *, contexts: bool = False, but: Sequence[str] = ()) -> tuple[str, ...]:
        """What was typed of data, rows and model, as far as a command takes it.

        Args:
            command: Name of the command.
            contexts: Whether the way that found contexts is named too.
            but: Flags that are left out.
        """
        taken = {flag: option for kind in _KINDS[command] for flag, option in _list_flags(kind).items()}
        words = (*self.asked.data, *(self.asked.contexts if contexts else ()))
        return _keep_options(
            words, [flag for flag, option in taken.items() if _is_of(option, command) and flag not in but]
        )

    def about_images(self) -> tuple[str, ...]:
        """The options by which a page of all rows finds the images of the data."""
        of_table = "--labels" in self.asked.data  # whose columns the images do not have
        return () if of_table else _keep_options(self.asked.data, _OF_IMAGES)

    def audit(self, *also: str) -> str:
        """The audit of the same model and data; one that asks something else gets a folder of its own.

        Args:
            also: Further options, each with its value.
        """
        given = dict(zip(also[::2], also[1::2], strict=True))
        way = given.get("--contexts", given.get("--probe"))
        place = Path(self.asked.report or "audit/report.json").parent
        is_below = not place.is_absolute() and ".." not in place.parts  # a report of someone else names no other place
        own = ("--out", place.as_posix()) if is_below and place.as_posix() not in ("audit", ".") else ()
        own = ("--out", f"audit_{way}") if way else own
        but = ("--context-column",) if "--contexts" in given else ()
        probe = () if also else self.probe()
        options = self.options("audit", contexts=not also, but=but)
        return write_command("audit", *self.model, self.source, *options, *probe, *also, *own)

    def probe(self) -> tuple[str, ...]:
        """The options that ask for the probe again; none for a report without it."""
        measured = self.report.background
        if measured is None:
            return ()
        given, flags = measured.options or ("--probe", "background"), _list_flags(ProbeSettings)
        pairs = [pair for pair in zip(given[::2], given[1::2], strict=False) if pair[0] in flags]
        return tuple(
            word for flag, value in pairs if wording.can_be_typed(value) for word in (flag, _fill(flag, value))
        )


def list_typed_options(data: DataSettings, how: ModelSettings, asked: PredictionSettings) -> tuple[str, ...]:
    """What was typed of data, rows and model, whatever was asked of them; what the file of a model says is left out."""
    kept = [name for name in TYPED if name not in how.said_by_file]
    return (*data.words(), *how.words(*kept), *asked.words(*kept))


def write_command(command: str, *words: str) -> str:
    """A command as it is typed, each word quoted.

    >>> write_command("audit", "my model", "images")
    "oochub audit 'my model' images"
    """
    return shlex.join(["oochub", command, *words])


def _list_flags(kind: type[Settings]) -> Mapping[str, Option]:
    """The options of a record that a report keeps, by each flag."""
    kept = kind in (ModelSettings, PredictionSettings)
    options = {name: option for name, option in list_options(kind).items() if not kept or name in TYPED}
    return {flag: option for option in options.values() for flag in (option.flag or "").split("/")}


def _is_of(option: Option, command: str) -> bool:
    return option.commands is None or command in option.commands


def _check_options(words: Sequence[str]) -> tuple[str, ...]:
    """Options that say what data, rows and model are; those of another kind are left out."""
    return tuple(
        word
        for flag, *value in _read_options(words)
        if value == [wording.name(word, _LONGEST_OPTION) for word in value]
        for word in (flag, *(_fill(flag, entry) for entry in value))
    )


def _fill(flag: str, value: str) -> str:
    """The value, or the name of the option in capitals if a path was not kept."""
    return value or flag.strip("-").replace("-", "_").upper()


@cache
def _list_switches() -> Mapping[str, bool]:
    """Whether each known flag stands alone."""
    return {
        flag: type_of(kind, name) is bool
        for kind in (DataSettings, ContextSettings, LabelSettings, ModelSettings, PredictionSettings)
        for name, option in list_options(kind).items()
        for flag in (option.flag or "").split("/")
        if flag in _list_flags(kind)
    }


def _read_options(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each known flag with its value, or alone if it takes none."""
    switches, rest = _list_switches(), iter(words)
    for flag in rest:
        value = () if switches.get(flag) else (next(rest, ""),)
        if flag in switches:
            yield flag, *value


def _keep_options(words: Sequence[str], flags: Iterable[str]) -> tuple[str, ...]:
    kept = {*flags}
    return tuple(word for option in _read_options(words) if option[0] in kept for word in option)
