"""`oochub.check`: what an interval says of a bound, paired changes by hand, Holm, and names that are misspelt."""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import reports
from scipy import stats

import oochub
from oochub.checking.change import join_exact_shares
from oochub.checking.rules import read_rules, suggest_rules
from oochub.errors import OochubError
from oochub.report.report import Report
from oochub.stats.delong import delong
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import adjusted_wald, wilson


def report_of(
    value: float, low: float, high: float, *, metric: str = "accuracy", n: int = 100, **more: object
) -> Report:
    """A report whose number on all rows is this one."""
    report = reports.read(reports.nooch_report())
    estimate = Estimate(value, low=low, high=high, n=n, method="by hand", **more)
    return with_numbers(report, {**report.slices[0].metrics, metric: estimate})


def with_numbers(report: Report, numbers: Mapping[str, Estimate]) -> Report:
    """The report with these numbers on all rows."""
    return replace(report, slices=(replace(report.slices[0], metrics=numbers), *report.slices[1:]))


def one_rule(**rule: object) -> dict[str, object]:
    return {"rule": [rule]}


def test_an_auc_of_few_clusters_is_undecided_and_says_how_many_would_do() -> None:
    """12 clusters: the interval lies above the bound, and covers too little to pass; 40 clusters pass."""
    rng, states = np.random.default_rng(0), {}
    for clusters in (12, 40):
        label = np.arange(960) % 2
        cluster = np.arange(960) // 2 % clusters
        margin = 2 + 0.5 * rng.normal(size=clusters)[cluster] + rng.normal(size=960)
        auc = delong(label, margin * (2 * label - 1), cluster=cluster)
        report = with_numbers(report_of(0.9, 0.8, 1.0), {"auc": auc})
        (states[clusters],) = oochub.check(report, one_rule(metric="auc", at_least=0.8)).outcomes
    assert states[12].judged.low > 0.8 and states[12].state == "undecided" and states[40].state == "pass"
    assert "only 12 clusters" in states[12].reason and "with 40 clusters of equal size or more" in states[12].reason


@pytest.mark.parametrize(
    ("bound", "interval", "state"),
    [
        ("at_least", (0.71, 0.8), "pass"),
        ("at_least", (0.6, 0.69), "fail"),
        ("at_least", (0.65, 0.75), "undecided"),
        ("at_least", (0.7, 0.8), "undecided"),  # the bound itself is in the interval
        ("at_least", (0.6, 0.7), "undecided"),
        ("at_most", (0.71, 0.8), "fail"),
        ("at_most", (0.6, 0.69), "pass"),
        ("at_most", (0.65, 0.75), "undecided"),
        ("at_most", (0.7, 0.8), "undecided"),
        ("at_most", (0.6, 0.7), "undecided"),
    ],
)
def test_three_states(bound, interval, state):
    """Faults planted: an end at the bound passes; at_most read as at_least."""
    low, high = interval
    found = oochub.check(report_of((low + high) / 2, low, high), one_rule(metric="accuracy", **{bound: 0.7}))
    assert [each.state for each in found.outcomes] == [state] and found.state == state
    assert found.exit_code == {"pass": 0, "fail": 1, "undecided": 3}[state]


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ((math.nan, math.nan, math.nan), "cannot be computed: one class"),
        ((0.9, math.nan, math.nan), "no interval: one class"),
        ((0.9, math.nan, 0.95), "no interval: one class"),
        ((0.9, 0.85, math.nan), "no interval: one class"),
    ],
)
def test_a_number_without_interval_never_passes(numbers, reason):
    """Fault planted: no look whether there is an interval."""
    (outcome,) = oochub.check(
        report_of(*numbers, reason="one class"), one_rule(metric="accuracy", at_least=0.5)
    ).outcomes
    assert (outcome.state, outcome.reason, outcome.needed) == ("undecided", reason, None)
    found = oochub.check(report_of(*numbers), one_rule(metric="accuracy", at_least=0.5), undecided="fail")
    assert found.exit_code == 1


