"""A head between two: at share 1 it is the retrained one up to its scale, and between them it loses less in context."""

from dataclasses import replace

import numpy as np
import pytest
from test_head_method_contract import two_features

from oochub.repairs.head_methods.mix_with_own import MixWithOwn
from oochub.repairs.head_methods.retrain_weighted import RetrainWeighted


def accuracies(head, rows):
    """In context and out of it; the group of a row says by its last bit which."""
    right = (rows.features @ head.weight.T + head.bias).argmax(axis=1) == rows.label
    return [float(right[rows.group % 2 == side].mean()) for side in (0, 1)]


def test_at_share_1_it_is_the_retrained_head():
    rows = two_features()
    mixed, new = MixWithOwn(share=1.0).fit(rows, seed=0), RetrainWeighted(c=0.01).fit(rows, seed=0)
    ratio = mixed.weight / new.weight
    assert ratio == pytest.approx(np.full_like(ratio, ratio[0, 0])) and ratio[0, 0] > 0


def test_at_share_0_it_is_the_own_head():
    rows = two_features()
    assert np.array_equal(MixWithOwn(share=0.0).fit(rows, seed=0).weight, rows.head.weight)


def test_the_scale_of_the_own_head_does_not_matter():
    """Planted fault seen: heads added as they are, so that a head of large logits wins at any share."""
    rows = two_features()
    loud = rows._replace(head=replace(rows.head, weight=100 * rows.head.weight))
    plain, scaled = (MixWithOwn(share=0.5).fit(each, seed=0).weight for each in (rows, loud))
    assert scaled == pytest.approx(100 * plain)


def test_a_larger_share_wins_out_of_context_and_loses_in_it():
    """Noise on the thing's own feature makes the context worth something: a head that ignores it loses in context."""
    rows = two_features()
    noise = np.random.default_rng(5).normal(scale=1.2, size=len(rows.label))
    rows = rows._replace(features=rows.features + np.stack([noise, 0 * noise], axis=1).astype(np.float32))
    inside, outside = zip(
        *(accuracies(MixWithOwn(share=s).fit(rows, seed=0), rows) for s in (0, 0.5, 0.75, 1)), strict=True
    )
    assert list(inside) == sorted(inside, reverse=True) and list(outside) == sorted(outside)
    assert inside[0] - inside[-1] > 0.03 and outside[-1] - outside[0] > 0.3
