"""What predictions say of themselves: the benchmark, the model, and how both were made.

That includes which data set of the Hub, at which commit, rows were loaded from (`HubDataSet`), and the rows of the
split that chooses the epoch which a training does not look at, so that a report can be of them (`HeldOut`).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.schema import check_version, from_json, optional
from oochub.records.typed_values import Count
from oochub.storage.reading import parse_json

if TYPE_CHECKING:
    import pyarrow as pa  # a stored report is read without it

SCHEMA_VERSION = 1
LONGEST_NAME = 2_000
"""Characters of the name of a class, a context or a group; the longest scaffold of a molecule has fewer than 600."""
VECTORS = ("logits", "features", "odin_logits", "zoom_logits", "zoom_features", "zoom_odin_logits")
"""The columns that an extraction can give, in the order in which they are stored."""
THUMBNAIL = "thumbnail"
"""Column of predictions: a small JPEG of the image."""
WIDE = (*VECTORS, THUMBNAIL)
"""The columns that stay in their files until somebody asks."""
IMAGE_DIGEST = "image_digest"
"""Column of predictions: the first half of the SHA-256 of each image's bytes, by which copies are found."""
RESERVED = ("split", "thumbnail_text", IMAGE_DIGEST, *WIDE)
"""The columns that `predict` writes, whatever the data set holds."""
_ADDRESS = re.compile(r"hf://datasets/([^/@]+/[^/@]+)@([0-9a-f]{40})")