def test_what_undecided_counts_as():
    """A fail stays one, whatever undecided rules count as. Fault planted: `undecided` that all states count as."""
    report = report_of(0.7, 0.6, 0.8)
    rules = {"rule": [{"metric": "accuracy", "at_least": limit} for limit in (0.5, 0.7)]}
    codes = [oochub.check(report, rules, undecided=each).exit_code for each in (None, "pass", "fail")]
    assert codes == [3, 0, 1]
    rules["rule"].append({"metric": "accuracy", "at_least": 0.9})
    codes = [oochub.check(report, rules, undecided=each).exit_code for each in (None, "pass", "fail")]
    assert codes == [1, 1, 1]


@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("p", [0.5, 0.8, 0.98])
def test_a_share_at_the_bound_passes_and_fails_in_at_most_2_5_percent(n, p):
    """Every number of right answers with its probability: no simulation, no luck."""
    states = {}
    for right in range(n + 1):
        share = wilson(right, n)
        report = with_numbers(report_of(share.value, share.low, share.high, n=n), {"accuracy": share})
        (outcome,) = oochub.check(report, one_rule(metric="accuracy", at_least=p)).outcomes
        assert outcome.number.low == share.low and outcome.judged.method == "clopper-pearson"
        states.setdefault(outcome.state, []).append(stats.binom.pmf(right, n, p))
    assert all(0 < sum(states.get(state, [0.001])) <= 0.025 for state in ("pass", "fail"))
    assert sum(states["undecided"]) >= 0.95


def test_only_shares_of_independent_rows_get_the_exact_interval():
    """Clusters and other metrics keep the interval of the report. Fault planted: every number of accuracy."""
    for metric, method in (("accuracy", "clopper-pearson of 40 clusters"), ("nll", "percentile bootstrap of rows")):
        number = Estimate(0.8, low=0.79, high=0.81, n=100, method=method)
        report = with_numbers(report_of(0.8, 0.79, 0.81, metric=metric), {metric: number})
        (outcome,) = oochub.check(report, one_rule(metric=metric, at_most=0.9)).outcomes
        assert (outcome.judged.low, outcome.judged.high, outcome.state) == (0.79, 0.81, "pass")


def test_rows_that_would_decide():
    """The half of the interval is twice the distance to the bound: four times the rows. Fault planted: twice them."""
    (outcome,) = oochub.check(report_of(0.75, 0.65, 0.85), one_rule(metric="accuracy", at_least=0.7)).outcomes
    assert outcome.needed == 400
    for value, bound in ((0.75, "at_least"), (0.65, "at_most")):  # 100 (.107 / .05)² = 457.96, two digits of it
        report = report_of(value, value - 0.107, value + 0.107)
        assert oochub.check(report, one_rule(metric="accuracy", **{bound: 0.7})).outcomes[0].needed == 460
    (outcome,) = oochub.check(report_of(0.7, 0.65, 0.85), one_rule(metric="accuracy", at_least=0.7)).outcomes
    assert outcome.needed is None  # at the bound no number of rows decides


def test_each_report_is_held_to_each_rule():
    found = oochub.check(
        [report_of(0.8, 0.75, 0.85), report_of(0.6, 0.5, 0.65)], one_rule(metric="accuracy", at_least=0.7)
    )
    assert [(each.report, each.state) for each in found.outcomes] == [("report 1", "pass"), ("report 2", "fail")]
    assert found.state == "fail" and found.counts == {"pass": 1, "undecided": 0, "fail": 1}


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ({"metric": "nll", "slice": "hard"}, ["out/nll"]),
        ({"metric": "nll", "slice": "hard_*"}, ["hard_positive/nll", "hard_negative/nll"]),
        ({"metric": "out/nll"}, ["out/nll"]),
        ({"metric": "auc_hard"}, ["auc_hard"]),
    ],
)
def test_slices_by_name_title_and_star(rule, where):
    """Each number is that of the report. Fault planted: `*` that matches the first slice alone."""
    report = reports.read(reports.nooch_report())
    found = oochub.check(report, one_rule(**rule, at_most=0.9))
    assert [each.number for each in found.outcomes] == [report[key] for key in where]


