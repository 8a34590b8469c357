"""The interaction of class and context against independent fits, cases by hand and worlds drawn by this test."""

import numpy as np
import pytest
from scipy import special, stats
from sklearn.linear_model import LogisticRegression

from oochub.errors import OochubError
from oochub.stats.effect_of_side import effect_of_side

DIAGONAL = 2 * np.eye(3, dtype=int) - 1


def draw(seed, n, share, right, weight=(1, 1, 1), clusters=0):
    """Rows of three classes: right, label, context, cluster; answers of a cluster go together (ICC .3)."""
    rng = np.random.default_rng(seed)
    label = rng.choice(3, n, p=np.array(weight) / sum(weight))
    context = (rng.random(n)[:, None] > np.cumsum(share, axis=1)[label, :2]).sum(axis=1)
    chance, noise = np.broadcast_to(right, (3, 3))[label, context], rng.normal(size=n)
    cluster = rng.integers(max(clusters, 1), size=n)
    if clusters:
        noise = np.sqrt(0.3) * rng.normal(size=clusters)[cluster] + np.sqrt(0.7) * noise
    return special.ndtr(noise) < chance, label, context, cluster if clusters else None


OWN = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])


def design(label, context, side=None):
    """A column for each class, for each context but the first, and for the side, as a textbook has it."""
    columns = [np.eye(3)[label], np.eye(3)[context][:, 1:]]
    return np.hstack([*columns, *([] if side is None else [side[:, None] / 2])])


def test_many_rows_have_the_maximum_likelihood():
    """Reference: scikit-learn's logistic fit almost without a penalty, and the gap that its chances leave."""
    right, label, context, _ = draw(0, 20_000, OWN, special.expit(1.5 + 0.6 * DIAGONAL + np.array([0.0, 0.4, -0.8])))
    side = DIAGONAL[label, context]
    found = effect_of_side(right, label, context, side)
    x = design(label, context, side)
    fit = LogisticRegression(C=1e8, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(x, right)
    assert found.log_odds.value == pytest.approx(fit.coef_[0, -1], abs=2e-3)
    chances = []
    for of in (-0.5, 0.5):
        moved = x.copy()
        moved[:, -1] = of
        chances.append(fit.predict_proba(moved)[:, 1].mean())
    assert found.gap.value == pytest.approx(chances[0] - chances[1], abs=5e-4)
    weight = fit.predict_proba(x)[:, 1] * fit.predict_proba(x)[:, 0]
    spread = np.sqrt(np.linalg.inv(x.T @ (weight[:, None] * x))[-1, -1])  # Wald's, alike for so many rows
    assert found.log_odds.low == pytest.approx(fit.coef_[0, -1] - 1.96 * spread, abs=0.01)
    assert found.log_odds.high == pytest.approx(fit.coef_[0, -1] + 1.96 * spread, abs=0.01)
    assert found.log_odds.low < 1.2 < found.log_odds.high


@pytest.mark.parametrize("seed", range(4))
def test_the_test_is_the_score_test_of_dense_matrices(seed):
    """Reference: the fit of scikit-learn without the side, hat values and projections by full matrices."""
    right, label, context, _ = draw(seed, 150, OWN, 0.8)
    side = DIAGONAL[label, context]
    x = design(label, context)
    chance = LogisticRegression(C=1e8, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(x, right).predict_proba(x)
    p = chance[:, 1]
    w = p * (1 - p)
    root = np.sqrt(w)[:, None] * x
    inverse = np.linalg.pinv(root.T @ root)
    leverage = np.einsum("ij,jk,ik->i", root, inverse, root)
    left = side / 2 - x @ inverse @ (x.T @ (w * side / 2))
    score = float((left * (right - p + leverage * (0.5 - p))).sum())
    spread = float((w * left**2).sum())
    bend = float((w * (1 - 2 * p) * left**3).sum()) / spread**1.5 / 6
    z = score / np.sqrt(spread)
    straight = (np.sqrt(1 + 4 * bend * (z + bend)) - 1) / (2 * bend)
    found = effect_of_side(right, label, context, side)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(straight)), rel=1e-3)
    assert (found.p_value > 0.05) == (found.log_odds.low < 0 < found.log_odds.high)
    assert (found.gap.low < 0 < found.gap.high) == (found.log_odds.low < 0 < found.log_odds.high)


def test_a_context_that_is_harder_for_all_leaves_nothing():
    """By hand: 90% by day and 60% at night in either class; the day is usual for dogs, the night for cats."""
    right = np.array(([True] * 9 + [False]) * 20 + ([True] * 6 + [False] * 4) * 20)
    label, context = (
        np.array(["dog"] * 180 + ["cat"] * 20 + ["dog"] * 20 + ["cat"] * 180),
        np.repeat(["day", "night"], 200),
    )
    side = np.where((label == "dog") == (context == "day"), 1, -1)
    found = effect_of_side(right, label, context, side)
    assert abs(found.log_odds.value) < 0.1 and found.p_value > 0.8 and found.gap.low < -0.05 < 0.05 < found.gap.high


