"""P-values corrected over all tests of a family: each is to be held against the level of them all."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from oochub.errors import OochubError

Correction = Literal["holm", "benjamini_hochberg"]
_LEVEL = 0.05  # as the 95% intervals of a report


def adjusted_p_values(p_values: Sequence[float | None], *, correction: Correction = "holm") -> list[float]:
    """The smallest level of the whole family at which each of m tests is clear.

        holm: the largest of (m - k + 1) p_(k) so far, from the smallest p on
        benjamini_hochberg: the smallest of m p_(k) / k so far, from the largest p on

    Holm's keeps the chance of a single false finding; Benjamini and Hochberg's the expected share of false ones among
    those found, of tests that are independent or go together.

    Args:
        p_values: Of each test (m,). None or nan is what could not be tested: it is nan and belongs to no family. This
            is fair where what can be tested is known without the outcomes (too few rows, one cluster, one class), as
            of `stratified_gap`; a test whose outcomes say nothing (no row differs) has p = 1, and counts.
        correction: "holm" or "benjamini_hochberg".

    Returns:
        In [0, 1] or nan, in the order given.

    Raises:
        OochubError: A p-value outside [0, 1], or another correction.

    Source:
        Holm 1979 (Scand. J. Statist. 6:65-70); Benjamini and Hochberg 1995 (J. R. Statist. Soc. B 57:289-300).

    >>> adjusted_p_values([0.01, 0.02, float("nan"), 0.04])
    [0.03, 0.04, nan, 0.04]
    >>> adjusted_p_values([0.01, 0.02, float("nan"), 0.04], correction="benjamini_hochberg")
    [0.03, 0.03, nan, 0.04]
    """
    adjusted = np.array(p_values, np.float64)
    tested = np.flatnonzero(~np.isnan(adjusted))
    wrong = tested[(adjusted[tested] < 0) | (adjusted[tested] > 1)]
    if len(wrong):
        raise OochubError(f"p_values must lie in [0, 1] or be nan, got {adjusted[wrong[0]]} at {wrong[0]}.")
    if correction == "benjamini_hochberg":
        if len(tested):
            from scipy import stats  # takes half a second to import

            adjusted[tested] = stats.false_discovery_control(adjusted[tested])
    elif correction == "holm":  # scipy has none
        order = tested[np.argsort(adjusted[tested], kind="stable")]
        left = np.arange(len(order), 0, -1)
        adjusted[order] = np.minimum(np.maximum.accumulate(left * adjusted[order]), 1.0)
    else:
        raise OochubError(f'correction must be "holm" or "benjamini_hochberg", got {correction!r}.')
    return [float(p) for p in adjusted]


def holm(p_values: Sequence[float | None], *, level: float = _LEVEL) -> list[bool]:
    """Whether each test is clear when the chance of a single false one among all is at most `level`.

    Args:
        p_values: Of each test; None or nan is what could not be tested: never clear, and of no family, as in
            `adjusted_p_values`, which this compares with the level.
        level: Of all of them together.

    >>> holm([0.01, 0.03, 0.02]), holm([0.02, 0.02, 0.04]), holm([None, 0.03])
    ([True, True, True], [False, False, False], [False, True])
    """
    return [p <= level for p in adjusted_p_values(p_values)]
