"""What the sections of a report measure: the rows and what they are to the comparison, the detectors, the settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.detection.detector_scores import ScoredSet
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.slices import RowSet, find_rows_behind, measure_gap, measure_slice
from oochub.prediction.predictions import Predictions
from oochub.records.finding_records import ChosenRows
from oochub.records.report_records import Gap, Role, Side, Slice
from oochub.records.sides import GroupsOfRows
from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings

SIDES: tuple[Side, ...] = ("in", "out")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What `oochub.evaluate` hands to each section of a report, see `oochub.section.Section.measure`.

    What several sections need, such as the slices, is measured once, when it is first asked for.

    Attributes:
        settings: The metrics, detectors, pairs and probes as lists of names, and how rows are matched.
        intervals: Resamples, seed, and the correction for several tests.
        parts: Each of the predictions that were given; with detectors of several configs.
        rows: The rows that the classifier is scored on, as metrics take them, and the declaration of their benchmark.
        allowed: The numbers (k,) of the classes that an answer may be; None allows all.
        metrics: The metrics that were asked for, by name.
        sets: The rows of each slice, all of the evaluation split first.
        notes: Caveats of the data.
        chosen_rows: How rows were chosen; None for all rows of the predictions.
        scored_sets: The parts as the detectors score them; () without detectors.
        pairs: Pairs of configs that detectors tell apart: (in distribution, out of it).
    """

    settings: EvaluationSettings
    intervals: IntervalSettings
    parts: Sequence[Predictions]
    rows: EvaluationRows
    allowed: NDArray[np.int64] | None
    metrics: Mapping[str, Callable[..., Any]]
    sets: Sequence[RowSet]
    notes: Sequence[str] = ()
    chosen_rows: ChosenRows | None = None
    scored_sets: Sequence[ScoredSet] = ()
    pairs: Sequence[tuple[str, str]] = ()

    @property
    def predictions(self) -> Predictions:
        """The predictions of the rows."""
        return self.rows.predictions

    @property
    def split(self) -> str:
        """The evaluation split."""
        return self.sets[0].split

    @cached_property
    def by_role(self) -> Mapping[Role, RowSet]:
        """The rows of the slices by role: "all", "in", "out", ..."""
        return {rows.role: rows for rows in self.sets}

    @cached_property
    def sides(self) -> Mapping[Side, NDArray[np.bool_]]:
        """The rows (n,) of each side that has some."""
        return {side: self.by_role[side].mask for side in SIDES if side in self.by_role}

    @property
    def sides_of_groups(self) -> Sequence[tuple[Side | None, NDArray[np.bool_]]]:
        """Each side whose groups are looked at, with its rows (n,); None for all rows of a split without sides."""
        every: list[tuple[Side | None, NDArray[np.bool_]]] = [*self.sides.items()]
        if isinstance(self.rows.benchmark.out_of_context, GroupsOfRows):  # both sides are the same rows
            every = [(side, mask) for side, mask in every if side == "out"]
        return every or [(None, self.rows.columns["split"] == self.split)]

    @cached_property
    def rows_behind(self) -> Mapping[Side, NDArray[np.bool_]]:
        """The rows (n,) that the number of each side is of: all of its own, or those of its worst group."""
        behind = {side: find_rows_behind(self.by_role[side], self.rows) for side in self.sides}
        return {side: mask for side, mask in behind.items() if mask.any()}

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """Every metric on the rows of each slice."""
        return tuple(measure_slice(rows, self.metrics, self.rows) for rows in self.sets)

    @cached_property
    def gap(self) -> Gap:
        """The primary metric out of context minus in context."""
        return measure_gap(self.by_role, {part.role: part for part in self.slices}, self.rows)
