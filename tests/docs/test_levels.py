"""docs/levels.md says what its script writes, nothing in it refuses too often, and its worlds are made again."""

import levels_page as levels
import numpy as np
import pytest

import oochub


def test_the_page_is_what_the_script_writes():
    """Fault planted: a number of the page changed by hand."""
    cells = levels.read(levels.CELLS)
    assert levels.page(cells) == levels.PAGE.read_text("utf-8")


def test_no_test_refuses_too_often_and_none_too_seldom_in_silence():
    """Faults planted: 340 refusals of 5,000; a word on a conservative test left out; a cell of 500 worlds."""
    cells = levels.read(levels.CELLS)
    assert set(cells) == {(test.asked, n, clusters) for test, n, clusters in levels.keys()}
    assert all(each.worlds >= levels.WORLDS for each in cells.values())
    assert not levels.faults(list(cells.values()))
    loud = next(iter(cells.values()))._replace(refused=360)
    assert "360 of 5000" in levels.faults([loud])[0]
    quiet = levels.Cell("NLL of two models", 60, 0, 5_000, 100, 900, 0)
    assert levels.faults([quiet]) == ["NLL of two models, n = 60: too seldom"]


def test_a_run_goes_on_where_it_was_ended(tmp_path, monkeypatch):
    """Planted faults: a cell made again; a line that was cut short as an error."""
    monkeypatch.setattr(levels, "TESTS", levels.TESTS[:1])
    file = tmp_path / "cells.jsonl"
    made = levels.run(file, worlds=20)
    assert len(made) == 5 and all(each.worlds == 20 for each in made.values())
    whole = file.read_text("utf-8")
    file.write_text(whole[:-30], "utf-8")
    asked = []
    plain = levels.cell
    monkeypatch.setattr(levels, "cell", lambda *a, **k: asked.append(a[1:]) or plain(*a, **k))
    assert levels.run(file, worlds=20) == made and asked == [(500, True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "n", "clusters"),
    [
        ("AUC of two models", 60, False),
        ("F1 of two models", 20, False),
        ("a group against its class", 100, True),
        ("NLL of two models", 20, False),
    ],
)
def test_fixed_cells(asked, n, clusters):
    """1,000 worlds; the same as in the table but for their number."""
    test = next(each for each in levels.TESTS if each.asked == asked)
    found = levels.cell(test, n, clusters, worlds=1_000)
    assert not levels.faults([found])
    assert found.refused_effect > 2 * found.refused


@pytest.mark.campaign
def test_every_cell_with_all_its_worlds(tmp_path):
    """The whole table, which takes hours; it goes on where it was ended only by the script."""
    assert not levels.faults(list(levels.run(tmp_path / "cells.jsonl").values()))


def test_the_change_of_f1_is_that_of_the_metric():
    """Of counts of rows, as the table draws them, against the metric, some classes of no row. Planted: A for B."""
    rng, f1_macro = np.random.default_rng(0), oochub.get("metric", "f1_macro")
    for _ in range(200):
        label, first, second = rng.integers(0, 2, (3, rng.integers(1, 9)))
        counts = np.bincount(4 * label + 2 * first + second, minlength=8)
        assert levels.f1_change(counts) == pytest.approx(f1_macro(label, second) - f1_macro(label, first))
