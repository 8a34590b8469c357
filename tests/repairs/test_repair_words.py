"""A repair in words: what was tried is counted, and a gain on both sides is not called a matter of context alone."""

from dataclasses import replace

import pytest
from parsed_page import ParsedPage
from repair_rows_by_hand import predictions_by_hand

from oochub.repairing import repair_predictions
from oochub.repairs.repair import (
    FINE_TUNE,
    Repair,
    describe_choice,
    repair_page,
    write_repair_card,
    write_sentences,
    write_verdict,
)
from oochub.settings.repair_settings import RepairSettings

BOTH = "It is better in usual contexts too, so not all of the gain comes from relying less on context."


@pytest.fixture(scope="module")
def made() -> Repair:
    sizes = {"train": (60, 60), "validation": (60, 60), "test": (80, 80)}
    made, _, _ = repair_predictions(predictions_by_hand(sizes), RepairSettings(draws=1))
    assert made.outcome == "better"
    return made


def test_a_gain_on_both_sides_is_said(made: Repair) -> None:
    """Planted fault seen: said of the estimate, whatever its interval."""
    assert made.inside is not None and made.inside.difference.low <= 0 and BOTH not in write_sentences(made)
    both = replace(made, draws=(replace(made.draws[0], inside=made.draws[0].outside),))
    assert BOTH in write_sentences(both)
    difference = made.inside.difference
    assert difference.low <= 0
    unsure = replace(made.inside, difference=replace_value(difference))
    assert BOTH not in write_sentences(replace(made, draws=(replace(made.draws[0], inside=unsure),)))


def replace_value(difference):
    """A gain of one point whose interval includes 0."""
    return type(difference)(0.01, low=-0.01, high=0.03, n=difference.n, method=difference.method)


def test_networks_are_counted_apart_and_the_card_says_which_weights_are_new(made: Repair) -> None:
    """Planted fault seen: the card of a fine-tuned network says that only its last layer is new."""
    heads = len(made.tried) - 1
    assert f"{heads} new last layers were fitted on the features of the fitting rows. The one" in describe_choice(made)
    assert "refitted on both parts together" in describe_choice(made)
    kept = tuple(replace(each, is_chosen=False) for each in made.tried)
    network = replace(made.chosen or made.tried[0], method=FINE_TUNE, title="the whole network", is_chosen=True)
    deep = replace(made, tried=(*kept, network), temperature=1.5)
    said = describe_choice(deep)
    assert f"{heads} new last layers" in said and ", and 1 whole network was fine-tuned on the same rows. The" in said
    assert "the whole network" in said and "fitted once more" not in said and "temperature of 1.5" in said
    cards = [write_repair_card(each, class_names=["cat", "dog"], is_wrapper=False) for each in (made, deep)]
    assert ["All weights but those of the last layer" in card for card in cards] == [True, False]
    assert ["The whole network was fine-tuned" in card for card in cards] == [False, True]


def test_a_repair_in_a_notebook_is_its_page_in_a_frame_and_its_numbers_as_tables(made: Repair) -> None:
    shown = ParsedPage(made._repr_html_())
    (frame,) = (attributes for tag, attributes in shown.tags if tag == "iframe")
    assert frame["srcdoc"].replace(' target="_blank"', "") == repair_page(made)
    assert write_verdict(made) in shown.words and "allow-scripts" not in frame["sandbox"]


def test_the_headline_is_of_all_divisions(made: Repair) -> None:
    """0 where no candidate was better. Planted fault: the first division alone, which decides."""
    assert write_verdict(made) == "The repaired model is better in unusual contexts."
    first = made.draws[0]
    assert first.outside is not None
    none = replace(first, inside=None, outside=None)
    best = f"+{100 * first.outside.difference:.1f}"
    several = replace(made, draws=(first, none, first))
    said = f"The repaired model is better in unusual contexts, by 0.0 to {best} points over 3 divisions of the rows."
    assert write_verdict(several) == said
