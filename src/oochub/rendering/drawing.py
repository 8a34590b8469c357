"""Draws figures into files by name: the name of a figure's first parameter says what it is made of.

A figure of `figures/` whose first parameter is `reports`, `scenes`, `predicted_scenes`, `losses` or `predictions` can
be drawn from the command line; so can the plots of one report (`oochub.plots`).
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.files import check_writable, written_whole

if TYPE_CHECKING:
    import pandas as pd

    from oochub.predictions import Predictions
    from oochub.report import Report
    from oochub.suite.scenes import Scenes

_OF_ONE_REPORT = ("gap", "slices", "groups", "reliability")
_SUFFIXES = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}  # same input, same bytes
_ALL = "nooch/all"
_NEEDS = {  # what a figure is made of: the sources that hold it
    "report": ("reports",),
    "reports": ("reports",),
    "scenes": ("predictions", "data"),
    "predicted_scenes": ("predictions",),
    "losses": ("predictions",),
    "predictions": ("predictions",),
}
_WORDS = {
    "reports": "reports (report.json of `oochub evaluate`)",
    "predictions": f"predictions (.parquet of `oochub predict MODEL {_ALL}`)",
    "data": f"a data set ({_ALL} with --data-dir)",
}
_DPI = 150


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the figures are made of, read when it is first asked for.

    Attributes:
        names: Paths of reports, or of one file of predictions, or "nooch/all".
        data_dir: The raw folder of a data set.
        options: Options of its builder.

    >>> Sources(names=["erm.json", "dro.json"]).kind, Sources(names=["all.parquet"]).kind
    ('reports', 'predictions')
    """

    names: Sequence[str]
    data_dir: str | None = None
    options: Mapping[str, Any] | None = None

    @cached_property
    def kind(self) -> str:
        """By the look of the names: "reports", "predictions" or "data".

        Raises:
            OochubError: Sources of several kinds; several that are not reports.
        """
        found = [_kind(name) for name in self.names]
        if len(set(found)) > 1 or (len(found) > 1 and found[0] != "reports"):
            raise OochubError(
                f"A figure is made of one or more reports, or of one other source; got {', '.join(self.names)}."
            )
        return found[0]

    @cached_property
    def reports(self) -> "list[Report]":
        """The reports, in the order given."""
        from oochub.report import Report

        return [Report.load(name) for name in self.names]

    @property
    def report(self) -> "Report":
        """The one report, or the first."""
        return self.reports[0]

    @cached_property
    def predictions(self) -> "Predictions":
        """The predictions."""
        from oochub.predictions import Predictions

        return Predictions.load(self.names[0])

    @cached_property
    def scenes(self) -> "Scenes":
        """The scenes of the test split, of predictions or of the data set."""
        from oochub.loading import load
        from oochub.suite.scenes import Scenes

        if self.kind == "predictions":
            return Scenes.of(self.predictions)
        if self.names[0] != _ALL:
            raise OochubError(f"Only {_ALL} holds what these figures show, got {self.names[0]}.")
        return Scenes.of(load(_ALL, data_dir=self.data_dir, options=self.options))

    @property
    def predicted_scenes(self) -> "Scenes":
        """The scenes of predictions, with their logits."""
        return self.scenes

    @cached_property
    def losses(self) -> "pd.DataFrame":
        """The losses of every task."""
        from oochub.suite.task_losses import task_losses

        return task_losses(self.scenes)


