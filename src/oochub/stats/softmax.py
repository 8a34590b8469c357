"""The softmax of logits in float64."""

import numpy as np
from scipy import special

from oochub.stats.array_checks import Array


def softmax(logits: Array, allowed: Array | None = None) -> Array:
    """Probabilities float64 (n, c) in [0, 1] whose rows sum to 1.

    Args:
        logits: Finite numbers (n, c).
        allowed: Numbers of the classes (k,) that an answer may be: the others get 0; None allows all.

    >>> softmax(np.log([[1.0, 3.0, 4.0]]), np.array([0, 1])).round(6).tolist()
    [[0.25, 0.75, 0.0]]
    """
    if allowed is not None and len(allowed) < logits.shape[1]:
        among = np.zeros(logits.shape)
        among[:, allowed] = softmax(logits[:, allowed])
        return among
    return special.softmax(logits.astype(np.float64), axis=1)  # type: ignore[no-any-return]
