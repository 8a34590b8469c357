"""Two halves of the rows, so that what is chosen on one is measured on the other."""

from typing import Any

import numpy as np

from oochub.stats.array_checks import Array, check_same_length
from oochub.stats.group_codes import check_group


def halves(stratum: Any, *, cluster: Any = None, seed: int = 0) -> Array:
    """Which rows (n,) are of the first half: at random, of each stratum one half of its rows.

    With clusters whole clusters are of one half, each counted for the stratum of its first row. Of an odd number the
    one that is over goes to either half in turn.

    Args:
        stratum: What is to be halved, such as the group of each row (n,), any hashable.
        cluster: What the rows (n,) share; None if they are independent.
        seed: Of the draw.

    Raises:
        OochubError: No rows, or different lengths.

    >>> halves(["a", "a", "b", "b"]).tolist() in [[True, False] * 2, [False, True] * 2, [True, False, False, True],
    ...     [False, True, True, False]]
    True
    """
    codes = check_group(stratum, name="stratum").codes
    unit = np.arange(len(codes)) if cluster is None else check_group(cluster, name="cluster").codes
    check_same_length(stratum=codes, cluster=unit)
    _, first, own = np.unique(unit, return_index=True, return_inverse=True)
    generator = np.random.default_rng([seed, 2])
    drawn = generator.permutation(len(first))
    drawn = drawn[np.argsort(codes[first[drawn]], kind="stable")]
    is_first = np.empty(len(first), bool)
    is_first[drawn] = (np.arange(len(first)) + generator.integers(2)) % 2 == 0
    in_first: Array = is_first[own]
    return in_first
