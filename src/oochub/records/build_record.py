"""What a build found in the raw data: it travels with the data set, its predictions and their report.

`FoundContexts` is what was found of the contexts of data that had none: by which way, what they are called, how they
were checked. `presence_class` is what a task of two classes asks for: whether a thing is there.

What the author of own data declares of them: title, sides, headline, words, license, citation.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.errors import OochubError
from oochub.metric import read_facts
from oochub.records.schema import from_json, optional, remainder, to_json
from oochub.records.sides import Form, PercentileOfGroups, Rows, Vocabulary, WorstOfGroups
from oochub.records.typed_values import Share

if TYPE_CHECKING:
    import datasets


FEW_OF_CLASS = 5
"""Rows of a class below which nothing tells which contexts are usual for it."""
COARSER = "Coarser classes have more rows; --label-map names the classes of the model that are each of them"
"""What to do about classes of few rows."""
OWN = "custom"
"""What a record, predictions and a report call the benchmark of a user's own data."""

BUILD_COLUMN = "build"
"""The last column of shards, and of the Parquet files of earlier versions: which build each row is of."""

_MARKER = "Build record: "
_LOST = "the facts of its build are not known; they are in build.json of the built repository"
_TEXT = {"benchmark", "config", "version", "notes", "facts"}
_TAKEN = (
    f"The data have their own column {BUILD_COLUMN!r}, in which a built repository may say which build a row belongs "
    "to. Rename yours."
)


CONTEXTS_COLUMN = "contexts"
"""The column of the contexts that a row has, a list of class numbers; null for an image that cannot be read."""

ANNOTATED = "annotations"
"""The way of contexts that people annotated, which are usual or unusual for no class: each is compared with none."""

CHOSEN_ON = "chosen_on"
"""The column that says whether something was chosen on a row: thresholds, clusters, what is usual for which class."""


_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_JSON = "json"
_IMAGE = "image"


@dataclass(frozen=True, kw_only=True)
class OwnSide:
    """One side of the comparison, see `oochub.records.sides`.

    Attributes:
        name: What its rows are ("usual").
        split: The split that they are taken from.
        where: Column name to allowed values; empty takes the whole split.
        form: What is compared: "rows", the metric over all of them; "worst_group", on the worst of their groups;
            "group_percentile", a percentile of it over their groups.
        column: Column of the groups.
        percentile: Percentile in [0, 100] from the worst end, for "group_percentile".

    Raises:
        OochubError: A percentile outside [0, 100].
    """

    name: str
    split: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form: Form = optional("rows")
    column: str = optional("group")
    percentile: float = optional(10.0)

    def __post_init__(self) -> None:
        if not 0 <= self.percentile <= 100:
            raise OochubError(f"percentile of a side must be in [0, 100], got {self.percentile:g}. Fix it.")

    def make_rows(self) -> Rows:
        """The side as an evaluation reads it."""
        rows = Rows(name=self.name, split=self.split, where=self.where)
        if self.form == "rows":
            return rows
        if self.form == "worst_group":
            return WorstOfGroups(**vars(rows), column=self.column)
        return PercentileOfGroups(**vars(rows), column=self.column, percentile=self.percentile)


