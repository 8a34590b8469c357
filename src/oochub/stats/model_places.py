"""Tests every pair of many models on the same rows, and finds the places that these tests allow each model.

A model's best place is 1 + the number of models that are clearly better, its worst place the number of models less
those that are clearly worse. Holm's correction over all pairs keeps the chance of a single false "clearly" at 5%, so
that all true places lie in these ranges at once with 95%.

The tests are those of `oochub.stats.paired_values.compare_values`: of shares, means and AUCs all pairs follow from one
product of matrices, of random signs from one draw of them. A thousand models are half a million pairs. Models that
answer alike in every row are tested as one, since a pair without variance has to be tested alone.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.stats.array_checks import Array
from oochub.stats.delong import count_equal_clusters, delong_covariance
from oochub.stats.mean_interval import leave_means
from oochub.stats.p_values import adjusted_p_values, draw_typical_means, is_flipped, read_typical_means
from oochub.stats.paired_values import Kind, PairedValues, compare_values
from oochub.stats.proportion import adjusted_wald

POWER = 0.8
"""How often the smallest difference that is named would be found."""
_LEVEL = 0.05


Pair = tuple[int, int]
"""The numbers of two models."""


_ALIKE = 1e-9  # of the variances of two models: their difference has too few digits left, and is computed alone
_TAIL = (1 - 0.95) / 2
_Z = -float(scipy.special.ndtri(_TAIL))
_ROUNDING = 1e-12
_OF_NUMBERS = ("t", "percentiles", "intervals")  # the model's own number is part of the test


class RankRange(NamedTuple):
    """The best and the worst place of a model, 1 being the first."""

    best: int
    worst: int


class PairedGain(NamedTuple):
    """How much better the second of two models is than the first, and the p-value of no difference (nan: untested)."""

    gain: float
    p_value: float


def find_rank_ranges(pairs: Mapping[Pair, PairedGain], models: int) -> list[RankRange]:
    """The places of each model.

    Args:
        pairs: The test of the models i and j, by (i, j), each pair once.
        models: How many there are.

    >>> tests = {(0, 1): PairedGain(0.3, 0.001), (0, 2): PairedGain(0.3, 0.002), (1, 2): PairedGain(0.01, 0.8)}
    >>> find_rank_ranges(tests, 3)
    [RankRange(best=3, worst=3), RankRange(best=1, worst=2), RankRange(best=1, worst=2)]
    """
    gain, p_value = (np.full((models, models), np.nan) for _ in range(2))
    for (i, j), pair in pairs.items():
        gain[i, j], gain[j, i] = pair.gain, -pair.gain
        p_value[i, j] = p_value[j, i] = pair.p_value
    return count_places(find_clearly_better(gain, p_value))


def find_clearly_better(gain: Array, p_value: Array) -> NDArray[np.bool_]:
    """Which models are clearly better than which, by Holm's correction over all pairs.

    Args:
        gain: How much better model j is than model i, at [i, j] (m, m).
        p_value: The p-value of no difference, at [i, j] and [j, i]; nan for what was not tested.

    Returns:
        (m, m): at [i, j] whether j is clearly better than i.

    >>> find_clearly_better(np.array([[0, 0.3], [-0.3, 0]]), np.full((2, 2), 0.01)).tolist()
    [[False, True], [False, False]]
    """
    once = np.triu_indices(len(gain), 1)
    is_clear = np.zeros(gain.shape, bool)
    is_clear[once] = np.array(adjusted_p_values(p_value[once].tolist())) <= _LEVEL
    better: NDArray[np.bool_] = (is_clear | is_clear.T) & (gain > 0)
    return better


def count_places(better: NDArray[np.bool_]) -> list[RankRange]:
    """The places of each model, by which models (m, m) are clearly better than it.

    >>> count_places(np.array([[False, True], [False, False]]))
    [RankRange(best=2, worst=2), RankRange(best=1, worst=1)]
    """
    models = len(better)
    places = zip(better.sum(axis=1).tolist(), better.sum(axis=0).tolist(), strict=True)
    return [RankRange(1 + above, models - below) for above, below in places]


def clear_pairs(pairs: Sequence[PairedGain]) -> list[bool]:
    """Whether each difference is clear, by Holm's correction over all of them.

    >>> clear_pairs([PairedGain(0.3, 0.001), PairedGain(0.1, 0.04)])
    [True, True]
    """
    adjusted = adjusted_p_values([pair.p_value for pair in pairs])
    return [p <= _LEVEL and pair.gain != 0 for p, pair in zip(adjusted, pairs, strict=True)]


def smallest_found(errors: Sequence[float], *, tests: int) -> float:
    """The true difference that is found with the chance `POWER`, by the standard errors of the differences.

        (z(1 - 0.05 / (2 tests)) + z(POWER)) * the median error

    The first step of Holm's correction is the hardest, so this is the difference that a single pair needs.

    Args:
        errors: Standard errors of the paired differences; those of 0 or nan are left out.
        tests: How many pairs were tested.

    Returns:
        In the metric's unit; nan where no error is known.

    >>> round(smallest_found([0.01, 0.01, 0.02], tests=1), 4)  # 1.96 + 0.84 standard errors
    0.028
    """
    errors_above_0 = [error for error in errors if error > 0]
    if not errors_above_0:
        return float("nan")
    steps = -scipy.special.ndtri(_LEVEL / (2 * max(tests, 1))) + scipy.special.ndtri(POWER)
    return float(steps * np.median(errors_above_0))


class PairTests(NamedTuple):
    """Tests of all pairs of m models, each (m, m): row i and column j say of j minus i.

    Attributes:
        gain: Difference of the numbers; nan on the diagonal, as in the other two.
        p_value: Two-sided p-value of no difference; nan for what could not be tested.
        error: Standard error that the interval of the difference stands for; nan without one.
    """

    gain: Array
    p_value: Array
    error: Array

    def list_pairs(self) -> Iterator[tuple[int, int]]:
        """Each pair once, the first model first."""
        return combinations(range(len(self.gain)), 2)


def compare_all_pairs(models: Sequence[PairedValues]) -> PairTests:
    """Tests each pair of models.

    Args:
        models: What each contributes, of the same rows in one order.

    Raises:
        OochubError: Numbers of other rows, or that are tested in other ways.

    >>> from oochub.stats.estimate import Estimate
    >>> right = np.array([[1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0]], bool)
    >>> models = [PairedValues(kind="shares", values=each, number=Estimate(each.mean(), n=7, method=""), n=7)
    ...           for each in right]
    >>> float(compare_all_pairs(models).p_value[0, 1])  # exact McNemar of six flips
    0.03125
    """
    sets = {(model.kind, model.n, model.values.shape) for model in models if model.kind != "intervals"}
    if len({model.kind for model in models}) > 1 or len(sets) > 1:
        raise OochubError(f"Models can be compared on the same rows only, got {len(sets)} sets of rows.")
    if not models:
        return PairTests(*(np.empty((0, 0)) for _ in range(3)))
    places: dict[Hashable, int] = {}
    group = np.array([places.setdefault(_name_values(model), len(places)) for model in models], np.int64)
    firsts = [models[k] for k in np.unique(group, return_index=True)[1]]
    alone = [
        _test_alone(first_of, first_of) if n > 1 else (np.nan,) * 3
        for first_of, n in zip(firsts, np.bincount(group), strict=True)
    ]
    same = group[:, None] == group
    tests = PairTests(
        *(
            np.where(same, np.array(of_copies)[group], of_pairs[np.ix_(group, group)])
            for of_copies, of_pairs in zip(zip(*alone, strict=True), _compare_unlike(firsts), strict=True)
        )
    )
    for test in tests:
        np.fill_diagonal(test, np.nan)
    return tests


def _compare_unlike(models: Sequence[PairedValues]) -> PairTests:
    """The tests of models no two of which are alike in every row."""
    empty = PairTests(*(np.full((len(models),) * 2, np.nan) for _ in range(3)))
    find = _AT_ONCE.get(models[0].kind) if len(models) > 1 else None
    tests = find(models) if find else _Found(empty, np.ones(empty.gain.shape, bool))
    places = [(i, j) for i, j in empty.list_pairs() if tests.is_left[i, j]]
    for i, j in follow(places, desc="Testing", unit="pair", delay=2, disable=None):
        gain, p_value, error = _test_alone(models[i], models[j])
        _note(tests.found, i, j, gain, p_value, error)
    return tests.found


def _test_alone(first: PairedValues, second: PairedValues) -> tuple[float, float, float]:
    """The gain, its p-value and its standard error of one pair."""
    change, p_value, _ = compare_values(first, second)
    return change.value, p_value, (change.high - change.low) / (2 * _Z)


def _name_values(model: PairedValues) -> Hashable:
    """What is equal for models that are tested alike: the ranks of scores for AUCs, else every value."""
    values = model.values
    if model.kind == "auc":
        values = np.unique(values, return_inverse=True)[1]
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).digest()
    number = model.number
    return digest, *((number.value, number.low, number.high, number.n, model.n) if model.kind in _OF_NUMBERS else ())


class _Found(NamedTuple):
    """What was found at once, and which pairs are left."""

    found: PairTests
    is_left: Array


def _compare_shares(models: Sequence[PairedValues]) -> _Found:
    """Exact McNemar: the counts of rows that flip are a product of two matrices of 0 and 1."""
    right, n = np.stack([model.values for model in models]).astype(np.float32), models[0].n
    alone = np.rint(right @ (1 - right).T).astype(np.float64)  # [i, j]: right in i alone; exact below 2^24 rows
    fewer, flips = np.minimum(alone, alone.T), alone + alone.T
    p_value = np.where(flips > 0, np.minimum(1.0, 2 * scipy.special.bdtr(fewer, np.maximum(flips, 1), 0.5)), 1.0)
    low, high = adjusted_wald(alone.T, alone, n, _TAIL)
    return _Found(PairTests((alone.T - alone) / n, p_value, (high - low) / (2 * _Z)), np.zeros(flips.shape, bool))


def _compare_means(models: Sequence[PairedValues]) -> _Found:
    """Random signs of rows or clusters, or Student's t where `sign_flips` takes it."""
    values, sampling = np.stack([model.values for model in models]).astype(np.float64), models[0].sampling
    units = values.shape[1] if sampling.clusters is None else sampling.clusters
    if units == 1:
        every = np.ones((len(models),) * 2, bool)
        return _Found(PairTests(*(np.full(every.shape, np.nan) for _ in range(3))), every)
    if is_flipped(units):
        return _flip_signs(models, values)
    of = leave_means(values, sampling.cluster)
    gain = of.mean - of.mean[:, None]
    variance, is_left = _subtract(of.residuals @ of.residuals.T)
    half = -float(scipy.special.stdtrit(of.freedom, _TAIL)) * np.sqrt(variance)
    ratio = np.abs(gain) / half  # `interval_p_value` of many differences with intervals of Student's t
    p_value = 2 * scipy.special.stdtr(of.freedom, float(scipy.special.stdtrit(of.freedom, _TAIL)) * ratio)
    p_value = np.where(ratio <= 1 + _ROUNDING, np.maximum(p_value, np.nextafter(1 - 0.95, 1)), p_value)
    return _Found(PairTests(gain, p_value, half / _Z), is_left)


