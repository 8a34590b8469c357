"""Adjusted accuracy against scikit-learn's weighted accuracy, a hand-worked case, and its interval by simulation."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from oochub.errors import OochubError
from oochub.eval_modules.metrics.adjusted_accuracy.adjusted_accuracy import _AdjustedAccuracyState, adjusted_accuracy
from oochub.records.build_record import BuildFacts
from oochub.stats.estimation import estimate

WATERBIRDS = {"landbird/land": 3498, "landbird/water": 184, "waterbird/land": 56, "waterbird/water": 1057}


def _rows(n, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(list(WATERBIRDS), n)
    label = np.array([name.startswith("water") for name in group], int)
    right = rng.random(n) < np.array([{"land": 0.9, "water": 0.6}[name.partition("/")[2]] for name in group])
    return {"label": label, "prediction": np.where(right, label, 1 - label), "group": group}


def test_is_accuracy_of_rows_that_weigh_as_their_group_does():
    """Each row weighs its group's count over the group's rows. Fault planted: groups weighed by their own rows."""
    columns = _rows(400)
    names, rows = np.unique(columns["group"], return_counts=True)
    each = {name: WATERBIRDS[name] / n for name, n in zip(names, rows, strict=True)}
    weight = [each[name] for name in columns["group"]]
    expected = accuracy_score(columns["label"], columns["prediction"], sample_weight=weight)
    assert adjusted_accuracy(**columns, weights=WATERBIRDS) == pytest.approx(expected, abs=1e-12)
    shares = {name: count / 4795 for name, count in WATERBIRDS.items()}
    assert adjusted_accuracy(**columns, weights=shares) == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    """Half of two sea rows and all of one land row: 3/4 x 1/2 + 1/4 x 1; a group of no weight changes nothing."""
    columns = {"label": [0, 0, 1, 1], "prediction": [0, 1, 1, 0], "group": ["sea", "sea", "land", "ice"]}
    assert adjusted_accuracy(**columns, weights={"sea": 3, "land": 1}) == 0.625
    assert adjusted_accuracy(**columns) == 0.5  # of a half, 1 and 0


def test_a_training_group_without_rows_is_unknown_not_wrong():
    columns = {"label": [0, 1], "prediction": [0, 1], "group": ["sea", "land"]}
    weights = {"sea": 2, "land": 1, "ice": 1}
    assert np.isnan(adjusted_accuracy(**columns, weights=weights))
    unknown = estimate(adjusted_accuracy, columns, options={"weights": weights})
    assert np.isnan(unknown.value) and unknown.reason == "no row of the training groups ice"
    assert adjusted_accuracy(**columns, weights=weights, form="wilds") == 0.75
    assert adjusted_accuracy(**columns, weights=weights | {"ice": 0}) == 1


def test_states_of_batches_are_one():
    columns = _rows(300)
    parts = [_AdjustedAccuracyState(weights=WATERBIRDS) for _ in range(3)]
    for part, rows in zip(parts, np.split(np.arange(300), [7, 100]), strict=True):
        part.update(**{name: column[rows] for name, column in columns.items()})
    parts[0].merge(parts[1])
    parts[0].merge(parts[2])
    assert parts[0].compute() == adjusted_accuracy(**columns, weights=WATERBIRDS)


def test_the_interval_covers():
    """400 worlds of 200 rows: binomial noise of 0.95 over 400 is within 0.033 at three standard errors."""
    truth = sum(count * (0.9 if name.endswith("/land") else 0.6) for name, count in WATERBIRDS.items()) / 4795
    drawn = [estimate(adjusted_accuracy, _rows(200, seed), options={"weights": WATERBIRDS}) for seed in range(400)]
    covered = np.mean([each.low <= truth <= each.high for each in drawn])
    assert 0.917 <= covered <= 0.99
    assert all(each.n == 200 and 0 <= each.low < each < each.high <= 1 for each in drawn)


def test_clusters_make_the_interval_wider():
    columns, cluster = _rows(40), np.tile(np.arange(40), 10)
    tenfold = {name: np.tile(column, 10) for name, column in columns.items()}
    alone = estimate(adjusted_accuracy, tenfold, options={"weights": WATERBIRDS})
    shared = estimate(adjusted_accuracy, tenfold, cluster=cluster, options={"weights": WATERBIRDS})
    assert shared.value == alone.value and shared.high - shared.low > 2 * (alone.high - alone.low)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": -1}, "0 or more; 'a' has -1.0"),
        ({"a": float("nan")}, "0 or more; 'a' has nan"),
        ({}, "all 0 or empty: give"),
        ({"a": 0}, "all 0 or empty: give"),
    ],
)
def test_weights_that_are_none(weights, message):
    with pytest.raises(OochubError, match=message):
        adjusted_accuracy(label=[0], prediction=[0], group=["a"], weights=weights)


def test_other_forms_are_refused():
    with pytest.raises(OochubError, match='form must be None or "wilds"'):
        adjusted_accuracy(label=[0], prediction=[0], group=["a"], form="WILDS")


def test_the_record_names_the_weights():
    assert BuildFacts(group_counts=WATERBIRDS).options_of(adjusted_accuracy) == {"weights": WATERBIRDS}
    with pytest.raises(OochubError, match="needs group_counts from the build record, but these rows"):
        BuildFacts().options_of(adjusted_accuracy)


@pytest.mark.parametrize("options", [{}, {"weights": WATERBIRDS}, {"weights": WATERBIRDS, "form": "wilds"}])
def test_sums_of_clusters_are_those_of_resampled_rows(options):
    """Each resample drawn row by row and scored by the metric itself. Planted fault: groups without rows count as 0."""
    columns, cluster = _rows(60), np.repeat(np.arange(30), 2)
    rare = next(iter(WATERBIRDS))  # in one cluster only, which a third of the resamples lack
    other = np.array([name for name in WATERBIRDS if name != rare])
    group = np.asarray(columns["group"]).copy()
    group[2:] = np.where(group[2:] == rare, other[0], group[2:])
    group[:2] = rare
    columns = columns | {"group": group}
    found = estimate(adjusted_accuracy, columns, cluster=cluster, options=options, resamples=100, seed=2)
    drawn, generator = [], np.random.default_rng(2)
    for _ in range(100):
        rows = np.concatenate([np.flatnonzero(cluster == one) for one in generator.integers(30, size=30)])
        drawn.append(
            adjusted_accuracy(**{name: np.asarray(column)[rows] for name, column in columns.items()}, **options)
        )
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    assert [found.low, found.high] == pytest.approx([max(low, 0), min(high, 1)])