def test_two_classes_and_contexts_have_the_ratio_of_odds():
    """By hand: with cells 45/5, 30/20, 20/30 and 40/10 of 50, half the logarithm of the ratio of their ratios.

    A side is 1 or -1, so b is the mean of both classes' logarithms; that of counts and halves of a row (Haldane and
    Anscombe) has nearly the same bias. Planted fault seen: the side not halved.
    """
    cells = [(45, 5, "a", "x", 1), (30, 20, "a", "y", -1), (20, 30, "b", "x", -1), (40, 10, "b", "y", 1)]
    columns = [[], [], [], []]
    for ones, zeros, *rest in cells:
        for column, value in zip(
            columns, [[True] * ones + [False] * zeros, *([each] * 50 for each in rest)], strict=True
        ):
            column.extend(value)
    found = effect_of_side(np.array(columns[0]), *columns[1:])
    logits = [np.log((ones + 0.5) / (zeros + 0.5)) for ones, zeros, *_ in cells]
    assert found.log_odds.value == pytest.approx((logits[0] - logits[1] - logits[2] + logits[3]) / 2, abs=0.02)


def test_answers_that_the_side_decides_have_an_interval():
    """Right in every usual context and wrong in every unusual one: no fit is finite, the gap is."""
    label, context = np.array(["a"] * 20 + ["b"] * 20), np.array((["x"] * 10 + ["y"] * 10) * 2)
    side = np.where((label == "a") == (context == "x"), 1, -1)
    found = effect_of_side(side > 0, label, context, side)
    assert -1 <= found.gap.low < found.gap < found.gap.high < -0.5 and found.p_value < 1e-6


def test_what_cannot_be_told_is_said():
    """Planted fault seen: classes without a shared context compared after all."""
    right = np.array([True, False] * 20)
    label, context = ["a"] * 20 + ["b"] * 20, ["x"] * 20 + ["y"] * 20
    alone = effect_of_side(right, label, context, [1] * 20 + [-1] * 20)
    assert np.isnan(alone.gap) and not alone.is_identified and "share two contexts" in alone.reason
    same = effect_of_side(right, label, ["x", "x", "y", "y"] * 10, [1, 1, -1, -1] * 10)  # y is unusual for both
    assert np.isnan(same.gap) and not same.is_identified
    sides = np.where((np.array(label) == "a") == (np.array(["x", "y"] * 20) == "x"), 1, -1)
    perfect = effect_of_side(np.ones(40, bool), label, ["x", "y"] * 20, sides)
    assert np.isnan(perfect.gap) and perfect.is_identified and "no errors" in perfect.reason
    assert effect_of_side(np.zeros(0, bool), [], [], []).reason == "no rows"


def test_wrong_arrays_are_refused():
    with pytest.raises(OochubError, match="right must be bool"):
        effect_of_side([1, 0], ["a", "b"], ["x", "y"], [1, -1])
    with pytest.raises(OochubError, match="side must be 1, -1 or 0, got 2"):
        effect_of_side(np.array([True, False]), ["a", "b"], ["x", "y"], [1, 2])
    with pytest.raises(OochubError, match="rows of two sides"):
        effect_of_side(np.array([True, False]), ["a", "a"], ["x", "x"], [1, -1])


def test_clusters_widen_the_interval():
    """Planted fault seen: clusters not looked at."""
    right, label, context, cluster = draw(1, 600, OWN, 0.8, clusters=30)
    order = np.argsort(cluster)
    right, label, context, cluster = (each[order] for each in (right, label, context, cluster))
    context = np.where(cluster % 2, context, (label + cluster) % 3)  # half of the clusters have one side each
    side = DIAGONAL[label, context]
    alone, shared = (effect_of_side(right, label, context, side, cluster=each) for each in (None, cluster))
    each_alone = effect_of_side(right, label, context, side, cluster=np.arange(600))
    assert shared.gap == pytest.approx(alone.gap, abs=0.01)
    assert shared.gap.high - shared.gap.low > 1.15 * (alone.gap.high - alone.gap.low)
    assert each_alone.p_value == pytest.approx(alone.p_value, rel=0.05)


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("name", "n", "share", "right", "weight", "clusters"),
    [
        ("nothing", 150, OWN, 0.85, (1, 1, 1), 0),
        ("nothing, few errors", 300, OWN, 0.97, (1, 1, 1), 0),
        ("night harder, usual for a rare class", 300, OWN, np.array([0.9, 0.9, 0.65]), (9, 9, 2), 0),
        ("night harder, clusters", 600, OWN, np.array([0.9, 0.9, 0.65]), (9, 9, 2), 60),
    ],
)
def test_the_level_of_either_side(name, n, share, right, weight, clusters):
    """1,000 worlds without an interaction: either end leaves zero out in at most 5%, as a binomial test at 1% says."""
    ends = np.zeros(2, int)
    for seed in range(1000):
        answered, label, context, cluster = draw(seed, n, share, right, weight, clusters)
        found = effect_of_side(answered, label, context, DIAGONAL[label, context], cluster=cluster)
        ends += [found.log_odds.low > 0, found.log_odds.high < 0]
    assert all(stats.binomtest(int(each), 1000, 0.05, alternative="greater").pvalue > 0.01 for each in ends), (
        name,
        ends,
    )
