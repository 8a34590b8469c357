"""Compositions of Spawrious drawn at random among all that have the form of Table 2 and satisfy Eq. 1 or Eq. 2."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Literal

import numpy as np

from oochub.builders.sources.spawrious_compositions import (
    BACKGROUNDS,
    BREEDS,
    SpawriousComposition,
    many_to_many,
    one_to_one,
)
from oochub.errors import OochubError, unknown_name

Form = Literal["o2o", "m2m"]
"""One-to-one or many-to-many."""


def random_compositions(count: int, *, form: Form, seed: int = 0) -> list[SpawriousComposition]:
    """Different compositions, of which no two give the same images to train on and to test on.

    There are 6,480 of one-to-one: 6 generic backgrounds, 120 ways to give four of the others to the breeds, and in the
    test 9 ways to exchange these so that no breed keeps its own (a breed on a background of no other would leave that
    one's correlation undefined, as O2O-Medium of Table 2 does). There are 270 of many-to-many: 3 ways to halve
    the breeds and 90 to give each half two backgrounds; the two environments show a half's breeds crosswise.

    Args:
        count: Number of compositions.
        form: "o2o" or "m2m".
        seed: Random seed for the draw.

    Raises:
        OochubError: More than there are, or fewer than one.

    Source: Lynch et al., Spawrious, Section 4.3.

    >>> one, other = random_compositions(2, form="m2m", seed=1)
    >>> one == other
    False
    """
    forms = {"o2o": (one_to_one, _draw_one_to_one), "m2m": (many_to_many, _draw_many_to_many)}
    if form not in forms:
        raise unknown_name("form of a composition", form, forms)
    composition, parts = forms[form]
    everything = list(parts())
    if not 1 <= count <= len(everything):
        raise OochubError(
            f"There are {len(everything):,} compositions {form}. Ask for 1 or more of them, got {count:,}."
        )
    drawn = np.random.default_rng(seed).choice(len(everything), count, replace=False)
    return [composition(*everything[number]) for number in drawn]


def _draw_one_to_one() -> Iterator[tuple[str, str, Sequence[str], Sequence[str]]]:
    """What each is about, its generic background, and of each breed the misleading one and that of the test."""
    for generic, *spurious in permutations(BACKGROUNDS, 5):
        for unseen in permutations(spurious):
            if all(before != after for before, after in zip(spurious, unseen, strict=True)):
                pairs = zip(BREEDS, spurious, unseen, strict=True)
                moves = ", ".join(f"{breed} from {before} to {after}" for breed, before, after in pairs)
                yield f"One-to-one: {moves}; all on {generic}.", generic, spurious, unseen


def _draw_many_to_many() -> Iterator[tuple[str, Sequence[str], Sequence[str], Sequence[Sequence[str]]]]:
    """What each is about, and of each breed the background of environments 1 and 2 and the two of the test."""
    for partner in BREEDS[1:]:
        breeds = (BREEDS[0], partner)
        others = tuple(breed for breed in BREEDS if breed not in breeds)
        for own in combinations(BACKGROUNDS, 2):
            for theirs in combinations([place for place in BACKGROUNDS if place not in own], 2):
                first = {breeds[0]: own[0], breeds[1]: own[1], others[0]: theirs[0], others[1]: theirs[1]}
                second = {breeds[0]: own[1], breeds[1]: own[0], others[0]: theirs[1], others[1]: theirs[0]}
                one, other, place, elsewhere = map(" and ".join, (breeds, others, own, theirs))
                about = f"Many-to-many: {one} from {place} to {elsewhere}, {other} the other way."
                unseen = [theirs if breed in breeds else own for breed in BREEDS]
                yield about, [first[breed] for breed in BREEDS], [second[breed] for breed in BREEDS], unseen
