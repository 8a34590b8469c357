"""Wrong answers that look alike to the model: clusters of their features, named by what their rows share.

Clusters are looked for among the wrong rows alone and in the features, not on the map, which bends distances. HDBSCAN
needs no number of clusters, and leaves rows out that are in none. A cluster is named by the classes and contexts that
at least half of its rows have, and that are more frequent in it than in the other mistakes: the interval of that lift,
at a level that is shared among all that was looked at, lies above 1. Each name is a hypothesis, made of the rows that
it is about; its rule (`oochub.evaluation.selection_rule`) is tested on rows that nobody looked at.

Source: Campello, Moulavi and Sander 2013 (PAKDD, LNCS 7819:160-172); lift as in `oochub.stats.lift`. Clusters of
mistakes in features: Eyuboglu et al. 2022, Domino (ICLR), Section 4; Sohoni et al. 2020, GEORGE, Section 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oochub.browsing.filter_columns import Field
from oochub.evaluation.selection_rule import RowRule
from oochub.stats.estimate import Estimate
from oochub.stats.lift import lift_of_counts
from oochub.stats.proportion import wilson

_NAMED = ("label", "context", "challenge")
"""Fields that name a cluster, besides the contexts that were found; the answer beside a class would be the outcome."""
_FOUND = "has "
_SHARE = 0.5  # of a cluster's rows that share what names it
_MOST_NAMES = 3  # conditions of a name
_MOST_ROWS = 5_000  # wrong rows that clusters are looked for in
_FEWEST = 10  # rows of a cluster
_NEIGHBORS = 3  # that make a place dense: of more, small clusters are lost
_MOST = 12  # clusters that are shown
_DIRECTIONS = 15  # principal components: more make all rows equally far from each other
_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What the rows of a cluster share.

    Attributes:
        title: What the page calls the field.
        value: The value.
        share: Share of the cluster's rows that have it.
        lift: How many times more frequent it is in the cluster than in the other mistakes.
    """

    title: str
    value: str
    share: float
    lift: Estimate


@dataclass(frozen=True, kw_only=True)
class MistakeCluster:
    """Wrong answers that lie together.

    Attributes:
        rows: Number of its rows.
        shared: What names it; none if its rows share no class or context.
        rule: The rule that its name makes; "" without a name.
        n_rule: Rows that the rule holds for, right or wrong.
        error_rate: Share of wrong answers among these; looked at, so it is no estimate for other rows.
    """

    rows: int
    shared: tuple[Shared, ...]
    rule: str
    n_rule: int
    error_rate: Estimate

    @property
    def name(self) -> str:
        """The values that its rows share, or that they share none."""
        return ", ".join(shared.value for shared in self.shared) or "no class or context in common"


@dataclass(frozen=True, kw_only=True)
class MistakeClusters:
    """The clusters, largest first, and the cluster of each row.

    Attributes:
        clusters: The clusters.
        place: Number of the cluster of each row (n,), -1 for none.
        notes: What was left out, a sentence each.
    """

    clusters: tuple[MistakeCluster, ...]
    place: NDArray[np.int64]
    notes: tuple[str, ...]


def find_mistake_clusters(
    parts: NDArray[np.float32],
    wrong: NDArray[np.bool_],
    scored: NDArray[np.bool_],
    fields: Sequence[Field],
    *,
    seed: int = 0,
) -> MistakeClusters:
    """The clusters of the wrong rows.

    Args:
        parts: Principal components of the features (n, k).
        wrong: Whether the answer of a row is wrong (n,).
        scored: Whether it has an answer that is right or wrong (n,).
        fields: Facts of the rows, in the order of the rows.
        seed: Random seed for the rows that are taken, if the wrong ones are too many.
    """
    place = np.full(len(wrong), -1)
    taken = np.flatnonzero(wrong & scored)
    notes = []
    if len(taken) > _MOST_ROWS:
        notes.append(f"Clusters are looked for in {_MOST_ROWS:,} of {len(taken):,} wrong rows, drawn at random.")
        taken = np.sort(np.random.default_rng(seed).choice(taken, _MOST_ROWS, replace=False))
    if len(taken) >= 2 * _FEWEST:
        place[taken] = _cluster(parts[taken, :_DIRECTIONS])
    kept = int(place.max(initial=-1)) + 1
    if kept > _MOST:
        notes.append(f"The {_MOST} largest of {kept} clusters are named.")
    named = [field for field in fields if field.name in _NAMED or field.name.startswith(_FOUND)]
    tests = max(1, kept) * max(1, sum(len(field.values) for field in named))
    clusters = [_name(place == number, taken, wrong, scored, named, tests) for number in range(min(kept, _MOST))]
    place[place >= _MOST] = -1
    return MistakeClusters(clusters=tuple(clusters), place=place, notes=tuple(notes))


def _cluster(parts: NDArray[np.float32]) -> NDArray[np.int64]:
    """The number of each row's cluster, 0 the largest; -1 for rows in none."""
    from sklearn.cluster import HDBSCAN

    smallest = max(_FEWEST, len(parts) // 50)
    if not np.ptp(parts, axis=0).any():  # all rows are one point
        return np.zeros(len(parts), np.int64)
    cluster_of = HDBSCAN(min_cluster_size=smallest, min_samples=_NEIGHBORS, copy=True).fit_predict(
        parts.astype(np.float64)
    )
    sizes = np.bincount(cluster_of[cluster_of >= 0], minlength=1)
    number = np.empty(len(sizes), np.int64)
    number[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return np.where(cluster_of >= 0, number[cluster_of], -1)


def _name(
    inside: NDArray[np.bool_],
    taken: NDArray[np.int64],
    wrong: NDArray[np.bool_],
    scored: NDArray[np.bool_],
    fields: Sequence[Field],
    tests: int,
) -> MistakeCluster:
    """A cluster with the values that its rows share more than the other mistakes do, the most shared first."""
    own, others = np.flatnonzero(inside), taken[~inside[taken]]
    shares: list[tuple[Field, Shared]] = []
    for field in fields:
        counts, more = (np.bincount(field.codes[rows], minlength=len(field.values)) for rows in (own, others))
        code = int(counts.argmax())
        if counts[code] < _SHARE * len(own) or field.values[code] in ("without", "not known", "no value"):
            continue
        numbers = int(counts[code]), len(own), int(more[code]), len(others)
        lift = lift_of_counts(*numbers, confidence=1 - _LEVEL / tests) if len(others) else None
        if lift is not None and lift.low > 1:
            title = "" if not field.name.startswith(_FOUND) else field.name.removeprefix(_FOUND)
            shared = Shared(
                title=field.title, value=title or field.values[code], share=counts[code] / len(own), lift=lift
            )
            shares.append((field, shared))
    place = {field.name: number for number, field in enumerate(fields)}
    shares = sorted(shares, key=lambda each: -each[1].share)[:_MOST_NAMES]
    shares = sorted(shares, key=lambda each: place[each[0].name])  # classes first, whatever the shares
    fits = np.ones(len(wrong), bool)
    for field, shared in shares:
        value = "with" if field.name.startswith(_FOUND) else shared.value
        fits &= field.codes == field.values.index(value)
    fits &= scored
    conditions = {field.name: ("with" if field.name.startswith(_FOUND) else shared.value,) for field, shared in shares}
    return MistakeCluster(
        rows=len(own),
        shared=tuple(shared for _, shared in shares),
        rule=str(RowRule(conditions)),
        n_rule=int(fits.sum()) if shares else 0,
        error_rate=wilson(int((fits & wrong).sum()), int(fits.sum())) if shares else wilson(0, 0),
    )
