"""Draws figures into files by name: the names of a figure's first parameters say what it is made of.

A figure of `figures/` whose first parameter is `report`, `reports`, `scenes`, `predicted_scenes`, `losses`,
`predictions`, `models`, `scored_sets` or `detection_numbers` can be drawn from the command line; `datasets`, `nearest`
and `coco` are given to those that take them. `_table` in the module of a figure takes the same, and makes the table
that belongs to it; `_rows` makes one that is too wide for a terminal, and only a .csv takes it.
"""

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from oochub import catalog
from oochub.commands._figure_sources import ALL, Sources
from oochub.errors import OochubError, unknown_name
from oochub.prediction.predictions import Predictions
from oochub.storage.artifacts import CSV, FIGURE, find_plot_kind, format_csv
from oochub.storage.files import check_writable, write_whole

if TYPE_CHECKING:
    import pandas as pd

_SUFFIXES = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}  # same input, same bytes
_NEEDS = {  # what a figure is made of: the sources that hold it
    "report": ("reports",),
    "reports": ("reports",),
    "scenes": ("predictions", "data"),
    "predicted_scenes": ("predictions",),
    "losses": ("predictions",),
    "predictions": ("predictions",),
    "models": ("predictions",),
    "scored_sets": ("predictions",),
    "detection_numbers": ("numbers",),
}
_SEVERAL = ("models", "scored_sets")  # made of one or more files of predictions
_BESIDE = ("datasets", "nearest", "coco")  # what else a figure may take
_OF_DETECTORS = ("detector", "against", "detectors")  # options that name what has to be scored
_WORDS = {
    "reports": "reports (report.json of `oochub evaluate`)",
    "predictions": "predictions (.parquet of `oochub predict`)",
    "predicted_scenes": f"predictions (.parquet of `oochub predict MODEL {ALL}`)",
    "losses": f"predictions (.parquet of `oochub predict MODEL {ALL}`)",
    "scenes": f"predictions (.parquet of `oochub predict MODEL {ALL}`) or a data set ({ALL} with --data-dir)",
    "data": f"a data set ({ALL} with --data-dir)",
    "numbers": "numbers (numbers.csv of `oochub imagenet_ood detect`)",
    "models": "predictions for a task of nooch (.parquet of `oochub predict`), one file per model",
    "scored_sets": "predictions by one model (.parquet of `oochub predict`), one file per set",
}
_DPI = 150


@dataclass(frozen=True)
class Plot:
    """One figure that was asked for.

    Attributes:
        draw: Takes what the figure is made of, by keyword where there is more than one thing; returns its axes.
        material: The attribute of `Sources` that it takes first.
        path: File to write.
        beside: Attributes of `Sources` that it takes by name.
        detectors: Detectors that its options name.
        numbers: Takes the same as `draw`, returns the table that belongs to the figure; None if there is none.
        rows: The same for the table that a .csv takes.
    """

    draw: Callable[..., Any]
    material: str
    path: Path
    beside: Sequence[str] = ()
    detectors: Sequence[str] = ()
    numbers: "Callable[..., pd.DataFrame] | None" = None
    rows: "Callable[..., pd.DataFrame] | None" = None

    @property
    def is_table(self) -> bool:
        """Whether the file takes the table in place of the figure."""
        return find_plot_kind(str(self.path)) is CSV

    @classmethod
    def parse(cls, text: str, sources: Sources) -> "Plot":
        """A plot from "KIND=FILE" or "KIND:option=value=FILE", everything checked, no source read.

        A file named .csv takes the table that belongs to the figure, in its place.

        Raises:
            OochubError: An unknown kind, option or value; a file that cannot be written or is no image; a kind without
                a table for a .csv; a kind that these sources cannot make; a detector that is unknown or, without
                reference, cannot be fitted.

        >>> Plot.parse("alpha_beta_share:side=negative=out.png", Sources(names=["all.parquet"])).material
        'scenes'
        """
        parts = re.fullmatch(r"(\w+)((?::\w+=[^:=]+)*)=(.+)", text)
        if parts is None:
            raise OochubError(f"A plot must be written KIND=FILE.png or KIND:option=value=FILE.png, got {text!r}.")
        kind, path = parts[1], check_writable(parts[3], kind=find_plot_kind(parts[3]))
        options = dict(pair.split("=") for pair in parts[2].split(":")[1:])
        plot = _draw_figure(kind, options, path)
        if plot.is_table and plot.rows is None:
            allowed = " or ".join(_SUFFIXES)
            raise OochubError(f"Cannot write {path}: {kind} has no table. To draw it, its name must end in {allowed}.")
        if sources.kind not in _NEEDS[plot.material]:
            wanted = " or ".join(_WORDS[material] for material in _NEEDS[plot.material])
            wanted = _WORDS.get(plot.material, wanted)
            raise OochubError(f"{kind} needs {wanted}, got {_WORDS[sources.kind]}: {', '.join(sources.names)}.")
        if plot.material == "report" and len(sources.names) > 1:
            raise OochubError(f"{kind} shows exactly one report, got {len(sources.names)}. Draw one at a time.")
        if sources.kind == "predictions" and len(sources.names) > 1 and plot.material not in _SEVERAL:
            raise sources.several()
        if plot.material == "scored_sets":
            _check_detectors(kind, plot.detectors, sources)
        return plot