@dataclass(frozen=True, kw_only=True)
class OwnDeclaration:
    """What a `benchmark.toml` declares; what it leaves out follows from the columns, as for any own data.

    Attributes:
        title: Name of the benchmark in print.
        summary: One sentence on what is out of context in it.
        version: Version of the rows.
        name: Its short name, which takes the place of the folder's; letters, digits, dots, - and _. None keeps it.
        authors: Names of the authors.
        homepage: Where it is published.
        citation: BibTeX.
        license: License of the images.
        labels_license: License of the labels.
        sources: Data sets that its rows are of or overlap with, by words that model cards use for them.
        in_context: The rows on which context helps.
        out_of_context: The rows on which it misleads; both sides are declared, or none.
        headline: Metric whose gap between the sides is the headline.
        metrics: Metrics computed by default, the headline among them or not.
        chance: The headline metric of guessing; nan if there is none.
        practical_gap: A gap smaller than this does not matter in practice.
        words: What report, page and terminal call the sides.
        templates: Texts with {} for the name of a class, by which a model of images and texts answers.
        border: Pixels that are cut from each side of an image before a model sees it.
        imagenet_classes: Class to the numbers of ImageNet-1K's classes that are of it, see `Benchmark`.

    Raises:
        OochubError: One side without the other, an empty title, another name than that, or a border below 0.
    """

    title: str
    summary: str = optional("")
    version: str = optional("1.0.0")
    name: str | None = optional()
    authors: tuple[str, ...] = optional(())
    homepage: str = optional("")
    citation: str = optional("")
    license: str = optional("")
    labels_license: str = optional("")
    sources: tuple[str, ...] = optional(())
    in_context: OwnSide | None = optional()
    out_of_context: OwnSide | None = optional()
    headline: str | None = optional()
    metrics: tuple[str, ...] = optional(())
    chance: float = optional(math.nan)
    practical_gap: Share = optional(0.02)
    words: Vocabulary = optional(Vocabulary())
    templates: tuple[str, ...] = optional(())
    border: int = optional(0)
    imagenet_classes: Mapping[str, tuple[int, ...]] | None = optional()

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise OochubError('title must have a text, such as title = "Cows on sand".')
        if self.name is not None and not _NAME.fullmatch(self.name):
            raise OochubError(
                f'name must consist of letters, digits, dots, - and _, as in name = "cows-on-sand", got {self.name!r}.'
            )
        if (self.in_context is None) != (self.out_of_context is None):
            one, other = ("in_context", "out_of_context")
            one, other = (one, other) if self.in_context is not None else (other, one)
            raise OochubError(f"There is [{one}] without [{other}]. Declare both sides, or none.")
        if self.border < 0:
            raise OochubError(f"border must be 0 pixels or more, got {self.border}. Fix it.")
        without = [text for text in self.templates if "{}" not in text]
        if without:
            raise OochubError(f"A template needs {{}} for the name of a class, got {without[0]!r:.80}. Add it.")


@dataclass(frozen=True, kw_only=True)
class ContextCheck:
    """What people said of sampled rows of one context.

    Attributes:
        wrong_with: Number of judged rows that are said to have it but do not.
        checked_with: Number of judged rows that are said to have it.
        wrong_without: Number of judged rows that are said to lack it but have it.
        checked_without: Number of judged rows that are said to lack it.
    """

    wrong_with: int
    checked_with: int
    wrong_without: int
    checked_without: int


@dataclass(frozen=True, kw_only=True)
class ContextRater:
    """Who checked contexts.

    Attributes:
        name: Name of the file of answers.
        answered: How many labels were judged.
        sha256: SHA-256 of the file.
    """

    name: str
    answered: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class FoundContexts:
    """The contexts that a way found; they stand in the facts of a build record.

    Attributes:
        way: The name of the way, one of `oochub list context`, or `ANNOTATED`.
        names: Names of the contexts, those of the column `contexts`.
        words: Meaning of each context ("mean brightness below 0.31").
        chosen_rows: Number of rows on which something was chosen.
        class_rows: How many of those rows each class has; empty for data without classes.
        class_counts: How many of these rows of each class have each context, by context and class.
        settings: Settings of the way, JSON types.
        model: Model that the way looked with; None for none.
        checks: What people said of each context that they checked.
        raters: People who checked them.
    """

    way: str
    names: tuple[str, ...]
    words: tuple[str, ...]
    chosen_rows: int
    class_rows: Mapping[str, int]
    class_counts: Mapping[str, Mapping[str, int]]
    settings: Mapping[str, Any]
    model: str | None = optional()
    checks: Mapping[str, ContextCheck] | None = optional()
    raters: tuple[ContextRater, ...] = optional(())


