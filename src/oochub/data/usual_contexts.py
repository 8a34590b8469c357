"""The usual contexts of each class: those that are more frequent with it than without it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def usual_contexts(
    label: ArrayLike, context: ArrayLike, *, classes: Sequence[str], contexts: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Class to its usual contexts: P(context | class) > P(context | not class), counted over the given rows.

    The comparison is of whole numbers, so that equal frequencies are never usual by rounding. A context that no row
    has is usual for none, and where all rows are of one class, none is.

    Args:
        label: Class number of each row (n,).
        context: Context number of each row (n,).
        classes: Names of the classes.
        contexts: Names of the contexts.

    Returns:
        Every class, its contexts in the order of `contexts`; empty where none is usual.

    >>> usual_contexts([0, 0, 1, 1], [0, 1, 1, 1], classes=["cow", "camel"], contexts=["grass", "sand"])
    {'cow': ('grass',), 'camel': ('sand',)}
    """
    size = (len(classes), len(contexts))
    flat = np.ravel_multi_index((np.asarray(label, np.int64), np.asarray(context, np.int64)), size)
    together = np.bincount(flat, minlength=size[0] * size[1]).reshape(size)
    of_class, of_context = together.sum(axis=1, keepdims=True), together.sum(axis=0, keepdims=True)
    rows = int(together.sum())
    is_usual = together * (rows - of_class) > (of_context - together) * of_class
    return {
        name: tuple(contexts[place] for place in np.flatnonzero(row).tolist())
        for name, row in zip(classes, is_usual, strict=True)
    }
