"""Two models on the same rows, against scipy, scikit-learn and loops written here."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.metrics import log_loss, roc_auc_score
from test_evaluation import nooch_predictions

import oochub
from oochub.comparison import common_examples
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.comparison.model_difference import list_percentile, measure_worst_difference
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.records.sides import PercentileOfGroups
from oochub.stats.delong import paired_delong
from oochub.stats.estimation import difference
from oochub.stats.group_intervals import worst_group_interval
from oochub.stats.p_values import holm
from oochub.stats.paired_values import compare_values


@pytest.fixture(scope="module")
def pair():
    """The second leans less on context."""
    return nooch_predictions(n=900), nooch_predictions(n=900, effect=0.3)


@pytest.fixture(scope="module")
def report(pair):
    return paired_comparison(*pair)


def _frames(pair):
    frames = [part.to_pandas() for part in pair]
    for frame in frames:
        frame["score"] = [float(row[1]) - float(row[0]) for row in frame["logits"]]
        frame["p"] = 1 / (1 + np.exp(-frame["score"]))
        frame["right"] = (frame["score"] > 0).astype(int) == frame["label"]
    return frames


def _rows(frame, name):
    test = frame[frame["split"] == "test"]
    hard = test["challenge"] != "easy"
    return {"all": test, "in_context": test[~hard], "out_of_context": test[hard]}[name]


@pytest.mark.parametrize("name", ["all", "in_context", "out_of_context"])
def test_numbers_against_scikit_learn_and_scipy(pair, report, name):
    """Planted faults: A minus B; the rows of B unsorted against those of A; McNemar on the rows that agree."""
    first, second = (_rows(frame, name) for frame in _frames(pair))
    numbers = report.slice(name).numbers
    b, c = (first["right"] & ~second["right"]).sum(), (second["right"] & ~first["right"]).sum()
    assert (report.slice(name).only_first, report.slice(name).only_second) == (b, c) and b + c > 0
    accuracy = numbers["accuracy"]
    assert accuracy.difference == pytest.approx((c - b) / len(first)) and accuracy.test == "exact McNemar"
    assert accuracy.p_value == pytest.approx(stats.binomtest(int(b), int(b + c)).pvalue)
    assert accuracy.first == pytest.approx(first["right"].mean())
    assert numbers["error_rate"].difference == pytest.approx(-accuracy.difference)
    areas = [roc_auc_score(frame["label"], frame["score"]) for frame in (first, second)]
    assert numbers["auc"].difference == pytest.approx(areas[1] - areas[0])
    assert numbers["auc"].p_value == pytest.approx(paired_delong(first["label"], second["score"], first["score"])[1])
    losses = [np.where(frame["label"] == 1, -np.log(frame["p"]), -np.log1p(-frame["p"])) for frame in (first, second)]
    assert numbers["nll"].difference == pytest.approx(
        log_loss(second["label"], second["p"]) - log_loss(first["label"], first["p"])
    )
    boot = stats.bootstrap(
        losses, lambda x, y, axis: y.mean(axis) - x.mean(axis), paired=True, method="percentile",
        n_resamples=2000, rng=np.random.default_rng(3),
    ).confidence_interval  # fmt: skip
    width = boot.high - boot.low
    assert numbers["nll"].difference.low == pytest.approx(boot.low, abs=0.1 * width)
    assert numbers["nll"].difference.high == pytest.approx(boot.high, abs=0.1 * width)
    assert numbers["nll"].p_value == pytest.approx(stats.ttest_rel(*losses).pvalue, abs=0.05)


def test_the_models_own_numbers_and_gaps_are_those_of_their_reports(pair, report):
    """Planted fault: the gap of A in place of that of B."""
    for name, predictions in zip(("first", "second"), pair, strict=True):
        own = oochub.evaluate(predictions, metrics=["auc", "accuracy"])
        for key in ("all/auc", "out_of_context/accuracy", "in_context/auc"):
            part, _, metric = key.partition("/")
            assert to_json(getattr(report.slice(part).numbers[metric], name)) == to_json(own[key])
        assert to_json(getattr(report.gap, name)) == to_json(own["gap"])
    assert report.gap.difference == pytest.approx(report.gap.second - report.gap.first)
    sides = [report.slice(name).numbers["auc"].difference for name in ("out_of_context", "in_context")]
    assert to_json(report.gap.difference) == to_json(difference(*sides))


def test_groups_are_tested_and_all_tests_of_a_table_corrected(pair, report):
    """Planted faults: Holm over all metrics at once; groups of both sides pooled."""
    first, second = (frame[frame["split"] == "test"] for frame in _frames(pair))
    assert {part.name for part in report.groups} == set(first["group"])
    for part in report.groups:
        own, other = (frame[frame["group"] == part.name]["right"] for frame in (first, second))
        number = part.numbers[report.group_metric]
        assert part.n == len(own) and number.difference == pytest.approx(other.mean() - own.mean())
        b, c = (own & ~other).sum(), (other & ~own).sum()
        assert number.p_value == pytest.approx(stats.binomtest(int(b), int(b + c)).pvalue if b + c else 1)
    for parts, metric in ((report.slices, "accuracy"), (report.slices, "auc"), (report.groups, "accuracy")):
        numbers = [part.numbers[metric] for part in parts]
        assert [number.is_clear for number in numbers] == holm([number.p_value for number in numbers])


def test_turned_around_every_sign_turns(pair, report):
    """Planted fault: a bootstrap that draws other rows for the second order."""
    turned = paired_comparison(*reversed(pair))
    for part, other in zip((*report.slices, *report.groups), (*turned.slices, *turned.groups), strict=True):
        assert (part.only_first, part.only_second) == (other.only_second, other.only_first)
        for metric, number in part.numbers.items():
            ends = [number.difference.value, number.difference.low, number.difference.high, number.p_value]
            against = other.numbers[metric]
            mirrored = [-against.difference.value, -against.difference.high, -against.difference.low, against.p_value]
            assert ends == pytest.approx(mirrored, abs=1e-12, nan_ok=True), (part.name, metric)
    assert report.gap.difference == pytest.approx(-turned.gap.difference)
    assert {flip.mistake.example_id for flip in report.flips} == {flip.mistake.example_id for flip in turned.flips}


def test_a_model_against_itself_differs_in_nothing(pair):
    same = paired_comparison(pair[0], pair[0], metrics=["auc", "accuracy", "nll", "ece"], resamples=100)
    numbers = [number for part in (*same.slices, *same.groups) for number in part.numbers.values()]
    defined = [number for number in numbers if not np.isnan(number.first)]
    assert len(defined) > 20
    assert all(number.difference == 0 and number.p_value == 1 and not number.is_clear for number in defined)
    assert same.gap.difference == 0 and same.gap.p_value == 1 and not same.flips
    assert all(part.only_first == part.only_second == 0 for part in same.slices)


def test_rows_are_joined_by_split_and_id(pair, report):
    """Planted fault: rows taken in the order of the file."""
    order = np.random.default_rng(0).permutation(len(pair[1]))
    shuffled = pair[1].with_table(pair[1].table.take(pa.array(order)))
    again = paired_comparison(pair[0], shuffled)
    assert to_json(again.slices) == to_json(report.slices) and to_json(again.gap) == to_json(report.gap)


def test_the_flips_with_the_largest_change_are_shown(pair, report):
    first, second = (frame[frame["split"] == "test"].reset_index() for frame in _frames(pair))
    truth = [np.where(frame["label"] == 1, frame["p"], 1 - frame["p"]) for frame in (first, second)]
    for right, sign, own, other in (("second", 1, second, first), ("first", -1, first, second)):
        change = np.where(own["right"] & ~other["right"], sign * (truth[1] - truth[0]), -np.inf)
        best = [k for k in np.argsort(-change)[:6] if np.isfinite(change[k])]
        shown = [flip for flip in report.flips if flip.right == right]
        assert [flip.mistake.example_id for flip in shown] == [first["example_id"][k] for k in best]
        assert [flip.change for flip in shown] == pytest.approx([change[k] for k in best])
        assert [flip.mistake.role for flip in shown] == [
            "in" if first["challenge"][k] == "easy" else "out" for k in best
        ]


def test_flips_that_can_be_seen_come_first(pair, report):
    """Fault planted: the largest change first, whatever was kept of the row."""
    first, second = pair
    plain = [flip.mistake.example_id for flip in report.flips if flip.right == "second"]
    rows = first.column("example_id")
    chosen = {str(rows[k]) for k in range(len(rows)) if str(rows[k]) not in plain}
    small = pa.array([b"jpeg" if str(name) in chosen else None for name in rows], pa.binary())
    seen = first.with_table(first.table.append_column("thumbnail", small))
    shown = [flip.mistake for flip in paired_comparison(seen, second).flips if flip.right == "second"]
    assert len(shown) == 6 and all(mistake.image and mistake.example_id in chosen for mistake in shown)


def _own(seed, n=400, right=0.8, **columns):
    rng = np.random.default_rng(seed)
    label = np.random.default_rng(0).integers(2, size=n)
    sign = np.where(rng.random(n) < right, 1, -1) * (2 * label - 1)
    score = sign * rng.random(n)
    return Predictions.from_arrays(logits=np.stack([np.zeros(n), score], 1), label=label, model=f"m{seed}", **columns)


def test_rows_without_sides_have_the_groups_of_the_evaluation_split_alone():
    """Planted fault seen: each group once more, of another split."""
    rng, label = np.random.default_rng(0), np.arange(80) % 2
    columns = {
        "group": np.array(["landbird/land", "waterbird/land", "landbird/water", "waterbird/water"])[np.arange(80) % 4],
        "split": np.where(np.arange(80) < 40, "validation", "test").tolist(),
        "class_names": ["landbird", "waterbird"],
    }
    both = [
        oochub.Predictions.from_arrays(
            logits=rng.normal(size=(80, 2)),
            label=label,
            benchmark="waterbirds",
            config="default",
            model=name,
            **columns,
        )
        for name in "ab"
    ]
    groups = oochub.compare(*both).groups
    assert [(each.name, each.split, each.n) for each in groups] == [
        (name, "test", 10) for name in sorted(set(columns["group"]))
    ]


def test_the_worst_groups_of_two_models_are_not_paired():
    """By hand of both intervals, and it covers. Planted fault: a bootstrap of the difference of both minima, 0.73."""
    group = [f"g{k % 7}" for k in range(400)]
    first, second = _own(1, group=group, right=0.7), _own(2, group=group)
    report = paired_comparison(first, second, metrics=["accuracy", "worst_group"])
    number = report.slice("out_of_context").numbers["accuracy"]
    right = [np.array(part.prediction == part.label) for part in (first, second)]
    worst = [min(of[np.arange(400) % 7 == k].mean() for k in range(7)) for of in right]
    assert (number.first, number.second) == pytest.approx(worst)
    assert to_json(number.difference) == to_json(difference(number.second, number.first))
    assert report.slices[0].numbers["worst_group.accuracy"].difference == pytest.approx(worst[1] - worst[0])
    rng, covered, codes = np.random.default_rng(0), 0, np.repeat(np.arange(8), 50)
    true = [np.array([0.5] + [0.9] * 7), np.full(8, 0.85)]
    for _ in range(200):
        drawn = [1.0 * (rng.random(400) < of[codes]) for of in true]
        change = measure_worst_difference(
            *(worst_group_interval(of, codes, worst="smallest") for of in drawn)
        ).difference
        covered += change.low <= 0.35 <= change.high
    assert covered >= 0.95 * 200


def test_a_percentile_of_groups_is_paired_by_group():
    """Against a loop. Planted fault: each model's groups drawn by themselves, which is wider."""
    user = [f"user {k % 40}" for k in range(800)]
    first, second = _own(1, n=800, group=user, right=0.7), _own(2, n=800, group=user)
    pair, side = common_examples.pair_rows(first, second, resamples=300, seed=4), PercentileOfGroups(split="test")
    accuracy = oochub.get("metric", "accuracy")
    found = compare_values(*(list_percentile(side, accuracy, each, np.arange(800)) for each in pair)).difference
    names = sorted({*user})
    means = [
        np.array([np.mean((part.prediction == part.label)[np.array(user) == name]) for name in names])
        for part in (first, second)
    ]
    generator, drawn = np.random.default_rng(4), []
    for _ in range(300):
        rows = generator.integers(40, size=40)
        drawn.append(np.percentile(means[1][rows], 10) - np.percentile(means[0][rows], 10))
    assert found == pytest.approx(np.percentile(means[1], 10) - np.percentile(means[0], 10))
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, (0.025, 0.975)))


