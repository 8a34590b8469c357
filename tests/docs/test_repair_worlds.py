"""docs/repair.md holds the tables that its script writes, a repair did what was asked, and its worlds are planted."""

import csv
from dataclasses import replace

import numpy as np
import pytest
import repair_numbers as numbers
import repair_page as script
from repair_worlds import WORLDS, draw_cell, names_of, write_world


def side(before, after):
    first, second, made = (
        numbers.Number(value, value - 0.1, value + 0.1, 400) for value in (before, after, after - before)
    )
    return numbers.Side(before=first, after=second, difference=made)


def result():
    return numbers.Result(
        outcome="better", method="retrain_weighted", inside=side(0.9, 0.88), outside=side(0.5, 0.8), seconds=1.0
    )


def test_the_page_is_what_the_script_writes():
    """As it stands in the repository, byte by byte."""
    results = numbers.read(script.NUMBERS, WORLDS)
    tuned = numbers.read(script.NUMBERS, WORLDS, deep=True)
    made = script.tables(results, numbers.read_controls(script.NUMBERS, WORLDS), tuned)
    assert set(tuned) == {world for world in WORLDS if world.balanced or not world.is_planted}
    text = script.PAGE.read_text("utf-8")
    assert len(results) == len(WORLDS) == 40 and script.page(text, made) == text


def test_what_was_asked_holds():
    """18 of 20 planted worlds, half of the gap in the median, the floor in all, and 5% of the controls."""
    results = numbers.read(script.NUMBERS, WORLDS)
    planted = [result for world, result in results.items() if world.is_planted]
    better = [result for result in planted if result.outcome == "better"]
    assert len(better) >= 18 and np.median([result.closed for result in planted]) >= 0.5
    assert all(result.inside.difference.value >= -numbers.AT_MOST_LOST / 100 for result in better)
    assert sum(result.outcome == "better" for world, result in results.items() if not world.is_planted) <= 1
    for outcomes in numbers.read_controls(script.NUMBERS, WORLDS).values():
        assert sum(outcomes.values()) == 200 and outcomes.get("better", 0) <= 10


def test_a_gap_that_is_closed_by_hand():
    """Of 90 and 50 the gap is 40 points; 30 of them won are three quarters. Without a new head nothing is won."""
    assert result().closed == pytest.approx(0.75)
    none = numbers.Side(before=numbers.Number(0.5, 0.4, 0.6, 400))
    assert replace(result(), outcome="not_shown", outside=none).closed == 0


def test_every_family_draws_its_four_cells_and_a_dial_of_0_hides_the_thing():
    for family in {world.family for world in WORLDS}:
        cells = {
            cell: np.asarray(draw_cell(family, np.random.default_rng(3), label=cell[0], context=cell[1], contrast=0.8))
            for cell in ((0, 0), (0, 1), (1, 0), (1, 1))
        }
        assert len({cell.tobytes() for cell in cells.values()}) == 4
        hidden = draw_cell(family, np.random.default_rng(3), label=0, context=1, contrast=0.0)
        assert (np.asarray(hidden) != cells[0, 1]).any()


def test_a_world_has_the_share_that_it_says(tmp_path):
    """Planted worlds by count, and the test split with both contexts alike."""
    world = replace(WORLDS[2], rows=40)
    classes, contexts = names_of(world.family)
    write_world(world, tmp_path / "world", test_rows=10)
    for split, share in (("train", world.correlation), ("test", 0.5)):
        with (tmp_path / "world" / split / "metadata.csv").open() as file:
            rows = list(csv.DictReader(file))
        usual = [classes.index(row["label"]) == contexts.index(row["context"]) for row in rows]
        assert np.mean(usual) == pytest.approx(share)


def test_a_run_goes_on_where_it_was_ended(tmp_path, monkeypatch):
    """A world whose numbers are there is not trained again; those with fine-tuning are numbers of their own."""
    asked = []
    monkeypatch.setattr(numbers, "_repair", lambda world, folder, deep: asked.append((world, deep)) or result())
    for _ in range(2):
        numbers.run(WORLDS[:2], tmp_path / "runs", tmp_path / "numbers")
        numbers.run(WORLDS[:1], tmp_path / "runs", tmp_path / "numbers", deep=True)
    assert asked == [(WORLDS[0], False), (WORLDS[1], False), (WORLDS[0], True)]
    assert numbers.read(tmp_path / "numbers", WORLDS) == dict.fromkeys(WORLDS[:2], result())
    assert numbers.read(tmp_path / "numbers", WORLDS, deep=True) == {WORLDS[0]: result()}
