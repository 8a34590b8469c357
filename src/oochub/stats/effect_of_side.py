"""Is an answer right more often where the context is usual for the class, once class and context are accounted for?"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_group, check_same_length
from oochub.stats.estimate import Estimate

_METHOD = "score interval of a logistic model of class, context and side"
_MOST_LOG_ODDS = 12.0  # of b: beyond, an answer is right or wrong for sure
_RIDGE = 1e-6  # keeps classes and contexts finite where they part right answers from wrong ones
_LEAST = 1e-6  # of the rows' weight: less is left of the side by rounding and by the ridge
_NOTHING = 1e-9
_STEPS, _LONGEST_STEP, _SHORTEST = 100, 4.0, 1e-7


@dataclass(frozen=True, kw_only=True)
class EffectOfSide:
    """What `effect_of_side` finds.

    Attributes:
        gap: The share of right answers in unusual contexts minus that in usual ones, of one class in one context, as
            the model has it; nan where the rows do not separate it from contexts that are harder for all.
        log_odds: b, the logarithm of the ratio of odds, usual over unusual; above 0 where the context helps if usual.
            In [-12, 12], where an end stands for no bound.
        p_value: The two-sided p-value of b = 0; nan where b cannot be estimated.
        is_identified: Whether rows separate b from classes and contexts.
        reason: Why `gap` is nan; None where it is not.
    """

    gap: Estimate
    log_odds: Estimate
    p_value: float
    is_identified: bool
    reason: str | None = None


def effect_of_side(
    right: ArrayLike,
    label: ArrayLike,
    context: ArrayLike,
    side: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    confidence: float = 0.95,
) -> EffectOfSide:
    """Whether right answers follow what the context is to the class, beyond what class and context explain alone.

        logit P(right) = class + context + b side / 2,   side = 1 usual, -1 unusual, 0 neither

    Night may be harder for every class. If it is usual for a rare class only, most rows in unusual contexts are at
    night, and a model that uses no context is right less often there: the term of the context takes that. What is left
    for b is the interaction of class and context, which a model that relies on context has. At least two classes must
    share two contexts in which they differ in side.

    The interval holds every b that the score test of the model does not refuse, with classes and contexts fitted anew
    for each b (Rao 1948). It needs no finite fit, so that classes without an error, and even a b without bound, are no
    exception. The score is freed of the bias that many classes of few rows give it (Firth 1993) and of its skewness,
    since errors are rare (Gart and Nam 1988): in worlds without b, from 60 rows of three classes to 20 classes of 10
    rows in 20 contexts, it refused 0 to 8% on either side without these, and 0 to 5% and 7.5% with them, most by 2.5%.
    With clusters the variance grows as that of the clusters' parts over that of the rows', against Student's t with
    one degree of freedom less than the number of clusters of equal weight that they amount to.

    Args:
        right: Whether each row's answer is right (n,), bool.
        label: The class of each row (n,), any hashable.
        context: The context of each row (n,), any hashable.
        side: What the context is for the class of each row (n,): 1 usual, -1 unusual, 0 neither. One value for all rows
            of a class in a context.
        cluster: What the rows (n,) share, any hashable; None if they are independent.
        confidence: Level of the interval.

    Returns:
        The EffectOfSide; its gap is a mean over the rows with a side.

    Raises:
        OochubError: Different lengths, `right` that is not bool, another side, or two sides in one class and context.

    Source: Rao 1948 (Proc. Camb. Phil. Soc. 44:50-57), the score test; Firth 1993 (Biometrika 80:27-38), its bias; Gart
        and Nam 1988 (Biometrics 44:323-338), its skewness.

    >>> right = ([True] * 9 + [False]) * 10 + ([True] * 6 + [False] * 4) * 10
    >>> label = ["cow"] * 50 + ["camel"] * 50 + ["cow"] * 50 + ["camel"] * 50
    >>> context = ["grass"] * 50 + ["sand"] * 50 + ["sand"] * 50 + ["grass"] * 50
    >>> found = effect_of_side(right, label, context, [1] * 100 + [-1] * 100)
    >>> found.gap, round(found.log_odds.value, 3)
    (-0.292 [-0.381, -0.185] n=200, 1.734)
    """
    is_right, sides = np.asarray(right), np.asarray(side)
    if is_right.dtype != np.bool_:
        raise OochubError(f"right must be bool, whether each answer is right, got {is_right.dtype}. Compare them.")
    if not len(is_right):
        return _report_nothing(0, "no rows")
    labels, contexts = check_group(label, name="label").codes, check_group(context, name="context").codes
    shared = None if cluster is None else check_group(cluster, name="cluster").codes
    check_same_length(right=is_right, label=labels, context=contexts, side=sides, cluster=shared)
    if not np.isin(sides, (-1, 0, 1)).all():
        raise OochubError(f"side must be 1, -1 or 0, got {np.setdiff1d(sides, (-1, 0, 1))[0]}. See its description.")
    table = _Table(is_right, labels, contexts, sides.astype(np.float64))
    if not table.separates:
        return _report_nothing(
            len(is_right), "no two classes share two contexts that are usual for one of them and unusual for the other"
        )
    informed = table.keep_informative()
    if not informed.separates:
        return _report_nothing(
            len(is_right), "the classes and contexts that would tell have no errors, or only errors", is_identified=True
        )
    return _Scores(informed, table, shared).estimate(confidence)


def _report_nothing(n: int, reason: str, *, is_identified: bool = False) -> EffectOfSide:
    nothing = Estimate(math.nan, n=n, method=_METHOD, reason=reason)
    return EffectOfSide(gap=nothing, log_odds=nothing, p_value=math.nan, is_identified=is_identified, reason=reason)


class _Table:
    """Rows, right answers and half the side of each class and context (c, k); the shorter of the two is the second.

    `place` (n,) is the cell of each row, -1 for rows that are left out.
    """

    def __init__(self, right: Array, label: Array, context: Array, side: Array) -> None:
        if label.max() < context.max():
            label, context = context, label
        self.shape = int(label.max()) + 1, int(context.max()) + 1
        self.right, self.place = right, np.ravel_multi_index((label, context), self.shape)
        self.rows, self.ones, total = (self._sum(of) for of in (np.ones(len(right)), right, side))
        self.side = total / np.maximum(self.rows, 1) / 2
        if (np.abs(self.side.ravel()[self.place] * 2 - side) > _NOTHING).any():
            raise OochubError("A class in a context has rows of two sides. Give each class and context one side.")

    def _sum(self, of: Array) -> Array:
        sums: Array = np.bincount(self.place, of, minlength=self.shape[0] * self.shape[1]).reshape(self.shape)
        return sums

    def keep_informative(self) -> "_Table":
        """Without classes and contexts whose answers are all right or all wrong, whatever b is; again until none is."""
        kept = self.rows > 0
        while True:
            rows, ones = self.rows * kept, self.ones * kept
            mixed = [(ones.sum(axis) > 0) & (ones.sum(axis) < rows.sum(axis)) for axis in (1, 0)]
            fewer = kept & mixed[0][:, None] & mixed[1][None, :]
            if (fewer == kept).all():
                break
            kept = fewer
        own = object.__new__(_Table)
        own.shape, own.right, own.side = self.shape, self.right, self.side
        own.rows, own.ones = self.rows * kept, self.ones * kept
        own.place = np.where(kept.ravel()[self.place], self.place, -1)
        return own

    @property
    def separates(self) -> bool:
        """Whether classes and contexts leave something of the side."""
        left = self.leave(self.rows)
        return bool((self.rows * left**2).sum() > _LEAST * self.rows.sum())

    @property
    def sided(self) -> Array:
        """The rows (c, k) that have a side."""
        rows: Array = np.where(self.side != 0, self.rows, 0)
        return rows

    def leave(self, weight: Array) -> Array:
        """The side less its weighted fit by class and context."""
        first, second = _solve(weight, (weight * self.side).sum(axis=1), (weight * self.side).sum(axis=0))
        left: Array = self.side - first[:, None] - second[None, :]
        return left


def _solve(weight: Array, of_first: Array, of_second: Array) -> tuple[Array, Array]:
    """The terms of classes and contexts by the normal equations of these weights, with these right sides."""
    across, schur = _eliminate(weight)
    second = np.linalg.solve(schur, of_second - across.T @ of_first)
    return (of_first - weight @ second) / (weight.sum(axis=1) + _RIDGE), second


def _eliminate(weight: Array) -> tuple[Array, Array]:
    across = weight / (weight.sum(axis=1) + _RIDGE)[:, None]
    return across, np.diag(weight.sum(axis=0) + _RIDGE) - weight.T @ across


def _compute_leverage(weight: Array) -> Array:
    """What each class and context counts in its own fit (c, k)."""
    across, schur = _eliminate(weight)
    inverse = np.linalg.inv(schur)
    both = across @ inverse
    variance = 1 / (weight.sum(axis=1) + _RIDGE)[:, None] + (both * across).sum(axis=1)[:, None] - 2 * both
    leverage: Array = weight * (variance + np.diag(inverse)[None, :])
    return leverage


class _Scores:
    """The score of b with classes and contexts at their best, each fit beginning where the last one ended."""

    def __init__(self, table: _Table, whole: _Table, cluster: Array | None) -> None:
        self._table, self._whole, self._cluster = table, whole, cluster
        self._first, self._second = np.zeros(table.shape[0]), np.zeros(table.shape[1])

    def estimate(self, confidence: float) -> EffectOfSide:
        """The estimate, its interval and the test of b = 0."""
        at_zero, degrees = self._compute(0.0)
        is_normal, tail = math.isinf(degrees), (1 - confidence) / 2
        quantile = -float(scipy.special.ndtri(tail) if is_normal else scipy.special.stdtrit(degrees, tail))
        distance = -abs(at_zero)
        p_value = 2 * float(scipy.special.ndtr(distance) if is_normal else scipy.special.stdtr(degrees, distance))
        value, low, high = (self._find(wanted) for wanted in (0.0, quantile, -quantile))
        value, n = min(max(value, low), high), len(self._whole.right)
        gap, least, most = (self._compute_gap(b) for b in (value, high, low))
        return EffectOfSide(
            gap=Estimate(gap, low=least, high=most, n=n, method=_METHOD),
            log_odds=Estimate(value, low=low, high=high, n=n, method=_METHOD),
            p_value=p_value,
            is_identified=True,
        )

    def _find(self, wanted: float) -> float:
        """The b whose score is as wanted; at an end where the falling score stays on one side of that."""

        def score(b: float) -> float:
            return self._compute(b)[0] - wanted

        if score(-_MOST_LOG_ODDS) < _NOTHING:
            return -_MOST_LOG_ODDS
        if score(_MOST_LOG_ODDS) > -_NOTHING:
            return _MOST_LOG_ODDS
        return float(scipy.optimize.brentq(score, -_MOST_LOG_ODDS, _MOST_LOG_ODDS, xtol=1e-6))

    def _fit(self, b: float) -> Array:
        """The chance of a right answer of each class and context (c, k), by Newton's steps, at this b."""
        table, first, second = self._table, self._first, self._second
        chance, best = self._compute_likelihood(b, first, second)
        for _ in range(_STEPS):
            weight, left = table.rows * chance * (1 - chance), table.ones - table.rows * chance
            steps = _solve(weight, left.sum(axis=1) - _RIDGE * first, left.sum(axis=0) - _RIDGE * second)
            largest = max(float(np.abs(step).max()) for step in steps)
            size = min(1.0, _LONGEST_STEP / max(largest, _NOTHING))
            while size > _SHORTEST:
                moved = first + size * steps[0], second + size * steps[1]
                chance, likelihood = self._compute_likelihood(b, *moved)
                if likelihood >= best - _NOTHING:
                    break
                size /= 2
            (first, second), best = moved, likelihood
            if size * largest < _SHORTEST:
                break
        self._first, self._second = first, second
        return chance

    def _compute_likelihood(self, b: float, first: Array, second: Array) -> tuple[Array, float]:
        table, logit = self._table, first[:, None] + second[None, :] + b * self._table.side
        penalty = _RIDGE / 2 * float((first**2).sum() + (second**2).sum())
        chance: Array = scipy.special.expit(logit)
        return chance, float((table.ones * logit - table.rows * np.logaddexp(0, logit)).sum()) - penalty

    def _compute(self, b: float) -> tuple[float, float]:
        """The score of b in standard deviations, and the degrees of freedom of its variance."""
        table, chance = self._table, self._fit(b)
        weight = table.rows * chance * (1 - chance)
        left = table.leave(weight)
        added = left * (table.ones - table.rows * chance + _compute_leverage(weight) * (0.5 - chance))
        score, spread = float(added.sum()), float((weight * left**2).sum())
        if spread < _NOTHING**2:
            return 0.0, math.inf
        skewness = float((weight * (1 - 2 * chance) * left**3).sum()) / spread**1.5
        if self._cluster is None:
            return _straighten(score / math.sqrt(spread), skewness), math.inf
        rows = table.place >= 0
        place, own = table.place[rows], np.unique(self._cluster[rows], return_inverse=True)[1]
        of_row = left.ravel()[place] * (table.right[rows] - chance.ravel()[place])
        weights = np.bincount(own, (left**2 * chance * (1 - chance)).ravel()[place])
        alone, count = float((of_row**2).sum()), len(weights)
        if count < 2 or alone <= 0:
            return 0.0, 1.0
        together = float((np.bincount(own, of_row) ** 2).sum()) * count / (count - 1)
        degrees = max(float(weights.sum() ** 2 / (weights**2).sum()) - 1, 1.0)
        return _straighten(score / math.sqrt(spread * together / alone), skewness), degrees

    def _compute_gap(self, b: float) -> float:
        """Right answers where unusual less those where usual, over the rows with a side; 0 for classes left out."""
        self._fit(b)
        logit = self._first[:, None] + self._second[None, :]
        differs = scipy.special.expit(logit - b / 2) - scipy.special.expit(logit + b / 2)
        return float((self._table.sided * differs).sum()) / float(self._whole.sided.sum())


def _straighten(z: float, skewness: float) -> float:
    """A standardized sum as the normal law has it: the root of the quadratic that its skewness makes of that."""
    bend = skewness / 6
    if abs(bend) < _NOTHING:
        return z
    root = 1 + 4 * bend * (z + bend)
    return (math.sqrt(root) - 1) / (2 * bend) if root > 0 else -1 / (2 * bend)