def test_groups_by_name_and_star():
    report = reports.read(reports.nooch_report())
    found = oochub.check(report, one_rule(metric="error_rate", group="car/*", at_most=0.5))
    expected = [row for row in report.group_rows if row.group.startswith("car/")]
    assert [each.rule.group for each in found.outcomes] == [row.group for row in expected] and len(expected) == 2
    assert [each.number for each in found.outcomes] == [row.error_rate for row in expected]


def test_a_group_on_both_sides_is_two_numbers():
    """Each says its side, also in JUnit. Fault planted: the place without the side."""
    report = reports.read(reports.nooch_report())
    first, *others = report.group_rows
    twice = replace(report, groups=replace(report.groups, rows=(first, replace(first, role="out"), *others)))
    found = oochub.check(twice, one_rule(metric="accuracy", group=first.group, at_least=0.5))
    places = [f"{first.group} (test, in context)", f"{first.group} (test, out of context)"]
    assert [each.place for each in found.outcomes] == places
    assert all(f'at_least 0.5, {place}"' in found.to_junit() for place in places)


def test_gap_and_worst_group():
    report = reports.read(reports.nooch_report())
    rules = {"rule": [{"metric": "gap", "at_least": -0.5}, {"metric": "worst_group", "at_least": 0.001}]}
    gap, worst = oochub.check(report, rules).outcomes
    assert gap.number == report.gap.estimate and worst.number == report.worst_group["accuracy"].estimate


