"""The gap that a column of contexts would show if it were right, where people found some of it wrong."""

import math
from dataclasses import dataclass

from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.errors import OochubError
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import clopper_pearson
from oochub.stats.stratified_gap import StratifiedGap

_METHOD = "bonferroni of gap and wrong labels"


@dataclass(frozen=True, kw_only=True)
class GapUnderWrongContexts:
    """What `gap_under_wrong_contexts` finds.

    Attributes:
        shrinkage: What share of the true gap the observed one shows, with its interval; 1 where no label is wrong.
        corrected: The gap where labels are wrong regardless of the model's answer, with its interval; of values in
            [0, 1] cut to [-1, 1].
        worst_case: The observed gap; its interval holds the gaps that are possible whatever wrong labels depend on.
    """

    shrinkage: Estimate
    corrected: Estimate
    worst_case: Estimate

    @property
    def words(self) -> str:
        """For a reader, in one or two sentences.

        >>> from oochub.stats.stratified_gap import stratified_gap
        >>> value = [1] * 180 + [0] * 20 + [1] * 120 + [0] * 80
        >>> gap = stratified_gap(value, [True] * 200 + [False] * 200, [0] * 400)
        >>> gap_under_wrong_contexts(gap, wrong_having=(5, 50), wrong_lacking=(5, 50)).words
        'Wrong labels shrink the gap to 80% of its size: 0.300 is seen, the true gap is about 0.375 [0.210, 0.776].'
        """
        if math.isnan(self.corrected.low):
            return f"It is not known how much wrong labels shrink the gap: {self.corrected.reason}."
        low, high = self.corrected.low, self.corrected.high
        return (
            f"Wrong labels shrink the gap to {self.shrinkage.value:.0%} of its size: {self.worst_case.value:.3f} is "
            f"seen, the true gap is about {self.corrected.value:.3f} [{low:.3f}, {high:.3f}]."
        )


def gap_under_wrong_contexts(
    gap: StratifiedGap,
    *,
    wrong_having: tuple[int, int],
    wrong_lacking: tuple[int, int],
    having_of_with: float = 1.0,
    having_of_against: float = 0.0,
    confidence: float = 0.95,
) -> GapUnderWrongContexts:
    """Bounds of the true gap, from a check of some labels.

    Among the rows said to be with, a share e_w is not; of those said to be against, a share e_a is with. If, given the
    true context, a wrong label has nothing to do with the answer,

        observed gap = (1 - e_w - e_a) x true gap,

    so that wrong labels shrink a gap and never turn or make one, as long as e_w + e_a < 1. Without that assumption the
    rows on the wrong side may be those that are right, or those that are wrong: the gap is bounded by moving shares
    e_w and e_a of one or the other kind, over all classes together.

    Both hold at `confidence` altogether (Bonferroni): the gap and two rates of error each have an interval at a third
    of what is allowed to fail, the rates Clopper and Pearson's, the gap its own, widened by the normal law.

    Args:
        gap: Gap with an interval of level `confidence`; for the worst case its values must lie in [0, 1].
        wrong_having: How many rows said to have the context do not, and how many were judged.
        wrong_lacking: How many rows said to lack the context have it, and how many were judged.
        having_of_with: Share of the rows with that are said to have the context; less than 1 if it is usual for one
            class and unusual for another, and a row is with for having it or for lacking it.
        having_of_against: The same of the rows against.
        confidence: Level of all intervals.

    Returns:
        The GapUnderWrongContexts. Ends of the corrected gap are nan, with the reason, where e_w + e_a may be 1 or more
        (a gap of either sign may lie behind the one seen), where nothing was checked, or where the gap has no
        interval. The worst case then still has ends, but for a gap without interval, and for values outside [0, 1].

    Raises:
        OochubError: More wrong than judged, or a share outside [0, 1].

    Source:
        Horowitz and Manski 1995 (Econometrica 63:281-302) for means of which a share of the rows is of another kind;
        Aigner 1973 (J. Econometrics 1:49-59) for the factor.

    >>> from oochub.stats.stratified_gap import stratified_gap
    >>> value = [1] * 180 + [0] * 20 + [1] * 120 + [0] * 80
    >>> gap = stratified_gap(value, [True] * 200 + [False] * 200, [0] * 400)
    >>> found = gap_under_wrong_contexts(gap, wrong_having=(5, 50), wrong_lacking=(5, 50))
    >>> found.shrinkage, found.corrected
    (0.800 [0.508, 0.950] n=100, 0.375 [0.210, 0.776] n=400)
    """
    for name, share in (("having_of_with", having_of_with), ("having_of_against", having_of_against)):
        if not 0 <= share <= 1:
            raise OochubError(f"{name} must lie in [0, 1], got {share}.")
    third = 1 - (1 - confidence) / 3
    having, lacking = (clopper_pearson(*counts, confidence=third) for counts in (wrong_having, wrong_lacking))
    with_, against = (_compute_rate(having, lacking, share) for share in (having_of_with, having_of_against))
    shrinkage = Estimate(
        1 - with_.value - against.value,
        low=1 - with_.high - against.high,
        high=1 - with_.low - against.low,
        n=having.n + lacking.n,
        method=_METHOD,
        reason=with_.reason or against.reason,
    )
    wider = float(special.ndtri((1 - third) / 2) / special.ndtri((1 - confidence) / 2))
    below, above = (wider * abs(end - gap.estimate.value) for end in (gap.estimate.low, gap.estimate.high))
    return GapUnderWrongContexts(
        shrinkage=shrinkage,
        corrected=_correct(gap, below, above, shrinkage),
        worst_case=_find_worst_case(gap, below, above, with_, against),
    )


