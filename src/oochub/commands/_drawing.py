"""Draws figures into files by name: the names of a figure's first parameters say what it is made of.

A figure of `figures/` whose first parameter is `report`, `reports`, `scenes`, `predicted_scenes`, `losses`,
`predictions`, `models`, `scored_sets` or `detection_numbers` can be drawn from the command line; `datasets`, `nearest`
and `coco` are given to those that take them. `_table` in the module of a figure takes the same, and makes the table
that belongs to it; `_rows` makes one that is too wide for a terminal, and only a .csv takes it.

Reports, predictions and data sets are read when a figure first asks for them. `--export NAME=PATH` writes predictions
as the file or folder of another program.
"""

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from oochub import catalog
from oochub.errors import OochubError, check_installed, unknown_name
from oochub.exchange.bridge import Bridge, get_bridge
from oochub.prediction.predictions import Predictions
from oochub.storage.artifacts import CSV, FIGURE, find_plot_kind, format_csv
from oochub.storage.files import check_writable, write_whole

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from oochub.detection.detector_scores import ScoredSet
    from oochub.detection.image_sets import Nearest
    from oochub.evaluation.scenes import Scenes
    from oochub.prediction.predictions import Predictions
    from oochub.report.report import Report

ALL = "nooch/all"


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
    "scenes": f"predictions (.parquet of `oochub predict MODEL {ALL}`) or a dataset ({ALL} with --data-dir)",
    "data": f"a dataset ({ALL} with --data-dir)",
    "numbers": "numbers (numbers.csv of `oochub imagenet_ood detect`)",
    "models": "predictions for a task of nooch (.parquet of `oochub predict`), one file per model",
    "scored_sets": "predictions by one model (.parquet of `oochub predict`), one file per set",
}
_DPI = 150


