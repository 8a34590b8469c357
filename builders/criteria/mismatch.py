"""Out of context by mismatch: the context does not match the label."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError
from oochub.stats.array_checks import check_column, check_positives, is_binary, name_challenges


def mismatch(label: ArrayLike, context: ArrayLike) -> NDArray[np.str_]:
    """Which examples are hard because their context is another than their label's (Waterbirds).

    Args:
        label: (n,) class of each example: numbers, truth values or names.
        context: (n,) context of each example, coded like `label`: the context that goes with class c is c.

    Returns:
        (n,) array of "easy" and, for a label of truth values or of 0 and 1 only, "hard_positive" and
        "hard_negative"; for any other label, which has no positive class, "hard".

    Raises:
        OochubError: Shapes that do not go together, a missing value, numbers compared with names.

    Source: Madras and Zemel, NOOCH, Section 2 and Table 1: C != Y.

    >>> mismatch([1, 1, 0, 0], [1, 0, 0, 1]).tolist()
    ['easy', 'hard_positive', 'easy', 'hard_negative']
    >>> mismatch(["corgi", "labrador"], ["corgi", "corgi"]).tolist()
    ['easy', 'hard']
    """
    classes, contexts = check_column("label", label), check_column("context", context)
    if classes.shape != contexts.shape:
        raise OochubError(f"mismatch takes label (n,) and context (n,), got {classes.shape} and {contexts.shape}.")
    if len(classes) and (classes.dtype.kind in "buif") != (contexts.dtype.kind in "buif"):
        raise OochubError(
            f"mismatch compares label with context, got {classes[0]!r} and {contexts[0]!r}: numbers never equal "
            "names. Use the same codes for both."
        )
    return name_challenges(classes != contexts, check_positives("label", classes) if is_binary(classes) else None)
