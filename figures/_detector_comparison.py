"""Two detectors on the same rows: which is better at what, how they rank the rows, and where a gain comes from.

Source: ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Section 4.3 with Figure 5, and Appendix E with Table 4.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_group, check_same_length, check_score
from oochub.stats.delong import PairedDifference, paired_delong
from oochub.stats.estimate import Estimate
from oochub.stats.ranking import check_kinds

_OOD, _INCORRECT, _CORRECT = range(3)  # as `oochub.stats.ranking.check_kinds` numbers them


@dataclass(frozen=True, kw_only=True)
class RankComparison:
    """The ranks of the same rows under two detectors, as in Figure 5.

    Attributes:
        rank: Percentile rank of each row (n,) under the detector, in (0, 100); ties share their mean.
        baseline_rank: The same under the baseline.
        edges: Ends (b + 1,) of the histograms' bins, from 0 to 100.
        histogram: For each kind of row ("correct", "incorrect", "ood"), how many rows (b,) of `rank` lie in each bin.
        baseline_histogram: The same of `baseline_rank`.
        shift: For each kind of row, the mean of `rank` minus `baseline_rank`, in percentile points, with DeLong's
            paired interval and the p value of no shift; nan, with the reason, for a kind without rows.
    """

    rank: Array
    baseline_rank: Array
    edges: Array
    histogram: Mapping[str, Array]
    baseline_histogram: Mapping[str, Array]
    shift: Mapping[str, PairedDifference]


def compare_auroc(
    score: Any, baseline: Any, is_ood: Any, correct: Any = None, *, cluster: Any = None, confidence: float = 0.95
) -> dict[str, PairedDifference]:
    """How much better a detector is than a baseline on the same rows, by paired DeLong tests.

    Args:
        score: Scores of the detector (n,), higher = more in-distribution.
        baseline: Scores of the baseline (n,), on any scale of their own.
        is_ood: Whether the class of the row is outside the label set (n,).
        correct: Whether the classifier was right (n,); None leaves out what needs it.
        cluster: What the rows (n,) share; None if they are independent.
        confidence: Level of the intervals.

    Returns:
        AUROC of `score` minus AUROC of `baseline` for auroc_new_class; with `correct` also for auroc_failure and the
        three of ood_breakdown: correct_vs_ood, incorrect_vs_ood, correct_vs_incorrect. Each has a two-sided p value;
        they are not corrected for their number. nan, with the reason, where a side has no row.

    Raises:
        OochubError: The same as for the metrics auroc_new_class and auroc_failure, for either score.

    >>> found = compare_auroc([4, 3, 2, 1], [4, 1, 2, 3], [False, False, True, True])["auroc_new_class"]
    >>> found.difference, round(found.p_value, 3)
    (0.500 [-0.480, 1.000] n=4, 0.317)
    """
    kind, score, baseline = _check_inputs(score, baseline, is_ood, correct)
    ood = kind == _OOD
    pairs = {"auroc_new_class": (~ood, ood)}
    if correct is not None:
        right, wrong = kind == _CORRECT, kind == _INCORRECT
        pairs |= {
            "auroc_failure": (right, ~right),
            "correct_vs_ood": (right, ood),
            "incorrect_vs_ood": (wrong, ood),
            "correct_vs_incorrect": (right, wrong),
        }
    of_rows = (score, baseline, _encode(cluster, score), confidence)
    return {name: _estimate_difference(ahead, behind, *of_rows) for name, (ahead, behind) in pairs.items()}


def rank_comparison(
    score: Any,
    baseline: Any,
    is_ood: Any,
    correct: Any,
    *,
    bins: int = 50,
    cluster: Any = None,
    confidence: float = 0.95,
) -> RankComparison:
    """Compares the ranks that two detectors give to the correct ID, the incorrect ID and the OOD rows, pooled.

        rank of a row = 100 (rows below it + half of the rows that tie with it, itself included) / n

    The paper does not say over which rows it ranks: here it is over all that are given.

    Args:
        score: Scores of the detector (n,), higher = more in-distribution.
        baseline: Scores of the baseline (n,), on any scale of their own.
        is_ood: Whether the class of the row is outside the label set (n,).
        correct: Whether the classifier was right (n,), not looked at where `is_ood` holds.
        bins: Number of bins of the histograms.
        cluster: What the rows (n,) share; None if they are independent.
        confidence: Level of the intervals.

    Returns:
        The RankComparison. The shifts, each times its number of rows, sum to 0: ranks gained by some are lost by
        others.

    Raises:
        OochubError: The same as for the metric auroc_failure, for either score; bins below 1.

    >>> found = rank_comparison([4, 3, 2, 1], [4, 1, 2, 3], [0, 0, 1, 1], [1, 0, 0, 0], bins=2)
    >>> found.rank.tolist(), found.histogram["ood"].tolist(), float(found.shift["incorrect"].difference)
    ([87.5, 62.5, 37.5, 12.5], [2, 0], 50.0)
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise OochubError(f"bins must be a whole number, 1 or more, got {bins!r}. The usual value is 50.")
    kind, score, baseline = _check_inputs(score, baseline, is_ood, correct)
    n, codes = len(kind), _encode(cluster, score)
    rank, baseline_rank = (100 * (stats.rankdata(values) - 0.5) / n for values in (score, baseline))
    rows = {"correct": kind == _CORRECT, "incorrect": kind == _INCORRECT, "ood": kind == _OOD}
    edges = np.linspace(0, 100, bins + 1)

    def shift(own: Array) -> PairedDifference:
        # The mean rank of some rows is, up to a constant, their AUROC against the rest.
        comparison = _estimate_difference(own, ~own, score, baseline, codes, confidence)
        by = 100 * float((~own).sum()) / n
        moved = comparison.difference
        fields = {**vars(moved), "low": by * moved.low, "high": by * moved.high}
        return PairedDifference(Estimate(by * moved.value, **fields), comparison.p_value)

    return RankComparison(
        rank=rank,
        baseline_rank=baseline_rank,
        edges=edges,
        histogram={name: np.histogram(rank[own], edges)[0] for name, own in rows.items()},
        baseline_histogram={name: np.histogram(baseline_rank[own], edges)[0] for name, own in rows.items()},
        shift={name: shift(own) for name, own in rows.items()},
    )