WRONG = {
    "metric": ({"metric": "acuracy", "at_least": 0.7}, "Did you mean 'accuracy'"),
    "metric of a slice": ({"metric": "nl", "slice": "hard", "at_most": 0.7}, "Did you mean 'nll'"),
    "slice": ({"metric": "nll", "slice": "hard_negativ", "at_most": 0.7}, "Did you mean 'hard_negative'"),
    "star without a match": (
        {"metric": "nll", "slice": "soft_*", "at_most": 0.7},
        "No slice in report 1 named 'soft_*'",
    ),
    "group": ({"metric": "nll", "group": "car/contxt", "at_most": 0.7}, "Did you mean 'car/context'"),
    "metric of groups": ({"metric": "auc", "group": "car/*", "at_most": 0.7}, "Allowed: accuracy, error_rate, nll"),
    "metric with a star": ({"metric": "a*", "at_least": 0.7}, "must be one name"),
    "key": ({"metric": "nll", "slise": "hard", "at_most": 0.7}, "Did you mean 'slice'"),
    "two places": ({"metric": "nll", "slice": "hard", "group": "car/context", "at_most": 0.7}, "Remove one of them"),
    "no metric": ({"at_least": 0.7}, "the field rule[0].metric is missing"),
    "no bound": ({"metric": "nll"}, "one of at_least, at_most, at_most_worse in rule 1 of the rules, got none"),
    "two bounds": ({"metric": "nll", "at_least": 0.1, "at_most": 0.7}, "got at_least and at_most"),
    "bound as text": ({"metric": "nll", "at_most": "0.7"}, "must be a finite number, got '0.7'"),
    "bound of 400 digits": ({"metric": "nll", "at_most": 10**399}, "got a whole number of more than 30 digits"),
    "bound in percent": ({"metric": "accuracy", "at_least": 70}, "0.7 is 70%"),
    "bound that all keep": ({"metric": "accuracy", "at_least": 0}, "must lie above 0 and below 1"),
    "bound that none can keep": ({"metric": "accuracy", "at_least": 1}, "must lie above 0 and below 1"),
    "gap on its harmless side": ({"metric": "gap", "at_most": 0.1}, "Write at_least = -0.05"),
    "gap of a slice": ({"metric": "gap", "slice": "hard", "at_least": -0.1}, "one number of a report"),
    "worst group of a group": ({"metric": "worst_group", "group": "car/*", "at_least": 0.1}, "one number of a report"),
    "not evaluated": ({"metric": "f1_macro", "at_most": 0.1}, "evaluate again with --metric f1_macro"),
    "worse without a baseline": ({"metric": "nll", "at_most_worse": 0.02}, "baseline="),
    "worse below 0": ({"metric": "nll", "at_most_worse": -0.02}, "at_most_worse must be a finite number, 0 or larger"),
    "empty name": ({"metric": "", "at_least": 0.1}, "must be text that is not empty"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_an_error(name):
    """Fault planted: a slice that is not there gives no outcome, and the check passes."""
    rule, words = WRONG[name]
    with pytest.raises(OochubError) as raised:
        oochub.check(reports.read(reports.nooch_report()), one_rule(**rule))
    assert words in str(raised.value), raised.value


@pytest.mark.parametrize("rules", [None, 3, ["accuracy"], b"rules.toml"])
def test_rules_of_another_type_are_refused(rules):
    with pytest.raises(OochubError, match="Rules must be the path of a TOML file or a dict"):
        oochub.check(reports.read(reports.nooch_report()), rules)


def test_many_rules_are_told_apart_at_once():
    """20,000 rules: each is looked up once among those before it, not compared with all of them (2e8 comparisons)."""
    rules = [{"metric": "accuracy", "at_least": k / 20_001} for k in range(1, 20_001)]
    assert len(read_rules({"rule": rules}).rules) == 20_000
    with pytest.raises(OochubError, match="Rule 20001 of the rules stands there twice"):
        read_rules({"rule": [*rules, rules[7]]})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[rule]\n", "is not TOML"),
        (f"[[rule]]\nmetric = 'nll'\nat_most = {'9' * 400}\n", "must be a finite number"),
        (f"[[rule]]\nmetric = 'nll'\nat_most = {'9' * 5000}\n", "is not TOML"),
        ("", "rules.toml contains no rules"),
        ("rule = 3\n", "line 1: rule must be a list, each a table, got 3"),
        ("rule = [1]\n", "rule[0] must be a table"),
        ("[rule]\nmetric = 'nll'\n", "rule must be a list, each a table"),
        ("[[rules]]\nmetric = 'nll'\n", "Did you mean 'rule'"),
        ("correction = 'bonferroni'\n[[rule]]\nmetric = 'nll'\nat_most = 1\n", "correction must be one of none, holm"),
        ("correction = ['holm']\n[[rule]]\nmetric = 'nll'\nat_most = 1\n", "correction must be one of none, holm"),
        (2 * "[[rule]]\nmetric = 'nll'\nat_most = 1\n", "stands there twice"),
        ("a = " + "[" * 5000, "is not TOML"),
    ],
)
def test_a_wrong_file_is_an_error(tmp_path, text, words):
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(OochubError) as raised:
        read_rules(file)
    assert words in str(raised.value), raised.value


def test_a_baseline_that_no_rule_reads_is_refused():
    report = report_of(0.7, 0.6, 0.8)
    with pytest.raises(OochubError, match="Remove baseline="):
        oochub.check(report, one_rule(metric="accuracy", at_least=0.7), baseline=report)
    with pytest.raises(OochubError, match="no better direction"):
        metrics = {**report.metrics, "nll": replace(report.metrics["nll"], direction="none")}
        oochub.check(replace(report, metrics=metrics), one_rule(metric="nll", at_most_worse=1.0), baseline=report)
    with pytest.raises(OochubError, match="would pass any model"):
        oochub.check(report, one_rule(metric="accuracy", at_most_worse=2), baseline=report)
    other = replace(report, benchmark=replace(report.benchmark, config="ce_dog"))
    with pytest.raises(OochubError, match="same benchmark"):
        oochub.check(report, one_rule(metric="accuracy", at_most_worse=0.02), baseline=other)


