"""The fields `gap` and `matched_gap` of a report: the primary metric out of context minus in context."""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.evaluation.matching import matched_gap
from oochub.stats.estimation import Estimate, gap

if TYPE_CHECKING:
    from oochub.benchmark import Benchmark

_SIDES = ("in", "out")


def gap_fields(
    benchmark: "Benchmark",
    masks: Mapping[str, NDArray[np.bool_]],
    columns: Mapping[str, NDArray[Any]],
    sampling: Mapping[str, Any],
) -> dict[str, Any]:
    """The gap with the interval of the difference, and how many rows stand behind it.

    Args:
        benchmark: Names the primary metric and the column of clusters.
        masks: The rows (n,) of "in", "out", "hard_positive" and "hard_negative", where there are any.
        columns: The predictions' columns by name.
        sampling: resamples and seed of the intervals.

    Returns:
        The field `gap` of a report; undefined, with the reason, where a side has no rows.
    """
    sizes = {role: int(mask.sum()) for role, mask in masks.items()}
    smallest = min((sizes[part] for part in ("hard_positive", "hard_negative") if part in sizes), default=None)
    found: Estimate = Estimate(
        np.nan, n=0, method="none", reason="the predictions lack rows in context, out of context, or both"
    )
    if set(_SIDES) <= set(masks):
        metric = catalog.get("metric", benchmark.primary_metric)
        inside, outside = _columns_of_sides(columns, masks, set(inspect.signature(metric).parameters))
        found = gap(metric, inside, outside, **_clusters(benchmark, masks, columns), **sampling)
    return {
        "metric": benchmark.primary_metric,
        **found.to_dict(),
        "n_in": sizes.get("in", 0),
        "n_out": sizes.get("out", 0),
        "n_out_smallest": sizes.get("out", 0) if smallest is None else smallest,
    }


def matched_gap_fields(
    benchmark: "Benchmark",
    masks: Mapping[str, NDArray[np.bool_]],
    columns: Mapping[str, NDArray[Any]],
    match: str,
    sampling: Mapping[str, Any],
) -> dict[str, Any]:
    """The gap at equal values of the column `match`; see `oochub.evaluation.matching.matched_gap`.

    Args:
        benchmark: See `gap_fields`.
        masks: See `gap_fields`.
        columns: See `gap_fields`; with `loss` and `prediction`.
        match: A numeric auxiliary column.
        sampling: See `gap_fields`.

    Returns:
        The field `matched_gap` of a report.
    """
    both = {side: masks.get(side, np.zeros(len(columns["label"]), bool)) for side in _SIDES}
    inside, outside = _columns_of_sides(columns, both, {"label", "prediction", "score", "loss", match})
    clusters = _clusters(benchmark, both, columns)
    return matched_gap(benchmark.primary_metric, inside, outside, column=match, **clusters, **sampling).to_dict()


def _columns_of_sides(
    columns: Mapping[str, NDArray[Any]], masks: Mapping[str, NDArray[np.bool_]], wanted: set[str]
) -> list[dict[str, NDArray[Any]]]:
    return [{name: array[masks[side]] for name, array in columns.items() if name in wanted} for side in _SIDES]


def _clusters(
    benchmark: "Benchmark", masks: Mapping[str, NDArray[np.bool_]], columns: Mapping[str, NDArray[Any]]
) -> dict[str, Any]:
    if benchmark.cluster is None:
        return {}
    return {f"{side}_cluster": columns[benchmark.cluster][masks[side]] for side in _SIDES}