_SIDE = "side"


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the figures are made of, read when it is first asked for.

    Attributes:
        names: Paths of reports, of files of predictions, of a table of numbers (.csv), or "nooch/all".
        data_dir: The raw folder of a data set.
        options: Options of its builder.
        detectors: Words of the detectors that score predictions, as `make_detector` reads them.
        reference: Predictions of the training split, to fit detectors on.
        embeddings: Predictions whose features say which images are near; none takes those of the predictions.

    >>> Sources(names=["erm.json", "dro.json"]).kind, Sources(names=["all.parquet"]).kind
    ('reports', 'predictions')
    """

    names: Sequence[str]
    data_dir: str | None = None
    options: Mapping[str, Any] | None = None
    detectors: Sequence[str] = ()
    reference: str | None = None
    embeddings: Sequence[str] = ()

    @cached_property
    def kind(self) -> str:
        """The kind of the sources by the look of their names: "reports", "predictions", "numbers" or "data".

        Raises:
            OochubError: Sources of several kinds; several data sets or tables of numbers.
        """
        kinds = [_find_kind(name) for name in self.names]
        if len(set(kinds)) > 1 or (len(kinds) > 1 and kinds[0] in ("data", "numbers")):
            raise self.several()
        return kinds[0]

    def several(self) -> OochubError:
        """The error for more sources than a figure takes."""
        return OochubError(
            "A figure needs one or more reports, or one other source; only figures of detectors and a gallery take "
            f"several files of predictions. Got {', '.join(self.names)}."
        )

    @cached_property
    def reports(self) -> "list[Report]":
        """The reports, in the order given."""
        from oochub.report.report import Report

        return [Report.load(name) for name in self.names]

    @property
    def report(self) -> "Report":
        """The one report, or the first."""
        return self.reports[0]

    @cached_property
    def predictions(self) -> "Predictions":
        """The predictions, or the first of several."""
        return self._every[0]

    @cached_property
    def models(self) -> "list[Predictions]":
        """The predictions of each file, by whatever model."""
        from oochub.prediction.predictions import Predictions

        return [Predictions.load(name) for name in self.names]

    @property
    def coco(self) -> Path:
        """The raw folder of NOOCH.

        Raises:
            OochubError: There is none, or predictions are for another benchmark.
        """
        from oochub.benchmark import find_data_folder

        for name, part in zip(self.names, self.models, strict=True):
            if part.metadata.benchmark != "nooch":
                raise OochubError(f"This figure shows a task of nooch, but {name} is for {part.metadata.benchmark}.")
        return find_data_folder(catalog.get("benchmark", "nooch"), self.data_dir)

    @cached_property
    def scenes(self) -> "Scenes":
        """The scenes of the test split, of predictions or of the data set."""
        from oochub.data.load import load
        from oochub.evaluation.scenes import Scenes

        if self.kind == "predictions":
            return Scenes.of(self.predictions)
        if self.names[0] != ALL:
            raise OochubError(f"Only {ALL} holds what these figures show, got {self.names[0]}.")
        return Scenes.of(load(ALL, data_dir=self.data_dir, options=self.options))

    @property
    def predicted_scenes(self) -> "Scenes":
        """The scenes of predictions, with their logits."""
        return self.scenes

    @cached_property
    def losses(self) -> "pd.DataFrame":
        """The losses of every task."""
        from oochub.evaluation.scenes import measure_task_losses

        return measure_task_losses(self.scenes)

    @cached_property
    def detection_numbers(self) -> "pd.DataFrame":
        """The table of numbers."""
        import pandas as pd

        path = Path(self.names[0]).expanduser()
        try:
            return pd.read_csv(path)
        except (OSError, ValueError) as error:
            raise OochubError(
                f"There is no table of numbers at {path} ({error}). `oochub imagenet_ood detect` writes numbers.csv."
            ) from error

    @cached_property
    def scored_sets(self) -> "list[ScoredSet]":
        """What the detectors say of each file of predictions."""
        from oochub.detection.detector_scores import score_sets
        from oochub.prediction.predictions import Predictions

        fitted_on = Predictions.load(self.reference) if self.reference else None
        return score_sets(self._every, self.detectors, reference=fitted_on)

    @property
    def nearest(self) -> "Mapping[str, Nearest]":
        """For each row of each file of predictions the nearest in distribution, searched when it is asked for."""
        return _Lazily([scored.name for scored in self.scored_sets], lambda config: self._nearest[config])

    @cached_property
    def _nearest(self) -> "dict[str, Nearest]":
        from oochub.detection.image_sets import find_nearest_inside

        return find_nearest_inside(self.scored_sets, embedding=self.embedding or None)

    @cached_property
    def embedding(self) -> "list[Predictions]":
        """The predictions whose features say which images are near; empty where none were named."""
        from oochub.prediction.predictions import Predictions

        return [Predictions.load(name) for name in self.embeddings]

    @cached_property
    def datasets(self) -> Mapping[str, Any]:
        """The data set of each file of predictions by its config, built when it is first asked for."""
        names = {str(part.metadata.config): str(part.metadata.benchmark) for part in self.models}
        names |= {  # of a task of NOOCH by one criterion, the task that has both
            f"gist_{config.removeprefix('ce_')}": name
            for config, name in names.items()
            if name == "nooch" and config.startswith("ce_")
        }

        def built(config: str) -> Any:
            from oochub.data.load import load

            return load(f"{names[config]}/{config}", data_dir=self.data_dir, options=self.options)

        return _Lazily(list(names), built)

    def check(self, beside: Collection[str]) -> None:
        """Checks what can be before anything is scored: raw data for "datasets" and "coco", features for "nearest".

        Raises:
            OochubError: There is no such folder, or some predictions have no features.
        """
        from oochub.benchmark import find_data_folder

        if "coco" in beside:
            _ = self.coco
        if "datasets" in beside:
            for name in dict.fromkeys(str(part.metadata.benchmark) for part in self.models):
                find_data_folder(catalog.get("benchmark", name), self.data_dir)
        if "nearest" in beside and not self.embedding:
            for name, part in zip(self.names, self._every, strict=True):
                if "features" not in part.column_names:
                    raise OochubError(
                        f"{name} has no features, which tell which images are near. Predict with --features, or give "
                        "--embedding FILE, predictions for the same images with the features of another model."
                    )

    @cached_property
    def _every(self) -> "list[Predictions]":
        every = self.models
        for part in every[1:]:
            for key in ("model", "class_names"):
                if getattr(part.metadata, key) != getattr(every[0].metadata, key):
                    ids = " and ".join(str(part.metadata.model.id) for part in (every[0], part))
                    raise OochubError(f"These predictions differ in {key} ({ids}). Detectors are shown for one model.")
        return every


class _Lazily(Mapping[str, Any]):
    """What belongs to each config, taken when it is first asked for."""

    def __init__(self, names: Sequence[str], take: Callable[[str], Any]) -> None:
        self._names, self._take = names, take
        self._taken: dict[str, Any] = {}

    def __getitem__(self, config: str) -> Any:
        if config not in self._names:
            raise KeyError(config)
        if config not in self._taken:
            self._taken[config] = self._take(config)
        return self._taken[config]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _find_kind(name: str) -> str:
    if name.endswith(".parquet"):
        return "predictions"
    if name.endswith(".csv"):
        return "numbers"
    benchmark = name.partition("/")[0]
    return "data" if benchmark in catalog.names("benchmark") and not Path(name).is_file() else "reports"


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
            raise OochubError(f"--plot must have the form KIND=FILE.png or KIND:option=value=FILE.png; got {text!r}.")
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
    check_installed("matplotlib", "plots", "Drawing plots")
    from matplotlib import pyplot

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
    values = {name: _read(f"{name} of {kind}", text, allowed[name]) for name, text in options.items()}
    scored: list[str] = []
    for parameter in others:
        value = values.get(parameter.name, parameter.default) if parameter.name in _OF_DETECTORS else None
        scored += [value] if isinstance(value, str) else value or []
    return Plot(
        lambda *material, **named: function(*material, **named, **values), first.name, path,
        beside=beside, detectors=scored, numbers=_find_table(function, values, "_table"),
        rows=_find_table(function, values, "_table") or _find_table(function, values, "_rows"),
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
    from oochub.detection.detector_scores import make_detector

    words = _match_detectors(sources.detectors, named)
    by_name = {name: make_detector(name) for name in words}
    compared = "against" in inspect.signature(catalog.get("figure", kind)).parameters
    if len(by_name) < 1 + compared:
        names = f"only {words[0]}" if words else "none"
        raise OochubError(
            f"{kind} shows {'two detectors' if compared else 'a detector'}, but {names} is named. Choose one: "
            "--detector vim."
        )
    to_fit = [name for name, detector in by_name.items() if {"features", "logits", "label"} & set(detector.fit_needs)]
    if to_fit and sources.reference is None:
        raise OochubError(
            f"{', '.join(to_fit)} must be fitted to the training split. Pass --reference FILE: predictions for it "
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


@dataclass(frozen=True)
class Export:
    """One export that was asked for.

    Attributes:
        bridge: Program that opens it.
        path: File or folder to write.
    """

    bridge: Bridge
    path: Path

    @classmethod
    def parse(cls, text: str) -> "Export":
        """An export from "NAME=PATH", the name and the path checked.

        Raises:
            OochubError: Another form, an unknown bridge or one that writes nothing, a path that holds something else.

        >>> Export.parse("fiftyone")
        Traceback (most recent call last):
        oochub.errors.OochubError: An export must be written NAME=PATH, as fiftyone=folder, got 'fiftyone'.
        """
        from oochub.exchange.export import check_export

        name, _, path = text.partition("=")
        if not (name and path):
            raise OochubError(f"An export must be written NAME=PATH, as fiftyone=folder, got {text!r}.")
        bridge = get_bridge(name)
        return cls(bridge, check_export(bridge, path))


def write_exports(exports: Sequence[Export], sources: Sources) -> None:
    """Writes each export, whole or not at all.

    Raises:
        OochubError: Sources that are not one file of predictions, or one report for what takes reports; what
            `oochub.exchange.export` raises.
    """
    from oochub.exchange.export import export, export_report

    of_report = [wanted for wanted in exports if wanted.bridge.of_report]
    if sources.kind == "reports" and len(sources.names) == 1 and len(of_report) == len(exports):
        for wanted in exports:
            export_report(sources.reports[0], wanted.bridge.name, wanted.path)
        return
    if of_report:
        raise OochubError(
            f"--export {of_report[0].bridge.name} takes one report.json, got {', '.join(sources.names)}. Run `oochub "
            "evaluate PREDICTIONS --out report.json` first, and export predictions apart."
        )
    if sources.kind != "predictions" or len(sources.names) > 1:
        raise OochubError(
            f"--export takes one file of predictions (.parquet of `oochub predict`), got {', '.join(sources.names)}."
        )
    for wanted in exports:
        wanted.bridge.check(sources.predictions)
    data = _load_data(sources) if any(wanted.bridge.needs_images for wanted in exports) else None
    told = _add_sides(sources.predictions)
    for wanted in exports:
        export(told, wanted.bridge.name, wanted.path, data=data)


def _add_sides(predictions: "Predictions") -> "Predictions":
    """The predictions with a column `side`, "in" or "out" of context, unless they have one or sides are of groups."""
    import numpy as np
    import pyarrow as pa

    from oochub.data.declaration import find_declaration
    from oochub.records.sides import GroupsOfRows

    declared, names = find_declaration(predictions), set(predictions.column_names)
    sides = {"in": declared.in_context, "out": declared.out_of_context}
    needed = {column for side in sides.values() for column in side.where}
    if _SIDE in names or not needed <= names or any(isinstance(side, GroupsOfRows) for side in sides.values()):
        return predictions
    columns = {name: predictions.column(name) for name in {"split", *needed}}
    told = np.full(len(predictions), None, object)
    for name, side in sides.items():
        told[side.mask(columns)] = name
    return predictions.with_table(predictions.rows.with_column(_SIDE, pa.array(told, pa.string())))


def _load_data(sources: Sources) -> "Mapping[str, datasets.Dataset] | None":
    """The splits that were predicted, with their images; None of own data that nobody named."""
    from oochub.data.load import is_benchmark, load

    metadata = sources.predictions.metadata
    if metadata.benchmark is not None and is_benchmark(metadata.benchmark):
        name = metadata.benchmark if metadata.config is None else f"{metadata.benchmark}/{metadata.config}"
    elif sources.data_dir is None:
        return None
    else:
        own: Mapping[str, datasets.Dataset] = load(sources.data_dir, options=sources.options)
        return own
    data: Mapping[str, datasets.Dataset] = load(name, data_dir=sources.data_dir, options=sources.options)
    return data