def test_holm_by_hand():
    """Three rules 2.2, 2.3 and 2.5 standard errors on the bad side: p is 0.0278, 0.0214 and 0.0124.

    Alone each fails at 5%. Together the smallest is held to 0.05 / 3 and fails; the next to 0.05 / 2 and fails; the
    last to 0.05 and fails. With two more rules that pass the first is held to 0.01, and none fails.
    """
    z = stats.norm.isf(0.025)
    report = reports.read(reports.nooch_report())
    names = ("a", "b", "c", "d", "e")
    values = dict(zip(names, (-2.2, -2.3, -2.5, 5.0, 6.0), strict=True))
    numbers = {
        name: Estimate(0.5 + 0.01 * k, low=0.5 + 0.01 * (k - z), high=0.5 + 0.01 * (k + z), n=9, method="by hand")
        for name, k in values.items()
    }
    report = with_numbers(report, numbers)
    rules = [{"metric": name, "at_least": 0.5} for name in names]
    described = {name: report.metrics["accuracy"] for name in names}
    report = replace(report, metrics={**report.metrics, **described})
    states = [
        [each.state for each in oochub.check(report, {**holm, "rule": rules[:n]}).outcomes]
        for n, holm in ((3, {}), (3, {"correction": "holm"}), (5, {"correction": "holm"}))
    ]
    assert states[0] == states[1] == ["fail"] * 3
    assert states[2] == ["undecided"] * 3 + ["pass"] * 2
    p_values = [each.p_value for each in oochub.check(report, {"rule": rules[:3]}).outcomes]
    assert np.allclose(p_values, [2 * stats.norm.sf(k) for k in (2.2, 2.3, 2.5)])


def _write(folder: Path, name: str, shift: float, *, seed: int = 0, n: int = 600) -> Path:
    """Predictions and report of a model whose answers share most with those of the others, in a folder of its own."""
    shared, own = np.random.default_rng(seed), np.random.default_rng(sum(map(ord, name)))
    label = np.arange(n) % 2
    challenge = np.where(np.arange(n) % 4 < 2, "easy", np.where(label == 1, "hard_positive", "hard_negative"))
    score = (2 * label - 1) * (1.2 + shift - 0.8 * (challenge != "easy"))
    score = score + shared.normal(size=n) + 0.3 * own.normal(size=n)
    predictions = oochub.Predictions.from_arrays(
        logits=np.stack([np.zeros(n), score], 1), label=label, challenge=challenge, model=name
    )
    target = folder / name
    target.mkdir(parents=True)
    oochub.evaluate(predictions.save(target / "predictions.parquet")).save(target / "report.json")
    return target


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return _write(folder, "old", 0.0), _write(folder, "new", 0.4)


def _discordant(old: Path, new: Path) -> tuple[int, int, int]:
    one, other = (oochub.Predictions.load(each / "predictions.parquet") for each in (old, new))
    right, wrong = one.prediction == one.label, other.prediction != other.label
    return len(one), int((right & wrong).sum()), int((~right & ~wrong).sum())


def test_a_paired_change_by_hand(models):
    """The wider of Bonett and Price 2012 and of two exact shares, from the rows that one model alone answers right."""
    old, new = models
    rules = one_rule(metric="accuracy", at_most_worse=0.02)
    (outcome,) = oochub.check(new, rules, baseline=old).outcomes
    n, lost, won = _discordant(old, new)
    p, q = (won + 1) / (n + 2), (lost + 1) / (n + 2)
    half = stats.norm.isf(0.025) * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    assert outcome.paired == "paired" and outcome.change.value == pytest.approx((won - lost) / n)
    shares = [stats.binomtest(k, n).proportion_ci(method="exact") for k in (won, lost)]
    more, less = won / n, lost / n
    low = more - less - math.hypot(more - shares[0].low, shares[1].high - less)
    high = more - less + math.hypot(shares[0].high - more, less - shares[1].low)
    expected = (min(low, p - q - half), max(high, p - q + half))
    assert (outcome.change.low, outcome.change.high) == pytest.approx(expected)
    assert outcome.state == "pass"
    (mirrored,) = oochub.check(new, one_rule(metric="error_rate", at_most_worse=0.02), baseline=old).outcomes
    assert mirrored.state == "pass" and mirrored.change.value == pytest.approx(-outcome.change.value)
    assert (-mirrored.change.high, -mirrored.change.low) == pytest.approx(expected)
    (worse,) = oochub.check(old, rules, baseline=new).outcomes
    assert worse.state == "fail" and worse.change.value == pytest.approx(-outcome.change.value)
    assert worse.change.high < -0.02


