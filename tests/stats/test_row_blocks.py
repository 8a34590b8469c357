"""Rows in blocks: each row once, in order, less the origin, whatever the width."""

import numpy as np
import pytest

from oochub.stats.row_blocks import fit_blocks, row_blocks, shift_blocks


@pytest.mark.parametrize(("rows", "together"), [(0, 3), (1, 3), (3, 3), (10, 3), (10, 100)])
def test_blocks_cover_all_rows_once(rows, together):
    parts = list(row_blocks(rows, together))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(rows))
    assert all(part.stop - part.start <= together for part in parts)


@pytest.mark.parametrize("columns", [1, 100, 127, 128, 129, 300])
def test_moved_blocks_are_the_rows_less_the_origin(columns):
    """Planted faults: a memory of another length than the blocks; the origin added."""
    rng = np.random.default_rng(0)
    rows, origin = rng.normal(size=(700, columns)).astype(np.float32), rng.normal(size=columns)
    blocks = [(part, block.copy()) for part, block in shift_blocks(rows, origin)]
    assert [part for part, _ in blocks] == list(fit_blocks(700, columns))
    moved = np.concatenate([block for _, block in blocks])
    assert moved.dtype == np.float64
    np.testing.assert_array_equal(moved, rows.astype(np.float64) - origin)
