"""The matched gap against scikit-learn's weights, a slow bootstrap, and worlds whose truth is known by arithmetic."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import reports
from scipy import optimize, stats
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from test_evaluation import nooch_predictions

import oochub
from oochub.evaluation import matching
from oochub.evaluation.group_statistics import WEIGHTED, make_weighted_form
from oochub.evaluation.matching import estimate_matched_gap
from oochub.prediction.predictions import Predictions
from oochub.report.group_findings import describe_matched_gap
from oochub.report.verdict import verdict
from oochub.stats.estimation import gap


def world(n, rng, *, context, size, out):
    """Rows of one side: positives have an area, smaller out of context; the score follows area and context."""
    label = (rng.random(n) < 0.4).astype(int)
    area = np.where(label == 1, np.exp(rng.normal(-1.5 * out, 1, n)), 0.0)
    score = np.where(label == 1, 1 + size * np.log(np.maximum(area, 1e-9)) - context * out, -1 + context * out)
    score = np.round(score + rng.normal(size=n), 1)  # with ties
    probability = 1 / (1 + np.exp(-score))
    loss = -np.log(np.where(label == 1, probability, 1 - probability))
    return {"label": label, "score": score, "prediction": (score > 0).astype(int), "loss": loss, "area": area}


def sides(seed=0, n=(3000, 1200), **effects):
    rng = np.random.default_rng(seed)
    return [world(n[out], rng, out=out, **effects) for out in (0, 1)]


def by_scikit_learn(metric, rows, weights):
    if metric == "auc":
        return roc_auc_score(rows["label"], rows["score"], sample_weight=weights)
    if metric == "nll":
        p = 1 / (1 + np.exp(-rows["score"]))
        return log_loss(rows["label"], p, sample_weight=weights, labels=[0, 1])
    right = accuracy_score(rows["label"], rows["prediction"], sample_weight=weights)
    return right if metric == "accuracy" else 1 - right


def by_hand(metric, inside, outside):
    """The matched gap with pandas' quartiles and scikit-learn's weighted metrics."""
    frame = pd.concat([pd.DataFrame(inside).assign(out=0), pd.DataFrame(outside).assign(out=1)], ignore_index=True)
    frame["stratum"] = frame.groupby("label")["area"].transform(
        lambda area: pd.qcut(area, 4, labels=False, duplicates="drop") if area.nunique() > 1 else 0
    )
    count = frame.groupby(["out", "label", "stratum"]).size()
    share = count / frame.groupby(["out", "label"]).size()
    weights = [share[1, y, s] / share[0, y, s] for y, s in zip(frame["label"], frame["stratum"], strict=True)]
    frame["weight"] = np.where(frame["out"] == 1, 1.0, weights)
    values = [by_scikit_learn(metric, part, part["weight"]) for _, part in frame.groupby("out")]
    return values[1] - values[0]


@pytest.mark.parametrize("metric", WEIGHTED)
def test_weighted_metrics_against_scikit_learn(metric):
    """Planted faults seen: ties counted as won, weights of the negatives left out."""
    rows = sides(context=0.5, size=0.5)[0]
    weights = np.random.default_rng(1).exponential(size=(3, len(rows["label"])))
    weights[1][::3] = 0
    weights[2] = 1
    expected = [by_scikit_learn(metric, rows, one) for one in weights]
    form = make_weighted_form(metric, rows)
    assert form(weights) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(form(np.zeros((1, len(rows["label"]))))).all()


@pytest.mark.parametrize("metric", WEIGHTED)
def test_value_and_raw_gap_against_scikit_learn(metric):
    """Planted faults seen: weights over all labels at once; the share in context on top."""
    inside, outside = sides(context=0.5, size=0.7)
    found = estimate_matched_gap(metric, inside, outside, column="area", resamples=100)
    assert found.estimate == pytest.approx(by_hand(metric, inside, outside), abs=1e-12)
    assert (
        found.estimate.low < found.estimate < found.estimate.high
        and found.estimate.n == 4200
        and found.estimate.reason is None
    )
    assert found.share_out == 1


def test_strata_are_quartiles_within_each_label():
    inside, outside = sides(context=0.5, size=0.7)
    found = estimate_matched_gap("auc", inside, outside, column="area", resamples=100).strata
    negative, *positive = found
    assert (negative.label, negative.low, negative.high, negative.mean_out) == (0, 0.0, 0.0, 0.0)
    areas = np.concatenate([side["area"][side["label"] == 1] for side in (inside, outside)])
    for k, one in enumerate(positive):
        low, high = np.quantile(areas, [k / 4, (k + 1) / 4])
        chosen = [(s["label"] == 1) & (s["area"] > low if k else s["area"] >= 0) & (s["area"] <= high)
                  for s in (inside, outside)]  # fmt: skip
        assert [one.n_in, one.n_out] == [int(mask.sum()) for mask in chosen]
        assert one.mean_in == pytest.approx(inside["area"][chosen[0]].mean())
        assert one.mean_out == pytest.approx(outside["area"][chosen[1]].mean())
    assert len(positive) == 4 and sum(one.n_in + one.n_out for one in found) == 4200


def test_size_alone_leaves_no_gap_and_context_alone_leaves_all_of_it():
    """Two sizes, so that strata hold equal rows: with size as the only cause the gap vanishes, else it stays."""
    rng = np.random.default_rng(3)
    for context, size in ((0.0, 0.4), (0.25, 0.0)):
        made = []
        for out, n in ((0, 8000), (1, 4000)):
            area = np.where(rng.random(n) < (0.8 if out else 0.2), 0.01, 0.5)
            wrong = rng.random(n) < 0.1 + size * (area < 0.1) + context * out
            made.append({"label": np.ones(n, int), "prediction": 1 - wrong.astype(int), "area": area})
        raw = gap(oochub.get("metric", "accuracy"), *({k: s[k] for k in ("label", "prediction")} for s in made))
        found = estimate_matched_gap("accuracy", *made, column="area").estimate
        if context:
            assert abs(found - raw) < 0.02 and found.low < -0.25 < found.high
        else:
            assert raw == pytest.approx(-0.24, abs=0.03) and abs(found) < 0.03 and found.low < 0 < found.high


@pytest.mark.slow
def test_interval_covers_the_gap_that_arithmetic_gives():
    """P(wrong) by size and side is set, so the matched gap is sum_k P(k | out) (P(wrong|k,in) - P(wrong|k,out))."""
    small, wrong = (0.25, 0.7), {(0, 0): 0.1, (0, 1): 0.3, (1, 0): 0.2, (1, 1): 0.35}  # (out, is small)
    truth = sum(p * (wrong[0, k] - wrong[1, k]) for k, p in ((0, 0.3), (1, 0.7)))
    covered = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        made = []
        for out, n in ((0, 600), (1, 300)):
            is_small = (rng.random(n) < small[out]).astype(int)
            error = rng.random(n) < np.where(is_small, wrong[out, 1], wrong[out, 0])
            made.append({"label": np.ones(n, int), "prediction": 1 - error, "area": 1.0 - 0.9 * is_small})
        found = estimate_matched_gap("accuracy", *made, column="area", resamples=300, seed=seed).estimate
        covered += found.low <= truth <= found.high
    assert 0.91 <= covered / 150 <= 0.985, covered


@pytest.mark.slow
def test_interval_against_a_slow_bootstrap():
    """Spread and skewness of a loop that draws rows and weighs them anew with scikit-learn; then Hall's equation.

    Degrees of freedom by hand: the positives in context, weighed as those out of context, are worth 18.7 equal rows.
    """
    inside, outside = sides(context=0.5, size=0.7, n=(300, 200))
    found = estimate_matched_gap("auc", inside, outside, column="area", resamples=2000)
    edges = np.quantile(np.concatenate([s["area"][s["label"] == 1] for s in (inside, outside)]), [0.25, 0.5, 0.75])
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(400):
        parts = []
        for side in (inside, outside):
            rows = rng.integers(len(side["label"]), size=len(side["label"]))
            parts.append({name: array[rows] for name, array in side.items()})
        strata = [np.where(p["label"] == 1, np.digitize(p["area"], edges, right=True), -1) for p in parts]
        share = [{k: (s == k).sum() / (s >= 0).sum() if k >= 0 else 1.0 for k in (-1, 0, 1, 2, 3)} for s in strata]
        weights = [share[1][k] / share[0][k] for k in strata[0]]
        drawn.append(by_scikit_learn("auc", parts[1], None) - by_scikit_learn("auc", parts[0], weights))
    weights = np.concatenate([[one.n_out / one.n_in] * one.n_in for one in found.strata[1:]])
    freedom = weights.sum() ** 2 / (weights**2).sum() - 1
    error = np.std(drawn) * np.sqrt((freedom + 1) / freedom)
    k, quantile = float(np.clip(stats.skew(drawn), -0.3, 0.3)), stats.t.ppf(0.975, freedom)

    def end(at):
        law = lambda t: t + k * t**2 / 3 + k**2 * t**3 / 27 + k / 6 - at  # noqa: E731
        return found.estimate.value - error * optimize.brentq(law, -50, 50)

    expected = [end(quantile), end(-quantile)]
    assert [found.estimate.low, found.estimate.high] == pytest.approx(expected, abs=0.15 * np.ptp(expected))


def test_the_ends_are_students_by_hand():
    """Symmetric resamples, a side that is worth five rows: t of four degrees, times the root of 5 / 4."""
    drawn = np.concatenate([np.arange(1.0, 51), -np.arange(1.0, 51)])
    half = stats.t.ppf(0.975, 4) * drawn.std(ddof=1) * np.sqrt(5 / 4)
    assert matching._find_ends(drawn, 0.2, 5.0, 0.025) == pytest.approx((0.2 - half, 0.2 + half))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["auc", "accuracy", "nll"])
@pytest.mark.parametrize("column", ["area", "label"])
def test_cells_of_many_rows_have_the_ends_of_rows(metric, column, monkeypatch):
    """reference: the bootstrap of rows. Ends of eight seeds each: their means lie as close as chance allows."""
    inside, outside = sides(2, n=(10_000, 10_000), context=0.4, size=0.3)
    rng = np.random.default_rng(0)
    for side in (inside, outside):  # no two rows alike, and losses with a long tail
        side["score"] = side["score"] + rng.normal(0, 0.01, 10_000)
        side["loss"] = side["loss"] * rng.exponential(size=10_000) ** 3

    def ends(many):
        monkeypatch.setattr(matching, "_MANY", many)
        options = {"column": column, "resamples": 100}
        made = [estimate_matched_gap(metric, inside, outside, seed=2 * seed, **options).estimate for seed in range(8)]
        assert len({each.value for each in made}) == 1
        return made[0].value, np.array([(each.low, each.high) for each in made])

    (value, cells), (of_rows, rows) = ends(10_000), ends(10**9)
    assert value == of_rows
    apart = np.sqrt((cells.var(axis=0, ddof=1) + rows.var(axis=0, ddof=1)) / 8)
    assert (np.abs(cells.mean(axis=0) - rows.mean(axis=0)) <= 3 * apart).all()


def test_a_stratum_of_one_side_is_left_out_and_said():
    """The largest quarter has no row in context: the rest is compared, as if it were not there."""
    inside, outside = sides(context=0.5, size=0.7, n=(1000, 3000))
    edge = np.quantile(outside["area"][outside["label"] == 1], 0.7)
    inside = {name: array[inside["area"] < edge] for name, array in inside.items()}
    found = estimate_matched_gap("auc", inside, outside, column="area")
    alone = found.strata[-1]
    assert (alone.n_in, alone.kept) == (0, False) and all(one.kept for one in found.strata[:-1])
    assert found.share_out == pytest.approx(1 - alone.n_out / 3000) and alone.n_out > 100
    rest = {name: array[outside["area"] < alone.low] for name, array in outside.items()}
    count = {k: [one.n_in, one.n_out] for k, one in enumerate(found.strata[1:-1])}
    edges = [one.low for one in found.strata[2:-1]]
    share = np.array(list(count.values())) / np.sum(list(count.values()), axis=0)
    of_row = np.searchsorted(edges, inside["area"], side="right")
    weights = np.where(inside["label"] == 1, (share[:, 1] / share[:, 0])[of_row], 1.0)
    expected = by_scikit_learn("auc", rest, None) - by_scikit_learn("auc", inside, weights)
    assert found.estimate == pytest.approx(expected, abs=1e-12)
    assert found.share_out < 1 and np.isnan(found.strata[-1].mean_in)
    said = describe_matched_gap(replace(reports.read(reports.nooch_report()), matched_gap=found))
    assert f"covers the {100 * found.share_out:.1f}% of the out-of-context examples that have a counterpart" in said


def test_labels_keep_their_weight_where_a_stratum_is_left_out():
    """By hand: no small object in context. In: (20 + 20 * .5) / 40; out: (20 + 20 * .2) / 40, .2 of the large ones."""
    label = np.repeat([0, 1], 20)
    inside = {"label": label, "prediction": np.where(np.arange(40) < 30, label, 0), "area": label * 0.9}
    outside = {"label": label, "prediction": np.where(np.arange(40) < 22, label, 0), "area": label * 0.9}
    outside["area"][30:] = 0.1
    found = estimate_matched_gap("accuracy", inside, outside, column="area", resamples=100)
    assert found.estimate == pytest.approx(0.6 - 0.75, abs=1e-12) and found.share_out == 0.75


def test_rows_without_a_value_are_left_out_and_count_as_unmatched():
    inside, outside = sides(context=0.5, size=0.7)
    blank = outside | {"area": np.where(np.arange(1200) % 4 == 0, np.nan, outside["area"])}
    found = estimate_matched_gap("auc", inside, blank, column="area")
    rest = {name: array[np.arange(1200) % 4 != 0] for name, array in outside.items()}
    assert (
        found.share_out == 0.75 and found.estimate == estimate_matched_gap("auc", inside, rest, column="area").estimate
    )


def test_undefined_is_nan_with_a_reason():
    inside, outside = sides(context=0.5, size=0.7)
    nothing = {name: array[:0] for name, array in outside.items()}
    cases = {
        "worst_group has no weighted form; auc, accuracy": ("worst_group", inside, outside),
        "there are no rows out of context": ("auc", inside, nothing),
        "there are no rows in context and none out of context": ("auc", nothing, nothing),
        "no row out of context has a value in area": ("auc", inside, outside | {"area": outside["area"] * np.nan}),
        "no rows with similar values": ("auc", inside, outside | {"area": outside["area"] + 1e6}),
    }
    for reason, (metric, one, other) in cases.items():
        found = estimate_matched_gap(metric, one, other, column="area")
        assert np.isnan(found.estimate) and np.isnan(found.estimate.low) and reason in found.estimate.reason
    perfect = [side | {"prediction": side["label"]} for side in (inside, outside)]
    found = estimate_matched_gap("accuracy", *perfect, column="area").estimate
    assert found == 0 and np.isnan(found.low) and "no interval" in found.reason


def test_few_errors_are_said():
    """Nine wrong answers in context make an interval that may be too narrow; ten do not."""
    inside, outside = sides(context=0.5, size=0.7)
    for wrong in (9, 10):
        inside["prediction"] = np.where(np.arange(3000) < wrong, 1 - inside["label"], inside["label"])
        reason = estimate_matched_gap("error_rate", inside, outside, column="area", resamples=100).estimate.reason
        assert reason == (
            "a side has 9 errors or right answers: the interval may be too narrow" if wrong == 9 else None
        )


def test_few_rows_have_no_interval():
    """Three small objects in context stand for all of them: too few for the AUC, not for the mean of all rows."""
    inside, outside = sides(context=0.5, size=0.7, n=(400, 60))
    large = inside["area"] > np.quantile(inside["area"][inside["label"] == 1], 0.9)
    kept = (inside["label"] == 0) | large
    kept[np.flatnonzero((inside["label"] == 1) & ~large)[:3]] = True
    few = {name: array[kept] for name, array in inside.items()}
    found = estimate_matched_gap("auc", few, outside, column="area")
    assert np.isfinite(found.estimate) and np.isnan(found.estimate.low)
    weights = np.concatenate([[one.n_out / one.n_in] * one.n_in for one in found.strata[1:] if one.kept])
    assert (
        f"are equivalent to {weights.sum() ** 2 / (weights**2).sum():.1f} unweighted ones, too few"
        in found.estimate.reason
    )
    assert np.isfinite(estimate_matched_gap("accuracy", few, outside, column="area").estimate.low)


def with_area(predictions, rng=None):
    rng = rng or np.random.default_rng(5)
    easy = predictions.column("challenge") == "easy"
    area = np.where(predictions.label == 1, np.exp(rng.normal(np.where(easy, 0.0, -1.0))) / 10, 0.0)
    table = predictions.table.append_column("area", pa.array(area))
    return Predictions(table, predictions.metadata)


@pytest.fixture(scope="module")
def matched():
    return oochub.evaluate(with_area(nooch_predictions()), match="area")


@pytest.mark.parametrize("column", ["ara", "challenge", "context_area", "score"])
def test_only_numeric_auxiliary_columns_can_be_matched_on(column):
    with pytest.raises(oochub.OochubError, match=r"No numeric auxiliary column to match on named.*Allowed: area"):
        oochub.evaluate(with_area(nooch_predictions()), match=column)


def test_without_any_column_of_numbers_it_is_said():
    with pytest.raises(oochub.OochubError, match="no auxiliary column of numbers"):
        oochub.evaluate(nooch_predictions(), match="area")


def mixed_world(n, shares, rights, rng):
    """Rows of classes of unlike difficulty, `shares` of each and `rights` of them right."""
    label = rng.choice(len(shares), n, p=shares)
    right = rng.random(n) < np.asarray(rights)[label]
    return {"label": label, "prediction": np.where(right, label, (label + 1) % len(shares))}


def test_equal_shares_of_the_classes_leave_no_gap_of_a_mere_mix():
    """By hand: accuracies of each class in context, weighed by the shares out of context."""
    rng, rights = np.random.default_rng(0), [0.97, 0.8, 0.5]
    inside = mixed_world(4000, [0.7, 0.2, 0.1], rights, rng)
    outside = mixed_world(2500, [0.1, 0.3, 0.6], rights, rng)
    raw = accuracy_score(*outside.values()) - accuracy_score(*inside.values())
    share = np.bincount(outside["label"]) / len(outside["label"])
    accuracy = [np.mean((inside["prediction"] == inside["label"])[inside["label"] == k]) for k in range(3)]
    matched = estimate_matched_gap("accuracy", inside, outside, column="label", resamples=200)
    assert raw < -0.2
    assert matched.estimate == pytest.approx(accuracy_score(*outside.values()) - share @ accuracy, abs=1e-12)
    assert matched.estimate.low < 0 < matched.estimate.high
    worse = mixed_world(2500, [0.1, 0.3, 0.6], [0.67, 0.5, 0.2], rng)
    assert estimate_matched_gap("accuracy", inside, worse, column="label", resamples=200).estimate == pytest.approx(
        -0.3, abs=0.04
    )


def test_the_verdict_is_read_at_equal_shares_of_the_classes():
    """Easy and hard rows of unlike mixes: no reliance on context is claimed. Fault planted: the raw gap."""
    rng, rights = np.random.default_rng(2), [0.97, 0.8, 0.5]
    parts = [mixed_world(3000, [0.7, 0.2, 0.1], rights, rng), mixed_world(3000, [0.1, 0.3, 0.6], rights, rng)]
    label, prediction = (np.concatenate([part[name] for part in parts]) for name in ("label", "prediction"))
    rows = Predictions.from_arrays(
        logits=3.0 * np.eye(3, dtype=np.float32)[prediction],
        label=label,
        challenge=np.repeat(["easy", "hard"], 3000),
        class_names=["a", "b", "c"],
    )
    plain, matched = (oochub.evaluate(rows, match=match, resamples=200) for match in (None, "label"))
    assert verdict(plain).case == "relies" and verdict(matched).case in ("unclear", "no_effect")
    assert "at equal shares of the classes" in describe_matched_gap(matched)
