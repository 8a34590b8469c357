"""Whether a composition is a one-to-one or a many-to-many challenge of spurious correlations, and why not."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import pandas as pd

from oochub.errors import OochubError
from oochub.studies.spawrious.composition.background_correlations import background_correlations

_MOST_CLASSES = 8  # whose permutations and partitions are few enough to try each
_Groups = tuple[tuple[tuple[str, ...], tuple[str, ...]], tuple[tuple[str, ...], tuple[str, ...]]]


@dataclass(frozen=True, kw_only=True)
class ChallengeKind:
    """What Eqs. 1 and 2 of the Spawrious paper say of a composition.

    Attributes:
        pairs: For each class, the background that misleads, in the pairing that breaks Eq. 1 the least.
        not_one_to_one: What breaks Eq. 1, one sentence each; empty where it holds.
        groups: The two groups (classes, backgrounds) of the partition that breaks Eq. 2 the least.
        not_many_to_many: What breaks Eq. 2, one sentence each; empty where it holds.
    """

    pairs: tuple[tuple[str, str], ...]
    not_one_to_one: tuple[str, ...]
    groups: _Groups
    not_many_to_many: tuple[str, ...]

    @property
    def name(self) -> str:
        """one-to-one, many-to-many or neither; a composition that is both is one-to-one, for that says more."""
        return "one-to-one" if not self.not_one_to_one else "neither" if self.not_many_to_many else "many-to-many"


def challenge_kind(counts: pd.DataFrame) -> ChallengeKind:
    """Checks Eqs. 1 and 2 on counts.

    One-to-one (Eq. 1): each class c_i has a background s_i of its own, with
    corr(1(S = s_i), 1(C = c_i)) > 0 in training and < 0 in the test. It must hold in training as a whole and, as
    the text below Eq. 1 says, within each training environment: else a many-to-many challenge would be one-to-one too.
    A background without an image in the test has no correlation there, and breaks the equation: strictly taken,
    O2O-Medium of Table 2 does, for mountain is on no image of its test.

    Many-to-many (Eq. 2): classes and backgrounds fall into two groups each, with
    corr(1(S in S_j), 1(C in C_j)) = 1 in training and -1 in the test.

    Args:
        counts: Counts as `background_correlations` takes them, of the splits train and test; others are not read.

    Raises:
        OochubError: No train or no test, fewer than two classes or more than eight.

    Source: Lynch et al., Spawrious, Sections 3.2 and 3.3.

    >>> cells = [("train", "env_1", "corgi", "snow", 9), ("train", "env_1", "bulldog", "beach", 9),
    ...          ("test", "test", "corgi", "beach", 9), ("test", "test", "bulldog", "snow", 9)]
    >>> challenge_kind(pd.DataFrame(cells, columns=["split", "environment", "label", "background", "n"])).name
    'one-to-one'
    """
    parts = {split: counts[(counts["split"] == split) & (counts["n"] > 0)] for split in ("train", "test")}
    empty = [split for split, part in parts.items() if not len(part)]
    if empty:
        raise OochubError(f"Eqs. 1 and 2 compare train with test, but {' and '.join(empty)} has no image.")
    both = pd.concat(parts.values())
    labels = tuple(sorted(set(both["label"])))
    if not 2 <= len(labels) <= _MOST_CLASSES:
        raise OochubError(f"Eqs. 1 and 2 are checked for 2 to {_MOST_CLASSES} classes, got {len(labels)}.")
    pairs, not_one = _find_best_pairing(both, labels)
    groups, not_many = _find_best_partition(both, labels)
    return ChallengeKind(pairs=pairs, not_one_to_one=not_one, groups=groups, not_many_to_many=not_many)


def _find_best_pairing(
    counts: pd.DataFrame, labels: tuple[str, ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The pairing of classes with backgrounds that breaks Eq. 1 the least, the strongest of equals; and its faults."""
    backgrounds = sorted(set(counts["background"]))
    if len(backgrounds) < len(labels):
        return (), (f"{len(backgrounds)} backgrounds cannot be one for each of {len(labels)} classes",)
    correlations = background_correlations(counts)
    cells = correlations.groupby(["label", "background"], sort=False)
    faults = {pair: tuple(_list_faults_of_pair(rows)) for pair, rows in cells}
    strength = {pair: float(rows.loc[rows["split"] == "train", "correlation"].sum()) for pair, rows in cells}
    pairings = (tuple(zip(labels, chosen, strict=True)) for chosen in permutations(backgrounds, len(labels)))
    best = min(pairings, key=lambda pairs: (sum(len(faults[x]) for x in pairs), -sum(strength[x] for x in pairs)))
    return best, tuple(fault for pair in best for fault in faults[pair])


def _list_faults_of_pair(correlations: pd.DataFrame) -> Iterator[str]:
    """What breaks Eq. 1 where this class goes with this background."""
    for row in correlations.to_dict("records"):
        is_whole, is_training = row["environment"] == "all", row["split"] == "train"
        where, value = row["split"] if is_whole else row["environment"], row["correlation"]
        if row["reason"]:
            yield f"{row['label']} and {row['background']} have no correlation in {where}: {row['reason']}"
        elif is_training and value <= 0:
            yield f"{row['label']} and {row['background']} correlate at {value:+.2f} in {where}, which must be above 0"
        elif row["split"] == "test" and is_whole and value >= 0:
            yield f"{row['label']} and {row['background']} correlate at {value:+.2f} in {where}, which must be below 0"


def _find_best_partition(counts: pd.DataFrame, labels: tuple[str, ...]) -> tuple[_Groups, tuple[str, ...]]:
    """The partition into two groups that the fewest images break, and the cells that break it."""
    first, *others = labels
    sides = [(first, *more) for size in range(len(others)) for more in combinations(others, size)]
    return min((_partition(counts, labels, side) for side in sides), key=lambda found: found[2])[:2]


def _partition(
    counts: pd.DataFrame, labels: tuple[str, ...], side: tuple[str, ...]
) -> tuple[_Groups, tuple[str, ...], int]:
    """With these classes on one side: the groups, the cells that break Eq. 2, and how many images these have."""
    is_side, is_train = counts["label"].isin(side), counts["split"] == "train"
    pull = counts["n"].where(is_side == is_train, -counts["n"]).groupby(counts["background"]).sum()
    chosen, rest = tuple(pull.index[pull > 0]), tuple(pull.index[pull <= 0])
    groups = ((side, chosen), (tuple(name for name in labels if name not in side), rest))
    wrong = counts[(is_side == counts["background"].isin(chosen)) != is_train]
    faults = []
    for row in wrong.to_dict("records"):
        others = groups[row["background"] not in chosen][0]
        whose = " and ".join(others) if row["split"] == "train" else "its own group"
        faults.append(f"{row['label']} is on {row['background']} in {row['environment']}, a background of {whose}")
    if not chosen or not rest:
        faults.append(f"{' and '.join(chosen or rest)} cannot be two groups of backgrounds")
    return groups, tuple(faults), int(wrong["n"].sum())
