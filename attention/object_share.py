"""The mean share of a model's attention that lies on the object, with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from oochub.attention.attention_map import AttentionMap
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import mean_estimate

Chosen = Literal["all", "wrong", "right"]


@dataclass(frozen=True, kw_only=True)
class ObjectShare:
    """How much of the attention lies on the object, over the pictures of one model.

    Attributes:
        model: What the model is called.
        rows: "all" pictures, or those that it got "wrong" or "right".
        share: The mean of the share of each map on the object, in [0, 1].
        area: The mean share of the picture that the object takes: what attention that is the same everywhere gives.
        over_area: The mean of share less area, in [-1, 1]: 0 is attention without a look at the object.
        n_zero: Pictures left out of all three, since their map is all 0: nothing spoke for the answer.
        n_empty: Pictures left out since their mask is empty: the object is not there.
    """

    model: str
    rows: Chosen
    share: Estimate
    area: Estimate
    over_area: Estimate
    n_zero: int
    n_empty: int


def object_shares(maps: Sequence[AttentionMap], sampling: Sampling = Sampling()) -> tuple[ObjectShare, ...]:  # noqa: B008
    """The shares of each model, over all pictures, those that it got wrong and those that it got right.

    Args:
        maps: With masks; those without one are left out.
        sampling: resamples and seed of the percentile bootstrap over pictures.

    Returns:
        Three a model, in the order of the models; none where no map has a mask.
    """
    known = [each for each in maps if each.mask is not None]
    found = []
    for model in dict.fromkeys(each.model for each in known):
        own = [each for each in known if each.model == model]
        parts: dict[Chosen, list[AttentionMap]] = {
            "all": own,
            "wrong": [each for each in own if not each.is_right],
            "right": [each for each in own if each.is_right],
        }
        found += [_of(model, rows, part, sampling) for rows, part in parts.items()]
    return tuple(found)


def _of(model: str, rows: Chosen, part: Sequence[AttentionMap], sampling: Sampling) -> ObjectShare:
    there = [each for each in part if each.area]
    pairs = np.array([(each.share, each.area) for each in there if each.share is not None], np.float64).reshape(-1, 2)
    share, area, over = (_mean(values, sampling) for values in (*pairs.T, pairs[:, 0] - pairs[:, 1]))
    return ObjectShare(
        model=model,
        rows=rows,
        share=share,
        area=area,
        over_area=over,
        n_zero=len(there) - len(pairs),
        n_empty=len(part) - len(there),
    )


def _mean(values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", sampling: Sampling) -> Estimate:
    if not len(values):
        return Estimate(math.nan, n=0, method="none", reason="there is no such picture with a map and an object")
    if len(values) == 1:
        return Estimate(float(values[0]), n=1, method="none", reason="one picture says nothing of others")
    return mean_estimate(values, sampling, are_shares=False)
