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
"""Which of a row's units a kind of image depends on: itself, and who lends the background."""
_SOME_LENDERS = 40  # as of clusters


class BackgroundNumbers(NamedTuple):
    """See `BackgroundProbe`; `change` (n,) is that of each row's log-odds on another class's background, or nan."""

    variants: tuple[VariantRow, ...]
    gap: Estimate
    gap_log_odds: Estimate
    change: Values


def log_odds(logits: Values, label: NDArray[np.int64]) -> Values:
    """The log-odds (n,) of the class `label` (n,) of each row: its logit less log(sum(exp(the others))).

    >>> log_odds(np.array([[2.0, 0.5]]), np.array([0])).tolist()
    [1.5]
    """
    rows = np.arange(len(label))
    others = logits.copy()
    others[rows, label] = -np.inf
    odds: Values = logits[rows, label] - special.logsumexp(others, axis=1)
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
) -> BackgroundNumbers:
    """The numbers of each variant against the rows as they are, and the gap of the two kinds of background.

    Args:
        label: Class number of each row (n,).
        original: Logits (n, c) of the rows as they are.
        altered: Logits (n, c) of each of `VARIANTS`, nan in rows without such an image.
        units: The image of each row, that which lends it a background of its class, and that of another class (n,
            3), numbers; images of a cluster have one number. None where no image lends to two rows.
        cluster: What rows (n,) share; None where they are independent.
        resamples: Number of bootstrap resamples.
        seed: Random seed for the bootstrap.

    Returns:
        Changes are paired, row by row: of shares of independent rows by an adjusted Wald interval, of all else by the
        intervals of a mean. On lent backgrounds rows that share an image go together, see `oochub.stats.shared_units`:
        the intervals are of other rows on other backgrounds too, and say so where few lend one.
    """
    place = np.arange(len(label))

    def sampling(rows: NDArray[np.bool_]) -> Sampling:
        return Sampling(cluster=None if cluster is None else cluster[rows], resamples=resamples, seed=seed)

    def right(logits: Values) -> NDArray[np.bool_]:
        answers: NDArray[np.bool_] = logits.argmax(1) == label
        return answers

    def mean(values: Values, rows: NDArray[np.bool_], roles: tuple[int, ...], of: str = "numbers") -> Estimate:
        if units is not None and len(roles) > 1 and rows.sum() > 1:
            return _estimate_over_lenders(values, units[rows][:, roles], sampling(rows), of)
        if of == "shares":
            return _share(values, sampling(rows))
        return _mean(values, sampling(rows))

    def changes(first: Values, second: Values, rows: NDArray[np.bool_], roles: tuple[int, ...]) -> Estimate:
        pair = right(first)[rows], right(second)[rows]
        if cluster is None and (units is None or len(roles) == 1):
            return paired_shares(*pair).difference
        return mean(pair[0].astype(float) - pair[1], rows, roles, "changes")

    every = {"original": original, **{name: altered[name] for name in VARIANTS}}
    there = {name: ~np.isnan(logits).any(1) for name, logits in every.items()}
    odds = {name: log_odds(logits, label) for name, logits in every.items()}
    variants = [VariantRow(name="original", accuracy=_share(right(original), sampling(there["original"])))]
    for name in VARIANTS:
        rows, logits, roles = there[name], every[name], _ROLES.get(name, (0,))
        logit = (logits - original)[place, label]
        variants.append(
            VariantRow(
                name=name,  # type: ignore[arg-type]  # of VARIANTS
                accuracy=mean(right(logits)[rows].astype(float), rows, roles, "shares"),
                accuracy_change=changes(logits, original, rows, roles),
                log_odds=mean((odds[name] - odds["original"])[rows], rows, roles),
                logit=mean(logit[rows], rows, roles),
            )
        )
    both = there["mixed_same"] & there["mixed_rand"]
    return BackgroundNumbers(
        tuple(variants),
        changes(every["mixed_same"], every["mixed_rand"], both, (0, 1, 2)),
        mean((odds["mixed_same"] - odds["mixed_rand"])[both], both, (0, 1, 2)),
        odds["mixed_rand"] - odds["original"],
    )


def _estimate_over_lenders(values: Values, units: NDArray[np.int64], sampling: Sampling, of: str) -> Estimate:
    """With rows that share an image, and the reason where few images lend a background."""
    found = mean_of_shared(values, units, sampling, of=of)
    lenders = len(np.unique(units[:, 1:]))
    if lenders >= _SOME_LENDERS:
        return found
    few = f"only {lenders} {'image supplies' if lenders == 1 else 'images supply'} a background"
    reason = f"{found.reason}; {few}" if found.reason else f"{few}: the interval may be too narrow"
    return Estimate.from_dict({**found.to_dict(), "reason": reason})


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
