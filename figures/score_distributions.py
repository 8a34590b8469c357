"""How a detector's scores are spread over each set of images, or over its right and wrong answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from oochub.detection.detector_scores import ScoredSet
from oochub.detection.image_sets import choose_detector, split_scored_sets
from oochub.errors import OochubError, unknown_name
from oochub.figures._style import (
    INK,
    assign_line_styles,
    draw_legend,
    hide_frame,
    label_part,
    make_axes,
    name_detector,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

By = Literal["set", "answer"]
_MIDDLE = (2.5, 97.5)  # percentiles of all scores


def score_distributions(
    scored_sets: Sequence[ScoredSet],
    *,
    detector: str | None = None,
    by: By = "set",
    sets: Sequence[str] | None = None,
    bins: int = 30,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws one panel of Figs. 6 to 9: a histogram for each set, of equal bins, each summing to 100%.

    If scores lie far out, the axis ends half the span of the middle 95% of all scores beyond it; what lies farther
    is counted in the bins at the ends, and told below the axis.

    Args:
        scored_sets: What `oochub.detection.detector_scores.score_sets` returns.
        detector: Its key or name; None takes the first.
        by: "set", or "answer": the classifier's right and wrong answers of each set in distribution apart.
        sets: Those to show, in this order; None shows all.
        bins: Number of bins.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: scores to the right (higher is more in-distribution), the share of the set's rows upward.

    Raises:
        OochubError: An unknown detector, set or `by`, bins below 2, no finite score.

    Source: ImageNet-OOD, Appendix B, Figs. 6 and 7 (by="set"), 8 and 9 (by="answer").

    >>> import pyarrow as pa
    >>> from oochub.prediction.predictions import Predictions
    >>> from oochub.detection.detector_scores import score_sets
    >>> told = {"model": {}, "class_names": ["a", "b"], "rows": {"test": 3}, "benchmark": "mine", "version": "1.0.0"}
    >>> logits = [[3.0, 0.0], [2.0, 0.0], [1.0, 0.0]]
    >>> rows = {"example_id": ["1", "2", "3"], "split": ["test"] * 3, "logits": logits}
    >>> known = Predictions(pa.table(rows | {"label": [0, 0, 1]}), told | {"config": "known"})
    >>> new = Predictions(pa.table(rows | {"label": [-1, -1, -1]}), told | {"config": "new"})
    >>> ax = score_distributions(score_sets([known, new], ["max_logit"]), bins=2)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['known: in distribution, n = 3', 'new: semantic shift, n = 3']
    """
    key = choose_detector(scored_sets, detector)
    if by not in get_args(By):
        raise unknown_name("by", by, get_args(By))
    if bins < 2:
        raise OochubError(f"bins must be a whole number, 2 or more, got {bins}.")
    named = {scored.name: scored for scored in scored_sets}
    for name in sets or ():
        if name not in named:
            raise unknown_name("set in these scores", name, named)
    parts = split_scored_sets([named[name] for name in sets or named], by_answer=by == "answer")
    every = np.concatenate([part.scored.scores[key][part.rows] for part in parts])
    finite = every[np.isfinite(every)]
    if not len(finite):
        raise OochubError(f"No score of {key} is finite.")
    low, high = np.percentile(finite, _MIDDLE)
    reach = (high - low) / 2 if high > low else np.inf
    low, high = max(finite.min(), low - reach), min(finite.max(), high + reach)
    edges = np.linspace(low, high, bins + 1) if high > low else np.array([low - 0.5, low, low + 0.5])
    ax = make_axes(ax, 6.4, 4.2)
    for part, style in zip(parts, assign_line_styles(parts), strict=True):
        counts = np.histogram(np.clip(part.scored.scores[key][part.rows], edges[0], edges[-1]), edges)[0]
        share = 100 * counts / counts.sum()
        ax.stairs(share, edges, label=label_part(part), **style)
        if part.correct or (part.correct is None and part.shift == "none"):
            ax.stairs(share, edges, fill=True, color=style["color"], alpha=0.12, zorder=0)
    cut = int(((every < low) | (every > high)).sum())
    beyond = f"\n{cut} of {len(every)} scores lie beyond, in the bins at the ends" if cut else ""
    ax.set_title(name_detector(key), loc="left", color=INK, fontsize="medium")
    ax.set_xlabel(f"score, higher is more in-distribution{beyond}")
    ax.set_ylabel(f"% of the rows, in each of {len(edges) - 1} bins")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(bottom=0)
    hide_frame(ax, grid="y")
    draw_legend(
        ax, handlelength=3.5, loc="upper center", bbox_to_anchor=(0.5, -0.21 if cut else -0.15), fontsize="small"
    )
    return ax
