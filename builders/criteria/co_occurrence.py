"""Out of context by co-occurrence: the object without its usual contexts, or a usual context without the object."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError


def co_occurrence(present: ArrayLike, context_areas: ArrayLike, beta: float = 0.1) -> NDArray[np.str_]:
    """Which examples are hard because object and context do not go together (NOOCH-CE).

    A hard positive shows the object while every context takes less than `beta` of the image; a hard negative
    shows no object while some context takes more than `beta`. All else is easy, and an object without contexts
    (k = 0) has easy examples only.

    Args:
        present: (n,) truth values: is the object annotated in the image?
        context_areas: (n, k) fraction of the image, at least 0, that each of the k contexts takes. Overlapping
            annotations add up, so a fraction may pass 1.
        beta: The fraction that separates present from absent contexts. The paper's main text prints 1; its
            Appendix B.3 and the released ids say 0.1.

    Returns:
        (n,) array of "easy", "hard_positive" and "hard_negative".

    Raises:
        OochubError: Shapes that do not go together, an area that is negative or not finite, a negative beta.

    Source: Madras and Zemel, NOOCH, Section 3.2.1 and Appendix B.3.

    >>> co_occurrence([True, True, False, False], [[0.05], [0.3], [0.3], [0.05]]).tolist()
    ['hard_positive', 'easy', 'hard_negative', 'easy']
    """
    has_object = np.asarray(present, dtype=bool)
    areas = np.asarray(context_areas, dtype=np.float64)
    if has_object.ndim != 1 or areas.ndim != 2 or len(areas) != len(has_object):
        raise OochubError(
            f"co_occurrence takes present (n,) and context_areas (n, k), got {has_object.shape} and {areas.shape}. "
            "One context is a column: context_areas[:, None]."
        )
    if not np.isfinite(areas).all() or (areas < 0).any():
        raise OochubError("context_areas must be fractions of the image, finite and at least 0.")
    if not beta >= 0:
        raise OochubError(f"beta must be a fraction of the image, at least 0, got {beta}.")
    challenge = np.full(len(has_object), "easy", dtype="<U13")
    if areas.shape[1]:
        challenge[has_object & (areas < beta).all(axis=1)] = "hard_positive"
        challenge[~has_object & (areas > beta).any(axis=1)] = "hard_negative"
    return challenge
