"""Out of context by threshold: a number, such as a year or a loss, that reaches a given one."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError
from oochub.stats.array_checks import check_column, check_positives, name_challenges


def threshold(value: ArrayLike, at: float, label: ArrayLike | None = None) -> NDArray[np.str_]:
    """Which examples are hard because a number reaches a threshold (FMoW, ImageNet-A).

    Args:
        value: (n,) finite numbers, in any unit: a year, the largest loss of an ensemble.
        at: The threshold, in the unit of `value`; a value of at least this is hard.
        label: (n,) truth values, or 0 and 1, to tell hard positives from hard negatives.

    Returns:
        (n,) array of "easy" and "hard"; with `label`, of "easy", "hard_positive" and "hard_negative".

    Raises:
        OochubError: Shapes that do not go together, a value that is not a finite number, a threshold that is nan, a
            label other than 0 and 1.

    Source: Madras and Zemel, NOOCH, Section 2 and Table 1: C >= 2013, C >= -log(0.15).

    >>> threshold([2012, 2013, 2016], at=2013).tolist()
    ['easy', 'hard', 'hard']
    >>> threshold([2012, 2013, 2016], at=2013, label=[1, 1, 0]).tolist()
    ['easy', 'hard_positive', 'hard_negative']
    """
    if not isinstance(at, Real) or np.isnan(at):
        raise OochubError(f"at must be a number in the unit of value, got {at!r}.")
    hard = check_column("value", value, numbers=True) >= at
    return name_challenges(hard, None if label is None else check_positives("label", label))
