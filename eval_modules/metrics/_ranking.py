"""What the metrics of rankings share: their state, and intervals of out-of-distribution detection that sort once."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_score
from oochub.stats.bootstrap import draw_replicates, note_few_rows, replicate_interval
from oochub.stats.delong import delong
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.proportion import wilson
from oochub.stats.ranking import check_kinds, count_needed, take_share

_FEW_OF_AREAS = 300  # rows; below, the area under precision and recall is too high, and so is its interval
_FEWEST_BEYOND = 0.6  # rows beyond the threshold: below, it is the outermost row, of which resamples say nothing
_FEW_OF_A_KIND = 40  # below, a threshold that few rows set moves by more than resamples of them show
OOD, ID, INCORRECT, CORRECT = "OOD", "ID", "incorrect ID", "correct ID"
Masks = Mapping[str, Array]


class ScoreState:
    """All rows seen: a ranking needs their order. A subclass names its metric and gives `update` its arrays."""

    metric: Callable[..., Any]

    def __init__(self) -> None:
        self._options: dict[str, Any] = {}
        self._batches: list[tuple[Array, ...]] = []

    def merge(self, other: "ScoreState") -> None:
        """Takes in the rows of `other`.

        Raises:
            OochubError: Its options differ.
        """
        if other._options != self._options:
            raise OochubError(
                f"Only states with the same options can be merged, got {self._options} and {other._options}."
            )
        self._batches += other._batches

    def compute(self) -> Any:
        """The metric of all rows.

        Raises:
            OochubError: No rows.
        """
        if not self._batches:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        columns = [np.concatenate(parts) for parts in zip(*self._batches, strict=True)]
        return type(self).metric(*columns, **self._options)

    def _take(self, score: Any, *flags: Any) -> None:
        score = check_kinds(score, *flags)[0].copy()
        self._batches.append((score, *(np.array(flag, dtype=bool) for flag in flags)))


class NewClassState(ScoreState):
    """Rows of a metric that asks which side each row is of."""

    def update(self, *, score: Any, is_ood: Any) -> None:
        """Adds rows; see the metric."""
        self._take(score, is_ood)


class FailureState(ScoreState):
    """Rows of a metric that also asks whether the classifier was right."""

    def update(self, *, score: Any, is_ood: Any, correct: Any) -> None:
        """Adds rows; see the metric."""
        self._take(score, is_ood, correct)


def masks_of(score: Any, is_ood: Any, correct: Any = None) -> dict[str, Array]:
    """The rows of each kind (n,) by name, in the order of `oochub.stats.ranking.count_by_score`.

    >>> {name: mask.tolist() for name, mask in masks_of([1, 2], [True, False]).items()}
    {'OOD': [True, False], 'ID': [False, True]}
    """
    kind = check_kinds(score, is_ood, correct)[1]
    return {name: kind == i for i, name in enumerate((OOD, ID) if correct is None else (OOD, INCORRECT, CORRECT))}


def auroc_estimate(ahead: Masks, behind: Masks, score: Any, sampling: Sampling) -> Estimate:
    """The AUROC of some rows against others, with DeLong's interval.

    Args:
        ahead: The positives (n,), by what they are.
        behind: The negatives (n,), by what they are. Rows of neither are left out.
        score: Real numbers (n,).
        sampling: Clusters and level.
    """
    positive, negative = _mask_either(ahead), _mask_either(behind)
    rows = positive | negative
    if not (positive.any() and negative.any()):
        absent = behind if positive.any() else ahead if negative.any() else {**ahead, **behind}
        return Estimate(math.nan, n=int(rows.sum()), method="delong", reason=f"no row is {' or '.join(absent)}")
    cluster = None if sampling.cluster is None else sampling.cluster[rows]
    return delong(positive[rows], check_score(score)[rows], cluster=cluster, confidence=sampling.confidence)


def area_estimate(area: Callable[..., float], masks: Masks, score: Any, sampling: Sampling) -> Estimate:
    """A function of tallies with its percentile bootstrap, which has no width where every resample gives the same.

    Args:
        area: Function of a tally for each of `masks`, in their order.
        masks: The rows (n,) of each kind, by name. Rows of none are left out.
        score: Real numbers (n,).
        sampling: Clusters, number of resamples, seed and level.
    """
    undefined = _explain_undefined(masks)
    if undefined is not None:
        return undefined
    return note_few_rows(_bootstrap(area, masks, score, sampling), at_least=_FEW_OF_AREAS)


def share_estimate(
    tallies_of: Callable[..., tuple[Array, Array]], share: float, masks: Masks, score: Any, sampling: Sampling
) -> Estimate:
    """The share of some rows that is taken once `share` of others is.

    The interval is the percentile bootstrap's, widened to Wilson's of the rows counted where that reaches further.
    Simulated coverage of 95% with 40 + 40 rows (normal, `rejected` 0.5): 0.95 at a share of 0.31, where Wilson's alone,
    which knows nothing of the threshold, covers 0.86; 1.00 at 0.006, where the bootstrap alone covers 0.50.

    Args:
        tallies_of: Makes the tallies of what is counted and of what sets the threshold from the tallies of `masks`.
        share: Share of the other rows that is taken, in (0, 1].
        masks: The rows (n,) of each of the two kinds, by name. Rows of none are left out.
        score: Real numbers (n,).
        sampling: Clusters, number of resamples, seed and level.

    Returns:
        The share; `reason` says where ties at the threshold take more rows than asked. Without interval where so few
        rows set the threshold that fewer than 0.6 lie beyond it: of 95%, below 12 rows, where it would cover 0.75.
    """
    undefined = _explain_undefined(masks)
    if undefined is not None:
        return undefined
    of, until = tallies_of(*_tally_cells(*_encode_cells(masks, score)))
    if share < 1 and round((1 - share) * until[-1], 9) < _FEWEST_BEYOND:
        reason = f"only {until[-1]:.0f} rows set the threshold, which is that of their outermost row"
        value = take_share(of, until, share)
        return Estimate(value, n=int(of[-1] + until[-1]), method="percentile bootstrap", reason=reason)
    if sampling.cluster is None:
        low, high = np.quantile(_resample_shares(of, until, share, sampling), (sampling.tail, 1 - sampling.tail))
        method = f"percentile bootstrap of each kind of rows, {sampling.resamples} resamples"
        interval = Estimate(take_share(of, until, share), low=low, high=high, n=int(of[-1] + until[-1]), method=method)
    else:
        interval = _bootstrap(lambda *tallies: take_share(*tallies_of(*tallies), share), masks, score, sampling)
    alone = wilson(round(interval.value * of[-1]), int(of[-1]), confidence=sampling.confidence)
    needed = count_needed(until[-1], share)
    reached = until[np.searchsorted(until, needed)]
    tied = f"ties at the threshold take {reached / until[-1]:.1%} of the rows that set it" if reached > needed else None
    fewest = min(int(of[-1]), int(until[-1]))
    few = f"only {fewest} rows of a kind: the interval may be too narrow" if fewest < _FEW_OF_A_KIND else None
    return Estimate(
        interval.value,
        low=interval.low if math.isnan(interval.low) else min(interval.low, alone.low),
        high=interval.high if math.isnan(interval.high) else max(interval.high, alone.high),
        n=interval.n,
        method=f"{interval.method}, or wilson where wider",
        reason="; ".join(filter(None, (interval.reason, few, tied))) or None,
    )


def _explain_undefined(masks: Masks) -> Estimate | None:
    absent = [name for name, mask in masks.items() if not mask.any()]
    if not absent:
        return None
    n, reason = int(_mask_either(masks).sum()), f"no row is {' or '.join(absent)}"
    return Estimate(math.nan, n=n, method="percentile bootstrap", reason=reason)


def _resample_shares(of: Array, until: Array, share: float, sampling: Sampling) -> Array:
    """The share in each resample of either kind of rows, without drawing the rows.

    If m rows are drawn from m, the k-th lowest is the row at place ceil(m B), B from the beta distribution of the k-th
    of m uniform numbers; how many of the other n rows lie at or below it is binomial.
    """
    m, n = int(until[-1]), int(of[-1])
    k, generator = count_needed(m, share), np.random.default_rng(sampling.seed)
    place = np.ceil(m * generator.beta(k, m - k + 1, sampling.resamples))
    shares: Array = generator.binomial(n, of[np.searchsorted(until, place)] / n) / n
    return shares


def _bootstrap(value: Callable[..., float], masks: Masks, score: Any, sampling: Sampling) -> Estimate:
    rows = _mask_either(masks)
    cell, size = _encode_cells(masks, score)
    chosen = replace(sampling, cluster=None if sampling.cluster is None else sampling.cluster[rows])

    def of_cells(cell: Array) -> float:
        return value(*_tally_cells(cell, size))

    return replicate_interval(draw_replicates(of_cells, {"cell": cell}, chosen), of_cells(cell), len(cell), chosen)


def _encode_cells(masks: Masks, score: Any) -> tuple[Array, tuple[int, int]]:
    """Each row as one number, its kind and the place of its score, so that a resample needs no sort."""
    rows = _mask_either(masks)
    distinct, place = np.unique(check_score(score)[rows], return_inverse=True)
    kind = np.argmax([mask[rows] for mask in masks.values()], axis=0)
    return kind * len(distinct) + place, (len(masks), len(distinct))


def _tally_cells(cell: Array, size: tuple[int, int]) -> Array:
    counts = np.bincount(cell, minlength=size[0] * size[1]).reshape(size)
    tallies = np.zeros((size[0], size[1] + 1))
    np.cumsum(counts, axis=1, out=tallies[:, 1:])
    return tallies


def _mask_either(masks: Masks) -> Array:
    rows: Array = np.logical_or.reduce(list(masks.values()))
    return rows