@dataclass(frozen=True, kw_only=True)
class BuildFacts:
    """The facts of a build that the hub reads, by name; None where a benchmark has no such fact.

    Attributes:
        rows: Rows of each split.
        object: What a binary task asks for ("car").
        contexts: Usual contexts of the object, the one that makes the environments first.
        trained_groups: The groups that the training split has.
        group_counts: Training rows of each group.
        present_classes: Class numbers that occur in a set which has not all of them.
        label_names: Names of several labels per row that are stored as numbers 0, 1 or nan.
        alpha: For NOOCH's contexts: what a context takes of the image more than the object, on average.
        beta: For NOOCH's criterion: the fraction of the image above which a context counts as present.
        tau: For NOOCH's gist criterion: the similarity below which a positive is hard, and above which a negative is,
            by split; where their numbers are given, the similarity of the first that is easy.
        encoder: The model that embedded the captions.
        encoder_sha256: A digest of its weights.
        context_surplus: For `nooch/all`: class to other classes, and how much more of the image each takes on average.
        published_contexts: For `nooch/all`: the contexts of the paper's tasks, if these were asked for.
        usual_contexts: For own data: class to its usual contexts, none or more.
        border: Pixels that are cut from each side of an image before a model sees it, as the authors of a benchmark do.
        cluster: For own data: the column of what rows share.
        pair: For own data: the column that names the thing of a row, if both sides show the same things.
        found_contexts: What `oochub.contexts` found: by which way, and what they are called.
        imagenet_classes: Class to the numbers of ImageNet-1K's classes that are of it, if the raw files say so.
        declared: For own data: what their `benchmark.toml` declares.
        words: For own data: what the user calls sides and contexts, by the names of a `Vocabulary`.
        trial_seed: Random seed by which the rows were divided into splits, if the benchmark divides them anew for each
            trial.
        other: What else the builder notes, for readers; JSON types.

    >>> content = {"object": "car", "contexts": ["road"], "membership": "published ids"}
    >>> from_json(BuildFacts, content, what="the facts of the build record").other
    {'membership': 'published ids'}
    """

    rows: Mapping[str, int] | None = optional()
    object: str | None = optional()
    contexts: tuple[str, ...] = optional(())
    trained_groups: tuple[str, ...] | None = optional()
    group_counts: Mapping[str, int] | None = optional()
    present_classes: tuple[int, ...] | None = optional()
    label_names: tuple[str, ...] | None = optional()
    alpha: float | None = optional()
    beta: float | None = optional()
    tau: Mapping[str, tuple[float, float]] | None = optional()
    encoder: str | None = optional()
    encoder_sha256: str | None = optional()
    context_surplus: Mapping[str, Mapping[str, float]] | None = optional()
    published_contexts: Mapping[str, tuple[str, ...]] | None = optional()
    usual_contexts: Mapping[str, tuple[str, ...]] | None = optional()
    border: int | None = optional()
    cluster: str | None = optional()
    pair: str | None = optional()
    found_contexts: FoundContexts | None = optional()
    imagenet_classes: Mapping[str, tuple[int, ...]] | None = optional()
    declared: OwnDeclaration | None = optional()
    words: Mapping[str, str] | None = optional()
    trial_seed: int | None = optional()
    other: Mapping[str, Any] = remainder()

    def with_groups(self, trained: Iterable[str], names: Iterable[str] = ()) -> "BuildFacts":
        """These facts with the groups of the training rows, and how many rows each has.

        Args:
            trained: The group of each row; if a row has several groups, each of them.
            names: Groups that are counted where no row has them, too.

        >>> facts = BuildFacts().with_groups(["bird/sea", "bird/sea"], names=["bird/land", "bird/sea"])
        >>> facts.trained_groups, facts.group_counts
        (('bird/sea',), {'bird/land': 0, 'bird/sea': 2})
        """
        counts = Counter(trained)
        counted = dict.fromkeys(names, 0) | {group: counts[group] for group in sorted(counts)}
        return replace(self, trained_groups=tuple(sorted(counts)), group_counts=counted)

    def options_of(self, metric: Callable[..., Any]) -> dict[str, Any]:
        """The arguments that a metric takes from these facts (`MetricFacts.from_record`), by name.

        Raises:
            OochubError: A fact that is not known.

        >>> from oochub import get
        >>> BuildFacts(group_counts={"bird/sea": 95, "bird/land": 5}).options_of(get("metric", "adjusted_accuracy"))
        {'weights': {'bird/sea': 95, 'bird/land': 5}}
        """
        facts = read_facts(metric)
        options = {name: getattr(self, fact) for name, fact in facts.from_record.items()} if facts else {}
        if unknown := [facts.from_record[name] for name, value in options.items() if value is None] if facts else []:
            raise OochubError(
                f"The metric {metric.__name__} needs {', '.join(unknown)} from the build record, but these rows came "
                "without it. Use rows that oochub built, name other metrics, or call the metric yourself."
            )
        return options

    def name_thresholds(self, split: str | None = None) -> dict[str, float]:
        """The thresholds of NOOCH's criteria by name: alpha, beta, and tau of positives and negatives.

        Args:
            split: Split whose tau are named; None names those of every split.

        >>> BuildFacts(beta=0.1, tau={"test": (0.25, 0.5)}).name_thresholds("test")
        {'beta': 0.1, 'tau of positives': 0.25, 'tau of negatives': 0.5}
        """
        named = {name: value for name in ("alpha", "beta") if (value := getattr(self, name)) is not None}
        for role, both in (self.tau or {}).items():
            where = f" in {role}" if split is None else ""
            if split in (None, role):
                named |= {
                    f"tau of {side}{where}": one for side, one in zip(("positives", "negatives"), both, strict=True)
                }
        return named


