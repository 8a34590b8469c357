"""Does a context matter by what it is to the class, or is it simply harder for every class alike?"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_group, check_same_length
from oochub.stats.stratified_gap import StratifiedGap, stratified_gap

_MOST_LOG_ODDS = 50.0  # either way
_MOST_TABLES = 4_000_000  # counted one by one
_NOTHING = 1e-18  # a chance, or a spread


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
    groups = [_estimate_effect(is_right, having, codes, shared, kept & side) for side in (is_usual, ~is_usual)]
    same = groups[0].estimate * groups[1].estimate > 0
    alike = (
        max(each.p_value for each in groups) if same and all(each.p_value == each.p_value for each in groups) else None
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


def _estimate_effect(right: Array, has: Array, label: Array, cluster: Array | None, rows: Array) -> StratifiedGap:
    shared = None if cluster is None else cluster[rows]
    return stratified_gap(right[rows] * 1.0, has[rows], label[rows], cluster=shared)


class _Counts:
    """The margins of every class with rows of both kinds, and the laws of its right answers with, given the margins.

    The laws are those at the ratio of odds at which right answers with are as many as those seen: given that number the
    law of the trend is the same at any ratio, and this one keeps it from the far tail of the laws.
    """

    def __init__(self, right: Array, has: Array, label: Array, role: Array) -> None:
        from scipy.optimize import brentq

        self.score = np.zeros(int(label.max()) + 1, np.int64)
        self.score[label] = role
        self.seen, self.with_, self.ones, self.size = (
            np.bincount(label, of).astype(np.int64) for of in (right & has, has, right, right | True)
        )
        self._laws = [_compute_law(*each) for each in zip(self.with_, self.ones, self.size, strict=True)]
        least, largest = (sum(int(count[end]) for count, _ in self._laws) for end in (0, -1))
        self.whole = int(self.seen.sum())
        self.is_free = least < self.whole < largest
        self._log_odds = 0.0
        if self.is_free:
            ends = -_MOST_LOG_ODDS, _MOST_LOG_ODDS
            self._log_odds = float(brentq(lambda odds: float(self._compute_moments(odds)[0].sum()) - self.whole, *ends))
        self.expected, self.variance = self._compute_moments(self._log_odds)

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
            special.ndtr(-abs(trend) / math.sqrt(spread))
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
    return 2 * float(special.stdtr(max(units - 1, 1), -abs(t))), trend


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
    log = -sum(special.gammaln(of + 1) for of in (count, ones - count, drawn - count, size - ones - drawn + count))
    return count, log


def _tilt(log: Array, log_odds: float) -> Array:
    """The chances of counts at a ratio of odds (Fisher's noncentral hypergeometric law)."""
    tilted = log + log_odds * np.arange(len(log))
    chance = np.exp(tilted - tilted.max())
    chances: Array = chance / chance.sum()
    return chances
