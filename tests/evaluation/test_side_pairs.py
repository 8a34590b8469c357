"""Sides that show the same things: gaps of one model, of two, matched ones, and what has no partner."""

import dataclasses

import numpy as np
import pytest

import oochub
from oochub.comparison.compare import _compare_predictions
from oochub.evaluation.evaluation_rows import make_evaluation_rows
from oochub.evaluation.slices import make_row_sets, measure_gap_at_equal, pair_sides
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts
from oochub.report.report import Report
from oochub.report.verdict import verdict
from oochub.stats.estimation import difference
from oochub.stats.proportion import wilson

CLASSES = oochub.get("benchmark", "imagenet_9").closed["group"]
NAMES = list(dict.fromkeys(group.partition("/")[0] for group in CLASSES))
THINGS = 90


def predictions(right_same, right_rand, *, order=None, foregrounds=None, **columns):
    """One image of each foreground on either background, right where said; the second side in any order."""
    n = len(right_same), len(right_rand)
    order = np.arange(n[1]) if order is None else order
    thing = np.concatenate([np.arange(n[0]), np.arange(n[1])[order]])
    variant = np.repeat(["mixed_same", "mixed_rand"], n)
    label, right = thing % 9, np.concatenate([right_same, right_rand[order]]).astype(bool)
    name = np.array([f"n{k:04}" for k in thing]) if foregrounds is None else foregrounds
    return Predictions.from_arrays(
        logits=2.0 * np.eye(9)[np.where(right, label, (label + 1) % 9)],
        label=label,
        class_names=NAMES,
        split="test",
        example_id=[f"{a}/{b}" for a, b in zip(variant, thing, strict=True)],
        variant=variant,
        group=[f"{NAMES[k]}/{v}" for k, v in zip(label, variant, strict=True)],
        foreground=name,
        benchmark="imagenet_9",
        **columns,
    )


def few_wrong(rng, share, n=THINGS):
    return rng.random(n) > share


@pytest.fixture
def answers():
    """Wrong on 6 foregrounds wherever they stand, and on 5 more on a random background."""
    same = np.arange(THINGS) >= 6
    rand = same & ~np.isin(np.arange(THINGS), range(20, 25))
    return same, rand


def test_the_gap_is_one_of_pairs(answers, tmp_path):
    """By hand: 79 of 90 right on both, 5 on the first alone, 6 on neither. Fewer than ten wrong on a side is Wilson's.

    phi = (79 * 6 - 0 - 45) / sqrt(84 * 6 * 79 * 11), with Newcombe's correction of n / 2.
    """
    order = np.random.default_rng(0).permutation(THINGS)
    report = oochub.evaluate(predictions(*answers, order=order), metrics=["accuracy"])
    pairs = report.gap.pairs
    assert (pairs.column, pairs.both, pairs.only_in, pairs.only_out) == ("foreground", 90, 0, 0)
    phi = (79 * 6 - 45) / np.sqrt(84 * 6 * 79 * 11)
    assert pairs.correlation == pytest.approx(phi)
    gap = report.gap.estimate
    inside, outside = report.slice_of("in").metrics["accuracy"], report.slice_of("out").metrics["accuracy"]
    assert (inside.low, inside.high) == (wilson(84, 90).low, wilson(84, 90).high)
    wanted = difference(outside, inside, correlation=phi)
    assert (gap.low, gap.high) == pytest.approx((wanted.low, wanted.high))
    alone = difference(outside, inside)
    assert gap.high - gap.low < 0.7 * (alone.high - alone.low)
    assert verdict(report).how_much.text.endswith("Paired by foreground: 90 have rows on both sides.")
    assert not any("partner" in note for note in report.notes)
    assert "Paired by foreground: 90 have rows on both sides" in report.to_html()
    report.save(tmp_path / "report.json")
    assert Report.load(tmp_path / "report.json").gap.pairs == pairs


def test_what_has_no_partner_counts_unpaired(answers):
    """Of 90 and 90 foregrounds 80 are on both sides; the numbers of both sides are of all their rows."""
    same, rand = answers
    name = np.array([f"n{k:04}" for k in range(THINGS)] + [f"n{k:04}" for k in range(10, THINGS + 10)])
    report = oochub.evaluate(predictions(same, rand, foregrounds=name), metrics=["accuracy"])
    pairs = report.gap.pairs
    assert (pairs.both, pairs.only_in, pairs.only_out) == (80, 10, 10)
    assert float(report.gap.estimate) == pytest.approx(rand.mean() - same.mean())
    note = next(note for note in report.notes if "partner" in note)
    assert note == (
        "values of foreground without a partner: 10 in context, 10 out of context; their rows count unpaired"
    )
    assert "20 without a partner count unpaired" in verdict(report).how_much.text
    name = np.array([f"n{k:04}" for k in range(2 * THINGS)])
    report = oochub.evaluate(predictions(same, rand, foregrounds=name), metrics=["accuracy"])
    assert report.gap.pairs.both == 0 and report.gap.pairs.correlation == 0
    assert "no foreground has rows on both sides, so the sides are compared as independent" in report.notes
    alone = difference(*(report.slice_of(side).metrics["accuracy"] for side in ("out", "in")))
    assert (report.gap.estimate.low, report.gap.estimate.high) == (alone.low, alone.high)