@dataclass(frozen=True, kw_only=True)
class BuildRecord:
    """What a build found in the raw data; it travels in the `description` of the dataset's info.

    A built repository holds it in `build.json`, and each of its Parquet files in its metadata, as the `id` of a feature
    (`mark`), which survives whatever reads it. In shards, and in files of earlier versions, each row has it in the
    column `build`.

    Attributes:
        benchmark: Name of the benchmark.
        config: Name of the configuration.
        version: Version of the benchmark.
        notes: Caveats that every card, report and page repeats ("not the official NOOCH split").
        facts: What else the build found.
    """

    benchmark: str
    config: str
    version: str
    notes: tuple[str, ...] = ()
    facts: BuildFacts = field(default_factory=BuildFacts)

    def describe(self, summary: str) -> str:
        """The text of `DatasetInfo.description`: the summary, the notes, and the record as one line of JSON."""
        notes = [f"{note[0].upper()}{note[1:]}." for note in self.notes]
        return "\n".join([summary, *notes, _MARKER + json.dumps(to_json(self), sort_keys=True)])

    @property
    def text(self) -> str:
        """What a column `build` holds in each row: JSON of all but the facts, and a digest of these."""
        content = to_json(self)
        facts = json.dumps(content["facts"], sort_keys=True)
        return json.dumps(content | {"facts": hashlib.sha256(facts.encode()).hexdigest()[:16]}, sort_keys=True)

    @property
    def feature(self) -> Any:
        """The `datasets.Value` of a column `build`: its `id` is the whole record as JSON."""
        import datasets

        return datasets.Value("string", id=self._json)

    @property
    def _json(self) -> str:
        return json.dumps(to_json(self), sort_keys=True)

    def mark(self, features: Any) -> Any:
        """Features of rows (`datasets.Features`), the `id` of the first plain one the whole record as JSON.

        Readers of Parquet keep an `id`, and map, filter, save_to_disk and streaming do; of a description they keep
        nothing. No row holds it, so rows that a new version leaves alone stay the same bytes.

        Raises:
            OochubError: They have a column `build`, in which files of earlier versions say it.

        >>> import datasets
        >>> record = BuildRecord(benchmark="nooch", config="ce_car", version="1.0.0")
        >>> marked = record.mark(datasets.Features({"label": datasets.Value("int64")}))
        >>> BuildRecord.of(datasets.DatasetInfo(features=marked)) == record
        True
        """
        import datasets

        if BUILD_COLUMN in features:
            raise OochubError(_TAKEN)
        bare, before = dict(features), _find_marked(features)
        if before is not None:
            bare[before] = _replace_id(bare[before], None)
        kinds = (datasets.Value, datasets.ClassLabel)
        name = next(name for kind in kinds for name, feature in bare.items() if isinstance(feature, kind))
        return datasets.Features(bare | {name: _replace_id(bare[name], self._json)})

    def beside(self, features: Any) -> Any:
        """Features of the rows of shards (`datasets.Features`) with the column `build` last.

        Raises:
            OochubError: They have a column of that name, which would be lost.
        """
        import datasets

        if BUILD_COLUMN in features:
            raise OochubError(_TAKEN)
        return datasets.Features({**features, BUILD_COLUMN: self.feature})

    @classmethod
    def of(cls, info: Any) -> "BuildRecord | None":
        """The record in a `DatasetInfo`: in its description, else in the `id` of a feature.

        Raises:
            OochubError: A field that is missing or of another type; it is named.

        >>> import datasets
        >>> record = BuildRecord(benchmark="nooch", config="ce_car", version="1.0.0", notes=("partial",))
        >>> BuildRecord.of(datasets.DatasetInfo(record.describe("Objects out of context."))) == record
        True
        >>> BuildRecord.of(datasets.DatasetInfo(features=datasets.Features({"build": record.feature}))) == record
        True
        >>> BuildRecord.of(datasets.DatasetInfo("someone else's data set")) is None
        True
        """
        line = (info.description or "").rpartition("\n")[2]
        if line.startswith(_MARKER):
            return from_json(cls, json.loads(line.removeprefix(_MARKER)), what="the build record of this dataset")
        column = _find_marked(info.features)
        if column is None:
            return None
        content = _parse_content(info.features[column].id)
        return from_json(cls, content, what=f"the build record in the column {column}")