def test_every_kind_of_change_is_that_of_compare(models):
    """`oochub compare` gives the same differences."""
    old, new = models
    asked = [
        {"metric": "nll", "slice": "out_of_context"},
        {"metric": "auc"},
        {"metric": "gap"},
        {"metric": "accuracy", "slice": "hard_negative"},
    ]
    found = oochub.check(new, {"rule": [{**rule, "at_most_worse": 0.3} for rule in asked]}, baseline=old)
    files = [each / "predictions.parquet" for each in models]
    pair = oochub.compare(*files, metric=["nll", "auc", "accuracy"])
    expected = [
        pair.slice("out_of_context").numbers["nll"].difference,
        pair.slice("all").numbers["auc"].difference,
        pair.gap.difference,
        pair.slice("hard_negative").numbers["accuracy"].difference,
    ]
    for outcome, each in zip(found.outcomes, expected, strict=True):
        assert outcome.paired == "paired" and outcome.change == each
        ends = (outcome.change.low, outcome.change.high)
        if outcome.rule.metric in ("accuracy", "gap"):  # joined with that of exact shares
            assert (
                ends == pytest.approx((each.low, each.high), abs=0.01) and ends[0] <= each.low and ends[1] >= each.high
            )
        else:
            assert ends == (each.low, each.high)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize(("lost", "won"), [(0.025, 0.005), (0.02, 0.0001), (0.06, 0.04), (0.05, 0.03), (0.12, 0.10)])
def test_a_paired_share_at_the_bound_passes_and_fails_in_at_most_2_5_percent(n, lost, won):
    """Every pair of counts with its probability; 2.5 is rounded to one decimal."""
    most = int(n * lost + 9 * math.sqrt(n * lost) + 9)
    broken, fixed = (each.ravel() for each in np.meshgrid(np.arange(most), np.arange(most)))
    chance = stats.binom.pmf(broken, n, lost) * stats.binom.pmf(fixed, np.maximum(n - broken, 0), won / (1 - lost))
    passed = failed = 0.0
    for less, more, p in zip(broken.tolist(), fixed.tolist(), chance.tolist(), strict=True):
        if p > 1e-7:
            low, high = adjusted_wald(more, less, n, 0.025)
            joined = join_exact_shares(Estimate((more - less) / n, low=low, high=high, n=n, method=""), more, less)
            passed += p * (joined.low > won - lost + 1e-9)
            failed += p * (joined.high < won - lost - 1e-9)
    assert 0 < passed < 0.0255 and 0 < failed < 0.0255, (passed, failed)


def test_groups_are_paired_too(tmp_path):
    """The rows of a group are its own. Fault planted: those of all groups."""
    label = np.arange(400) % 2
    group = np.array(["a/x", "b/x", "a/y", "b/y"])[np.arange(400) % 4]
    rng = np.random.default_rng(0)
    folders = []
    for name, shift in (("old", 0.0), ("new", 0.2)):
        score = (2 * label - 1) * (0.8 + shift) + rng.normal(size=400)
        part = oochub.Predictions.from_arrays(
            logits=np.stack([0 * score, score], 1), label=label, group=group, class_names=["a", "b"]
        )
        (tmp_path / name).mkdir()
        file = part.save(tmp_path / name / "predictions.parquet")
        oochub.evaluate(file).save(tmp_path / name / "report.json")
        folders.append(tmp_path / name)
    rules = {"rule": [{"metric": "accuracy", "group": "a/*", "at_most_worse": 0.1}]}
    found = oochub.check(folders[1], rules, baseline=folders[0])
    pair = oochub.compare(*(each / "predictions.parquet" for each in folders))
    assert pair.group_metric == "accuracy"
    expected = {part.name: part.numbers[pair.group_metric].difference for part in pair.groups}
    assert [each.rule.group for each in found.outcomes] == ["a/x", "a/y"]
    for each in found.outcomes:
        assert each.paired == "paired" and each.change == expected[each.rule.group]
        assert each.change.low == pytest.approx(expected[each.rule.group].low, abs=0.01)
    (worst,) = oochub.check(folders[1], one_rule(metric="worst_group", at_most_worse=0.1), baseline=folders[0]).outcomes
    assert worst.paired == "not paired: the worst groups of both may be two groups"


