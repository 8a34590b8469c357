"""The numbers of two models on the same rows: what each scores, by how much they differ, and which examples flip."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oochub.errors import unknown_name
from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel, Provenance
from oochub.records.report_records import ComparedNumber, ComparedRows, Flip, MetricDescription
from oochub.records.schema import to_json

if TYPE_CHECKING:
    pass

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class PairedRecord:
    """What `oochub.compare` returns: A is the first model, B the second.

    Attributes:
        schema_version: Version of the JSON's schema.
        benchmark: Benchmark that both were evaluated on.
        first: Model A.
        second: Model B.
        notes: Caveats of the data.
        metrics: What the metrics' numbers mean, the primary one first.
        slices: The numbers on each slice, all of the evaluation split first.
        groups: The numbers of one metric on each group; empty without groups.
        group_metric: Name of that metric; "" without groups.
        gap: The primary metric out of context minus in context, of each model, and how much the two gaps differ; each
            undefined, with the reason, where a side has no rows.
        flips: Rows that one model alone answers right, those of the largest change first, a few of each direction.
        provenance: Where A's numbers come from.
        other: Where B's come from.
    """

    schema_version: int = SCHEMA_VERSION
    benchmark: EvaluatedBenchmark
    first: EvaluatedModel
    second: EvaluatedModel
    notes: tuple[str, ...] = ()
    metrics: Mapping[str, MetricDescription]
    slices: tuple[ComparedRows, ...]
    groups: tuple[ComparedRows, ...] = ()
    group_metric: str = ""
    gap: ComparedNumber
    flips: tuple[Flip, ...] = ()
    provenance: Provenance
    other: Provenance

    def slice(self, name: str) -> ComparedRows:
        """The slice of that name ("out_of_context"), or of that title where it is a side ("hard").

        Raises:
            OochubError: No such slice.
        """
        named = {part.title: part for part in self.slices if part.role in ("in", "out")}
        named |= {part.name: part for part in self.slices}
        if name not in named:
            raise unknown_name("slice in this comparison", name, named)
        return named[name]

    @property
    def main_slice(self) -> ComparedRows:
        """The rows out of context; all rows where there are none."""
        return next((part for part in self.slices if part.role == "out"), self.slices[0])

    @property
    def main_metric(self) -> str:
        """The benchmark's primary metric; where it was not asked for, the first that was."""
        having = [name for name in self.metrics if any(name in part.numbers for part in self.slices)]
        return next((name for name in (self.benchmark.primary_metric, *having) if name in having), "")

    def to_json(self, *, images: bool = False) -> dict[str, Any]:
        """Every number as JSON types.

        Args:
            images: Whether the flips keep their small images.
        """
        flips = (
            self.flips if images else [replace(flip, mistake=replace(flip.mistake, image=None)) for flip in self.flips]
        )
        content: dict[str, Any] = to_json(replace(self, flips=tuple(flips)))
        return content