def _find_marked(features: Any) -> str | None:
    """The column whose feature holds the record; None for data of somebody else."""
    marked = (
        name for name, feature in (features or {}).items() if _parse_content(getattr(feature, "id", None)) is not None
    )
    return next(marked, None)


def _replace_id(feature: Any, text: str | None) -> Any:
    new = copy(feature)
    new.id = text
    return new


def drop_build_column(data: Any) -> Any:
    """A data set without what a repository adds to its rows; its description says that. Others are given back.

    That is the mark of a feature (`BuildRecord.mark`), or the column `build`.

    Args:
        data: A Dataset or IterableDataset, or a DatasetDict of them.

    Raises:
        OochubError: Rows of several builds, or a record that is not that of the rows.

    >>> import datasets
    >>> record = BuildRecord(benchmark="nooch", config="ce_car", version="1.0.0", notes=("partial",))
    >>> features = datasets.Features({"label": datasets.Value("int64"), "build": record.feature})
    >>> data = datasets.Dataset.from_dict({"label": [1], "build": [record.text]}, features=features)
    >>> bare = drop_build_column(data)
    >>> bare.column_names, BuildRecord.of(bare.info) == record
    (['label'], True)
    """
    if isinstance(data, Mapping):
        parts = {name: drop_build_column(part) for name, part in data.items()}
        return type(data)(parts)  # type: ignore[call-arg]
    columns = getattr(data, "column_names", None) or ()
    marked = _find_marked(data.features) if columns else None
    if BUILD_COLUMN not in columns:
        return data if marked is None else _drop_mark(data, marked)
    record, texts = BuildRecord.of(data.info), []
    if hasattr(data, "select_columns") and hasattr(data, "num_rows"):  # streams are not read before they are used
        texts = data.select_columns(BUILD_COLUMN).with_format("arrow")[:].column(BUILD_COLUMN).unique().to_pylist()
    if record is None and len(texts) == 1:
        record = _parse_column(texts[0])
    elif record is not None and (others := [text for text in texts if text != record.text]):
        raise OochubError(
            f"These rows do not belong to the build that their features name: the column {BUILD_COLUMN!r} holds "
            f"{others[0]!r}, not {record.text!r}. Use the rows of one build at a time, as they were built."
        )
    if record is None:
        return data
    bare = data.remove_columns(BUILD_COLUMN)
    bare.info.description = record.describe((data.info.description or "").partition("\n")[0])
    return bare


def _drop_mark(data: Any, column: str) -> Any:
    record = BuildRecord.of(data.info)
    bare = data.select_columns(data.column_names)
    bare.info.features[column] = _replace_id(bare.info.features[column], None)
    if record is not None:
        bare.info.description = record.describe((data.info.description or "").partition("\n")[0])
    return bare


def _parse_content(text: Any) -> dict[str, Any] | None:
    """The JSON of a record, or of a row's column; None for what is somebody else's."""
    try:
        content = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return content if isinstance(content, dict) and {"benchmark", "config", "version"} <= set(content) else None