def test_clusters_with_rows_on_both_sides_are_pairs_too(answers):
    """Own data that name only a cluster: it counts as it would if it were named a pair."""
    made = predictions(*answers)
    columns = {name: made.column(name) for name in ("foreground", "group")}
    own = Predictions.from_arrays(
        logits=made.logits,
        label=made.label,
        class_names=NAMES,
        challenge=np.where(made.column("variant") == "mixed_rand", "hard_positive", "easy"),
        **columns,
    )
    found = {}
    for fact in ("cluster", "pair"):
        facts = BuildFacts(cluster="foreground", pair="foreground" if fact == "pair" else None)
        about = dataclasses.replace(own.metadata, facts=facts)
        found[fact] = oochub.evaluate(dataclasses.replace(own, metadata=about), metrics=["accuracy"])
    gaps = [report.gap for report in found.values()]
    assert gaps[0].pairs == gaps[1].pairs and gaps[0].pairs.both == THINGS
    assert gaps[0].estimate.low == gaps[1].estimate.low


def test_a_metric_that_is_no_mean_goes_by_resamples_of_things():
    """Macro F1 of pairs that go together: their bootstrap correlation is near that of accuracy, by a slow loop."""
    rng = np.random.default_rng(2)
    same = few_wrong(rng, 0.3)
    rand = np.where(rng.random(THINGS) < 0.8, same, few_wrong(rng, 0.3))
    made = predictions(same, rand)
    declared = oochub.get("benchmark", "imagenet_9")
    evaluated, _ = make_evaluation_rows(made, declared, None, {"resamples": 300, "seed": 1})
    sets = {rows.role: rows for rows in make_row_sets(evaluated)}
    found = pair_sides(oochub.get("metric", "f1_macro"), sets, [evaluated])
    metric, drawn = oochub.get("metric", "f1_macro"), []
    answer = made.prediction
    for _ in range(300):
        things = rng.integers(0, THINGS, THINGS)
        drawn.append([metric(made.label[rows], answer[rows]) for rows in (things, THINGS + things)])
    assert found.both == THINGS
    assert found.correlation == pytest.approx(np.corrcoef(np.array(drawn).T)[0, 1], abs=0.12)
    assert found.correlation > 0.5


def test_the_auc_of_pairs():
    """Against a bootstrap of things of both AUCs, each the share of pairs of rows that are in order."""
    rng, n = np.random.default_rng(3), 200
    label = np.arange(n) % 2
    score = label + 1.5 * rng.normal(size=n)
    other = score + 0.7 * rng.normal(size=n)
    rows = Predictions.from_arrays(
        logits=np.stack([np.zeros(2 * n), np.concatenate([score, other])], axis=1),
        label=np.tile(label, 2),
        class_names=["no", "yes"],
        challenge=np.repeat(["easy", "hard_positive"], n),
        thing=[f"t{k}" for k in range(n)] * 2,
    )
    about = dataclasses.replace(rows.metadata, facts=BuildFacts(pair="thing", cluster="thing"))
    report = oochub.evaluate(dataclasses.replace(rows, metadata=about), metrics=["auc"])
    drawn = []
    for _ in range(400):
        some = rng.integers(0, n, n)
        yes, no = some[label[some] == 1], some[label[some] == 0]
        drawn.append([(each[yes][:, None] > each[no]).mean() for each in (score, other)])
    assert report.gap.metric == "auc"
    assert report.gap.pairs.correlation == pytest.approx(np.corrcoef(np.array(drawn).T)[0, 1], abs=0.08)


def test_the_change_of_two_models_is_one_of_pairs(answers):
    """What the second model gains, it gains on both backgrounds: the change of the gap is then well known."""
    same, rand = answers
    rng = np.random.default_rng(4)
    gains = rng.random(THINGS) < 0.25
    first = predictions(same & ~gains, rand & ~gains)
    second = predictions(same, rand)
    report = _compare_predictions(first, second, metrics=["accuracy"], resamples=200)
    inside, outside = (
        next(part for part in report.slices if part.role == role).numbers["accuracy"].difference
        for role in ("in", "out")
    )
    changes = [(each.astype(float) - (each & ~gains)) for each in (same, rand)]
    r = np.corrcoef(*changes)[0, 1]
    wanted = difference(outside, inside, correlation=r)
    assert (report.gap.difference.low, report.gap.difference.high) == pytest.approx((wanted.low, wanted.high))
    alone = difference(outside, inside)
    assert report.gap.difference.high - report.gap.difference.low < 0.5 * (alone.high - alone.low)
    own = oochub.evaluate(second, metrics=["accuracy"], resamples=200).gap.estimate
    assert (report.gap.second.low, report.gap.second.high) == (own.low, own.high)


def test_the_matched_gap_draws_things(answers):
    """Matched on the label, of which both sides hold the same shares: half as wide as that of independent sides."""
    made = predictions(*answers)
    widths = {}
    for pair in ("foreground", None):
        declared = dataclasses.replace(oochub.get("benchmark", "imagenet_9"), pair=pair, cluster=pair)
        evaluated, _ = make_evaluation_rows(made, declared, None, {"resamples": 1000, "seed": 1})
        sets = {rows.role: rows for rows in make_row_sets(evaluated)}
        gap = measure_gap_at_equal("label", sets, evaluated).estimate
        assert float(gap) == pytest.approx(-5 / 90)
        widths[pair] = gap.high - gap.low
    # by hand: the standard error of a mean of 90 differences, 5 of which are -1; wider by what its skewness asks for
    assert 1 < widths["foreground"] / (2 * 1.96 * np.sqrt(5 / 90 * 85 / 90 / 90)) < 1.25
    assert widths["foreground"] < 0.75 * widths[None]
