"""How answers change where a picture's object or background was taken away or exchanged."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from oochub.probing.altered_answers import VARIANTS
from oochub.report.background_records import VariantRow
from oochub.stats.bootstrap import mean_estimate, with_width
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.paired_shares import paired_shares

Values = NDArray[np.float64]


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


def background_numbers(
    label: NDArray[np.int64],
    original: Values,
    altered: Mapping[str, Values],
    *,
    cluster: NDArray[Any] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> BackgroundNumbers:
    """The numbers of each variant against the rows as they are, and the gap of the two kinds of background.

    Args:
        label: Class number of each row (n,).
        original: Logits (n, c) of the rows as they are.
        altered: Logits (n, c) of each of `VARIANTS`, nan in rows without such a picture.
        cluster: What rows (n,) share; None where they are independent.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        Changes are paired, row by row: of shares of independent rows by an adjusted Wald interval, of all else by the
        percentile bootstrap of the rows' differences.
    """
    place = np.arange(len(label))

    def sampling(rows: NDArray[np.bool_]) -> Sampling:
        return Sampling(cluster=None if cluster is None else cluster[rows], resamples=resamples, seed=seed)

    def right(logits: Values) -> NDArray[np.bool_]:
        answers: NDArray[np.bool_] = logits.argmax(1) == label
        return answers

    def shares(first: Values, second: Values, rows: NDArray[np.bool_]) -> Estimate:
        pair = right(first)[rows], right(second)[rows]
        if cluster is None:
            return paired_shares(*pair).difference
        return _mean(pair[0].astype(float) - pair[1], sampling(rows))

    every = {"original": original, **{name: altered[name] for name in VARIANTS}}
    there = {name: ~np.isnan(logits).any(1) for name, logits in every.items()}
    odds = {name: log_odds(logits, label) for name, logits in every.items()}
    variants = [VariantRow(name="original", accuracy=_share(right(original), sampling(there["original"])))]
    for name in VARIANTS:
        rows, logits = there[name], every[name]
        logit = (logits - original)[place, label]
        variants.append(
            VariantRow(
                name=name,  # type: ignore[arg-type]  # of VARIANTS
                accuracy=_share(right(logits)[rows], sampling(rows)),
                accuracy_change=shares(logits, original, rows),
                log_odds=_mean((odds[name] - odds["original"])[rows], sampling(rows)),
                logit=_mean(logit[rows], sampling(rows)),
            )
        )
    both = there["mixed_same"] & there["mixed_rand"]
    return BackgroundNumbers(
        tuple(variants),
        shares(every["mixed_same"], every["mixed_rand"], both),
        _mean((odds["mixed_same"] - odds["mixed_rand"])[both], sampling(both)),
        odds["mixed_rand"] - odds["original"],
    )


def _share(right: NDArray[np.bool_], sampling: Sampling) -> Estimate:
    if not len(right):
        return Estimate(math.nan, n=0, method="none", reason="no such picture")
    return mean_estimate(right.astype(np.float64), sampling)


def _mean(values: Values, sampling: Sampling) -> Estimate:
    if len(values) < 2:
        value = float(values[0]) if len(values) else math.nan
        reason = "one row says nothing of others" if len(values) else "no such picture"
        return Estimate(value, n=len(values), method="none", reason=reason)
    return with_width(mean_estimate(values, sampling, are_shares=False))
