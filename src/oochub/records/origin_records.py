"""What a report is about and where it comes from: the benchmark, the model, the predictions and the versions.

`provenance` keeps versions and settings apart from what differs between two equal runs.
"""

import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from oochub.process.own_files import describe_own_files
from oochub.records.metadata import HubDataSet, Training
from oochub.records.schema import optional
from oochub.records.sides import Form, Vocabulary
from oochub.records.typed_values import Count
from oochub.storage.artifacts import Integrity

_PACKAGES = (
    "accelerate",
    "datasets",
    "evaluate",
    "numpy",
    "pillow",
    "scikit-learn",
    "scipy",
    "torch",
    "transformers",
)


@dataclass(frozen=True, kw_only=True)
class License:
    """The license of `what`: "images" or "labels"."""

    what: str
    license: str


@dataclass(frozen=True, kw_only=True)
class SideRows:
    """The rows of one side of the comparison.

    Attributes:
        name: What the rows are, in the benchmark's words ("easy").
        split: The split that they are of.
        where: Column name to allowed values; empty for the whole split.
        form: What of these rows is compared: the metric on all of them, on the worst of their groups, or a percentile
            of its values on their groups; see `oochub.records.sides`.
    """

    name: str
    split: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form: Form = optional("rows")

    @property
    def is_declared(self) -> bool:
        """Whether any row can be of this side; False for own data that name no context."""
        return () not in self.where.values()


@dataclass(frozen=True, kw_only=True)
class EvaluatedBenchmark:
    """The benchmark that a report is about, as its declaration says.

    Attributes:
        name: The name that `load_dataset` takes; a name of their own for a user's data.
        config: Its configuration.
        title: Its name in print.
        version: Version of its rows.
        summary: One sentence on what is out of context in it.
        homepage: Where the authors publish it.
        citation: BibTeX.
        authors: Names of the authors, of own data that say them.
        licenses: Licenses of images and labels.
        primary_metric: The metric of the gap.
        metric_direction: "higher" or "lower" is better.
        chance: The primary metric of guessing; nan where there is none.
        practical_gap: A gap smaller than this does not matter in practice.
        context_column: Column that holds the context.
        object: Thing to be recognized, in a binary task.
        contexts: Its usual contexts.
        in_context: The rows on which context helps.
        out_of_context: The rows on which it misleads.
        words: What report, page and terminal call all this; neutral where a report does not say.
        trial_seed: Random seed by which its rows were divided into splits; None if they are the same in each trial.
        thresholds: Thresholds of NOOCH's criteria by name: alpha, beta, tau; None for others.
        data_set: Data set on the Hub that the predicted rows were loaded from; None for others, or if a report does not
            say.
    """

    name: str
    config: str
    title: str
    version: str
    summary: str
    homepage: str
    citation: str
    licenses: tuple[License, ...]
    primary_metric: str
    metric_direction: str
    chance: float
    practical_gap: float
    context_column: str
    object: str | None
    contexts: tuple[str, ...]
    in_context: SideRows
    out_of_context: SideRows
    words: Vocabulary = optional(Vocabulary())
    trial_seed: int | None = optional()
    thresholds: Mapping[str, float] | None = optional()
    data_set: HubDataSet | None = optional()
    authors: tuple[str, ...] = optional(())


@dataclass(frozen=True, kw_only=True)
class EvaluatedModel:
    """The model that a report is about.

    Attributes:
        id: Id as typed; a folder by its name. None where nobody said.
        revision: Hash of the weights, or the commit on the Hub.
        mode: How its outputs were made: "head", "features", ...
        class_names: Names of the classes that it tells apart.
        objective: Objective that it was trained with; None for a model that was not trained here.
        seeds: Random seeds of its training.
        method: Name of the method in the recipe of the sweep that trained it; None for other models.
        setting: The setting of the method there, in words ("k=4"); None for one that has none.
        trained_on: The data sets that its card names; None where that is not said.
        prompt: What a model that answers in words was asked, as rendered; None for other models.
        normalization: See `oochub.records.metadata.Metadata`.
        calibration: See there.
    """

    id: str | None = None
    revision: str | None = None
    mode: str | None = None
    class_names: tuple[str, ...] = ()
    objective: str | None = None
    seeds: tuple[int, ...] = ()
    method: str | None = optional()
    setting: str | None = optional()
    trained_on: tuple[str, ...] | None = optional()
    prompt: str | None = optional()
    normalization: str | None = optional()
    calibration: str | None = optional()


