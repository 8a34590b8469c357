"""The proof on rows never used: paired, with an interval that an independent bootstrap gives too."""

from dataclasses import replace

import numpy as np
import pytest
from repair_rows_by_hand import OWN, rows_by_hand

from oochub.prediction.predictions_file import StoredHead
from oochub.records.build_record import BuildFacts
from oochub.repairs.prove_repair import compare_proof, prove_repair
from oochub.repairs.repair_data import divide_rows

BETTER = StoredHead(weight=np.array([[-1.0, -0.2], [1.0, 0.2]]), bias=np.array([0.1, 0.0]))


@pytest.fixture(scope="module")
def proof():
    rows = rows_by_hand({"train": (20, 5), "test": (200, 150)}, seed=2)
    numbers = divide_rows(rows, trained=["train"]).prove
    return rows, prove_repair(rows, numbers, rows.logits(BETTER, numbers))


@pytest.mark.parametrize("side", ["inside", "outside"])
def test_the_interval_is_that_of_a_paired_bootstrap(proof, side):
    """20,000 resamples of the rows' differences, made here. Planted fault seen: the rows of the other side."""
    rows, made = proof
    test = np.flatnonzero((rows.split == "test") & (rows.is_out == (side == "outside")))
    before, after = (rows.is_right(head, test).astype(float) for head in (OWN, BETTER))
    change, rng = after - before, np.random.default_rng(0)
    drawn = np.array([rng.choice(change, len(change)).mean() for _ in range(20_000)])
    number = getattr(made, side)
    assert number.first == before.mean() and number.second == after.mean()
    assert number.difference == pytest.approx(change.mean()) and number.difference.n == len(test)
    low, high = np.percentile(drawn, [2.5, 97.5])
    assert number.difference.low == pytest.approx(low, abs=0.012)
    assert number.difference.high == pytest.approx(high, abs=0.012)


def test_the_seed_is_that_of_random_signs():
    """60 clusters on each side: p-values by random signs are near each other, and the same for the same seed alone."""
    rows = rows_by_hand({"train": (20, 5), "test": (60, 60)}, seed=2, patient=[f"p{k % 60}" for k in range(290)])
    facts = BuildFacts(cluster="patient")
    metadata = replace(rows.predictions.metadata, facts=facts)
    rows = replace(rows, predictions=replace(rows.predictions, metadata=metadata))
    numbers = divide_rows(rows, trained=["train"]).prove
    near = StoredHead(weight=np.array([[-0.8, -0.5], [0.8, 0.5]]), bias=np.zeros(2))  # right in few rows more
    found = [prove_repair(rows, numbers, rows.logits(near, numbers), seed=seed).outside for seed in (0, 0, 1)]
    assert found[0].test == "sign flips" and 0.0005 < found[0].p_value < 0.2
    assert found[0].p_value == found[1].p_value != found[2].p_value
    assert found[0].p_value == pytest.approx(found[2].p_value, abs=0.05)


def test_the_comparison_is_of_the_same_rows(proof):
    """`oochub.compare` of both predictions gives the same numbers; features are not stored again."""
    _, made = proof
    report = compare_proof(made)
    assert made.before.features is None and made.before.head is None
    for role, number in (("in", made.inside), ("out", made.outside)):
        part = next(each for each in report.slices if each.role == role)
        assert part.numbers["accuracy"].difference == number.difference
        assert part.numbers["accuracy"].difference.low == number.difference.low
    assert made.after.metadata.model.id == "by hand, repaired"