def _parse_column(text: Any) -> BuildRecord | None:
    """What a row's column alone tells, where the features lost the facts."""
    content = _parse_content(text)
    if content is None or set(content) != _TEXT:
        return None
    content["notes"] = [*content["notes"], _LOST]
    return from_json(BuildRecord, content | {"facts": {}}, what=f"the column {BUILD_COLUMN}")


ABSENCE = re.compile(r"(no|not|non|without)[ _-]+(?P<thing>.+)", re.IGNORECASE)
"""The name of a class that says that a thing is absent."""


class PresenceClass(NamedTuple):
    """The name of the thing, and the number of the class of rows that have it."""

    name: str
    present: int


def presence_class(names: Sequence[str], facts: BuildFacts) -> PresenceClass | None:
    """The thing whose presence two classes are; None where they are something else.

    Args:
        names: Names of the classes; one says "no" and the name of the other, such as "no_car".
        facts: Facts of the build, which may name the thing if the classes do not; class 1 is then that it is there.

    >>> presence_class(["no_car", "car"], BuildFacts())
    PresenceClass(name='car', present=1)
    >>> presence_class(["absent", "present"], BuildFacts(object="car"))
    PresenceClass(name='car', present=1)
    >>> presence_class(["landbird", "waterbird"], BuildFacts()) is None
    True
    """
    if len(names) != 2:
        return None
    for absent, present in ((0, 1), (1, 0)):
        no = ABSENCE.fullmatch(names[absent].strip())
        if no and _normalize_name(no["thing"]) == _normalize_name(names[present]):
            return PresenceClass(names[present], present)
    return None if facts.object is None else PresenceClass(facts.object, 1)


def _normalize_name(name: str) -> str:
    return re.sub(r"[ _-]+", " ", name).strip().casefold()


def unpack_samples(data: Any) -> Any:
    """The data with the columns of the JSON as columns and the image as `image`; other data as they are.

    Args:
        data: A Dataset, an IterableDataset, whose images stay bytes, or a dict of them. Samples are known by their
            columns: `json` with the column `build` in it, and the image, if there is one.

    >>> import datasets
    >>> features = datasets.Features({"json": {"label": datasets.Value("int64"), "build": datasets.Value("string")}})
    >>> rows = datasets.Dataset.from_dict({"json": [{"label": 1, "build": "{}"}]}, features)
    >>> unpack_samples(rows)[0]
    {'label': 1, 'build': '{}'}
    """
    if isinstance(data, Mapping):
        return type(data)({name: unpack_samples(part) for name, part in data.items()})  # type: ignore[call-arg]
    features = getattr(data, "features", None) or {}
    inner, pictures = features.get(_JSON), [name for name in features if name != _JSON]
    if not isinstance(inner, dict) or BUILD_COLUMN not in inner or len(pictures) > 1:
        return data
    return _unpack(data, pictures)


def _unpack(part: Any, pictures: list[str]) -> Any:
    from datasets import Dataset, Features, Image

    inner = dict(part.features[_JSON])
    if pictures:
        inner[_IMAGE] = part.features[pictures[0]]  # in its place among the columns
    if isinstance(part, Dataset):
        names = {f"{_JSON}.{name}": name for name in inner if name != _IMAGE} | dict.fromkeys(pictures, _IMAGE)
        flat = part.flatten(max_depth=2).select_columns(list(names))
        return flat.rename_columns(names).select_columns(list(inner))
    for name in pictures:  # decoded, they would be encoded anew by who asks for their bytes
        inner[_IMAGE] = Image(decode=False)
        part = part.cast_column(name, Image(decode=False))
    return part.map(_read_row, remove_columns=[_JSON, *pictures], features=Features(inner))


def _read_row(sample: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(sample[_JSON])
    for name in sample:
        if name != _JSON:
            row[_IMAGE] = sample[name]
    return row


def find_border(dataset: "datasets.Dataset | datasets.IterableDataset") -> int:
    """The pixels that the build record of a data set has cut from each side of an image; 0 without a record.

    Args:
        dataset: A Dataset or IterableDataset.
    """
    record = BuildRecord.of(dataset.info)
    return (record.facts.border if record else None) or 0