def draw(plots: Sequence[Plot], sources: Sources) -> "dict[str, pd.DataFrame]":
    """Draws each plot into its file, whole or not at all.

    Returns:
        The tables that belong to the figures, by path.

    Raises:
        OochubError: matplotlib is missing; sources that cannot be read or lack what a figure shows.
    """
    tables: dict[str, pd.DataFrame] = {}
    if not plots:
        return tables
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise OochubError('Plots need matplotlib, which is not installed. Run: pip install "oochub[plots]"') from error
    pyplot.switch_backend("agg")  # files, no windows
    named = [name for plot in plots for name in plot.detectors]
    sources = replace(sources, detectors=_match_detectors(sources.detectors, named))
    sources.check({name for plot in plots for name in plot.beside})
    for plot in plots:
        beside = {name: getattr(sources, name) for name in plot.beside}
        if plot.is_table and plot.rows is not None:
            table = plot.rows(getattr(sources, plot.material), **beside)
            with write_whole(plot.path, kind=CSV) as draft:
                draft.write_text(format_csv(table), "utf-8")
            continue
        figure = plot.draw(getattr(sources, plot.material), **beside).figure
        form = plot.path.suffix.lower() or ".png"  # of a stream
        same_bytes = pyplot.rc_context({"svg.hashsalt": "oochub"})  # of the same input
        with write_whole(plot.path, kind=FIGURE) as draft, same_bytes:
            figure.savefig(draft, dpi=_DPI, format=form[1:], metadata=_SUFFIXES[form])
        pyplot.close(figure)
        if plot.numbers is not None:
            tables[str(plot.path)] = plot.numbers(getattr(sources, plot.material), **beside)
    return tables


def _draw_figure(kind: str, options: Mapping[str, str], path: Path) -> Plot:
    """The plot of a kind with its options, whatever the sources."""
    function = catalog.get("figure", kind)
    first, *others = inspect.signature(function).parameters.values()
    beside = [parameter.name for parameter in others if parameter.name in _BESIDE]
    more = [
        parameter.name for parameter in others if parameter.default is parameter.empty and parameter.name not in beside
    ]
    if first.name not in _NEEDS or more:
        commands = [f"`oochub {name}`" for name in catalog.names("command") if name.split()[-1] == kind]
        way = commands[0] if commands else f"oochub.get('figure', {kind!r})"
        raise OochubError(f"{kind} needs {', '.join([first.name, *more])}: {way} draws it, --plot does not.")
    allowed = {parameter.name: parameter.annotation for parameter in others if _is_read(parameter.annotation)}
    for name in options:
        if not allowed:
            raise OochubError(f"{kind} has no options, got {name!r}.")
        if name not in allowed:
            raise unknown_name(f"option of {kind}", name, allowed)
    given = {name: _read(f"{name} of {kind}", text, allowed[name]) for name, text in options.items()}
    scored: list[str] = []
    for parameter in others:
        value = given.get(parameter.name, parameter.default) if parameter.name in _OF_DETECTORS else None
        scored += [value] if isinstance(value, str) else value or []
    return Plot(
        lambda *material, **named: function(*material, **named, **given), first.name, path,
        beside=beside, detectors=scored, numbers=_find_table(function, given, "_table"),
        rows=_find_table(function, given, "_table") or _find_table(function, given, "_rows"),
    )  # fmt: skip


def _find_table(
    function: Callable[..., Any], given: Mapping[str, Any], name: str
) -> "Callable[..., pd.DataFrame] | None":
    """The function of this name in a figure's module, with the same options; None if there is none."""
    table = vars(sys.modules[function.__module__]).get(name)
    return None if table is None else lambda *material, **named: table(*material, **named, **given)


def _match_detectors(detectors: Sequence[str], named: Sequence[str]) -> list[str]:
    """The words of the detectors, and the names among `named` that none of them has."""
    every = list(dict.fromkeys(detectors))
    for name in named:
        if name not in every and name not in [words.partition(":")[0] for words in every]:
            every.append(name)
    return every


def _check_detectors(kind: str, named: Sequence[str], sources: Sources) -> None:
    from oochub.evaluation.detector_scores import make_detector

    words = _match_detectors(sources.detectors, named)
    by_name = {name: make_detector(name) for name in words}
    compared = "against" in inspect.signature(catalog.get("figure", kind)).parameters
    if len(by_name) < 1 + compared:
        names = f"only {words[0]}" if words else "none"
        raise OochubError(
            f"{kind} shows {'two detectors' if compared else 'a detector'}, but {names} is named. Name one: "
            "--detector vim."
        )
    to_fit = [name for name, detector in by_name.items() if {"features", "logits", "label"} & set(detector.fit_needs)]
    if to_fit and sources.reference is None:
        raise OochubError(
            f"{', '.join(to_fit)} must be fitted to the training split. Give --reference FILE: predictions for it "
            "with features, by `oochub predict ... --split train --features`."
        )


_READERS: Mapping[Any, Callable[[str], Any]] = {
    str: str,
    str | None: str,
    bool: lambda text: {"yes": True, "no": False}[text],
    int: int,
    Predictions | None: Predictions.load,
    Sequence[float]: lambda text: [float(part) for part in text.split(",")],
    Sequence[str] | None: lambda text: text.split(","),
}


def _is_read(annotation: Any) -> bool:
    return get_origin(annotation) is Literal or annotation in _READERS


def _read(what: str, text: str, annotation: Any) -> Any:
    if get_origin(annotation) is Literal:
        if text not in get_args(annotation):
            raise unknown_name(what, text, get_args(annotation))
        return text
    try:
        return _READERS[annotation](text)
    except OochubError:
        raise
    except (KeyError, ValueError) as error:
        wanted = {int: "a whole number", bool: "yes or no"}.get(annotation, "numbers with commas between")
        raise OochubError(f"{what} must be {wanted}, got {text!r}.") from error
