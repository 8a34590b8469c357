"""Out of context by gist: the scene is unlike the scenes that show the object, or like them without the object."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError
from oochub.stats.array_checks import check_column, check_positives


def gist(
    present: ArrayLike,
    similarity: ArrayLike,
    tau: float | tuple[float, float] | None = None,
    hard_positives: int | None = None,
    hard_negatives: int | None = None,
) -> NDArray[np.str_]:
    """Which examples are hard because their scene misleads about the object (NOOCH-Gist).

    A hard positive shows the object in a scene less similar than `tau` to the mean scene with the object; a hard
    negative shows no object in a scene more similar than `tau`. The paper fixes not `tau` but the two counts, those
    of the co-occurrence criterion, so that positives and negatives have a threshold each.

    Args:
        present: (n,) truth values, or 0 and 1: is the object annotated in the image?
        similarity: (n,) cosine, in [-1, 1], of an image's embedding to the mean embedding of the training images
            that show the object.
        tau: The threshold, or one for positives and one for negatives, as in Tables 6 and 7.
        hard_positives: Instead of `tau`: how many of the positives, the least similar, are hard.
        hard_negatives: Required with `hard_positives`: how many of the negatives, the most similar, are hard. Among
            equally similar examples, the earlier ones are taken.

    Returns:
        (n,) array of "easy", "hard_positive" and "hard_negative"; exactly at a threshold is easy.

    Raises:
        OochubError: Shapes that do not go together, a similarity that is not finite, neither `tau` nor both counts
            or all of them, a count larger than there are such examples.

    Source: Madras and Zemel, NOOCH, Section 3.2.2, Appendix B.3, Tables 6 and 7.

    >>> gist([1, 1, 0, 0], [0.2, 0.7, 0.3, 0.6], tau=0.5).tolist()
    ['hard_positive', 'easy', 'easy', 'hard_negative']
    >>> gist([1, 1, 0, 0], [0.2, 0.7, 0.3, 0.6], hard_positives=1, hard_negatives=0).tolist()
    ['hard_positive', 'easy', 'easy', 'easy']
    """
    has_object, cosine = check_positives("present", present), check_column("similarity", similarity, numbers=True)
    if has_object.shape != cosine.shape:
        raise OochubError(f"gist takes present (n,) and similarity (n,), got {has_object.shape} and {cosine.shape}.")
    by_count = hard_positives is not None and hard_negatives is not None
    if (tau is None) != by_count or (tau is not None and (hard_positives, hard_negatives) != (None, None)):
        raise OochubError(
            "gist takes either tau or both counts, hard_positives and hard_negatives, "
            f"got tau={tau}, hard_positives={hard_positives}, hard_negatives={hard_negatives}."
        )
    challenge = np.full(len(has_object), "easy", dtype="<U13")
    if tau is None:
        challenge[_find_lowest("hard_positives", hard_positives, has_object, cosine)] = "hard_positive"
        challenge[_find_lowest("hard_negatives", hard_negatives, ~has_object, -cosine)] = "hard_negative"
        return challenge
    taus = np.ravel(tau).astype(np.float64)
    if len(taus) not in (1, 2) or not np.isfinite(taus).all():
        raise OochubError(f"tau must be one cosine or a pair, for positives and negatives, got {tau}.")
    challenge[has_object & (cosine < taus[0])] = "hard_positive"
    challenge[~has_object & (cosine > taus[-1])] = "hard_negative"
    return challenge


def _find_lowest(
    name: str, count: int | None, among: NDArray[np.bool_], value: NDArray[np.float64]
) -> NDArray[np.intp]:
    rows = np.flatnonzero(among)
    if count is None or not 0 <= count <= len(rows):
        raise OochubError(f"{name} must be 0 to {len(rows)}, the number of such examples, got {count}.")
    return rows[np.argsort(value[rows], kind="stable")[:count]]
