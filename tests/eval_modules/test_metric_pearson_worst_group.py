"""The worst group's correlation against scipy's, group by group; its interval by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr

from oochub.eval_modules.metrics.pearson_worst_group.pearson_worst_group import (
    _PearsonWorstGroupState,
    pearson_worst_group,
)
from oochub.stats.estimation import estimate


def _rows(seed, n=300, groups=4):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    label = rng.normal(0, 3, n)
    return {"label": label, "prediction": label * (group / 4) + rng.normal(0, 2, n), "group": group}


@pytest.mark.parametrize("seed", range(5))
def test_equals_scipy_in_each_group(seed):
    """Fault planted: the correlation of all rows."""
    rows = _rows(seed)
    each = [pearsonr(rows["label"][rows["group"] == g], rows["prediction"][rows["group"] == g])[0] for g in range(4)]
    assert pearson_worst_group(**rows) == pytest.approx(min(each), abs=1e-12)
    named = rows | {"group": [("country", int(g)) for g in rows["group"]]}
    assert pearson_worst_group(**named) == pytest.approx(min(each), abs=1e-12)


def test_states_of_batches_are_one():
    rows = _rows(0)
    first, second = _PearsonWorstGroupState(), _PearsonWorstGroupState()
    first.update(**{name: column[:11] for name, column in rows.items()})
    second.update(**{name: column[11:] for name, column in rows.items()})
    first.merge(second)
    assert first.compute() == pytest.approx(pearson_worst_group(**rows), abs=1e-12)


def test_a_group_without_correlation_has_no_worst():
    rows = {"label": [1.0, 2, 3, 4], "prediction": [1.0, 2, 4, 4], "group": ["a", "a", "a", "b"]}
    assert math.isnan(pearson_worst_group(**rows))
    number = estimate(pearson_worst_group, {name: np.array(column) for name, column in rows.items()})
    assert math.isnan(number) and number.reason == "group b: fewer than two rows"


def test_the_interval_covers_the_worst():
    """200 worlds of 2 groups of 100 rows, correlations 0.8 and 0.6: a simultaneous interval covers 0.95 or more."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        label, group = rng.normal(size=200), np.repeat([0, 1], 100)
        r = np.where(group == 0, 0.8, 0.6)
        prediction = r * label + np.sqrt(1 - r**2) * rng.normal(size=200)
        columns = {"label": label, "prediction": prediction, "group": group}
        number = estimate(pearson_worst_group, columns, resamples=200)
        covered += number.low <= 0.6 <= number.high
    assert covered >= 183  # 0.95 of 200 less three standard errors