def test_clusters_are_drawn_whole(monkeypatch):
    """Rows of a cluster are copies, so the interval is as wide as of one row each. Planted fault: rows drawn singly."""
    declared = common_examples.find_declaration
    monkeypatch.setattr(common_examples, "find_declaration", lambda part: replace(declared(part), cluster="user"))
    one = [_own(seed, n=120, right=right) for seed, right in ((1, 0.6), (2, 0.8))]
    columns = {"user": np.repeat(np.arange(120), 6)}
    many = [
        Predictions.from_arrays(logits=np.repeat(part.logits, 6, axis=0), label=np.repeat(part.label, 6), **columns)
        for part in one
    ]
    number = paired_comparison(*many, metrics=["accuracy", "nll", "auc"]).slices[0].numbers
    assert number["accuracy"].test == "sign flips" and number["auc"].test == "paired Obuchowski"
    values = [np.array(part.prediction == part.label) for part in one]
    error = np.std(values[1] * 1.0 - values[0], ddof=1) / np.sqrt(120)
    width = number["accuracy"].difference.high - number["accuracy"].difference.low
    assert width == pytest.approx(2 * 1.96 * error, rel=0.12)
    single = paired_delong(one[0].label, *(part.logits[:, 1] for part in reversed(one)))[0]
    assert number["auc"].difference.high - number["auc"].difference.low == pytest.approx(
        single.high - single.low, rel=0.05
    )


