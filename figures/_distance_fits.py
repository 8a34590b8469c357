"""How well a detector finds images, by how far they are from the nearest image in distribution.

Source: ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Section 4.1 with Figure 3 left, and Appendix C with Figure 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from oochub.errors import OochubError, unknown_name
from oochub.evaluation.detector_scores import ScoredSet
from oochub.evaluation.set_parts import (
    Nearest,
    Shift,
    choose_detector,
    choose_inside_part,
    find_nearest_inside,
    split_scored_sets,
)
from oochub.stats.array_checks import Array
from oochub.stats.linear_fit import LinearFit, linear_fit

Value = Literal["auroc", "score"]


@dataclass(frozen=True, kw_only=True)
class DistanceFit:
    """The subsets of one set and the line through them.

    Attributes:
        detector: Key of the detector.
        name: Of the set.
        shift: Of the set: "covariate" or "semantic" ("none" where it has no column `shift`).
        rows: How many rows the set has.
        distance: Mean distance (k,) of each subset, ascending.
        value: AUROC (k,) of the rows in distribution against each subset, as a fraction; or the subset's mean score.
        fit: value = slope * distance + intercept.
    """

    detector: str
    name: str
    shift: Shift
    rows: int
    distance: Array
    value: Array
    fit: LinearFit


def fit_distances(
    scored_sets: Sequence[ScoredSet],
    *,
    detector: str | None = None,
    nearest: Mapping[str, Nearest] | None = None,
    subsets: int = 100,
    value: Value = "auroc",
) -> list[DistanceFit]:
    """A line for each set: the rows sorted by distance, cut into subsets of equal size, a point each.

    The interval takes the subsets as independent, as the paper does, though they share the rows in distribution.

    Args:
        scored_sets: Of `score_sets`, the set in distribution and others.
        detector: Its key or name; None takes the first.
        nearest: Of `find_nearest_inside`; None takes the features of the scored predictions.
        subsets: How many; the paper takes 100. Their sizes differ by at most 1.
        value: "auroc" of the rows in distribution (positive) against the subset, whether its shift is covariate or
            semantic; "score" is the subset's mean score.

    Returns:
        A DistanceFit for each part of the sets that is not the one in distribution, in order.

    Raises:
        OochubError: An unknown detector, set or value, fewer rows than subsets, no set beside the one in distribution.
    """
    if value not in get_args(Value):
        raise unknown_name("value", value, get_args(Value))
    key, bank = choose_detector(scored_sets, detector), choose_inside_part(scored_sets)
    parts = [part for part in split_scored_sets(scored_sets) if (part.name, part.scored) != (bank.name, bank.scored)]
    if not parts:
        raise OochubError(f"{bank.name} is the only set. Give one with a covariate or semantic shift as well.")
    fewest = min(parts, key=lambda part: int(part.rows.sum()))
    most = int(fewest.rows.sum())
    if not 2 <= subsets <= most:
        raise OochubError(f"subsets is 2 to {most}, the rows of {fewest.name}, got {subsets}.")
    near = nearest if nearest is not None else find_nearest_inside(scored_sets)
    known = np.sort(bank.scored.scores[key][bank.rows])
    fits = []
    for part in parts:
        distance, score = near[part.scored.name].distance[part.rows], part.scored.scores[key][part.rows]
        of_row = score if value == "score" else _share_above(known, score)
        cut = np.array_split(np.argsort(distance, kind="stable"), subsets)
        x, y = (np.array([float(column[rows].mean()) for rows in cut]) for column in (distance, of_row))
        about = {"detector": key, "name": part.name, "shift": part.shift, "rows": len(score)}
        fits.append(DistanceFit(distance=x, value=y, fit=linear_fit(x, y), **about))  # type: ignore[arg-type]
    return fits


def tabulate_fits(fits: Sequence[DistanceFit]) -> pd.DataFrame:
    """The table of Figure 10: two rows a fit, its slope β and its intercept α.

    Args:
        fits: Of `fit_distances`.

    Returns:
        Columns detector, set, rows, coefficient, value, se, low, high (95%), n (subsets).
    """
    rows = []
    for fit in fits:
        errors = {"β": (fit.fit.slope, fit.fit.slope_error), "α": (fit.fit.intercept, fit.fit.intercept_error)}
        for name, (number, error) in errors.items():
            about = {"detector": fit.detector, "set": fit.name, "rows": fit.rows, "coefficient": name}
            ends = {"low": number.low, "high": number.high, "n": number.n}
            rows.append(about | {"value": number.value, "se": error} | ends)
    return pd.DataFrame(rows)


def _share_above(ascending: Array, score: Array) -> Array:
    """The share of rows above each score, ties one half: an AUROC is its mean."""
    places = np.searchsorted(ascending, score, "left") + np.searchsorted(ascending, score, "right")
    shares: Array = 1 - places / (2 * len(ascending))
    return shares
