"""The worst group's correlation against scipy's, group by group; its interval by simulation and by its groups' own."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr

from oochub.eval_modules.metrics.pearson.pearson import pearson
from oochub.eval_modules.metrics.pearson_worst_group.pearson_worst_group import (
    pearson_worst_group,
)
from oochub.stats.estimation import estimate


def _rows(seed, n=300, groups=4):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    label = rng.normal(0, 3, n)
    return {"label": label, "prediction": label * (group / 4 - 0.5) + rng.normal(0, 2, n), "group": group}


@pytest.mark.parametrize("seed", range(5))
def test_equals_scipy_in_each_group(seed):
    """Fault planted: the correlation of all rows."""
    rows = _rows(seed)
    each = [pearsonr(rows["label"][rows["group"] == g], rows["prediction"][rows["group"] == g])[0] for g in range(4)]
    assert pearson_worst_group(**rows) == pytest.approx(min(each), abs=1e-12)
    named = rows | {"group": [("country", int(g)) for g in rows["group"]]}
    assert pearson_worst_group(**named) == pytest.approx(min(each), abs=1e-12)


def test_a_group_without_correlation_has_no_worst():
    rows = {"label": [1.0, 2, 3, 4], "prediction": [1.0, 2, 4, 4], "group": ["a", "a", "a", "b"]}
    assert math.isnan(pearson_worst_group(**rows))
    number = estimate(pearson_worst_group, {name: np.array(column) for name, column in rows.items()})
    assert math.isnan(number) and number.reason == "group b: fewer than two rows"


def test_a_gap_in_the_numbers_is_no_group():
    rows = _rows(2, groups=2)
    assert pearson_worst_group(**rows | {"group": 2 * rows["group"]}) == pearson_worst_group(**rows)


@pytest.mark.parametrize("cluster", [None, np.random.default_rng(0).integers(0, 60, 300)])
def test_the_interval_is_from_those_of_the_groups(cluster):
    """Each group's own at the level 1 - 0.05 / 4, as `pearson` has it: the smallest lower and smallest upper end."""
    rows, each = _rows(3), []
    rows["group"] = (rows["group"] + 1) % 4  # the worst is not the first
    for name in range(4):
        of = rows["group"] == name
        columns = {"label": rows["label"][of], "prediction": rows["prediction"][of]}
        own = None if cluster is None else cluster[of]
        each.append(estimate(pearson, columns, cluster=own, resamples=200, confidence=1 - 0.05 / 4))
    number = estimate(pearson_worst_group, rows, cluster=cluster, resamples=200)
    worst = min(each, key=float)
    assert (number.low, number.high) == (min(e.low for e in each), min(e.high for e in each))
    assert (number.value, number.n) == (pytest.approx(worst.value), worst.n)


def test_what_limits_a_group_limits_the_worst():
    """Nine clusters in each group; planted fault: the caveats of the groups left out, as they were."""
    rng = np.random.default_rng(0)
    label, group = rng.normal(size=400), np.arange(400) % 2
    columns = {"label": label, "prediction": label + rng.normal(size=400), "group": group}
    found = estimate(pearson_worst_group, columns, resamples=100, cluster=np.arange(400) // 2 % 9)
    assert found.reason == "only 9 clusters: the interval may be too narrow"
    without = estimate(pearson_worst_group, columns, resamples=100)
    assert without.reason == "only 200 rows: the interval may be too narrow"


def test_a_group_without_an_interval_leaves_none():
    """Of two rows a correlation is 1 or -1 and has no interval."""
    rows = _rows(4, n=60, groups=2)
    rows = {name: np.append(column, values) for (name, column), values in zip(
        rows.items(), ([1.0, 2.0], [1.0, 2.0], [7, 7]), strict=True
    )}  # fmt: skip
    number = estimate(pearson_worst_group, rows, resamples=200)
    assert math.isnan(number.low) and math.isnan(number.high) and number.reason == "no interval in group 7"
    assert number.value == pytest.approx(pearson_worst_group(**rows))
