"""Mean losses of a task's hard examples and of all: by a loop over the images."""

import math

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.evaluation.scenes import Scenes, measure_task_losses

NAMES = ["car", "cup", "road"]


def scenes(rng, *, similarity=True, surplus=0.5):
    """Road is a context of car: hard are cars with less than a tenth of road, and other images with more."""
    surpluses = np.full((3, 3), np.nan)
    surpluses[0, 2] = surplus
    return Scenes(
        names=NAMES,
        present=rng.random((60, 3)) < 0.5,
        area=rng.random((60, 3)) * 0.3,
        similarity=rng.random((60, 3)) if similarity else None,
        logit=rng.normal(size=(60, 3)).astype(np.float32),
        surplus=surpluses,
    )


@pytest.mark.parametrize("similarity", [True, False])
def test_losses_by_a_loop(similarity):
    """Planted faults: the sides changed over; one side's rows for all; captions without a similarity."""
    drawn = scenes(np.random.default_rng(0), similarity=similarity)
    table = measure_task_losses(drawn)
    losses, hard = {}, {}
    for image in range(60):
        side = "positive" if drawn.present[image, 0] else "negative"
        margin = float(drawn.logit[image, 0]) * (1 if side == "positive" else -1)
        losses.setdefault(side, []).append(math.log1p(math.exp(-margin)))
        if (drawn.area[image, 2] > drawn.beta) != (side == "positive"):
            hard.setdefault(side, []).append(losses[side][-1])
    for every in (losses, hard):
        every["all"] = every["positive"] + every["negative"]
    assert set(table["criterion"]) == ({"ce", "gist"} if similarity else {"ce"}) and set(table["task"]) == {"car"}
    assert table["side"].tolist() == ["positive", "negative", "all"] * (1 + similarity)
    for row in table.itertuples():
        assert row.n_all == len(losses[row.side]) and row.loss_all == pytest.approx(np.mean(losses[row.side]), rel=1e-6)
        assert row.n_hard == len(hard[row.side])  # captions take as many
        if row.criterion == "ce":
            assert row.loss_hard == pytest.approx(np.mean(hard[row.side]), rel=1e-6)


def test_a_class_without_context_is_no_task():
    with pytest.raises(OochubError, match=r"At alpha = 0\.05 no class has a context"):
        measure_task_losses(scenes(np.random.default_rng(0), surplus=0.01))