@dataclass(frozen=True, kw_only=True)
class HubDataSet:
    """A data set on the Hub at one commit; it travels among the addresses of a `DatasetInfo`.

    Attributes:
        id: user/name.
        revision: The commit, 40 hex digits.

    >>> import datasets
    >>> info = datasets.DatasetInfo()
    >>> HubDataSet(id="user/nooch", revision="a" * 40).note(info)
    >>> HubDataSet.of(info).id, HubDataSet.of(datasets.DatasetInfo())
    ('user/nooch', None)
    """

    id: str
    revision: str

    @classmethod
    def of(cls, info: Any) -> "HubDataSet | None":
        """The one that rows with this `DatasetInfo` were loaded from; None where it names none, or several."""
        addresses = (_ADDRESS.match(str(address)) for address in info.download_checksums or ())
        sources = {address.groups() for address in addresses if address}
        return cls(**dict(zip(("id", "revision"), sources.pop(), strict=True))) if len(sources) == 1 else None

    def note(self, info: Any) -> None:
        """Says in a `DatasetInfo` that its rows were loaded from here: `datasets` has a field for it, and no value."""
        info.download_checksums = {f"hf://datasets/{self.id}@{self.revision}": {}}


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """One half of a split chooses the epoch, the other is held out for reports: by a hash, the same rows each time.

    Attributes:
        split: The split.
        by: The column whose values are hashed: `example_id`, or the benchmark's clusters, which stay whole.
        chose: How many rows chose.
        rows: How many are held out.
    """

    split: str
    by: str
    chose: Count
    rows: Count

    @property
    def words(self) -> str:
        """Which rows chose.

        >>> HeldOut(split="validation", by="example_id", chose=1_010, rows=990).words
        '1,010 of 2,000 rows'
        """
        return f"{self.chose:,} of {self.chose + self.rows:,} rows"

    @staticmethod
    def choosing(units: Iterable[object]) -> NDArray[np.bool_]:
        """(n,) True where a row chooses, False where it is held out.

        Args:
            units: The value of the column `by` in each row.

        >>> HeldOut.choosing(["a", "b", "c", "d"]).tolist() == HeldOut.choosing("abcd").tolist()
        True
        """
        digests = (hashlib.sha256(f"hold_out/{unit}".encode()).digest() for unit in units)
        return np.fromiter((digest[0] < 128 for digest in digests), dtype=np.bool_)


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model was trained, as its recipe says; None is unknown.

    Attributes:
        objective: Name of the training objective.
        hyperparameters: Hyperparameters of the objective.
        environments: Column of the training environments.
        seed: Random seed of the run.
        epochs: Number of epochs.
        selection: How the weights were chosen among the epochs.
        arguments: The training arguments.
        data: benchmark, config, version and rows of the training data.
        architecture: Class of the model in transformers.
        base: Name of what its weights or its config came from.
        pretrained: Whether its first weights were trained ones.
        held_out: Rows that chose the epoch, if only half of a split did; None if all of it did, or none.
    """

    objective: str | None = optional()
    hyperparameters: Mapping[str, Any] | None = optional()
    environments: str | None = optional()
    seed: int | None = optional()
    epochs: int | float | None = optional()
    selection: str | None = optional()
    arguments: Mapping[str, Any] | None = optional()
    data: Mapping[str, Any] | None = optional()
    architecture: str | None = optional()
    base: str | None = optional()
    pretrained: bool | None = optional()
    held_out: HeldOut | None = optional()


@dataclass(frozen=True, kw_only=True)
class PredictedBy:
    """The model of predictions.

    Attributes:
        id: Id as typed; a folder by its name. None where nobody said.
        revision: Hash of the weights, or the commit on the Hub.
        mode: How its outputs were made: "head", "features", ...
        trained_on: The data sets that its card names; None where there is none, or it does not say.
        base: The model that its adapter was merged into, with its revision; None for a whole model.
    """

    id: str | None = None
    revision: str | None = None
    mode: str | None = None
    trained_on: tuple[str, ...] | None = optional()
    base: str | None = optional()


@dataclass(frozen=True, kw_only=True)
class OdinSettings:
    """How `odin_logits` were made: the step epsilon, the temperature, and the std of each channel."""

    epsilon: float
    temperature: float
    std: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ZoomSettings:
    """How `zoom_logits` were made: the factor of the zoom, above 1."""

    factor: float


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """What predictions say of themselves; JSON under the key `oochub` of the schema of their Parquet file.

    Attributes:
        schema_version: Version of the JSON's schema.
        kind: The kind of output, a name of `oochub.names("output")`.
        benchmark: Name of the benchmark; None for a user's own data.
        config: Its configuration.
        version: Version of the benchmark's rows.
        notes: Caveats of the data.
        facts: What the build recorded.
        fingerprint: Fingerprint of the data.
        model: Model that made the predictions.
        training: How that was trained; None if unknown.
        class_names: Names of the classes or labels; for a number, the name of its column.
        rows: How many rows each split has.
        provenance: Versions and settings of the prediction.
        odin: Settings of `odin_logits`; None without them.
        zoom: Settings of `zoom_logits`; None without them.
        prompt: What a model that answers in words was asked, as its processor rendered it; {class} stands for the
            answer if that is not at the end. None for other models.
        normalization: What the log-likelihood of an answer was divided by: "none", "tokens" or "characters".
        calibration: What was subtracted from it: "none", or "blank" for that of a gray image.
        task_of: The config whose predictions this task was taken from; None for none.
        data_set: Data set on the Hub that the rows were loaded from; None for others.
        none_of_them: For choices, how many answers of each split are none of the classes, counted from the rows.
    """

    schema_version: int = SCHEMA_VERSION
    kind: str = "classes"
    benchmark: str | None
    config: str | None
    version: str = "0.0.0"
    notes: tuple[str, ...] = ()
    facts: BuildFacts = field(default_factory=BuildFacts)
    fingerprint: str = ""
    model: PredictedBy
    training: Training | None = None
    class_names: tuple[str, ...]
    rows: Mapping[str, Count]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    odin: OdinSettings | None = optional()
    zoom: ZoomSettings | None = optional()
    prompt: str | None = optional()
    normalization: str | None = optional()
    calibration: str | None = optional()
    task_of: str | None = optional()
    data_set: HubDataSet | None = optional()
    none_of_them: Mapping[str, Count] | None = optional()

    @property
    def no_class_words(self) -> str:
        """How many answers are none of the classes: "3 of 120 answers fit no class"; "" where all are classes."""
        count, n = sum((self.none_of_them or {}).values()), sum(self.rows.values())
        return f"{count:,} of {n:,} answers {'fits' if count == 1 else 'fit'} no class" if count else ""


def read_metadata(content: Any, columns: Sequence[str]) -> Metadata:
    """Checked metadata from JSON or its types; older files name no kind of output, which the columns then tell.

    Raises:
        OochubError: No JSON, another schema version, or a field that is missing or of another type.
    """
    if isinstance(content, bytes):
        content = parse_json(content, name="The text of the predictions' metadata")
    check_version(content, SCHEMA_VERSION, what="The predictions' metadata", absent=SCHEMA_VERSION)
    if "kind" not in content:  # a file of before: of nooch/all where its rows have `labels`
        content = {**content, "kind": "labels" if "labels" in columns and "logits" in columns else "classes"}
    metadata: Metadata = from_json(Metadata, content, what="The predictions' metadata")
    names = metadata.class_names
    if not names or not all(name.strip() for name in names):
        fault = "a name without text" if names else "none"
        raise OochubError(f"class_names must be a text for each class; got {fault}. Fix them.")
    check_name_length("class_names", names)
    for place in ("kind", "benchmark", "config"):
        check_name_length(place, filter(None, [getattr(metadata, place)]))
    check_name_length("model.id", filter(None, [metadata.model.id]))
    strange = [number for number in metadata.facts.present_classes or () if not 0 <= number < len(names)]
    if strange:
        raise OochubError(f"facts.present_classes must be in 0..{len(names) - 1}, got {strange[0]}. Predict again.")
    return replace(metadata, class_names=_make_distinct(names))


def check_name_length(place: str, names: Iterable[str]) -> None:
    """Checks that no name is as long as a book, which takes minutes to show.

    Args:
        place: What they name, in an error.
        names: The names.

    Raises:
        OochubError: A name has more than `LONGEST_NAME` letters.
    """
    longest = max(map(len, names), default=0)
    if longest > LONGEST_NAME:
        raise OochubError(
            f"{place}: a name may have at most {LONGEST_NAME:,} characters, got one of {longest:,}. Pass its name, "
            "not its content."
        )


def _make_distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names; those of several classes get their number, as ImageNet's two cranes do in many models.

    >>> _make_distinct(["crane", "tench", "crane"])
    ('crane (0)', 'tench', 'crane (2)')
    """
    counts = Counter(names)
    if max(counts.values()) == 1:
        return tuple(names)
    return _make_distinct([f"{name} ({number})" if counts[name] > 1 else name for number, name in enumerate(names)])


def count_rows(split: "Iterable[str] | pa.ChunkedArray") -> dict[str, int]:
    """How many rows each split has, in order of appearance."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = split if isinstance(split, pa.ChunkedArray) else pa.array(split, pa.string())
    counts = pc.value_counts(names).to_pylist()
    return {str(entry["values"]): entry["counts"] for entry in counts if entry["values"] is not None}
