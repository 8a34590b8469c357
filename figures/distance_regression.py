"""How well a detector finds images by their distance from what is in distribution, with a line for each set.

Source: ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Section 4.1 with Figure 3 left, and Appendix C with Figure 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from oochub.detection.detector_scores import ScoredSet
from oochub.detection.image_sets import (
    Nearest,
    Shift,
    choose_detector,
    choose_inside_part,
    find_nearest_inside,
    split_scored_sets,
)
from oochub.errors import OochubError, unknown_name
from oochub.figures._style import (
    COLORS,
    INK,
    INK2,
    MARKERS,
    SHIFTS,
    draw_legend,
    hide_frame,
    make_axes,
    name_detector,
)
from oochub.report import format_numbers, wording
from oochub.stats.array_checks import Array
from oochub.stats.linear_fit import LinearFit, linear_fit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LINES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))


Value = Literal["auroc", "score"]


@dataclass(frozen=True, kw_only=True)
class _DistanceFit:
    """The subsets of one set and the line through them.

    Attributes:
        detector: Key of the detector.
        name: Name of the set.
        shift: Shift of the set: "covariate" or "semantic" ("none" if it has no column `shift`).
        rows: Number of rows of the set.
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


def _fit_distances(
    scored_sets: Sequence[ScoredSet],
    *,
    detector: str | None = None,
    nearest: Mapping[str, Nearest] | None = None,
    subsets: int = 100,
    value: Value = "auroc",
) -> list[_DistanceFit]:
    """A line for each set: the rows sorted by distance, cut into subsets of equal size, a point each.

    The interval takes the subsets as independent, as the paper does, though they share the rows in distribution.

    Args:
        scored_sets: What `score_sets` returns, the set in distribution and others.
        detector: Its key or name; None takes the first.
        nearest: What `find_nearest_inside` returns, by set; None takes the features of the scored predictions.
        subsets: Number of subsets of each set; the paper takes 100. Their sizes differ by at most 1.
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
        raise OochubError(f"{bank.name} is the only set. Pass one with a covariate or semantic shift as well.")
    fewest = min(parts, key=lambda part: int(part.rows.sum()))
    most = int(fewest.rows.sum())
    if not 2 <= subsets <= most:
        raise OochubError(f"subsets must be 2 to {most}, the rows of {fewest.name}, got {subsets}.")
    near = nearest if nearest is not None else find_nearest_inside(scored_sets)
    sorted_scores = np.sort(bank.scored.scores[key][bank.rows])
    fits = []
    for part in parts:
        distance, score = near[part.scored.name].distance[part.rows], part.scored.scores[key][part.rows]
        of_row = score if value == "score" else _share_above(sorted_scores, score)
        cut = np.array_split(np.argsort(distance, kind="stable"), subsets)
        x, y = (np.array([float(column[rows].mean()) for rows in cut]) for column in (distance, of_row))
        about = {"detector": key, "name": part.name, "shift": part.shift, "rows": len(score)}
        fits.append(_DistanceFit(distance=x, value=y, fit=linear_fit(x, y), **about))  # type: ignore[arg-type]
    return fits


def _tabulate_fits(fits: Sequence[_DistanceFit]) -> pd.DataFrame:
    """The table of Figure 10: two rows per fit, its slope β and its intercept α.

    Args:
        fits: What `fit_distances` returns.

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