@dataclass(frozen=True)
class Plot:
    """One figure that was asked for.

    Attributes:
        draw: Takes what the figure is made of, returns its axes.
        material: The attribute of `Sources` that it takes.
        path: Where it goes.
    """

    draw: Callable[[Any], Any]
    material: str
    path: Path

    @classmethod
    def parse(cls, text: str, sources: Sources) -> "Plot":
        """A plot from "KIND=FILE" or "KIND:option=value=FILE", everything checked, nothing read.

        Raises:
            OochubError: An unknown kind, option or value; a file that cannot be written or is no picture; a kind that
                these sources cannot make.

        >>> Plot.parse("alpha_beta_share:side=negative=out.png", Sources(names=["all.parquet"])).material
        'scenes'
        """
        parts = re.fullmatch(r"(\w+)((?::\w+=[^:=]+)*)=(.+)", text)
        if parts is None:
            raise OochubError(f"A plot is written KIND=FILE.png or KIND:option=value=FILE.png, got {text!r}.")
        kind, path = parts[1], check_writable(parts[3])
        if path.suffix not in _SUFFIXES:
            raise OochubError(f"A figure is a {', '.join(_SUFFIXES)} file, got {path.name}.")
        options = dict(pair.split("=") for pair in parts[2].split(":")[1:])
        draw, material = _figure(kind, options)
        if sources.kind not in _NEEDS[material]:
            wanted = " or ".join(_WORDS[one] for one in _NEEDS[material])
            raise OochubError(f"{kind} is made of {wanted}, got {_WORDS[sources.kind]}: {', '.join(sources.names)}.")
        if material == "report" and len(sources.names) > 1:
            raise OochubError(f"{kind} shows exactly one report, got {len(sources.names)}. Draw one after the other.")
        return cls(draw, material, path)


def draw(plots: Sequence[Plot], sources: Sources) -> None:
    """Draws each plot into its file, whole or not at all.

    Raises:
        OochubError: matplotlib is missing; sources that cannot be read or lack what a figure shows.
    """
    if not plots:
        return
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise OochubError('Plots need matplotlib, which is not installed. Run: pip install "oochub[plots]"') from error
    pyplot.switch_backend("agg")  # files, no windows
    for plot in plots:
        figure = plot.draw(getattr(sources, plot.material)).figure
        with written_whole(plot.path) as draft, pyplot.rc_context({"svg.hashsalt": "oochub"}):  # same input, same bytes
            figure.savefig(draft, dpi=_DPI, metadata=_SUFFIXES[plot.path.suffix])
        pyplot.close(figure)


def _kind(name: str) -> str:
    if name.endswith(".parquet"):
        return "predictions"
    benchmark = name.partition("/")[0]
    return "data" if benchmark in catalog.names("benchmark") and not Path(name).is_file() else "reports"


def _figure(kind: str, options: Mapping[str, str]) -> tuple[Callable[[Any], Any], str]:
    """A function of the material alone, and the name of the material."""
    if kind in _OF_ONE_REPORT:
        from oochub.plots import plot

        for name in options:
            raise OochubError(f"{kind} has no options, got {name!r}.")
        return lambda report: plot(report.data, kind), "report"
    figures = catalog.names("figure")
    if kind not in figures:
        raise unknown_name("figure", kind, [*_OF_ONE_REPORT, *figures])
    function = catalog.get("figure", kind)
    first, *others = inspect.signature(function).parameters.values()
    more = [one.name for one in others if one.default is one.empty]
    if first.name not in _NEEDS or more:
        verb = f"`oochub {kind}`" if find_spec(f"oochub.verbs.{kind}") else f"oochub.get('figure', {kind!r})"
        raise OochubError(f"{kind} is made of {', '.join([first.name, *more])}: {verb} draws it, --plot does not.")
    allowed = {one.name: one.annotation for one in others if _is_read(one.annotation)}
    for name in options:
        if name not in allowed:
            raise unknown_name(f"option of {kind}", name, allowed)
    given = {name: _read(f"{name} of {kind}", text, allowed[name]) for name, text in options.items()}
    return lambda material: function(material, **given), first.name


_READERS: Mapping[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    Sequence[float]: lambda text: [float(part) for part in text.split(",")],
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
    except ValueError as error:
        wanted = "a whole number" if annotation is int else "numbers with commas between"
        raise OochubError(f"{what} is {wanted}, got {text!r}.") from error