def test_what_is_not_paired_says_so(models, tmp_path):
    """Without the predictions, in memory; with others in their place it is an error."""
    old, new = models
    rules = one_rule(metric="accuracy", at_most_worse=0.2)
    reports_alone = []
    for each in models:
        file = tmp_path / each.name / "report.json"
        file.parent.mkdir()
        file.write_bytes((each / "report.json").read_bytes())
        reports_alone.append(file)
    (outcome,) = oochub.check(reports_alone[1], rules, baseline=reports_alone[0]).outcomes
    assert outcome.paired.startswith("not paired: no predictions beside")
    (paired,) = oochub.check(new, rules, baseline=old).outcomes
    assert outcome.change.value == pytest.approx(paired.change.value)
    assert outcome.change.high - outcome.change.low > 1.5 * (paired.change.high - paired.change.low)
    for one, other in zip(models, reports_alone[::-1], strict=True):  # each report beside the other's predictions
        (other.parent / "predictions.parquet").write_bytes((one / "predictions.parquet").read_bytes())
    with pytest.raises(OochubError, match=r"predictions.parquet is not what .* was made of"):
        oochub.check(reports_alone[1], rules, baseline=reports_alone[0])
    (outcome,) = oochub.check(Report.load(new / "report.json"), rules, baseline=old).outcomes
    assert outcome.paired == "not paired: the report was not read from a file"


def _write_others(folder: Path, **changes: object) -> Path:
    """The rows of `_write` with something else in them: another truth, other ids, other classes."""
    predictions = oochub.Predictions.load(folder / "old" / "predictions.parquet")
    columns = {name: predictions.column(name) for name in ("label", "example_id", "challenge")}
    target = folder / "others" / "-".join(changes)
    target.mkdir(parents=True)
    given = {"class_names": predictions.metadata.class_names, **columns, **changes}
    other = oochub.Predictions.from_arrays(logits=predictions.logits, model="others", **given)
    oochub.evaluate(other.save(target / "predictions.parquet")).save(target / "report.json")
    return target


@pytest.mark.parametrize("what", ["classes", "rows", "labels"])
@pytest.mark.parametrize("found", ["predictions", "reports"])
def test_a_baseline_of_other_rows_is_refused(models, what, found):
    """Whether the predictions are found or the two reports alone say it."""
    old = oochub.Predictions.load(models[0] / "predictions.parquet")
    ids = [f"new-{each}" for each in old.column("example_id")]
    changes = {
        "classes": {"class_names": ["cat", "dog"]},
        "rows": {"example_id": ids},
        "labels": {"label": 1 - old.label, "challenge": np.full(len(old), "easy")},
    }
    other = models[0].parent / "others" / "-".join(changes[what])
    other = other if other.exists() else _write_others(models[0].parent, **changes[what])
    sources = [other, models[0]]
    if found == "reports":
        sources = [Report.load(each / "report.json") for each in sources]
    words = {
        "predictions": "cannot be held to the baseline .*(Run|redict with) both models",
        "reports": "than the baseline",
    }
    with pytest.raises(OochubError, match=words[found]):
        oochub.check(sources[0], one_rule(metric="accuracy", at_most_worse=0.9), baseline=sources[1])


