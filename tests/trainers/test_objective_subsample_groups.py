"""Group subsampling: the loss of a batch is ERM's, and the rows are one balanced subset for the whole run."""

from pathlib import Path

import numpy as np
import pytest
import torch
from trainings import made_split, stopped_after, trainer_of, with_group_norm

import oochub

LABEL = torch.tensor(np.repeat([0, 0, 1, 1], [50, 9, 20, 4]))
ENVIRONMENT = torch.tensor(np.repeat([0, 3, 0, 3], [50, 9, 20, 4]))


def test_the_rows_are_a_balanced_subset_that_stays() -> None:
    """Four of each group, distinct; the same in every epoch, in another order; another seed draws others."""
    objective, subsets = oochub.get("objective", "subsample_groups")(), []
    for seed in range(3):
        sampler = objective.sampler(LABEL, ENVIRONMENT, seed=seed)
        orders = []
        for epoch in range(3):
            sampler.set_epoch(epoch)
            orders.append(list(sampler))
        assert len({tuple(sorted(order)) for order in orders}) == 1 and len({tuple(order) for order in orders}) == 3
        again = objective.sampler(LABEL, ENVIRONMENT, seed=seed)  # as in a resumed run
        assert list(again) == orders[0]
        rows = orders[0]
        assert len(set(rows)) == 16
        groups = [(int(LABEL[row]), int(ENVIRONMENT[row])) for row in rows]
        assert all(groups.count(group) == 4 for group in ((0, 0), (0, 3), (1, 0), (1, 3)))
        subsets.append(tuple(sorted(rows)))
    assert len(set(subsets)) == 3


def test_rows_of_a_group_are_equally_likely() -> None:
    objective = oochub.get("objective", "subsample_groups")()
    drawn = np.concatenate([list(objective.sampler(LABEL, ENVIRONMENT, seed=seed)) for seed in range(400)])
    counts = np.bincount(drawn, minlength=83)[:50]
    assert abs(counts.mean() - 32) < 1e-9 and counts.min() > 12 and counts.max() < 60


def test_a_run_visits_them_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = made_split(60, 1)
    seen = stopped_after(1000, monkeypatch)
    settings = {"objective": "subsample_groups", "model": with_group_norm(), "num_train_epochs": 3}
    trainer_of(tmp_path / "run", train, **settings).train()
    label, environment = np.array(train["label"]), np.array(train["environment"])
    least = min(((label == y) & (environment == e)).sum() for y in (0, 1) for e in (0, 1))
    rows = [row for batch in seen for row in batch]
    assert len(rows) == 3 * 4 * least and len(set(rows)) == 4 * least
