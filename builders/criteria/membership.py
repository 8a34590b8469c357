"""Out of context by membership: a category outside a given set, or with `inside` one of the set."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError
from oochub.stats.array_checks import check_column, check_positives, name_challenges


def membership(
    value: ArrayLike, allowed: Iterable[Any], inside: bool = False, label: ArrayLike | None = None
) -> NDArray[np.str_]:
    """Which examples are hard because their category is not of a set (iWildCam), or is of one (Breeds).

    Args:
        value: (n,) category of each example, numbers or names: a camera, a subclass.
        allowed: The set: a range, a list or any other iterable of such categories; it may name absent ones.
        inside: True makes the members of the set hard instead of the others.
        label: (n,) truth values, or 0 and 1, to tell hard positives from hard negatives.

    Returns:
        (n,) array of "easy" and "hard"; with `label`, of "easy", "hard_positive" and "hard_negative".

    Raises:
        OochubError: Shapes that do not go together, a missing value, an empty set, a set of names for values that are
            numbers or the reverse, a label other than 0 and 1.

    Source: Madras and Zemel, NOOCH, Section 2 and Table 1: C not in {1 ... 245}, C in the target subset.

    >>> membership([1, 245, 246], allowed=range(1, 246)).tolist()
    ['easy', 'easy', 'hard']
    >>> membership(["tabby", "husky"], allowed=["tabby", "lynx"], inside=True).tolist()
    ['hard', 'easy']
    """
    if isinstance(allowed, str | bytes):
        raise OochubError(f"allowed must be a set of categories, got the text {allowed!r}. Write [{allowed!r}].")
    members = list(allowed)
    if not members:
        raise OochubError("allowed is empty, so all examples would be alike. Name at least one category.")
    values = check_column("value", value)
    if len(values) and (values.dtype.kind in "buif") != (np.asarray(members[0]).dtype.kind in "buif"):
        raise OochubError(
            f"value holds {values[0]!r} and allowed holds {members[0]!r}: numbers never equal names. Use one kind "
            "for both."
        )
    is_member = pd.Series(values).isin(members).to_numpy()
    return name_challenges(
        is_member if inside else ~is_member, None if label is None else check_positives("label", label)
    )
