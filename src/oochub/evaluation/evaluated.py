"""What every part of an evaluation works on: the rows with their arrays, and the declaration of their config."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError, either
from oochub.evaluation.example_digest import ExampleDigest
from oochub.metric import facts_of
from oochub.prediction.predictions import Predictions
from oochub.records.sides import GroupsOfRows, WorstOfGroups
from oochub.stats.class_probability import ClassProbability
from oochub.stats.estimation import estimate


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """What every part of an evaluation works on.

    Attributes:
        predictions: The rows.
        benchmark: The declaration of their config.
        columns: Every array that a metric may ask for by name, and the auxiliary columns; each (n, ...). See
            `oochub.evaluation.evaluated_columns.EvaluatedColumns`.
        known: Which rows have a truth to compare with, and did not choose the epoch of the model (n,).
        sampling: resamples and seed of the intervals.
    """

    predictions: Predictions
    benchmark: Benchmark
    columns: Mapping[str, Any]
    known: NDArray[np.bool_]
    sampling: Mapping[str, Any] = field(default_factory=dict)

    def arrays(self, metric: Callable[..., Any], rows: Any) -> dict[str, Any]:
        """The arrays of some rows that a metric takes, by name, in the form that it takes (`MetricFacts.compact`)."""
        facts = facts_of(metric)
        if np.asarray(rows).dtype == np.bool_ and np.all(rows):
            rows = slice(None)  # nothing is copied
        rows = self.rows_for(metric, rows)
        asked = [name for name in arguments(metric) if name in self.columns and name not in self.options(metric)]
        columns = {name: self.columns[name][rows] for name in asked}
        if facts is not None and facts.compact:
            probability = columns.get("probability")
            return columns | ({"label": probability.label} if isinstance(probability, ClassProbability) else {})
        return {name: _array(column) for name, column in columns.items()}

    def options(self, metric: Callable[..., Any]) -> dict[str, Any]:
        """The arguments that a metric takes from the build record (`MetricFacts.from_record`), by name."""
        return self.predictions.metadata.facts.options_of(metric)

    def value(self, metric: Callable[..., Any], rows: Any) -> Any:
        """A metric on some rows (a mask or row numbers), without its interval: a float, or a dict of them."""
        return metric(**self.arrays(metric, rows), **self.options(metric))

    def of(self, metric: Callable[..., Any], rows: Any, **sampling: Any) -> Any:
        """A metric with its interval on some rows (a mask or row numbers): an Estimate, or a dict of them."""
        rows = self.rows_for(metric, rows)
        shared = {"cluster": self.cluster(rows), **self.sampling, **sampling}
        return estimate(metric, self.arrays(metric, rows), options=self.options(metric), **shared)

    def rows_for(self, metric: Callable[..., Any], rows: Any) -> Any:
        """Those of some rows (a mask or row numbers) that a metric is of: all; of a metric of groups those that count.

        A benchmark whose headline is of some groups alone, as FMoW's is of the five regions, leaves the others out.
        Rows that are all of others stay.
        """
        counting = self._counting if "group" in arguments(metric) else None
        if counting is None:
            return rows
        chosen = np.arange(len(counting))[rows]
        left = chosen[counting[chosen]]
        return left if len(left) else rows

    @cached_property
    def _counting(self) -> NDArray[np.bool_] | None:
        """Which rows (n,) are of groups that the headline is of, and have a group; None where all are."""
        side = self.benchmark.out_of_context
        counting, named = side.counting(self.columns) if isinstance(side, GroupsOfRows) else None, self.named("group")
        return counting if named is None else named if counting is None else counting & named

    def named(self, column: str) -> NDArray[np.bool_] | None:
        """Which rows (n,) have a name in a column; None where all have. A row without one is of no group."""
        light = self.predictions.rows.light
        if column not in light.column_names or not light.column(column).null_count:
            return None
        is_valid: NDArray[np.bool_] = pc.is_valid(light.column(column)).to_numpy()
        return is_valid

    def has_groups(self, metric: Callable[..., Any], rows: Any) -> bool:
        """Whether some of the rows have a group, where a metric asks for groups."""
        named = self.named("group") if "group" in arguments(metric) else None
        return named is None or bool(named[rows].any())

    @cached_property
    def examples(self) -> ExampleDigest:
        """Names sets of rows."""
        return ExampleDigest(self.predictions)

    def members(self, mask: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
        """The row numbers of each group among the rows where the mask (n,) is true, sorted by name."""
        column = self.benchmark.group_column
        named = self.named(column)
        mask = mask if named is None else mask & named
        chosen = pd.Categorical(["no", "yes"])[mask.astype(np.int8)]  # whatever their own split
        return WorstOfGroups(split="yes", column=column).rows_of_groups({column: self.columns[column], "split": chosen})

    def cluster(self, rows: Any) -> Any:
        """What some rows share, where the benchmark declares a column of it; else None."""
        return self.columns[self.benchmark.cluster][rows] if self.benchmark.cluster else None


def _array(column: Any) -> NDArray[Any]:
    array = np.asarray(column)
    return array.astype(str) if isinstance(column, pd.Categorical) else array


def holds_many_tasks(predictions: Predictions, benchmark: Benchmark) -> bool:
    """Whether the rows are of a config such as nooch/all, of which one task is evaluated at a time."""
    return "labels" in predictions.column_names and benchmark.task is not None


def arguments(metric: Callable[..., Any], *, required: bool = False) -> list[str]:
    """The names of the arrays that a metric takes.

    >>> from oochub import get
    >>> arguments(get("metric", "ece"), required=True)
    ['label', 'probability']
    """
    parameters = inspect.signature(metric).parameters.values()
    return [each.name for each in parameters if not required or each.default is each.empty]


def check_metric(name: str, metric: Callable[..., Any], evaluated: Evaluated) -> None:
    """Checks that a metric can be computed, before anything is.

    Raises:
        OochubError: A column or a fact of the build record that the predictions lack, or a metric of another kind of
            output.
    """
    facts, kind, columns = facts_of(metric), evaluated.predictions.metadata.kind, evaluated.columns
    if facts is not None and kind not in facts.outputs:
        others = {other: facts_of(catalog.get("metric", other)) for other in catalog.names("metric")}
        fitting = [other for other, known in others.items() if known is not None and kind in known.outputs]
        raise OochubError(
            f"The metric {name} scores {' or '.join(facts.outputs)}, and these predictions are of the kind {kind}, "
            f"for which there are {', '.join(fitting) or 'none yet: a metric names its kinds in FACTS'}. Name such "
            f"metrics with {either('metrics=[...]', '--metric')}."
        )
    missing = [argument for argument in arguments(metric, required=True) if argument not in columns]
    if missing:
        why = "two classes make a score" if "score" in missing else f"columns: {', '.join(sorted(columns))}"
        raise OochubError(
            f"The metric {name} needs {', '.join(missing)}, which these predictions lack ({why}). "
            f"Name other metrics with {either('metrics=[...]', '--metric')}."
        )
    evaluated.options(metric)
