"""The table A(C, Y) against loops and a case worked by hand."""

import numpy as np
import pytest

import oochub
from oochub.builders.sources.context_table import ContextTable


def test_against_loops():
    rng = np.random.default_rng(3)
    names = [f"c{k}" for k in range(7)]
    area = rng.random((60, 7)) * (rng.random((60, 7)) < 0.6)
    present = area > 0
    present[:, 6] = False  # a class that no image shows
    table = ContextTable.of(names, present=present, area=area)
    for y in range(7):
        rows = [r for r in range(60) if present[r, y]]
        assert table.images[y] == len(rows)
        for c in range(7):
            if y == c or not rows:
                assert np.isnan(table.surplus[y, c])
                continue
            mean = sum(area[r, c] - area[r, y] for r in rows) / len(rows)
            assert table.surplus[y, c] == pytest.approx(mean, abs=1e-12)
            assert (names[c] in table.contexts(names[y], alpha=0.02)) == (mean > 0.02)
        ordered = list(table.ranked(names[y]).values())
        assert ordered == sorted(ordered, reverse=True)
    frame = table.to_frame()
    assert frame.loc["c1", "c2"] == table.surplus[1, 2]
    assert table.ranked("c6") == {}


def test_wrong_input_is_said():
    with pytest.raises(oochub.OochubError, match="one column per class"):
        ContextTable.of(["a"], present=[[1, 0]], area=[[0.1, 0.2]])
    table = ContextTable.of(["car", "road"], present=[[1, 1]], area=[[0.1, 0.2]])
    with pytest.raises(oochub.OochubError, match="Did you mean 'road'"):
        table.contexts("raod")
