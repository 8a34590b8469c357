"""A share from few rows whose truth is known and many whose truth is only predicted.

The mean over the known rows is corrected by what the predicted values (the proxy) say of the other rows: prediction-
powered inference. Whatever the proxy is, the corrected number is right on average, since the known rows say how far the
proxy is off. How much of the correction is taken (lambda) is tuned so that the variance is smallest, for each known row
on the other known rows, so that no row tunes its own correction.

With the correlation r of proxy and truth, n known rows and N others, the variance falls by r^2 N / (n + N), and no
multiple of the proxy saves more. A second correction allows for a proxy that is off in different ways for two kinds of
rows, such as usual and unusual ones.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from oochub.stats.estimate import Estimate
from oochub.stats.estimation import difference
from oochub.stats.proportion import clopper_pearson, wilson

_FEWEST = 2  # right, and wrong, known rows
_LEAST_SAVED = 0.03  # by each correction
_PROXY, _LEAN = (1.0, 0.4), (0.0, 0.12)  # what lambda is before any row is known, and its standard deviation
_TINY = 1e-12
Floats = NDArray[np.float64]


class Tuned(NamedTuple):
    """A corrected share.

    Attributes:
        value: The share; that of the known rows where nothing is saved.
        saved: How much smaller its variance is than that of the known rows alone, in [0, 1).
        parts: What varies in it (2, n), which has the same mean products as two shares have covariance, times n: what
            each known row adds after the correction, by the root of the part of the others among all rows; and before
            it, by that of the part of the known ones.
    """

    value: float
    saved: float
    parts: Floats


class FewShare(NamedTuple):
    """A share from the known rows, and from all.

    Attributes:
        alone: From the known rows alone; n is their number.
        together: With the other rows; the same number where they save nothing.
        saved: Share of the variance that they save, in [0, 1): as many labels would be needed as n / (1 - saved).
        parts: See `Tuned`.
    """

    alone: Estimate
    together: Estimate
    saved: float
    parts: Floats


def tune(
    right: ArrayLike,
    member: ArrayLike,
    proxy_right: ArrayLike,
    proxy_member: ArrayLike,
    lean: tuple[ArrayLike, ArrayLike] | None = None,
) -> Tuned:
    """The share of right rows among members, corrected by proxies of both.

    Members are the rows that the share is of, such as those out of context. A row's membership may be predicted too.

    Args:
        right: Whether each known row (n,) is right and a member, 0 or 1.
        member: Whether it is a member.
        proxy_right: What is predicted of `right`, of the n known rows and then of the N others (n + N,).
        proxy_member: What is predicted of `member`, in the same order.
        lean: How both proxies would change if rows of one kind were right more often than is predicted, and those of
            another kind less often.

    Returns:
        The known rows' own share, and nothing saved, if fewer than 2 of the members are right, or wrong, if there is
        no other row, or if less than 3% of the variance would be saved; nan if no known row is a member.

    Source:
        Angelopoulos, Duchi and Zrnic 2023, PPI++ (arXiv:2311.01453), Sections 2 and 6; the proxy's mean is that of all
        rows, known ones too, as in double sampling (Cochran 1977, Section 12.6). The second correction stands for the
        strata of Fisch et al. 2024 (arXiv:2406.04291). What is added for small n, decided by simulation: lambda is
        tuned without the row, drawn to 1, which is that of a calibrated proxy, and between 0 and 1; that of `lean` is
        drawn to 0.

    >>> rng = np.random.default_rng(0)
    >>> proxy = rng.beta(2, 1, 2_000)
    >>> right = (rng.random(100) < proxy[:100]) * 1.0
    >>> found = tune(right, np.ones(100), proxy, np.ones(2_000))
    >>> round(float(right.mean()), 2), round(found.value, 3), round(found.saved, 2)
    (0.62, 0.654, 0.27)
    """
    right, member = np.asarray(right, np.float64), np.asarray(member, np.float64)
    n, every = len(member), len(np.asarray(proxy_right))
    ones, size = float(right.sum()), float(member.sum())
    alone = ones / size if size else math.nan
    value = (right - alone * member) * n / max(size, 1)  # what each known row adds to the share; their mean is 0
    share = 1 - n / every
    scales = np.sqrt([[share], [1 - share]])
    best, left = Tuned(alone, 0.0, scales * value), value
    if every == n or min(ones, size - ones) < _FEWEST:
        return best
    for proxies, prior, lost in (((proxy_right, proxy_member), _PROXY, 2), *([(lean, _LEAN, 3)] if lean else [])):
        predicted, chance = (np.asarray(proxy, np.float64) for proxy in proxies)
        left = _correct(left, (predicted - alone * chance) * n / size, prior, size)
        saved = share * (1 - size / (size - lost) * left.var() / np.square(value).mean())
        if saved >= best.saved + _LEAST_SAVED:
            moved = float(np.clip(alone + left.mean(), 0, 1))
            best = Tuned(moved, float(saved), scales * np.stack([left, value]))
    return best


def _correct(value: Floats, proxy: Floats, prior: tuple[float, float], size: float) -> Floats:
    """What the known rows (n,) add after lambda times a proxy of all rows; lambda is tuned for each on the others."""
    guess, spread = prior
    wide = proxy.var()
    proxy = proxy[: len(value)] - proxy.mean()
    value_mean, proxy_mean = _average_others(value), _average_others(proxy)
    shared = _average_others(value * proxy) - value_mean * proxy_mean
    own = np.maximum(_average_others(proxy**2) - proxy_mean**2, _TINY)
    unexplained = np.maximum(_average_others(value**2) - value_mean**2 - shared**2 / own, 0)
    own = np.maximum(own, wide)
    noise = unexplained / (own * (size - 2))  # the variance of lambda
    strength = shared / own
    strength += noise / (noise + spread**2) * (guess - strength)
    left: Floats = value - np.clip(strength, guess - 1, 1) * proxy
    return left


def _average_others(values: Floats) -> Floats:
    """For each row the mean of the others."""
    others: Floats = (values.sum() - values) / (len(values) - 1)
    return others


def estimate_share(
    right: ArrayLike,
    member: ArrayLike,
    proxy_right: ArrayLike,
    proxy_member: ArrayLike,
    lean: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    confidence: float = 0.95,
    exact: bool = False,
) -> FewShare:
    """What `tune` gives, with intervals: those of a share of as many rows as the variance amounts to, by Student's t.

    Args:
        right: See `tune`; of one world, and so are the others.
        member: See `tune`.
        proxy_right: See `tune`.
        proxy_member: See `tune`.
        lean: See `tune`.
        confidence: Level of the intervals.
        exact: Clopper and Pearson's interval instead of Wilson's, for levels near 1.

    >>> found = estimate_share([1, 1, 1, 0], np.ones(4), np.full(9, 0.5), np.ones(9))
    >>> found.alone, found.together, found.saved
    (0.750 [0.301, 0.954] n=4, 0.750 [0.301, 0.954] n=4, 0.0)
    """
    tuned, of = tune(right, member, proxy_right, proxy_member, lean), clopper_pearson if exact else wilson
    n = int(np.sum(member))
    alone = of(int(np.sum(right)), n, confidence=confidence)
    if not tuned.saved:
        return FewShare(alone, alone, 0.0, tuned.parts)
    units = n / (1 - tuned.saved)
    normal = -float(scipy.special.stdtrit(n - 2, (1 - confidence) / 2))
    level = 1 - 2 * float(scipy.special.ndtr(-normal))
    near = of(min(tuned.value * units, units), units, confidence=level)
    method = f"prediction-powered, {near.method}"
    together = Estimate(tuned.value, low=near.low, high=near.high, n=n, method=method)
    return FewShare(alone, together, tuned.saved, tuned.parts)


def subtract_shares(first: FewShare, second: FewShare) -> FewShare:
    """The first share minus the second, of other members of the same rows, by Newcombe's interval.

    One correction may move both, so the interval allows for their correlation.

    Args:
        first: A share.
        second: Another one.

    >>> one, other = (estimate_share([1] * k + [0] * 9, *np.ones((3, 9 + k))) for k in (9, 9))
    >>> subtract_shares(one, other).alone
    0.000 [-0.297, 0.297] n=36
    """
    one, other = (share.parts - share.parts.mean(axis=1, keepdims=True) for share in (first, second))
    correlation = float((one * other).sum() / math.sqrt(max((one**2).sum() * (other**2).sum(), _TINY)))
    helps = bool(first.saved or second.saved)
    together = difference(first.together, second.together, correlation=correlation if helps else 0.0)
    alone = [share.alone.value * (1 - share.alone.value) / max(share.alone.n, 1) for share in (first, second)]
    parts = [of * (1 - share.saved) for of, share in zip(alone, (first, second), strict=True)]
    whole, left = math.fsum(alone), math.fsum(parts) - 2 * correlation * math.sqrt(parts[0] * parts[1])
    saved = max(0.0, 1 - left / whole) if helps and whole else 0.0
    return FewShare(difference(first.alone, second.alone), together, saved, first.parts - second.parts)


def take_smallest(shares: list[FewShare]) -> FewShare:
    """The smallest of several shares, whose intervals are simultaneous: made at the level 1 - 0.05 / their number.

    Args:
        shares: Shares of several groups, each with an interval.

    Source:
        See `oochub.stats.group_intervals`.
    """

    def smallest(every: list[Estimate]) -> Estimate:
        least = min(every, key=lambda each: (each.value, -each.n))
        low, high = (min(getattr(estimate, end) for estimate in every) for end in ("low", "high"))
        method = f"{least.method}, simultaneous over {len(every)} groups" if len(every) > 1 else least.method
        return Estimate(least.value, low=low, high=high, n=least.n, method=method)

    alone, together = smallest([share.alone for share in shares]), smallest([share.together for share in shares])
    chosen = next(
        share for share in shares if share.together.value == together.value and share.together.n == together.n
    )
    return FewShare(alone, together, chosen.saved, chosen.parts)
