"""What keeps a small picture covers what a report shows, whichever groups it looks at."""

from itertools import combinations

import numpy as np
import pytest

from oochub.stats.worst_rows import PER_KIND, kept_rows, worst_of_each


@pytest.mark.parametrize("kinds", [1, 2, 5])
def test_what_is_shown_of_any_groups_is_kept(kinds):
    """Against every choice of three groups. Fault planted: the worst of a group, whatever their kind."""
    rng = np.random.default_rng(kinds)
    for _ in range(20):
        group, kind = rng.integers(0, 3, 200), rng.choice(kinds, 200, p=np.arange(1, kinds + 1) / sum(range(kinds + 1)))
        loss = rng.exponential(size=200) * (1 + kind) ** 2
        kept = set(kept_rows(loss, kind, group).tolist())
        for size in (1, 2, 3):
            for chosen in combinations(range(3), size):
                rows = np.flatnonzero(np.isin(group, chosen))
                worst = rows[worst_of_each(loss[rows], kind[rows], most=PER_KIND)]
                shown = worst[np.argsort(-loss[worst], kind="stable")][:12]
                assert set(shown.tolist()) <= kept
