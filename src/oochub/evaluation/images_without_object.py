"""Boxes that a detector draws in images without an object: in how many, at several thresholds, on each side."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.slices import RowSet
from oochub.records.finding_records import EmptyImageNumbers, FalseAlarmRow
from oochub.records.report_records import Role
from oochub.records.sides import GroupsOfRows
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import difference
from oochub.stats.mean_interval import mean_estimate

_THRESHOLDS = (0.3, 0.5, 0.7, 0.9)


def measure_empty_images(sets: Mapping[Role, RowSet], evaluated: EvaluationRows) -> EmptyImageNumbers | None:
    """The share of images without a true box in which a box is drawn, in context beside out of context.

    Args:
        sets: The rows of the slices by role.
        evaluated: All evaluated rows.

    Returns:
        The numbers; None for predictions that are no boxes, where a side has no image without a true box, and where
        the sides are not sets of rows.
    """
    counts = evaluated.predictions.output.count_boxes(evaluated.columns)
    if not counts or not {"in", "out"} <= sets.keys() or isinstance(evaluated.benchmark.out_of_context, GroupsOfRows):
        return None
    empty = counts["true"] == 0
    masks = [sets["in"].mask & empty, sets["out"].mask & empty]
    if not all(mask.any() for mask in masks):
        return None
    best = np.array([max(scores, default=-np.inf) for scores in evaluated.columns["scores"]], np.float64)
    rows = []
    for threshold in _THRESHOLDS:
        inside, outside = (_estimate_share(best > threshold, mask, evaluated) for mask in masks)
        rows.append(
            FalseAlarmRow(threshold=threshold, inside=inside, outside=outside, difference=difference(outside, inside))
        )
    contexts = sets.get("hard_negative")
    return EmptyImageNumbers(
        rows=tuple(rows),
        n_in=int(masks[0].sum()),
        n_out=int(masks[1].sum()),
        are_contexts=contexts is not None and bool((contexts.mask == masks[1]).all()),
    )


def _estimate_share(drawn: NDArray[np.bool_], mask: NDArray[np.bool_], evaluated: EvaluationRows) -> Estimate:
    sampling = Sampling(cluster=evaluated.cluster(mask), **evaluated.sampling)
    return mean_estimate(drawn[mask].astype(np.float64), sampling, within=(0.0, 1.0))