def distance_regression(
    scored_sets: Sequence[ScoredSet],
    *,
    detector: str | None = None,
    nearest: Mapping[str, Nearest] | None = None,
    subsets: int = 100,
    value: Value = "auroc",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws a panel of Figs. 3 (left) and 10: a point per subset of similar distance, a line with 95% band per set.

    The legend holds each line's slope β and intercept α with their intervals, as `tabulate_fits` prints them. The
    intervals take the subsets as independent, as the paper does, though they share the rows in distribution.

    Args:
        scored_sets: What `oochub.detection.detector_scores.score_sets` returns: the first in
            distribution without shift is what the others are set against.
        detector: Its key or name; None takes the first.
        nearest: What `oochub.detection.image_sets.find_nearest_inside` returns, by any embedding; None takes the
            features of the scored predictions.
        subsets: Number of subsets of each set, of equal size.
        value: "auroc" against the set in distribution, or "score": the mean score.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: mean distance to the nearest image in distribution (1 - cosine) to the right; AUROC as a fraction,
        or the mean score, upward.

    Raises:
        OochubError: What `fit_distances` raises.

    Source: ImageNet-OOD, Section 4.1, Fig. 3 left, and Appendix C, Fig. 10.

    >>> import pyarrow as pa
    >>> from oochub.prediction.predictions import Predictions
    >>> from oochub.detection.detector_scores import score_sets
    >>> told = {"model": {}, "class_names": ["a", "b"], "rows": {"test": 3}, "benchmark": "mine", "version": "1.0.0"}
    >>> rows = {"example_id": ["1", "2", "3"], "split": ["test"] * 3, "logits": [[3.0, 0.0], [2.0, 0.0], [1.0, 0.0]]}
    >>> rows |= {"features": [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]}
    >>> known = Predictions(pa.table(rows | {"label": [0, 0, 0]}), told | {"config": "known"})
    >>> far = [[1.0, -1.0], [1.0, -2.0], [1.0, -3.0]]
    >>> new = Predictions(pa.table(rows | {"label": [-1] * 3, "features": far}), told | {"config": "new"})
    >>> ax = distance_regression(score_sets([known, new], ["max_logit"]), subsets=3)
    >>> [round(float(x), 3) for x in ax.lines[0].get_xdata()]
    [0.293, 0.553, 0.684]
    """
    fits = _fit_distances(scored_sets, detector=detector, nearest=nearest, subsets=subsets, value=value)
    familiar = choose_inside_part(scored_sets)
    ax = make_axes(ax, 6.0, 5.2)
    for number, fit in enumerate(fits):
        color = COLORS[fit.shift]
        face = color if number == [other.shift for other in fits].index(fit.shift) else "none"
        ax.plot(
            fit.distance, fit.value, MARKERS[fit.shift], color=color, markerfacecolor=face, markersize=3.5,
            alpha=0.55, markeredgewidth=0.8, zorder=3,
        )  # fmt: skip
        if not format_numbers.is_undefined(fit.fit.slope.value):
            across = np.linspace(fit.distance.min(), fit.distance.max(), 50)
            middle, low, high = fit.fit.at(across)
            ax.plot(across, middle, color=color, linewidth=2, linestyle=_LINES[number % len(_LINES)], zorder=4)
            ax.fill_between(across, low, high, color=color, alpha=0.15, linewidth=0, zorder=2)
        ax.plot(
            [], [], marker=MARKERS[fit.shift], color=color, markerfacecolor=face, markersize=5,
            linestyle=_LINES[number % len(_LINES)], linewidth=2, label=_label_fit(fit),
        )  # fmt: skip
    if value == "auroc":
        ax.set_ylim(top=min(ax.get_ylim()[1], 1.02))  # a line may leave what an AUROC can be
        ax.axhline(0.5, color=INK2, linewidth=1, linestyle=":", zorder=1)
        of = f"{wording.name(familiar.name)} (n = {format_numbers.count(int(familiar.rows.sum()))})"
        ax.set_ylabel(f"AUROC of {of}\nagainst the subset; 0.5 is chance")
    else:
        ax.set_ylabel("mean score, higher is more in-distribution")
    nearest_words = f"mean distance to the nearest image of {wording.name(familiar.name)}, 1 − cosine"
    ax.set_xlabel(f"{nearest_words}\nbands and brackets: 95% intervals")
    title = f"{name_detector(fits[0].detector)}, {subsets} subsets a set"
    ax.set_title(title, loc="left", color=INK, fontsize="medium")
    hide_frame(ax, grid="both")
    draw_legend(ax, loc="upper left", bbox_to_anchor=(0, -0.18), handlelength=3.5)
    return ax


def _table(scored_sets: Sequence[ScoredSet], **options: Any) -> "pd.DataFrame":
    """The lines of the figure as a table, as `--plot` prints it."""
    return _tabulate_fits(_fit_distances(scored_sets, **options))


def _label_fit(fit: _DistanceFit) -> str:
    """The set and its line: slope and intercept, each with interval."""
    head = f"{wording.name(fit.name)}: {SHIFTS[fit.shift]}, n = {format_numbers.count(fit.rows)}"
    if format_numbers.is_undefined(fit.fit.slope.value):
        return f"{head}\nno line: {fit.fit.slope.reason}"
    numbers_of_line = [
        f"{letter} = {_number(number.value)} ({_number(number.low)} to {_number(number.high)})"
        for letter, number in (("β", fit.fit.slope), ("α", fit.fit.intercept))
    ]
    return f"{head}\n{', '.join(numbers_of_line)}"


def _number(value: float) -> str:
    return "n/a" if format_numbers.is_undefined(value) else f"{value:.3f}".replace("-", "−")