def test_without_rows_out_of_context_there_is_no_gap_and_all_rows_are_compared():
    first, second = _own(1), _own(2)
    report = paired_comparison(first, second)
    assert np.isnan(report.gap.difference) and report.gap.difference.reason == "no context is named"
    assert report.main_slice.role == "all" and not report.groups


def test_other_kinds_of_output_are_compared_by_their_metrics():
    """Numbers have no flips; the correlation is bootstrapped on the same rows for both."""
    rng = np.random.default_rng(0)
    label = rng.normal(size=200)
    first, second = (
        Predictions.from_arrays(value=label + scale * rng.normal(size=200), label=label) for scale in (1.0, 0.3)
    )
    report = paired_comparison(first, second, resamples=200)
    numbers = report.slices[0].numbers
    assert report.slices[0].only_first is None and not report.flips
    assert numbers["pearson"].difference > 0 > numbers["mean_absolute_error"].difference
    assert all(number.is_clear for number in numbers.values())


_EDITS = {
    "version": lambda part: replace(part, metadata=replace(part.metadata, version="2.0.0")),
    "config": lambda part: replace(part, metadata=replace(part.metadata, config="ce_cow")),
    "benchmark": lambda part: replace(part, metadata=replace(part.metadata, benchmark="mine")),
    "class names: 2 and 2, class 1 is 'car' in one and 'cat'": lambda part: replace(
        part, metadata=replace(part.metadata, class_names=("no_car", "cat"))
    ),
    "2 only in the first": lambda part: part.select(np.arange(len(part)) >= 2),
    "a different truth in the two predictions, first validation/000000000000": lambda part: part.with_table(
        part.table.set_column(2, "label", pa.array(1 - part.label))
    ),
    "a different challenge": lambda part: part.with_table(
        part.table.set_column(5, "challenge", pa.array(["easy"] * len(part)))
    ),
}


@pytest.mark.parametrize("message", _EDITS)
def test_what_differs_is_said(pair, message):
    """Planted faults: each check in turn left out."""
    with pytest.raises(oochub.OochubError, match=message):
        paired_comparison(pair[0], _EDITS[message](pair[1]))
