"""Places by paired tests: the rule by loops, and boards whose true order is known, against an oracle's ranges.

A board is some models with true accuracies, whose answers to the same rows go together. The oracle knows the true
variance of each difference and holds it against the normal law, with Holm's correction too.
"""

import itertools
import math

import numpy as np
import pytest
from few_of import few_of
from scipy import stats

from oochub.stats.model_places import PairedGain, clear_pairs, find_rank_ranges, smallest_found
from oochub.stats.p_values import sign_flips
from oochub.stats.proportion import paired_shares


def by_loops(pairs, models):
    """Holm word by word, then each model's places by counting."""
    order, clear, stopped = sorted(pairs, key=lambda pair: pairs[pair].p_value), set(), False
    for rank, pair in enumerate(order):
        stopped = stopped or pairs[pair].p_value * (len(order) - rank) > 0.05
        if not stopped:
            clear.add(pair)
    ranges = []
    for model in range(models):
        better = sum((pairs[pair].gain > 0) == (pair[0] == model) for pair in clear if model in pair)
        met = sum(model in pair for pair in clear)
        ranges.append((1 + better, models - (met - better)))
    return ranges


@pytest.mark.parametrize("seed", range(6))
def test_places_are_those_of_the_rule(seed):
    """Planted faults: winner and loser turned; no correction."""
    draws = np.random.default_rng(seed)
    pairs = {
        pair: PairedGain(float(draws.normal()), float(draws.uniform() ** 6))
        for pair in itertools.combinations(range(7), 2)
    }
    assert find_rank_ranges(pairs, 7) == by_loops(pairs, 7)


def test_what_was_not_tested_and_what_is_equal_part_nobody():
    pairs = {(0, 1): PairedGain(0.4, math.nan), (0, 2): PairedGain(0.0, 0.0), (1, 2): PairedGain(-0.4, 0.01)}
    assert find_rank_ranges(pairs, 3) == [(1, 3), (1, 2), (2, 3)]
    assert find_rank_ranges({}, 1) == [(1, 1)] and find_rank_ranges({}, 0) == []
    assert clear_pairs([]) == []


def test_the_smallest_difference_is_found_four_times_in_five():
    """By simulation. Planted fault: without the part of the power, which finds it half the time."""
    errors = [0.02] * 6
    least = smallest_found(errors, tests=6)
    z = np.random.default_rng(0).normal(least / 0.02, 1, 20_000)
    found = (2 * stats.norm.sf(np.abs(z)) * 6 <= 0.05).mean()
    assert found == pytest.approx(0.8, abs=0.01)
    assert math.isnan(smallest_found([0.0, math.nan], tests=2))


def board(draws, *, models, rows, clusters):
    """Accuracies in steps, answers that go together by row (and by cluster): right (models, rows), truth, cluster."""
    truth = 0.6 + 0.25 * np.sort(draws.uniform(size=models)) ** 2
    shared = draws.normal(size=rows)
    cluster = None
    if clusters:
        cluster = np.arange(rows) % clusters
        shared = 0.7 * shared + 0.71 * draws.normal(size=clusters)[cluster]
    latent = 0.8 * shared + 0.6 * draws.normal(size=(models, rows))
    return (latent < stats.norm.ppf(truth)[:, None]).astype(np.float64), truth, cluster


def gains_of_pairs(right, cluster):
    """As `oochub.comparison.model_difference` does of an accuracy."""
    tested = {}
    for i, j in itertools.combinations(range(len(right)), 2):
        if cluster is None:
            change, p = paired_shares(right[j], right[i])
        else:
            from oochub.stats.estimate import Sampling

            change, p, _ = sign_flips(right[j] - right[i], Sampling(cluster=cluster))
        tested[i, j] = PairedGain(float(change), p)
    return tested


def by_oracle(right, truth, variances):
    """With the true variance of each difference."""
    means, pairs = right.mean(axis=1), {}
    for i, j in itertools.combinations(range(len(right)), 2):
        gain = means[j] - means[i]
        pairs[i, j] = PairedGain(gain, 2 * stats.norm.sf(abs(gain) / math.sqrt(variances[i, j])))
    return find_rank_ranges(pairs, len(right))


def simulate(boards, *, models, rows, clusters, seed=0):
    """The share of boards whose ranges hold every true place, and the mean width over the oracle's."""
    held, widths = 0, []
    for number in range(boards):
        draws = np.random.default_rng([seed, number])
        right, truth, cluster = board(draws, models=models, rows=rows, clusters=clusters)
        places = find_rank_ranges(gains_of_pairs(right, cluster), models)
        true = stats.rankdata(-truth, method="min")
        held += all(best <= place <= worst for (best, worst), place in zip(places, true, strict=True))
        variances = true_variances(truth, rows, clusters)
        oracle = by_oracle(right, truth, variances)
        widths.append((sum(w - b + 1 for b, w in places), sum(w - b + 1 for b, w in oracle)))
    own, others = np.array(widths, float).sum(axis=0)
    return held / boards, own / others


def true_variances(truth, rows, clusters):
    """Of the difference of two models' accuracies, by the bivariate normal law of their latents."""
    cuts = stats.norm.ppf(truth)
    models, variances = len(truth), {}
    for i, j in itertools.combinations(range(models), 2):
        both = bivariate(cuts[i], cuts[j], 0.64)
        own = truth[i] + truth[j] - 2 * both - (truth[i] - truth[j]) ** 2
        more = 0.0
        if clusters:
            rho = 0.64 * 0.71**2
            same_i, same_j = bivariate(cuts[i], cuts[i], rho), bivariate(cuts[j], cuts[j], rho)
            crossed = bivariate(cuts[i], cuts[j], rho)
            between = same_i + same_j - 2 * crossed - (truth[i] - truth[j]) ** 2
            more = between * (rows / clusters - 1)
        variances[i, j] = (own + more) / rows
    return variances


def bivariate(a, b, rho):
    """P(X < a, Y < b) of two standard normals, by one integral."""
    x, weights = np.polynomial.hermite_e.hermegauss(80)
    inner = stats.norm.cdf((a - math.sqrt(rho) * x) / math.sqrt(1 - rho))
    outer = stats.norm.cdf((b - math.sqrt(rho) * x) / math.sqrt(1 - rho))
    return float((weights * inner * outer).sum() / weights.sum())


@pytest.mark.slow
@pytest.mark.parametrize("clusters", few_of([60, None], few=1))
def test_boards_hold_the_true_order(clusters):
    """60 boards of 5 models here, 1,000 of 8 in the campaign."""
    held, width = simulate(60, models=5, rows=600, clusters=clusters)
    assert held >= 0.93 and width <= 1.3


@pytest.mark.campaign
@pytest.mark.parametrize(("models", "rows"), [(8, 500), (5, 2000)])
@pytest.mark.parametrize("clusters", [None, 60])
def test_a_thousand_boards_hold_the_true_order(models, rows, clusters):
    held, width = simulate(1000, models=models, rows=rows, clusters=clusters, seed=1)
    assert held >= 0.95 and width <= 1.3
