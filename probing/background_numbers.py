"""How answers change where an image's object or background was taken away or exchanged."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from oochub.probing.altered_answers import VARIANTS
from oochub.records.finding_records import VariantRow
from oochub.stats import RESAMPLES
from oochub.stats.bootstrap import drop_no_width
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import mean_estimate
from oochub.stats.proportion import paired_shares
from oochub.stats.shared_units import mean_of_shared

Values = NDArray[np.float64]
_ROLES: Mapping[str, tuple[int, ...]] = {"mixed_same": (0, 1), "mixed_rand": (0, 2)}
"""Which of a draw's units a kind of image on lent backgrounds depends on: the row, and who lends the background."""
_SOME_LENDERS = 40  # as of clusters
_NO_SCORES = Estimate(math.nan, n=0, method="none", reason="the model gives no scores")


class BackgroundNumbers(NamedTuple):
    """See `BackgroundProbe`; `change` (n, k) is that of each row's log-odds on other classes' backgrounds, or nan."""

    variants: tuple[VariantRow, ...]
    gap: Estimate
    gap_log_odds: Estimate
    draw_deviation: float | None
    change: Values


def log_odds(logits: Values, label: NDArray[np.int64]) -> Values:
    """The log-odds (...) of the class `label` of each row of logits (..., c): its logit less log(sum(exp(others))).

    >>> log_odds(np.array([[2.0, 0.5]]), np.array([0])).tolist()
    [1.5]
    """
    is_own = np.arange(logits.shape[-1]) == label[..., None]
    own: Values = logits[is_own].reshape(label.shape)
    odds: Values = own - special.logsumexp(np.where(is_own, -np.inf, logits), axis=-1)
    return odds


def compare_answers(
    label: NDArray[np.int64],
    original: Values,
    altered: Mapping[str, Values],
    *,
    units: NDArray[np.int64] | None = None,
    cluster: NDArray[Any] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    has_scores: bool = True,
) -> BackgroundNumbers:
    """The numbers of each variant against the rows as they are, and the gap of the two kinds of background.

    Args:
        label: Class number of each row (n,).
        original: Logits (n, c) of the rows as they are.
        altered: Logits (n, c) of each of `VARIANTS`, (n, k, c) on k lent backgrounds; nan in rows without such an
            image.
        units: The image of each row, that which lends it a background of its class, and that of another class (n, k,
            3), numbers; images of a cluster have one number. None where no image lends to two rows.
        cluster: What rows (n,) share; None where they are independent.
        resamples: Number of bootstrap resamples.
        seed: Random seed for the bootstrap.
        has_scores: Whether logits are more than the class that was chosen; else there are no log-odds.

    Returns:
        Both kinds of lent background are of the rows that have both, if any has. Changes are paired, row by row: of
        shares of independent rows by an adjusted Wald interval, of all else by the intervals of a mean. A row counts
        once, as the mean of its lent backgrounds; rows that share an image go together, see
        `oochub.stats.shared_units`: the intervals are of other rows on other backgrounds too, and say so where few
        lend one.
    """
    n, draws = altered["mixed_same"].shape[:2]
    if units is None:
        units = np.repeat(np.arange(n), draws).reshape(n, draws, 1) + n * np.arange(3)
        units[..., 1:] = n + np.arange(n * draws * 2).reshape(n, draws, 2)
    every = {"original": original, **{name: altered[name] for name in VARIANTS}}
    there: dict[str, NDArray[np.bool_]] = {
        name: ~np.isnan(logits.reshape(n, -1)).max(axis=1) for name, logits in every.items()
    }
    both = there["mixed_same"] & there["mixed_rand"]
    if both.any():  # the same rows on both kinds of background
        there |= {"mixed_same": both, "mixed_rand": both}
    own = {name: np.broadcast_to(label.reshape(n, *[1] * (logits.ndim - 2)), logits.shape[:-1]) for name, logits in
           every.items()}  # fmt: skip
    right = {name: (logits.argmax(-1) == own[name]).astype(np.float64) for name, logits in every.items()}
    odds = {name: log_odds(logits, own[name]) for name, logits in every.items()}
    own_logits = {name: np.take_along_axis(logits, own[name][..., None], -1)[..., 0] for name, logits in every.items()}

    def sampling(rows: NDArray[np.bool_]) -> Sampling:
        own = None if cluster is None or not rows.any() else cluster[rows]
        return Sampling(cluster=own, resamples=resamples, seed=seed)

    def mean(values: Values, rows: NDArray[np.bool_], roles: tuple[int, ...], of: str = "numbers") -> Estimate:
        if values.ndim == 1 or rows.sum() < 2:
            one = values[rows] if values.ndim == 1 else values[rows].mean(1)
            return _share(one, sampling(rows)) if of == "shares" else _mean(one, sampling(rows))
        return _estimate_over_lenders(values[rows], units[rows][..., roles], sampling(rows), of)

    def less_original(values: Mapping[str, Values], name: str) -> Values:
        before = values["original"]
        change: Values = values[name] - before.reshape(n, *[1] * (values[name].ndim - 1))
        return change

    def describe(name: str) -> VariantRow:
        rows, roles = there[name], _ROLES.get(name, (0,))
        if cluster is None and right[name].ndim == 1:
            change = paired_shares(right[name][rows] > 0, right["original"][rows] > 0).difference
        else:
            change = mean(less_original(right, name), rows, roles, "changes")
        return VariantRow(
            name=name,  # type: ignore[arg-type]  # of VARIANTS
            accuracy=mean(right[name], rows, roles, "shares"),
            accuracy_change=change,
            log_odds=mean(less_original(odds, name), rows, roles) if has_scores else None,
            logit=mean(less_original(own_logits, name), rows, roles) if has_scores else None,
        )

    first = VariantRow(name="original", accuracy=_share(right["original"], sampling(there["original"])))
    gap = right["mixed_same"] - right["mixed_rand"]
    return BackgroundNumbers(
        (first, *(describe(name) for name in VARIANTS)),
        mean(gap, both, (0, 1, 2), "changes"),
        mean(odds["mixed_same"] - odds["mixed_rand"], both, (0, 1, 2)) if has_scores else _NO_SCORES,
        float(gap[both].mean(0).std(ddof=1)) if draws > 1 and both.any() else None,
        less_original(odds, "mixed_rand"),
    )


def _estimate_over_lenders(values: Values, units: NDArray[np.int64], sampling: Sampling, of: str) -> Estimate:
    """The mean of values (n, k), rows that share a unit together; the reason where few lend a background."""
    estimate = mean_of_shared(values.reshape(-1), units.reshape(values.size, -1), sampling, of=of, rows=len(values))
    lenders = len(np.unique(units[..., 1:]))
    if lenders >= _SOME_LENDERS:
        return estimate
    few = f"only {lenders} {'image supplies' if lenders == 1 else 'images supply'} a background"
    reason = f"{estimate.reason}; {few}" if estimate.reason else f"{few}: the interval may be too narrow"
    return Estimate.from_dict({**estimate.to_dict(), "reason": reason})


def _share(right: NDArray[Any], sampling: Sampling) -> Estimate:
    if not len(right):
        return Estimate(math.nan, n=0, method="none", reason="no such image")
    return mean_estimate(right.astype(np.float64), sampling)


def _mean(values: Values, sampling: Sampling) -> Estimate:
    if len(values) < 2:
        value = float(values[0]) if len(values) else math.nan
        reason = "one row says nothing about others" if len(values) else "no such image"
        return Estimate(value, n=len(values), method="none", reason=reason)
    return drop_no_width(mean_estimate(values, sampling, are_shares=False))
