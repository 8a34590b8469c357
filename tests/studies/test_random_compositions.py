"""Random compositions: each satisfies its equation, none twice, and every one of the form can be drawn."""

import math

import pytest

from oochub.builders.sources.spawrious_compositions import RELEASED, TABLE_2
from oochub.errors import OochubError
from oochub.studies.spawrious.composition.challenge_kind import challenge_kind
from oochub.studies.spawrious.composition.composition_counts import composition_counts
from oochub.studies.spawrious.composition.random_compositions import random_compositions


def _seen_by_erm(composition) -> tuple:
    """The folders of training and of test, whatever the environment."""
    slices = composition.slices(3168)
    return tuple(sorted((part.split, *part[2:]) for part in slices))


@pytest.mark.slow
@pytest.mark.parametrize(("form", "kind"), [("o2o", "one-to-one"), ("m2m", "many-to-many")])
def test_each_satisfies_its_equation(form, kind):
    """Faults planted: a test background that is the breed's own, a half that keeps its backgrounds in the test."""
    drawn = random_compositions(6, form=form, seed=3)
    assert {challenge_kind(composition_counts(each, 100)).name for each in drawn} == {kind}
    assert len({_seen_by_erm(each) for each in drawn}) == 6
    assert drawn == random_compositions(6, form=form, seed=3) != random_compositions(6, form=form, seed=4)


def test_all_of_the_form_are_there():
    """Counts by hand: 6 x 5!/1! x 9 derangements, and 3 x 15 x 6. The paper's own, but O2O-Medium, are among them."""
    ways = {"o2o": math.perm(6, 5) * 9, "m2m": 3 * math.comb(6, 2) * math.comb(4, 2)}
    for form, number in ways.items():
        with pytest.raises(OochubError, match=f"There are {number:,} compositions {form}"):
            random_compositions(number + 1, form=form)
    every = {_seen_by_erm(each) for each in random_compositions(270, form="m2m")}
    assert len(every) == 270
    for table in (TABLE_2, RELEASED):
        assert all(_seen_by_erm(each) in every for name, each in table.items() if name.startswith("m2m"))


def test_what_cannot_be_drawn():
    with pytest.raises(OochubError, match="'o2m'"):
        random_compositions(1, form="o2m")
    with pytest.raises(OochubError, match="got 0"):
        random_compositions(0, form="o2o")
