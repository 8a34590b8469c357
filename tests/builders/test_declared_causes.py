"""A benchmark says what a model relies on only if its rows separate reliance from difficulty."""

from oochub import get, names

SEPARATE = {
    "nooch": "objects with and without their context on both sides, compared by AUC",
    "waterbirds": "both birds on both backgrounds, compared by AUC",
    "spawrious": "each breed and each background on both sides, paired otherwise",
    "spuco_animals": "each class and each background on both sides, as many of each",
    "imagenet_9": "the same foregrounds on other backgrounds",
}
"""Why the second side of each is not simply harder, as its paper has it."""


def test_a_cause_is_named_where_the_rows_separate_it_alone():
    """Planted faults seen: a cause of WILDS' hospitals; one of the worst group of Spawrious."""
    bases = [get("benchmark", name) for name in names("benchmark")]
    every = [(base.name, of) for base in bases for of in (base, *base.configs.values())]
    named = {name for name, of in every if of.words.cause}
    assert named == set(SEPARATE)
    assert all(of.out_of_context.form == "rows" for _, of in every if of.words.cause)
