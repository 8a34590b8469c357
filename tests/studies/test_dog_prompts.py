"""The prompts of Spawrious against the template as the paper prints it and as the released code has it."""

import pytest

from oochub.builders.sources import spawrious_compositions
from oochub.errors import OochubError
from oochub.studies.spawrious.generation.dog_prompts import BACKGROUNDS, BREEDS, NEGATIVE_PROMPT, dog_prompts

_END = (
    ". highly detailed, with cinematic lighting, 4k resolution, beautiful composition, hyperrealistic, trending, "
    "cinematic, masterpiece, close up"
)
_SNOW = " in a snowy landscape with a cabin and a snowball in the background, "
_DAYS = "pale sunrise|sunset|rainy day|foggy day|bright sunny day|bright sunny day".split("|")
# Written out by hand from Section 4.1 and generate_dataset.py, in the order fur, pose, time of day.
_PAPER = (
    "one black labrador sitting|one black labrador|one black labrador running|"
    "one brown labrador sitting|one brown labrador|one brown labrador running|"
    "one white labrador sitting|one white labrador|one white labrador running|"
    "one labrador sitting|one labrador|one labrador running"
).split("|")
_RELEASED = (
    "(((one black labrador sitting)))|(((one black labrador )))|(((one black labrador running)))|"
    "(((one brown labrador sitting)))|(((one brown labrador )))|(((one brown labrador running)))|"
    "(((one white labrador sitting)))|(((one white labrador )))|(((one white labrador running)))|"
    "(((one  labrador sitting)))|(((one  labrador )))|(((one  labrador running)))"
).split("|")


@pytest.mark.parametrize(("form", "subjects"), [("paper", _PAPER), ("released", _RELEASED)])
def test_all_72_of_one_cell(form: str, subjects: list[str]) -> None:
    """Planted faults: times of day that begin with "in the"; blanks of the released form that are joined."""
    expected = [f"{subject}{_SNOW}{day}{_END}" for subject in subjects for day in _DAYS]
    made = dog_prompts("labrador", "snow", form=form)  # type: ignore[arg-type]
    assert list(made) == expected
    assert len(made) == 72 and len(set(made)) == 60


def test_every_cell_has_its_own_words() -> None:
    """The words of the released code for each background; planted fault: two that are exchanged."""
    heads = {
        name: dog_prompts("corgi", name)[0].partition("sitting ")[2].partition(", pale")[0] for name in BACKGROUNDS
    }
    assert heads == {
        "jungle": "in a jungle",
        "mountain": "on a rocky mountain",
        "desert": "in a hot, dry desert with cactuses around",
        "dirt": "in a park, with puddles, bushes and dirt in the background",
        "beach": "playing fetch on a beach with a pier and ocean in the background",
        "snow": "in a snowy landscape with a cabin and a snowball in the background",
    }
    assert NEGATIVE_PROMPT.split(", ")[-2:] == ["two", "multiple"] and len(NEGATIVE_PROMPT.split(", ")) == 12
    assert (tuple(BREEDS), tuple(BACKGROUNDS)) == (spawrious_compositions.BREEDS, spawrious_compositions.BACKGROUNDS)


@pytest.mark.parametrize("wrong", [{"breed": "corgy"}, {"background": "sea"}, {"form": "code"}])
def test_wrong_names(wrong: dict[str, str]) -> None:
    with pytest.raises(OochubError, match=r"corgi|beach|'released'"):
        dog_prompts(**{"breed": "corgi", "background": "beach", **wrong})  # type: ignore[arg-type]
