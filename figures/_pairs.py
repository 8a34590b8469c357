"""The (image, class) pairs of scenes: the positives, the negatives, and which of them are hard at each threshold."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.evaluation.scenes import Scenes
from oochub.process.follow import follow

Side = Literal["positive", "negative"]
SIDES: tuple[Side, Side] = ("positive", "negative")
ALPHAS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
BETAS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


def select_side(scenes: Scenes, side: str) -> NDArray[np.bool_]:
    """(n, c): the pairs whose class is in the image, or those whose class is not."""
    if side not in SIDES:
        raise unknown_name("side", side, SIDES)
    pairs = scenes.present if side == "positive" else ~scenes.present
    if not pairs.any():
        raise OochubError(f"These scenes hold no {side} (image, class) pair: {scenes.present.shape} images by classes.")
    return pairs


def judge_pairs(
    scenes: Scenes, pairs: NDArray[np.bool_], side: str, alphas: Sequence[float], betas: Sequence[float]
) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
    """For each row of alphas and column of betas, which of the pairs are hard; `co_occurrence` on all classes at once.

    No context is smaller than beta where the largest is, and some is larger where the largest is. So the largest
    context of each pair, found once for each alpha, decides at every beta.

    Yields:
        Row, column, and (pairs.sum(),) bool in the order of `array[pairs]`.
    """
    if min(alphas) < 0:
        raise OochubError(
            f"alpha must be at least 0, got {min(alphas)}: a context is larger than the object on average."
        )
    areas = np.ascontiguousarray(scenes.area.T)
    for row, alpha in enumerate(follow(alphas, desc="alphas", disable=None, leave=False)):
        largest = np.full(areas.shape, np.nan)
        for largest_of_class, contexts in zip(largest, scenes.contexts(alpha), strict=True):
            if contexts.any():
                largest_of_class[:] = areas[contexts].max(axis=0)
        shown = largest.T[pairs]  # nan, a class without contexts, is neither below nor above
        for column, beta in enumerate(betas):
            yield row, column, shown < beta if side == "positive" else shown > beta


def sort_by_similarity(scenes: Scenes, side: str) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """The pairs (n, c) of the side whose gist similarity is known, and that of each.

    Raises:
        OochubError: Scenes without similarities.
    """
    if scenes.similarity is None:
        raise OochubError(
            "These scenes have no gist similarity. Build nooch/all with an encoder: "
            f"{choose_wording('encoder=NAME of load_dataset', '--option encoder=NAME')}."
        )
    pairs = select_side(scenes, side) & ~np.isnan(scenes.similarity)
    if not pairs.any():
        raise OochubError(f"No {side} (image, class) pair has a gist similarity: its classes lack training positives.")
    return pairs, scenes.similarity[pairs].astype(np.float64)


def list_thresholds(scenes: Scenes) -> NDArray[np.float64]:
    """(201,) values of tau, from below all similarities to above them, between multiples of 0.05."""
    assert scenes.similarity is not None  # noqa: S101  sort_by_similarity has checked it
    low, high = 20 * np.nanmin(scenes.similarity), 20 * np.nanmax(scenes.similarity)
    return np.linspace(np.ceil(low) - 1, np.floor(high) + 1, 201) / 20
