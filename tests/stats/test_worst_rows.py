"""What keeps a small image covers what a report shows, whichever groups it looks at."""

from itertools import combinations

import numpy as np
import pytest

from oochub.stats import row_blocks as worst_rows
from oochub.stats.row_blocks import PER_KIND, choose_shown_rows, find_worst_rows


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_what_is_shown_of_any_groups_is_kept(kinds):
    """Against every choice of three groups. Fault planted: the worst of a group, whatever their kind."""
    rng = np.random.default_rng(kinds)
    for _ in range(20):
        group, kind = rng.integers(0, 3, 200), rng.choice(kinds, 200, p=np.arange(1, kinds + 1) / sum(range(kinds + 1)))
        loss = rng.exponential(size=200) * (1 + kind) ** 2
        kept = set(choose_shown_rows(loss, kind, group).tolist())
        for size in (1, 2, 3):
            for chosen in combinations(range(3), size):
                rows = np.flatnonzero(np.isin(group, chosen))
                worst = rows[find_worst_rows(loss[rows], kind[rows], most=PER_KIND)]
                shown = worst[np.argsort(-loss[worst], kind="stable")][:12]
                assert set(shown.tolist()) <= kept


KEYS = {
    "numbers": lambda rng: (rng.integers(0, 4, 300),),
    "names": lambda rng: (rng.choice(["a", "b"], 300), rng.integers(-1, 2, 300)),
    "some missing": lambda rng: (rng.choice(np.array(["a", "b", None], object), 300), rng.choice([0.5, np.nan], 300)),
    "none": lambda rng: (),
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=list(KEYS))
@pytest.mark.parametrize("rows", [0, 1, 300])
@pytest.mark.parametrize("together", [7, 1 << 13])
def test_the_worst_of_each_are_those_of_a_loop(keys, rows, together, monkeypatch):
    """With ties, of which the first rows count."""
    monkeypatch.setattr(worst_rows, "_TOGETHER", together)
    rng = np.random.default_rng(0)
    loss, columns = np.round(rng.exponential(size=300), 1)[:rows], [column[:rows] for column in keys(rng)]
    taken, wanted = {}, []
    for row in sorted(range(rows), key=lambda row: (-loss[row], row)):
        key = tuple("nan" if column[row] != column[row] else column[row] for column in columns)
        taken[key] = taken.get(key, 0) + 1
        wanted += [row] if taken[key] <= 3 else []
    assert find_worst_rows(loss, *columns, most=3).tolist() == sorted(wanted)
    some = np.flatnonzero(loss > 0.5)
    among = some[find_worst_rows(loss[some], *(column[some] for column in columns), most=3)]
    assert find_worst_rows(loss, *columns, most=3, rows=some).tolist() == among.tolist()
