"""The ranks that two detectors give to the same images: right or wrong answers, or images out of distribution."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from oochub.detection.detector_scores import ScoredSet
from oochub.detection.image_sets import choose_detector, choose_inside_part, choose_outside_part
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.figures._detector_comparison import rank_comparison
from oochub.figures._style import COLORS, INK, INK2, draw_legend, hide_frame, make_axes, name_detector
from oochub.report import format_numbers, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Literal["correct", "incorrect", "ood"]
_WORDS = {"correct": "right answers", "incorrect": "wrong answers", "ood": "out of distribution"}
_COLORS = {"correct": COLORS["none"], "incorrect": COLORS["covariate"], "ood": COLORS["semantic"]}


def detector_ranks(
    scored_sets: Sequence[ScoredSet],
    *,
    detector: str | None = None,
    against: str = "msp",
    rows: Rows = "correct",
    inside: str | None = None,
    outside: str | None = None,
    bins: int = 20,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws one panel of Fig. 5: histograms of the percentile ranks that two detectors give to the same rows.

    Ranks are over the rows in distribution of one set and the rows out of distribution of another together, from 0
    (most out of distribution) to 100; ties share their mean rank. The title gives the mean shift of rank from the
    second detector to the first with its 95% interval (DeLong, paired).

    Args:
        scored_sets: What `oochub.detection.detector_scores.score_sets` returns.
        detector: Its key or name; None takes the first that is not `against`.
        against: The detector that it is compared with.
        rows: "correct": right answers in distribution, "incorrect": wrong ones, "ood": images out of distribution.
        inside: The set in distribution; None takes the first without shift.
        outside: The set out of distribution; None takes the first.
        bins: Number of bins.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: percentile rank to the right, the share of the rows upward; the dotted level is that of equal shares.

    Raises:
        OochubError: An unknown detector, set or kind of rows; twice the same detector; no such rows.

    Source: ImageNet-OOD, Fig. 5 (Section 4.3).

    >>> import pyarrow as pa
    >>> from oochub.prediction.predictions import Predictions
    >>> from oochub.detection.detector_scores import score_sets
    >>> told = {"model": {}, "class_names": ["a", "b"], "rows": {"test": 3}, "benchmark": "mine", "version": "1.0.0"}
    >>> rows = {"example_id": ["1", "2", "3"], "split": ["test"] * 3, "logits": [[3.0, 0.0], [5.0, 4.0], [1.0, 0.0]]}
    >>> known = Predictions(pa.table(rows | {"label": [0, 0, 0]}), told | {"config": "known"})
    >>> new = Predictions(pa.table(rows | {"label": [-1, -1, -1]}), told | {"config": "new"})
    >>> ax = detector_ranks(score_sets([known, new], ["max_logit", "msp"]), bins=2)
    >>> [round(float(height), 1) for height in ax.patches[0].get_data().values]
    [33.3, 66.7]
    """
    if rows not in get_args(Rows):
        raise unknown_name("kind of rows", rows, get_args(Rows))
    baseline = choose_detector(scored_sets, against)
    key = choose_detector(scored_sets, detector, but=baseline)
    if key == baseline:
        other = choose_wording("detector=")
        raise OochubError(f"Ranks compare two different detectors, got {key} twice. Choose another with {other}.")
    familiar, new = choose_inside_part(scored_sets, inside), choose_outside_part(scored_sets, outside)
    score, base = (
        np.concatenate([part.scored.scores[name][part.rows] for part in (familiar, new)]) for name in (key, baseline)
    )
    is_ood = np.repeat([False, True], [int(familiar.rows.sum()), int(new.rows.sum())])
    correct = np.concatenate([familiar.scored.correct[familiar.rows], np.zeros(int(new.rows.sum()), bool)])
    ranks = rank_comparison(score, base, is_ood, correct, bins=bins)
    n = int(ranks.histogram[rows].sum())
    where = new.name if rows == "ood" else familiar.name
    if not n:
        raise OochubError(f"{familiar.name} has no {_WORDS[rows]}, so they have no ranks.")
    ax = make_axes(ax, 6.0, 4.0)
    share, base_share = (100 * counts[rows] / n for counts in (ranks.histogram, ranks.baseline_histogram))
    color, dashes = _COLORS[rows], (0, (4, 1.5))
    ax.stairs(share, ranks.edges, color=color, linewidth=2, label=name_detector(key))
    ax.stairs(base_share, ranks.edges, color=INK2, linewidth=1.6, linestyle=dashes, label=name_detector(baseline))
    ax.stairs(share, ranks.edges, fill=True, color=color, alpha=0.15, zorder=0)
    ax.axhline(100 / bins, color=INK2, linewidth=1, linestyle=":")
    moved = ranks.shift[rows].difference
    value, low, high = (_format_signed(number) for number in (moved.value, moved.low, moved.high))
    words = f"{value} in rank (95% interval {low} to {high})"
    ax.set_title(
        f"{wording.name(where)}, {_WORDS[rows]} (n = {format_numbers.count(n)})\nmean shift {words}",
        loc="left", color=INK, fontsize="medium", pad=28,
    )  # fmt: skip
    pool = f"{format_numbers.count(len(is_ood))} rows of {wording.name(familiar.name)} and {wording.name(new.name)}"
    ax.set_xlabel(f"percentile rank, 100 is most in-distribution\n(among {pool})")
    ax.set_ylabel(f"% of these rows, in each of {bins} bins")
    ax.set_xlim(0, 100)
    ax.set_ylim(bottom=0)
    hide_frame(ax, grid="y")
    draw_legend(ax, ncols=2, handlelength=3)
    return ax


def _format_signed(value: float) -> str:
    return "n/a" if format_numbers.is_undefined(value) else format_numbers.points(value / 100)
