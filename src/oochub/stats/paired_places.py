"""The places that paired tests of all models allow each of them, and the smallest difference that they could find.

A model's best place is 1 + the number of models that are clearly better, its worst place the number of models less
those that are clearly worse. Holm's correction over all pairs keeps the chance of a single false "clearly" at 5%, so
that all true places lie in these ranges at once with 95%.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.stats.array_checks import Array
from oochub.stats.p_values import adjusted_p_values

POWER = 0.8
"""How often the smallest difference that is named would be found."""
_LEVEL = 0.05


Pair = tuple[int, int]
"""The numbers of two models."""


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
    known = [error for error in errors if error > 0]
    if not known:
        return float("nan")
    steps = -special.ndtri(_LEVEL / (2 * max(tests, 1))) + special.ndtri(POWER)
    return float(steps * np.median(known))
