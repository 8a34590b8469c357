"""The numbers of a report with their intervals, as they are stored in report.json."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from oochub import catalog
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.metric import MetricFacts, read_facts
from oochub.records.finding_records import (
    SELECTION,
    BackgroundProbe,
    ChosenRows,
    ContextFindings,
    DetectionRow,
    ErrorsByContext,
    ProbeRow,
)
from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel, Provenance
from oochub.records.report_records import (
    SHOWN,
    Calibration,
    Gap,
    GroupRow,
    Groups,
    MatchedGap,
    MetricDescription,
    Mistake,
    Role,
    Side,
    Slice,
    WorstValue,
)
from oochub.records.schema import check_version, from_json, optional, to_json
from oochub.records.sides import Vocabulary
from oochub.section import sections
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import REPORT
from oochub.storage.files import write_whole
from oochub.storage.reading import read_json

SCHEMA_VERSION = 1
_SIDES = ("in", "out")
_ROUNDING = 1e-9
Record = TypeVar("Record", bound="ReportRecord")


@dataclass(frozen=True, kw_only=True)
class ReportRecord:
    """What is known of a model on a benchmark; `docs/report.md` describes every field.

    `report["auc_hard"]` is an `Estimate`, a float with `low`, `high`, `n` and `reason`, on all rows of the evaluation
    split; `report["out_of_context/nll"]` is one of a slice, and so is `report["hard/nll"]` where the benchmark calls
    these rows hard; `report["worst_group"]` the worst group's accuracy; `report['gap']` the primary metric out of
    context minus in context, and `report["matched_gap"]` the same at equal values of a column, if one was matched on.

    Attributes:
        benchmark: Benchmark that was evaluated on.
        model: Model that was evaluated.
        notes: Caveats of the data.
        slices: Every metric on some rows; the first is all of the evaluation split.
        metrics: Meaning of the metrics' numbers.
        gap: The primary metric out of context minus in context.
        matched_gap: The same at equal values of a column; None if none was matched on.
        groups: Errors by group; None without groups.
        worst_group: The worst accuracy, error and NLL over the groups; None without groups.
        errors: Which classes the errors go to in each context; None where training contexts are not known.
        contexts: Whether contexts that nobody labelled matter; None without a column of found contexts.
        background: What the model says where an image's object or background is altered; None without that probe.
        detection: A row for each detector and pair of sets; None without detectors.
        probes: A row for each detector and pair of sets; None without probes.
        calibration: Calibration of each side that has rows.
        mistakes: The worst mistakes.
        findings: What sections with a record of their own show, by their names; None without any.
        provenance: Origin of the report.
        schema_version: Version of the JSON's schema.
    """

    schema_version: int = SCHEMA_VERSION
    benchmark: EvaluatedBenchmark
    model: EvaluatedModel
    notes: tuple[str, ...] = ()
    slices: Annotated[tuple[Slice, ...], SHOWN]
    metrics: Mapping[str, MetricDescription]
    gap: Gap
    matched_gap: MatchedGap | None = optional()
    groups: Groups | None = None
    worst_group: Mapping[str, WorstValue] | None = None
    errors: ErrorsByContext | None = optional()
    contexts: ContextFindings | None = optional()
    background: BackgroundProbe | None = optional()
    detection: Annotated[tuple[DetectionRow, ...], SHOWN] | None = optional()
    probes: Annotated[tuple[ProbeRow, ...], SHOWN] | None = optional()
    calibration: Mapping[Side, Calibration] | None = None
    mistakes: Annotated[tuple[Mistake, ...], SHOWN] = ()
    findings: Mapping[str, Any] | None = optional()
    provenance: Provenance

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a report.json.

        Raises:
            OochubError: No such file, not JSON, of another schema version, or a field that is missing or of another
                type, or that cannot be; it is named.
        """
        path = Path(path).expanduser()
        if not path.exists():
            raise OochubError(
                f"Report not found: {path}. Run `oochub evaluate predictions.parquet --out {path}` to create it."
            )
        try:
            content = read_json(path)
        except OochubError as error:
            raise OochubError(f"{path} is not a report. {error}") from None
        check_version(content, SCHEMA_VERSION, what=str(path))
        report = from_json(cls, content, what=str(path))
        for name in (name for name in catalog.names("section") if name in (report.findings or ())):
            try:
                catalog.get("section", name)().found(report)
            except OochubError as error:
                raise OochubError(f"{path}: {error}") from None
        for part in report.slices:
            for name, estimate in part.metrics.items():
                _check_value(f"{path}: {name} of the slice {part.name}", estimate, report.metrics.get(name))
        return _add_words(report)

    def save(self, path: str | Path) -> Path:
        """Writes report.json, whole or not at all."""
        text = json.dumps(to_json(self), indent=1, ensure_ascii=False, allow_nan=False)
        with write_whole(path, kind=REPORT) as draft:
            draft.write_text(text + "\n", "utf-8")
        return Path(path)

    def __getitem__(self, key: str) -> Estimate:
        estimates, own = self._iterate_estimates(), self._own_name(key)
        if own not in estimates:
            raise unknown_name("number in this report", key, estimates)
        return estimates[own]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._own_name(key) in self._iterate_estimates()

    def __iter__(self) -> Iterator[str]:
        return iter(self._iterate_estimates())

    def slice(self, name: str) -> Slice:
        """The slice of that name, or of that title where it is a side of the comparison: "hard" is "out_of_context".

        Raises:
            OochubError: No such slice.
        """
        parts = self._index_slices()
        if name not in parts:
            raise unknown_name("slice in this report", name, parts)
        return parts[name]

    def slice_of(self, role: Role) -> Slice | None:
        """The slice of that role, such as "in"; None where the predictions have no such rows."""
        return next((part for part in self.slices if part.role == role), None)

    @property
    def caveats(self) -> tuple[str, ...]:
        """The notes; for files without a seal, also that the predictions were not checked for damage."""
        unchecked = self.provenance.predictions.integrity == "not checked"
        note = "the predictions were not checked for damage, because their file has no seal"
        return (*self.notes, note) if unchecked else self.notes

    @property
    def chosen_rows(self) -> ChosenRows | None:
        """What is said of the choice of its rows; None for a report on all rows of its predictions."""
        chosen: ChosenRows | None = catalog.get("section", SELECTION)().found(self)
        return chosen

    @property
    def is_by_contexts(self) -> bool:
        """Whether the contexts that were found are all that the verdict can go by: no row is out of context."""
        return self.contexts is not None and not self.gap.n_out

    @property
    def group_rows(self) -> tuple[GroupRow, ...]:
        """A row for each group and side; none without groups."""
        return () if self.groups is None else self.groups.rows

    @property
    def groups_left_out(self) -> int:
        """Number of groups that it was made of and does not list; 0 unless they are thousands."""
        return 0 if self.groups is None else self.groups.left_out

    def headline(self, role: Role) -> Estimate | None:
        """The primary metric on the slice of that role; None where it was not asked for or has no rows."""
        part = self.slice_of(role)
        return None if part is None else part.metrics.get(self.benchmark.primary_metric)

    @property
    def unit(self) -> str:
        """The unit of the primary metric."""
        return self.description(self.benchmark.primary_metric).unit

    def description(self, metric: str) -> MetricDescription:
        """What the numbers of a metric mean; if the report does not describe it, what the catalog says."""
        if metric in self.metrics:
            return self.metrics[metric]
        return describe_by_name(metric)

    def _index_slices(self) -> dict[str, Slice]:
        parts = {part.title: part for part in self.slices if part.role in _SIDES}
        return parts | {part.name: part for part in self.slices}

    def _own_name(self, key: str) -> str:
        name, slash, metric = key.rpartition("/")
        part = self._index_slices().get(name) if slash else None
        return key if part is None else f"{part.name}/{metric}"

    def _iterate_estimates(self) -> dict[str, Estimate]:
        estimates: dict[str, Estimate] = {}
        for part in self.slices:
            for metric, estimate in part.metrics.items():
                if part.role == "all":
                    estimates[metric] = estimate
                    estimates.setdefault(metric.partition(".")[0], estimate)  # "worst_group": its headline
                estimates[f"{part.name}/{metric}"] = estimate
        named = (number for section in sections() for number in section.numbers(self) if number.key)
        return estimates | {number.key: number.estimate for number in named}