def test_numbers_that_the_answers_do_not_give_are_refused(models, tmp_path):
    """A report of the baseline's weights and answers with a number of its own; one whose predictions give another."""
    old = Report.load(models[0] / "report.json")
    rules = one_rule(metric="accuracy", at_most_worse=0.01)
    old = replace(old, model=replace(old.model, revision="abc"))
    worse = Estimate.from_dict({**old["accuracy"].to_dict(), "value": old["accuracy"].value - 0.2})
    edited = with_numbers(old, {**old.slices[0].metrics, "accuracy": worse})
    assert oochub.check(old, rules, baseline=old).state == "pass"
    with pytest.raises(OochubError, match="name the same model and the same answers, and differ in accuracy"):
        oochub.check(edited, rules, baseline=old)
    content = json.loads((models[1] / "report.json").read_text())
    content["slices"][0]["metrics"]["accuracy"]["value"] += 0.01
    (tmp_path / "report.json").write_text(json.dumps(content))
    (tmp_path / "predictions.parquet").write_bytes((models[1] / "predictions.parquet").read_bytes())
    with pytest.raises(OochubError, match="one of the reports was edited"):
        oochub.check(tmp_path, rules, baseline=models[0])


def test_predictions_by_their_recorded_name(models, tmp_path):
    files = []
    for each in models:
        predictions = oochub.Predictions.load(each / "predictions.parquet")
        oochub.evaluate(predictions.save(tmp_path / f"{each.name}.parquet")).save(tmp_path / f"{each.name}.json")
        files.append(tmp_path / f"{each.name}.json")
    (outcome,) = oochub.check(files[1], one_rule(metric="accuracy", at_most_worse=0.1), baseline=files[0]).outcomes
    assert outcome.paired == "paired"


def test_a_report_on_some_of_the_rows_is_not_paired(models, tmp_path):
    """The predictions beside it hold rows that the report leaves out; as many other rows are refused."""
    old, new = models
    content = json.loads((new / "report.json").read_text())
    content["slices"][0]["examples"] = "0" * 16
    (tmp_path / "report.json").write_text(json.dumps(content))
    (tmp_path / "predictions.parquet").write_bytes((new / "predictions.parquet").read_bytes())
    rules = one_rule(metric="accuracy", at_most_worse=0.1)
    with pytest.raises(OochubError, match="has other examples or labels than the baseline"):
        oochub.check(tmp_path, rules, baseline=old)
    content["slices"][0]["n"] -= 1
    (tmp_path / "report.json").write_text(json.dumps(content))
    (outcome,) = oochub.check(tmp_path, rules, baseline=old).outcomes
    assert outcome.paired == "not paired: the report has other rows in all than its predictions"


def test_a_model_is_never_worse_than_itself():
    """The same weights and the same answers change nothing, whatever the interval of the number."""
    report = report_of(0.7, 0.2, 0.9)
    rules = {"rule": [{"metric": metric, "at_most_worse": 0.001} for metric in ("accuracy", "nll", "gap")]}
    same = replace(report, model=replace(report.model, revision="abc"))
    assert [each.state for each in oochub.check(same, rules, baseline=same).outcomes] == ["pass"] * 3
    assert oochub.check(report, rules, baseline=report).state == "undecided"


def test_suggested_rules_are_read_and_lie_below_today():
    """Faults planted: bounds above today's numbers; a margin of points taken as a share."""
    report = reports.read(reports.nooch_report())
    text = suggest_rules(report, name="car.json", margin=2.0)
    today = [report[key] for key in ("auc", "in/auc", "out/auc")]
    content = tomllib.loads(text)
    limits = [rule["at_least"] for rule in content["rule"]]
    expected = [*today, report.gap.estimate, report.worst_group["accuracy"].estimate]
    assert len(limits) == 5
    assert all(0 <= number - 0.02 - limit < 0.001 for number, limit in zip(expected, limits, strict=True)), limits
    found = oochub.check(report, content)
    assert found.counts["fail"] == 0 and "# at_most_worse" in text
    decided = {each.rule.limit: each.state != "undecided" for each in found.outcomes}
    blocks = [block for block in text.split("\n\n") if block.startswith("# current value")]
    assert ["too few" not in block for block in blocks] == list(decided.values())