@dataclass(frozen=True, kw_only=True)
class PredictionsSource:
    """The predictions that were evaluated.

    Attributes:
        file: Names of the files, or "in memory".
        rows: Number of rows.
        fingerprint: Fingerprint of the data.
        sha256: Digest of examples, truth and answers.
        integrity: Whether the bytes of every file were compared with a seal; None if there was no file, or if an older
            report does not say.
    """

    file: str
    rows: Count
    fingerprint: str
    sha256: str
    integrity: Integrity | None = optional()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was typed, so that a report can name the commands that come next; None is unknown.

    All paths are relative to the folder in which the command ran. An absolute one outside of it is not kept: it is ""
    in the options, and None elsewhere.

    Attributes:
        model: Model, a folder or an id.
        model_file: File that made it, "net.py:load".
        source: Data.
        data: Options that say which columns are what.
        contexts: Options of the way that found contexts.
        predictions: File of the predictions.
        report: File of the report.
        has_features: Whether the input of the last layer of a module or ONNX file can be found; None for other models.
        knows_objects: Whether the data themselves say where the object of each image is, by masks or boxes.
    """

    model: str | None = optional()
    model_file: str | None = optional()
    source: str | None = optional()
    data: tuple[str, ...] = optional(())
    contexts: tuple[str, ...] = optional(())
    predictions: str | None = optional()
    report: str | None = optional()
    has_features: bool | None = optional()
    knows_objects: bool | None = optional()

    @classmethod
    def of(
        cls,
        *,
        model: object = None,
        model_file: object = None,
        source: object = None,
        data: Iterable[str] = (),
        contexts: Iterable[str] = (),
        predictions: object = None,
        report: object = None,
        has_features: bool | None = None,
        knows_objects: bool | None = None,
    ) -> "Asked | None":
        """What is known of what was typed; None where nothing is.

        Args:
            model: What was given as the model; what is no text or path is unknown. So are the others.
            model_file: The file that made it.
            source: The data.
            data: Words of the options, see `oochub.settings.option.Settings.words`.
            contexts: The same of the way that found contexts.
            predictions: The file of the predictions.
            report: The file of the report.
            has_features: See `Asked`.
            knows_objects: See there.

        >>> Asked.of(model="toy/model", source="/elsewhere/pictures", data=["--label-column", "breed"]).source is None
        True
        >>> Asked.of(model=object()) is None
        True
        """
        kept = [
            keep_below(place) if isinstance(place, str | Path) else None
            for place in (model, model_file, source, predictions, report)
        ]
        if not any(kept):
            return None
        names = ("model", "model_file", "source", "predictions", "report")
        typed: dict[str, Any] = dict(zip(names, kept, strict=True))
        facts: dict[str, Any] = {"has_features": has_features, "knows_objects": knows_objects}
        return cls(**typed, **facts, data=_keep_words(data), contexts=_keep_words(contexts))


def _keep_words(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(keep_below(word) or "" for word in words)


def keep_below(typed: str | Path) -> str | None:
    """A path as typed, relative to the working directory; None for one that is absolute and lies elsewhere.

    >>> keep_below("runs/erm"), keep_below(Path.cwd() / "masks"), keep_below("/elsewhere/masks")
    ('runs/erm', 'masks', None)
    """
    path = Path(typed)
    if not path.is_absolute():
        return str(typed)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) and path != here else None


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The origin of a report; two equal runs differ in `when` and `where` alone.

    Attributes:
        oochub: Version of oochub.
        python: Version of Python.
        packages: Versions of the packages that matter.
        seed: Random seed for the bootstrap.
        resamples: Number of bootstrap replicates.
        predictions: Predictions that were evaluated.
        command: Command that makes the report again.
        asked: What was typed; None if unknown.
        training: How the model was trained; None if unknown.
        prediction: The provenance of the predictions.
        when: Times of the run.
        where: Platform and device of the run.
    """

    oochub: str = ""
    python: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    seed: int
    resamples: Count
    predictions: PredictionsSource
    command: str
    asked: Asked | None = optional()
    training: Training | None = None
    prediction: Mapping[str, Any] = field(default_factory=dict)
    when: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)


def provenance(**fields: Any) -> dict[str, Any]:
    """The record of an artifact: `fields`, the versions, and apart from them `when` and `where`.

    Two runs of the same command give equal records but for `when` and `where`. No user or host name, no absolute
    path, no environment variable enters.

    >>> sorted(provenance(seed=0))
    ['oochub', 'packages', 'python', 'seed', 'when', 'where']
    """
    return {
        "oochub": version("oochub"),
        "python": platform.python_version(),
        "packages": {**_read_versions(), **describe_own_files()},
        **fields,
        "when": {"created": datetime.now(UTC).isoformat(timespec="seconds")},
        "where": {"platform": f"{platform.system()}-{platform.machine()}", "device": _describe_device()},
    }


def drop_when_and_where(record: Any) -> Any:
    """A copy of a record of nested dicts and lists without the fields that two equal runs differ in.

    >>> drop_when_and_where({"a": 1, "provenance": {"when": {}, "where": {}, "seed": 0}})
    {'a': 1, 'provenance': {'seed': 0}}
    """
    if isinstance(record, Mapping):
        return {key: drop_when_and_where(record[key]) for key in record if key not in ("when", "where")}
    return [drop_when_and_where(item) for item in record] if isinstance(record, list) else record


@cache
def _read_versions() -> dict[str, str]:
    """The versions of the packages; their files are read once, however many reports a sweep makes."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _describe_device() -> str:
    torch = sys.modules.get("torch")  # never imported for this: scoring needs no torch
    return "cuda" if torch is not None and torch.cuda.is_available() else "cpu"
