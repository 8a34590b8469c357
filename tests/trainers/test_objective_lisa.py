"""LISA against its rules, checked pair by pair, and its loss in float64 NumPy."""

from typing import Any

import numpy as np
import pytest
import torch
from objective_references import made
from scipy.stats import chisquare, kstest

from oochub.errors import OochubError
from oochub.trainers.batch import Batch

ROWS = 40


def pictures(rows: int = ROWS, *, seed: int = 0, label: Any = None, environment: Any = None) -> Batch:
    """Each image is its row's number as a one-hot vector, so that a mixed one shows its two rows and weights."""
    rng = np.random.default_rng(seed)
    label = torch.tensor(rng.integers(0, 3, rows) if label is None else label)
    environment = torch.tensor(rng.integers(0, 3, rows) if environment is None else environment)
    return Batch({"pixel_values": torch.eye(len(label)).double()}, label, environment, torch.arange(len(label)))


def parts(found: Batch) -> list[tuple[int, int, float]]:
    """(i, j, weight of i) of each mixed image, from its pixels; i = j where it is not mixed."""
    pairs = []
    for row, pixels in zip(found.row.tolist(), found.inputs["pixel_values"].numpy(), strict=True):
        rest = [other for other in np.flatnonzero(pixels) if other != row]
        assert len(rest) < 2 and pixels.sum() == pytest.approx(1)
        pairs.append((row, rest[0] if rest else row, pixels[row]))
    return pairs


@pytest.mark.parametrize("form", [None, "subpopbench"])
@pytest.mark.parametrize(
    ("p_select", "alike", "unlike"), [(1.0, "label", "environment"), (0.0, "environment", "label")]
)
def test_pairs_are_alike_in_one_thing_and_differ_in_the_other(
    form: str | None, p_select: float, alike: str, unlike: str
) -> None:
    """Planted: partners drawn from all rows. The label's weights are the image's; one weight a row, Beta(2, 2)."""
    objective, weights = made("lisa", p_select=p_select, form=form), []
    for seed in range(30):
        batch = pictures(seed=seed)
        found = objective.change(batch, np.random.default_rng(seed))
        assert len(found.row) == ROWS
        for place, (i, j, weight) in enumerate(parts(found)):
            assert i != j and getattr(batch, alike)[i] == getattr(batch, alike)[j]
            assert getattr(batch, unlike)[i] != getattr(batch, unlike)[j]
            first, second, own = (part[place] for part in found.label)
            assert (first, second) == (batch.label[i], batch.label[j]) and own == pytest.approx(weight, abs=1e-6)
            weights.append(weight)
        if not form:
            assert torch.equal(found.row, batch.row)
    assert kstest(weights, "beta", args=(2, 2)).pvalue > 1e-3


def test_partners_are_equally_likely() -> None:
    """Row 0 has four partners within its class, drawn alike. Planted: the first of them each time."""
    batch = pictures(label=[0] * 6, environment=[0, 1, 1, 2, 2, 0])
    objective = made("lisa", p_select=1.0)
    drawn = [parts(objective.change(batch, np.random.default_rng(seed)))[0][1] for seed in range(800)]
    assert chisquare(np.bincount(drawn, minlength=6)[1:5]).pvalue > 1e-3
    assert set(drawn) == {1, 2, 3, 4}


def test_the_kind_of_mixing_is_drawn_for_each_batch() -> None:
    """With probability p_select within classes: 300 batches at 0.3."""
    objective, within = made("lisa", p_select=0.3), 0
    for seed in range(300):
        batch = pictures(8, seed=seed)
        kinds = {
            bool(batch.label[i] == batch.label[j])
            for i, j, _ in parts(objective.change(batch, np.random.default_rng(seed)))
            if i != j
        }
        assert len(kinds) <= 1
        within += kinds == {True}
    assert chisquare([within, 300 - within], [90, 210]).pvalue > 1e-3


def test_a_row_without_a_partner_stays_as_it_is() -> None:
    batch = pictures(label=[0, 0, 1], environment=[0, 1, 0])
    pairs = parts(made("lisa", p_select=1.0).change(batch, np.random.default_rng(0)))
    assert [(i, j) for i, j, _ in pairs] == [(0, 1), (1, 0), (2, 2)] and pairs[2][2] == 1
    alone = pictures(label=[0, 1, 2], environment=[0, 1, 2])  # nothing can be mixed
    for form in (None, "subpopbench"):
        found = made("lisa", form=form).change(alone, np.random.default_rng(0))
        assert torch.equal(found.inputs["pixel_values"], alone.inputs["pixel_values"])


def test_subpopbench_goes_on_until_there_are_enough_pairs() -> None:
    """Class 0 has one row against four in the other environment: one pair a time, drawn again until there are five."""
    batch = pictures(label=[0] * 5, environment=[0, 1, 1, 1, 1])
    pairs = parts(made("lisa", p_select=1.0, form="subpopbench").change(batch, np.random.default_rng(0)))
    assert {frozenset((i, j)) for i, j, _ in pairs} == {frozenset((0, 1))}


def test_alpha_0_is_erm() -> None:
    batch, objective = pictures(), made("lisa", alpha=0.0)
    found = objective.change(batch, np.random.default_rng(0))
    assert torch.equal(found.inputs["pixel_values"], batch.inputs["pixel_values"])
    logits = torch.tensor(np.random.default_rng(6).normal(size=(ROWS, 3)))
    loss = objective(logits, found.label, found.environment)
    assert loss.item() == pytest.approx(made("erm")(logits, batch.label).item(), abs=1e-14)


def test_rows_of_which_none_can_be_mixed_are_named_before_training() -> None:
    probe = {"pixel_values": torch.zeros(2, 3, 4, 4)}
    rows = {"label": torch.tensor([0, 0, 1]), "environment": torch.tensor([0, 0, 1])}
    with pytest.raises(OochubError, match="no class is in two environments and no environment has two classes"):
        made("lisa").examine(None, probe, **rows)
    rows["label"][1] = 1
    made("lisa").examine(None, probe, **rows)
    with pytest.raises(OochubError, match=r"no class is in two environments\. Choose another"):
        rows = {"label": torch.tensor([0, 1]), "environment": torch.tensor([0, 0])}
        made("lisa", p_select=1.0).examine(None, probe, **rows)
