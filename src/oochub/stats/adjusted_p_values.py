"""P-values corrected over all tests of a family: each is to be held against the level of them all."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from oochub.errors import OochubError

Correction = Literal["holm", "benjamini_hochberg"]


def adjusted_p_values(p_values: Sequence[float], *, correction: Correction = "holm") -> list[float]:
    """The smallest level of the whole family at which each of m tests is clear.

        holm: the largest of (m - k + 1) p_(k) so far, from the smallest p on
        benjamini_hochberg: the smallest of m p_(k) / k so far, from the largest p on

    Holm's keeps the chance of a single false finding; Benjamini and Hochberg's the expected share of false ones among
    those found, of tests that are independent or go together.

    Args:
        p_values: Of each test (m,). nan is what could not be tested: it stays nan and belongs to no family (`holm`
            itself counts a missing one as a test). This is fair where what can be tested was known without the
            outcomes, as of `stratified_gap`.
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
    order = tested[np.argsort(adjusted[tested], kind="stable")]
    rank = np.arange(1, len(order) + 1)
    if correction == "holm":
        adjusted[order] = np.maximum.accumulate((len(order) - rank + 1) * adjusted[order])
    elif correction == "benjamini_hochberg":
        adjusted[order] = np.minimum.accumulate((len(order) * adjusted[order] / rank)[::-1])[::-1]
    else:
        raise OochubError(f'correction must be "holm" or "benjamini_hochberg", got {correction!r}.')
    return [min(float(p), 1.0) for p in adjusted]
