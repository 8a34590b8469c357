"""Which rows to collect, as it is said and drawn: no number where there is none, and no promise that is not shown."""

import re

import pytest
from collection_by_hand import cell_by_hand as cell
from collection_by_hand import collection_by_hand as collection
from collection_by_hand import untold_by_hand as untold

from oochub.repairs.collection import Collection, describe_collection, draw_learning_curves, make_collection_table


def test_the_first_cells_are_named_with_their_gains():
    """At most three, each with half a point or more; and whether any is shown."""
    cells = [cell(f"cell {k}", value, 0.01, 0.2) for k, value in enumerate((0.1, 0.05, 0.02, 0.01, 0.004))]
    found = collection(*cells, untold("rare"))
    assert [each.name for each in found.first] == ["cell 0", "cell 1", "cell 2"]
    said = describe_collection(found)
    assert said[0].startswith("Collect these first: cell 0 (+10.0 points, 95% interval +1.0 to +20.0), cell 1")
    assert "cell 3" not in said[0] and not any("not shown" in each for each in said)
    weak = describe_collection(collection(cell("a", 0.1, -0.05, 0.3)))
    assert "No interval is above 0, so there is no clear evidence that more rows help." in weak


def test_what_cannot_be_told_is_said_in_words():
    """Planted fault seen: cells without a number counted as cells that promise little."""
    reason = "Which rows to collect cannot be told: too few."
    assert describe_collection(Collection(more=100, reason=reason)) == [reason]
    assert "no cell has enough rows" in describe_collection(collection(untold("a")))[0]
    few = describe_collection(collection(cell("a", 0.001, -0.01, 0.01), untold("b")))[0]
    assert few.startswith(
        "With up to 100 more rows of any cell whose gain can be told, the worse side should gain less"
    )
    every = describe_collection(collection(cell("a", 0.001, -0.01, 0.01)))[0]
    assert every.startswith("With up to 100 more rows of any cell, the worse side")
    seen = describe_collection(collection(cell("a", 0.1, 0.05, 0.2), is_seen=True))
    assert any("trained on some of the rows that are scored" in each for each in seen)


def test_images_that_were_ranked_and_left_out_are_counted():
    named = cell("a", 0.1, 0.05, 0.2)
    said = describe_collection(collection(named, ranked=1200, notes=("1 image of unlabeled could not be read",)))
    assert said[-2].startswith("1\u202f200 unlabeled images are ranked in collect.csv")
    assert said[-1] == "1 image of unlabeled could not be read."
    assert "no cell is named" in describe_collection(collection(untold("a"), ranked=3))[-1]


def test_the_table_has_every_cell():
    table = make_collection_table(collection(cell("a", 0.1, 0.05, 0.2), untold("b")))
    assert table.rows[0] == ("a", "unusual", "16", "100", "+10.0\n+5.0 to +20.0", "+1.0")
    assert table.rows[1][2:] == ("3", "3", "n/a\ntoo few rows: 8 are needed", "n/a") and table.bold == {(0, 4)}


def test_the_charts_draw_the_cells_with_a_curve_and_escape_their_names():
    """The mark at the end stands at the fitted accuracy now plus the gain, inside the chart."""
    cells = [cell(f"<b>{k}", 0.1 / (k + 1), -0.05, 0.9) for k in range(8)]
    charts = draw_learning_curves(collection(*cells, untold("rare")))
    assert len(charts) == 6 and not any("<b>" in chart for chart in charts)
    assert len({re.search(r'id="([^"]+)"', chart).group(1) for chart in charts}) == 6
    heights = [float(each) for chart in charts for each in re.findall(r'y[12]?="([\d.]+)"', chart)]
    assert all(0 <= each <= 230 for each in heights)
    assert draw_learning_curves(collection(untold("rare"))) == []
    first = cells[0]
    assert first.predict(first.rows + 100) - first.predict(first.rows) == pytest.approx(float(first.gain))