def check_all_rows(report: ReportRecord, name: str, *, why: str) -> None:
    """Refuses a report on rows that somebody chose, where one on all rows is meant.

    Args:
        report: Any report.
        name: What an error calls it.
        why: What needs all rows, as a sentence without its full stop.

    Raises:
        OochubError: Its rows were chosen.
    """
    chosen = report.chosen_rows
    if chosen is not None:
        raise OochubError(
            f"{name} is of {chosen.n:,} of {chosen.among:,} rows, which {chosen.file} chose. {why}: evaluate the "
            f"predictions without {choose_wording('rows=')}."
        )


def describe_by_name(metric: str) -> MetricDescription:
    """What the catalog says of a metric's numbers; if it does not know the metric, its name.

    >>> describe_by_name("worst_group.error_rate").direction, describe_by_name("my_own").title
    ('lower', 'my_own')
    """
    name, _, key = metric.partition(".")
    facts = read_facts(catalog.get("metric", name)) if name in catalog.names("metric") else None
    facts = facts or MetricFacts.of_unknown(metric)
    return MetricDescription.of(facts.keys.get(key, facts))


def _check_value(what: str, estimate: Estimate, described: MetricDescription | None) -> None:
    """Refuses a number that its metric cannot have; nan and a metric without bounds are fine."""
    low, high = (None, None) if described is None else (described.minimum, described.maximum)
    if (low is not None and estimate < low - _ROUNDING) or (high is not None and estimate > high + _ROUNDING):
        raise OochubError(f"{what} is {estimate.value:g}, which is not possible. Make the report again.")


def _add_words(report: Record) -> Record:
    """A report made before reports held the words of their benchmark gets those of its declaration."""
    benchmark = report.benchmark
    if benchmark.words != Vocabulary() or benchmark.name not in catalog.names("benchmark"):
        return report
    words = catalog.get("benchmark", benchmark.name).of(benchmark.config).words
    return replace(report, benchmark=replace(benchmark, words=words))
