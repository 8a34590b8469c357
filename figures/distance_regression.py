"""How well a detector finds images by their distance from what is in distribution, with a line for each set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oochub.evaluation.detector_scores import ScoredSet
from oochub.evaluation.set_parts import Nearest, choose_inside_part
from oochub.figures._distance_fits import DistanceFit, Value, fit_distances, tabulate_fits
from oochub.figures._style import (
    COLORS,
    GRID,
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

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LINES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))


def distance_regression(
    scored_sets: Sequence[ScoredSet],
    *,
    detector: str | None = None,
    nearest: Mapping[str, Nearest] | None = None,
    subsets: int = 100,
    value: Value = "auroc",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws one panel of Figs. 3 (left) and 10: a point a subset of similar distance, a line a set with its 95% band.

    The legend holds each line's slope β and intercept α with their intervals, as `tabulate_fits` prints them. The
    intervals take the subsets as independent, as the paper does, though they share the rows in distribution.

    Args:
        scored_sets: Of `oochub.evaluation.detector_scores.score_sets`: the first in
            distribution without shift is what the others are set against.
        detector: Its key or name; None takes the first.
        nearest: Of `oochub.evaluation.set_parts.find_nearest_inside`, by any embedding; None takes the features of the
            scored predictions.
        subsets: Of each set, of equal size.
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
    >>> from oochub.evaluation.detector_scores import score_sets
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
    fits = fit_distances(scored_sets, detector=detector, nearest=nearest, subsets=subsets, value=value)
    known = choose_inside_part(scored_sets)
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
        of = f"{wording.name(known.name)} (n = {format_numbers.count(int(known.rows.sum()))})"
        ax.set_ylabel(f"AUROC of {of}\nagainst the subset; 0.5 is chance")
    else:
        ax.set_ylabel("mean score, higher is more in-distribution")
    nearest_words = f"mean distance to the nearest image of {wording.name(known.name)}, 1 − cosine"
    ax.set_xlabel(f"{nearest_words}\nbands and brackets: 95% intervals")
    title = f"{name_detector(fits[0].detector)}, {subsets} subsets a set"
    ax.set_title(title, loc="left", color=INK, fontsize="medium")
    ax.grid(color=GRID)
    hide_frame(ax)
    draw_legend(ax, loc="upper left", bbox_to_anchor=(0, -0.18), handlelength=3.5)
    return ax


def _build_table(scored_sets: Sequence[ScoredSet], **options: Any) -> "pd.DataFrame":
    """The lines of the figure as a table, as `--plot` prints it."""
    return tabulate_fits(fit_distances(scored_sets, **options))


def _label_fit(fit: DistanceFit) -> str:
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
