"""What the sections of a report measure: the rows and what they are to the comparison, the detectors, the settings.

And the numbers of every group, as a table: of thousands of groups a report has only the worst and the best.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.detection.detector_scores import ScoredSet
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.slices import RowSet, find_rows_behind, measure_gap, measure_slice
from oochub.prediction.predictions import Predictions
from oochub.records.finding_records import ChosenRows
from oochub.records.report_records import Gap, Role, Side, Slice
from oochub.records.sides import GroupsOfRows
from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import GROUP_TABLE_MARK

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


def tabulate_groups(evaluation: Evaluation) -> pa.Table:
    """Every group of the evaluation split on each side, with the numbers that a report has for a group.

    Args:
        evaluation: What is evaluated.

    Returns:
        A row per side and group, in the order of sides and names: `side` ("in", "out", null without sides), `group`,
        `label`, `context`, `trained` (whether the group was in training, null if that is not known), `n`, and for each
        metric of groups its value with both ends of its own 95% interval: `accuracy`, `accuracy_low`, `accuracy_high`.
        What is undefined is null.

    Raises:
        OochubError: Predictions without groups, with more groups than a report compares, or of many tasks.

    >>> from oochub.evaluation.evaluate import make_evaluation
    >>> from oochub.prediction.predictions import Predictions
    >>> from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
    >>> rows = Predictions.from_arrays(logits=[[2.0, 0.0]] * 3, label=[0, 0, 1], group=["sea", "land", "sea"])
    >>> evaluation = make_evaluation([rows], EvaluationSettings(), IntervalSettings(), {})
    >>> tabulate_groups(evaluation).select(["group", "n", "accuracy"]).to_pydict()
    {'group': ['land', 'sea'], 'n': [1, 2], 'accuracy': [1.0, 0.5]}
    """
    evaluated, predicted = evaluation.rows, evaluation.predictions
    declared, facts = evaluated.benchmark, predicted.metadata.facts
    if declared.group_column not in evaluated.columns:
        raise OochubError(
            f"The predictions have no column {declared.group_column}, so there are no groups to write. Name a column "
            f"of contexts with {choose_wording('context=', '--context-column')} where the predictions are made."
        )
    metrics = {name: catalog.get("metric", name) for name in predicted.output.group_metrics}
    tables = []
    for side, mask in evaluation.sides_of_groups:
        groups = evaluated.members(mask)
        names = list(groups)
        trained = facts.trained_groups
        part: dict[str, object] = {
            "side": pa.array([side] * len(names), pa.string()),
            "group": names,
            "label": [name.partition("/")[0] for name in names],
            "context": [declared.describe_context({"group": name}, facts) for name in names],
            "trained": pa.array([None if trained is None else name in trained for name in names], pa.bool_()),
            "n": [len(rows) for rows in groups.values()],
        }
        for name, metric in metrics.items():
            part |= _list_numbers(name, evaluated.of_groups(metric, list(groups.values())))
        tables.append(pa.table(part))
    table = pa.concat_tables(tables, promote_options="permissive")
    return table.replace_schema_metadata({GROUP_TABLE_MARK: predicted.digest or ""})


def _list_numbers(name: str, estimates: Sequence[Estimate]) -> Mapping[str, pa.Array]:
    """Values and ends as columns; nan is null."""
    columns = {
        name: [estimate.value for estimate in estimates],
        f"{name}_low": [estimate.low for estimate in estimates],
        f"{name}_high": [estimate.high for estimate in estimates],
    }
    return {key: pa.array(np.array(values, np.float64), from_pandas=True) for key, values in columns.items()}
