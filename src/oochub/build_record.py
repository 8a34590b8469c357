"""What a build found in the raw data: it travels with the data set, its predictions and their report."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oochub.schema import from_json, optional, remainder, to_json

OWN = "custom"
"""What a record, predictions and a report call the benchmark of a user's own data."""

_MARKER = "Build record: "


@dataclass(frozen=True, kw_only=True)
class BuildFacts:
    """The facts of a build that the hub reads, by name; None where a benchmark has no such fact.

    Attributes:
        rows: Rows of each split.
        object: What a binary task asks for ("car").
        contexts: Its usual contexts, the one that makes the environments first.
        trained_groups: The groups that the training split has.
        group_counts: Training rows of each group.
        present_classes: Class numbers that occur in a set which has not all of them.
        label_names: Names of several labels a row that are stored as numbers 0, 1 or nan.
        alpha: Of NOOCH's contexts: what a context takes of the image more than the object, on average.
        beta: Of NOOCH's criterion: the fraction of the image above which a context counts as present.
        encoder: The model that embedded the captions.
        encoder_sha256: A digest of its weights.
        context_surplus: Of `nooch/all`: class to other classes, and how much more of the image each takes on average.
        published_contexts: Of `nooch/all`: the contexts of the paper's tasks, where these were asked for.
        usual_contexts: Of own data: class to its usual contexts, none or more.
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
    encoder: str | None = optional()
    encoder_sha256: str | None = optional()
    context_surplus: Mapping[str, Mapping[str, float]] | None = optional()
    published_contexts: Mapping[str, tuple[str, ...]] | None = optional()
    usual_contexts: Mapping[str, tuple[str, ...]] | None = optional()
    other: Mapping[str, Any] = remainder()


@dataclass(frozen=True, kw_only=True)
class BuildRecord:
    """What a build found in the raw data; it travels in the `description` of the dataset's info.

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

    @classmethod
    def of(cls, description: str | None) -> "BuildRecord | None":
        """The record in a description made by `describe`; None where there is none.

        Raises:
            OochubError: A field that is missing or of another type; it is named.

        >>> record = BuildRecord(benchmark="nooch", config="ce_car", version="1.0.0", notes=("partial",))
        >>> BuildRecord.of(record.describe("Objects out of context.")) == record
        True
        >>> BuildRecord.of("someone else's dataset") is None
        True
        """
        line = (description or "").rpartition("\n")[2]
        if not line.startswith(_MARKER):
            return None
        return from_json(cls, json.loads(line.removeprefix(_MARKER)), what="the build record of this data set")
