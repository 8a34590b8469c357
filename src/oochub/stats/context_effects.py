"""Tests whether a found context matters by what it is to the class, or is simply harder for every class alike.

If people found some of the contexts wrong, the gap that right ones would show is estimated from theirs.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_group, check_same_length
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import clopper_pearson
from oochub.stats.stratified_gap import StratifiedGap, stratified_gap

_MOST_LOG_ODDS = 50.0  # either way
_MOST_TABLES = 4_000_000  # counted one by one
_NOTHING = 1e-18  # a chance, or a spread


_METHOD = "bonferroni of gap and wrong labels"


@dataclass(frozen=True, kw_only=True)
class EffectByRole:
    """What `effect_by_role` finds.

    Attributes:
        p_value: Two-sided, of odds of a right answer that having the context changes alike in every class; nan where
            the classes to compare are missing, 1 where they have no errors, or only errors, to compare.
        trend: Above 0 where having the context helps more where it is usual for the class, below 0 the other way.
        alike: The p-value of no effect in the classes for which it is more usual, or none in the others: the larger of
            two. Nan unless both effects have one direction.
        usual: Right answers with the context less those without, of the classes for which it is more usual.
        others: The same of the other classes.
        reason: Why `p_value` is nan; None where it is not.
    """

    p_value: float
    trend: float
    alike: float
    usual: StratifiedGap
    others: StratifiedGap
    reason: str | None = None


def effect_by_role(right: Any, has: Any, label: Any, role: Any, *, cluster: Any = None) -> EffectByRole:
    """Whether having a context changes the odds of a right answer by its role for the class, or alike in every class.

    Dark images may be harder, for dogs and for cats. If dogs are mostly dark, dogs are then worse as usual, and cats
    against it: a gap between rows as usual and rows against may come of that alone. A model that relies on the context
    gains by it where it is usual for the class, and loses where it is unusual. So the ratio of odds, with the context
    and without, is compared between classes: the test of trend in ratios of odds over strata, whose score is the role.
    It is exact (mid-p) given both margins of every class and the number of right answers with the context over all,
    whatever the ratio of odds that all classes share; for very many rows, against the normal law. With clusters its
    variance is that of the clusters' parts, against Student's t.

    Args:
        right: Whether each row's answer is right (n,), bool.
        has: Whether each row has the context (n,), bool.
        label: The class of each row (n,), any hashable.
        role: What the context is for the class of each row (n,): 1 usual, -1 unusual, 0 neither.
        cluster: What the rows (n,) share, any hashable; None if they are independent.

    Returns:
        The EffectByRole.

    Raises:
        OochubError: Different lengths, or `right` or `has` that are not bool.

    Source: Zelen 1971 (Biometrika 58:129-137), ratios of odds over strata compared given all margins; Breslow and Day
        1980 (Statistical Methods in Cancer Research 1, Section 4.4), the trend over strata as its statistic.

    >>> right = [True] * 45 + [False] * 5 + [True] * 20 + [False] * 30
    >>> dark, label = [True] * 50 + [False] * 50, ["dog"] * 100
    >>> both = right + right, dark + dark, label + ["cat"] * 100
    >>> alike = effect_by_role(*both, role=[1] * 100 + [-1] * 100)  # dark dogs and dark cats: 45 and 20 of 50 right
    >>> alike.p_value > 0.8, alike.alike < 0.001
    (True, True)
    """
    is_right, having = np.asarray(right), np.asarray(has)
    if is_right.dtype != np.bool_ or having.dtype != np.bool_:
        raise OochubError(f"right and has must be bool, got {is_right.dtype} and {having.dtype}. Compare them.")
    roles = np.asarray(role)
    codes = check_group(label, name="label").codes if len(is_right) else np.zeros(0, np.int64)
    shared = None if cluster is None or not len(is_right) else check_group(cluster, name="cluster").codes
    check_same_length(right=is_right, has=having, label=codes, role=roles, cluster=shared)
    kept = (np.minimum(np.bincount(codes, having), np.bincount(codes, ~having)) > 0)[codes]
    is_usual = roles > (0 if (roles[kept] > 0).any() and (roles[kept] <= 0).any() else -1)
    groups = []
    for rows in (kept & is_usual, kept & ~is_usual):
        own = None if shared is None else shared[rows]
        groups.append(stratified_gap(is_right[rows] * 1.0, having[rows], codes[rows], cluster=own))
    same = groups[0].estimate * groups[1].estimate > 0
    alike = (
        max(group.p_value for group in groups)
        if same and all(group.p_value == group.p_value for group in groups)
        else None
    )
    both: dict[str, Any] = {"usual": groups[0], "others": groups[1], "alike": math.nan if alike is None else alike}
    if len(np.unique(roles[kept])) < 2:
        reason = (
            "no other class has rows with it and without it, so it cannot be separated from images that are harder "
            "for all"
        )
        return EffectByRole(p_value=math.nan, trend=math.nan, reason=reason, **both)
    own = None if shared is None else np.unique(shared[kept], return_inverse=True)[1]
    stratum = np.unique(codes[kept], return_inverse=True)[1]
    p_value, trend = _test_trend(is_right[kept], having[kept], stratum, roles[kept], own)
    return EffectByRole(p_value=p_value, trend=trend, **both)


class _Counts:
    """The margins of every class with rows of both kinds, and the laws of its right answers with, given the margins.

    The laws are those at the ratio of odds at which right answers with are as many as those seen: given that number the
    law of the trend is the same at any ratio, and this one keeps it from the far tail of the laws.
    """

    def __init__(self, right: Array, has: Array, label: Array, role: Array) -> None:
        self.score = np.zeros(int(label.max()) + 1, np.int64)
        self.score[label] = role
        self.seen, self.with_, self.ones, self.size = (
            np.bincount(label, of).astype(np.int64) for of in (right & has, has, right, right | True)
        )
        self._laws = [_compute_law(*counts) for counts in zip(self.with_, self.ones, self.size, strict=True)]
        least, largest = (sum(int(count[end]) for count, _ in self._laws) for end in (0, -1))
        self.whole = int(self.seen.sum())
        self.is_free = least < self.whole < largest
        self._log_odds = 0.0
        if self.is_free:
            ends = -_MOST_LOG_ODDS, _MOST_LOG_ODDS
            self._log_odds = float(scipy.optimize.brentq(self._compute_excess, *ends))
        self.expected, self.variance = self._compute_moments(self._log_odds)

    def _compute_excess(self, log_odds: float) -> float:
        return float(self._compute_moments(log_odds)[0].sum()) - self.whole

    def _compute_moments(self, log_odds: float) -> tuple[Array, Array]:
        laws = [(count, _tilt(log, log_odds)) for count, log in self._laws]
        means = np.array([float(chance @ count) for count, chance in laws])
        return means, np.array([float(c @ (k - mean) ** 2) for (k, c), mean in zip(laws, means, strict=True)])

    def of_role(self, role: int) -> tuple[int, Array]:
        """The least number of right answers with, over the classes of a role, and the chance of each number."""
        least, chance = 0, np.ones(1)
        for (count, log), score in zip(self._laws, self.score, strict=True):
            if score == role:
                law = _tilt(log, self._log_odds)
                seen = np.flatnonzero(law > _NOTHING)
                least, chance = least + int(count[seen[0]]), np.convolve(chance, law[seen[0] : seen[-1] + 1])
        return least, chance


def _test_trend(right: Array, has: Array, label: Array, role: Array, cluster: Array | None) -> tuple[float, float]:
    """The p-value of no trend, and the trend in right answers; 1 and 0 where the margins leave it no choice."""
    counts = _Counts(right, has, label, role)
    if not counts.is_free:
        return 1.0, 0.0
    off = counts.score - float((counts.score * counts.variance).sum()) / float(counts.variance.sum())
    trend, spread = float((off * (counts.seen - counts.expected)).sum()), float((off**2 * counts.variance).sum())
    if spread < _NOTHING:
        return 1.0, 0.0
    if cluster is None:
        (_, usual), (_, unusual) = counts.of_role(1), counts.of_role(-1)
        is_exact = len(usual) * len(unusual) <= _MOST_TABLES
        return _compute_exact_p_value(counts) if is_exact else 2 * float(
            scipy.special.ndtr(-abs(trend) / math.sqrt(spread))
        ), trend
    with_right, without_right = (
        counts.expected / counts.with_,
        (counts.ones - counts.expected) / (counts.size - counts.with_),
    )
    fitted = np.where(has, with_right[label], without_right[label])
    weight = fitted * (1 - fitted)
    across = has - (np.bincount(label, weight * has) / np.maximum(np.bincount(label, weight), _NOTHING))[label]
    parts = off[label] * across * (right - fitted)
    of_cluster, weights = np.bincount(cluster, parts), np.bincount(cluster, (off[label] * across) ** 2 * weight)
    alone, count = float((parts**2).sum()), len(of_cluster)
    if alone < _NOTHING or count < 2:
        return 1.0, 0.0
    together = float((of_cluster**2).sum()) * count / (count - 1)
    units = float(weights.sum() ** 2 / (weights**2).sum())
    t = trend / math.sqrt(spread * together / alone)
    return 2 * float(scipy.special.stdtr(max(units - 1, 1), -abs(t))), trend


def _compute_exact_p_value(counts: _Counts) -> float:
    """Mid-p of right answers with where it is usual less those where it is unusual, given both and the rest."""
    (usual_least, usual), (unusual_least, unusual), (rest_least, rest) = (counts.of_role(role) for role in (1, -1, 0))
    first, second = usual_least + np.arange(len(usual))[:, None], unusual_least + np.arange(len(unusual))
    left = counts.whole - first - second - rest_least
    chance = usual[:, None] * unusual * np.where((left >= 0) & (left < len(rest)), rest[left.clip(0, len(rest) - 1)], 0)
    difference, whole = first - second, float(chance.sum())
    mean = float((chance * difference).sum()) / whole
    seen = abs(float((counts.score * counts.seen).sum()) - mean)
    distance = np.abs(difference - mean)
    as_far = np.isclose(distance, seen, rtol=0, atol=1e-6)
    return min(1.0, float(chance[(distance > seen) & ~as_far].sum() + chance[as_far].sum() / 2) / whole)


def _compute_law(drawn: int, ones: int, size: int) -> tuple[NDArray[np.int64], Array]:
    """The possible counts of ones among those drawn, and the logarithms of their weights where odds are equal."""
    count = np.arange(max(0, drawn + ones - size), min(drawn, ones) + 1)
    parts = count, ones - count, drawn - count, size - ones - drawn + count
    log = -sum(scipy.special.gammaln(part + 1) for part in parts)
    return count, log


def _tilt(log: Array, log_odds: float) -> Array:
    """The chances of counts at a ratio of odds (Fisher's noncentral hypergeometric law)."""
    tilted = log + log_odds * np.arange(len(log))
    chance = np.exp(tilted - tilted.max())
    chances: Array = chance / chance.sum()
    return chances


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
    wider = float(scipy.special.ndtri((1 - third) / 2) / scipy.special.ndtri((1 - confidence) / 2))
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