def _compute_rate(having: Estimate, lacking: Estimate, share: float) -> Estimate:
    """How often rows are on the wrong side, of which a share is said to have the context."""
    used = [(weight, rate) for weight, rate in ((share, having), (1 - share, lacking)) if weight]
    if not all(rate.n for _, rate in used):
        return Estimate(math.nan, low=0.0, high=1.0, n=0, method=_METHOD, reason="no label of one kind was checked")
    value, low, high = (
        math.fsum(weight * getattr(rate, end) for weight, rate in used) for end in ("value", "low", "high")
    )
    return Estimate(value, low=low, high=high, n=sum(rate.n for _, rate in used), method=_METHOD)


def _correct(seen: StratifiedGap, below: float, above: float, shrinkage: Estimate) -> Estimate:
    gap = seen.estimate
    most = (
        1.0 if 0 <= min(seen.mean_with, seen.mean_against) <= max(seen.mean_with, seen.mean_against) <= 1 else math.inf
    )
    reason = shrinkage.reason or (gap.reason if math.isnan(below) else None)
    if reason is None and shrinkage.low <= 0:
        reason = "too few labels were checked, or too many are wrong, to give bounds"
    value = _clip(gap.value / shrinkage.value, most) if shrinkage.value > 0 else math.nan
    if reason:
        return Estimate(value, n=gap.n, method=_METHOD, reason=reason)
    low, high = gap.value - below, gap.value + above
    ends = [_clip(end / factor, most) for end in (low, high) for factor in (shrinkage.low, shrinkage.high)]
    return Estimate(value, low=min(ends), high=max(ends), n=gap.n, method=_METHOD)


def _clip(gap: float, most: float) -> float:
    """A gap of values in [0, 1] lies in [-1, 1]."""
    return min(max(gap, -most), most)


def _find_worst_case(gap: StratifiedGap, below: float, above: float, with_: Estimate, against: Estimate) -> Estimate:
    first, second, n = gap.mean_with, gap.mean_against, gap.estimate.n
    reason = gap.estimate.reason if math.isnan(below) else None
    if not (0 <= first <= 1 and 0 <= second <= 1):
        reason = "the worst case needs values in [0, 1]"
    if reason:
        return Estimate(gap.estimate.value, n=n, method=_METHOD, reason=reason)
    share = gap.n_with / (gap.n_with + gap.n_against)

    def largest(first: float, second: float, deviation: float) -> float:  # it may be of either mean
        ends = ((first + deviation, second), (first, second - deviation))
        return max(_find_largest(one, other, share, with_, against) for one, other in ends)

    low, high = -largest(1 - first, 1 - second, below), largest(first, second, above)
    return Estimate(gap.estimate.value, low=low, high=high, n=n, method=_METHOD)


def _find_largest(first: float, second: float, share: float, with_: Estimate, against: Estimate) -> float:
    """The largest true gap where a share of the rows is said to be with, of mean `first`, and the rest has `second`.

    Zeros leave the rows with and ones join them, as far as they are there: so the largest lies where as many are wrong
    as there are zeros of the one and ones of the other, or at the end of the rates next to it.
    """
    first, second = min(max(first, 0.0), 1.0), min(max(second, 0.0), 1.0)
    leave, join = min(max(1 - first, with_.low), with_.high), min(max(second, against.low), against.high)
    truly_with = share * (1 - leave) + (1 - share) * join
    if truly_with in (0, 1):
        return 1.0  # all rows may be on one side: nothing is known
    ones = share * min(1 - leave, first) + (1 - share) * min(join, second)
    return ones / truly_with - (share * first + (1 - share) * second - ones) / (1 - truly_with)