def gain_from_incorrect(score: Any, baseline: Any, is_ood: Any, correct: Any, *, confidence: float = 0.95) -> Estimate:
    """The share of a detector's gain in new-class AUROC that comes from incorrect ID rows.

        share = (1 - a) (C2 - C2') / (A - A'),   A = a C1 + (1 - a) C2

    with the baseline's AUROCs dashed and a the accuracy on ID rows. It is above 1 where correct rows lost, and below 0
    where incorrect rows worked against the gain. The interval is Fieller's, from DeLong's covariance of both parts;
    rows are independent.

    Args:
        score: Scores of the detector (n,), higher = more in-distribution.
        baseline: Scores of the baseline (n,), on any scale of their own; MSP in the paper.
        is_ood: Whether the class of the row is outside the label set (n,).
        correct: Whether the classifier was right (n,), not looked at where `is_ood` holds.
        confidence: Level of the interval.

    Returns:
        A fraction of the gain, without bounds. nan with the reason without OOD, ID or incorrect rows and without a
        gain; no interval, with the reason, where the gain is not decided: its interval holds 0.

    Raises:
        OochubError: The same as for the metric auroc_failure, for either score.

    Source:
        ImageNet-OOD, Appendix E, Equation 2; Fieller 1954 (J. R. Statist. Soc. B 16:175-185).

    >>> is_ood, correct = [1] * 40 + [0] * 80, [0] * 40 + [0, 1] * 40
    >>> baseline = [i % 10 for i in range(120)]
    >>> gain_from_incorrect([b + 3 - 3 * o for b, o in zip(baseline, is_ood)], baseline, is_ood, correct)
    0.529 [0.413, 0.648] n=120
    """
    kind, score, baseline = _check_inputs(score, baseline, is_ood, correct)
    inside, outside, wrong = kind != _OOD, kind == _OOD, kind == _INCORRECT
    n, method = len(kind), "fieller"
    if min(int(outside.sum()), int(wrong.sum())) < 2:
        reason = f"{int(outside.sum())} OOD rows and {int(wrong.sum())} incorrect ID rows: two of each are needed"
        return Estimate(math.nan, n=n, method=method, reason=reason)

    def gained(of: Array, against: Array) -> Array:
        return _share_below(score[of], score[against]) - _share_below(baseline[of], baseline[against])

    of_inside = gained(inside, outside)  # what each ID row wins more of the OOD rows
    by_inside = np.stack([of_inside * wrong[inside], of_inside])
    by_outside = -np.stack([gained(outside, wrong) * wrong.sum() / inside.sum(), gained(outside, inside)])
    part, gain = (float(mean) for mean in by_inside.mean(axis=1))
    if abs(gain) < 1e-15:  # rounding of equal AUROCs
        return Estimate(math.nan, n=n, method=method, reason="both detectors have the same AUROC: there is no gain")
    covariance = np.cov(by_inside) / by_inside.shape[1] + np.cov(by_outside) / by_outside.shape[1]
    z2 = float(stats.norm.isf((1 - confidence) / 2)) ** 2
    # The shares s with (part - s gain)^2 <= z^2 Var(part - s gain): between the roots of a s^2 - 2 b s + c.
    a, b, c = (
        first - z2 * float(second)
        for first, second in zip((gain**2, part * gain, part**2), covariance[[1, 0, 0], [1, 1, 0]], strict=True)
    )
    if a <= 0:
        reason = f"the gain itself, {gain:.4f}, is not decided: its interval holds 0"
        return Estimate(part / gain, n=n, method=method, reason=reason)
    reach = math.sqrt(max(0.0, b**2 - a * c))
    return Estimate(part / gain, low=(b - reach) / a, high=(b + reach) / a, n=n, method=method)


def _check_inputs(score: Any, baseline: Any, is_ood: Any, correct: Any) -> tuple[Array, Array, Array]:
    score, kind = check_kinds(score, is_ood, correct)
    baseline = check_score(baseline, name="baseline")
    check_same_length(score=score, baseline=baseline)
    return kind, score, baseline


def _encode(cluster: Any, score: Array) -> Array | None:
    if cluster is None:
        return None
    codes = check_group(cluster, name="cluster").codes
    check_same_length(score=score, cluster=codes)
    return codes


def _estimate_difference(
    ahead: Array, behind: Array, score: Array, baseline: Array, cluster: Array | None, confidence: float
) -> PairedDifference:
    rows = ahead | behind
    if not (ahead.any() and behind.any()):
        reason = f"{int(ahead.sum())} rows ahead and {int(behind.sum())} behind: an AUROC needs both"
        estimate = Estimate(math.nan, n=int(rows.sum()), method="paired delong", reason=reason)
        return PairedDifference(estimate, math.nan)
    chosen = None if cluster is None else cluster[rows]
    return paired_delong(ahead[rows], score[rows], baseline[rows], cluster=chosen, confidence=confidence)


def _share_below(values: Array, others: Array) -> Array:
    """The share of `others` below each value, ties one half."""
    others = np.sort(others)
    places: Array = np.searchsorted(others, values, "left") + np.searchsorted(others, values, "right")
    return places / (2 * len(others))