def _flip_signs(models: Sequence[PairedValues], values: Array) -> _Found:
    """Every model's means of the same random subsets; those of a difference are the differences of these."""
    sampling, is_left = models[0].sampling, np.zeros((len(models),) * 2, bool)
    tests = PairTests(*(np.full(is_left.shape, np.nan) for _ in range(3)))
    typical, largest = draw_typical_means(values, sampling)
    for i, j in follow([*tests.list_pairs()], desc="Testing", unit="pair", delay=2, disable=None):
        changes = values[j] - values[i]
        if np.ptp(changes) == 0:
            is_left[i, j] = True
            continue
        value, scale = float(changes.mean()), float(max(largest[i], largest[j]))
        of = read_typical_means(typical[j] - typical[i], value, largest=scale, tail=_TAIL)
        _note(tests, i, j, value, of.p_value, (of.high - of.low) / (2 * _Z))
    return _Found(tests, is_left)


def _compare_aucs(models: Sequence[PairedValues]) -> _Found:
    """DeLong, of clusters Obuchowski: one covariance of all scores."""
    label, cluster = np.asarray(models[0].label), models[0].sampling.cluster
    auc, covariance = delong_covariance(label, [model.values for model in models], cluster=cluster)
    gain = auc - auc[:, None]
    variance, is_left = _subtract(covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = -np.abs(gain) / np.sqrt(variance)
    freedom = None if cluster is None else count_equal_clusters(label, cluster) - 1
    tail = scipy.special.ndtr(distance) if freedom is None else scipy.special.stdtr(freedom, distance)
    quantile = _Z if freedom is None else -float(scipy.special.stdtrit(freedom, _TAIL))
    return _Found(PairTests(gain, 2 * tail, quantile / _Z * np.sqrt(variance)), is_left)


_AT_ONCE: dict[Kind, Callable[[Sequence[PairedValues]], _Found]] = {
    "shares": _compare_shares,
    "means": _compare_means,
    "auc": _compare_aucs,
}


def _subtract(covariance: Array) -> tuple[Array, Array]:
    """The variance of each difference (m, m), and where it is too small beside its parts to have digits."""
    own = np.diag(covariance)
    parts = own + own[:, None]
    variance = parts - 2 * covariance
    is_left = ~(variance > _ALIKE * parts)
    return np.where(is_left, np.nan, variance), is_left


def _note(found: PairTests, i: int, j: int, gain: float, p_value: float, error: float) -> None:
    found.gain[i, j], found.gain[j, i] = gain, -gain
    found.p_value[i, j] = found.p_value[j, i] = p_value
    found.error[i, j] = found.error[j, i] = error
