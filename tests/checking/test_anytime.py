"""`oochub.check(anytime=True)`: which numbers have a confidence sequence, what it is made of, what is promised."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import oochub
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.stats.confidence_sequence import MeanEvidence, ShareEvidence, make_difference, make_interval
from oochub.stats.estimate import Estimate

N = 400
SIDES = np.where(np.arange(N) % 2, "easy", "hard")


def answer(seed: int, rows: int = N) -> np.ndarray:
    """Logits (rows, 3) of a model; the first rows are the same however many there are."""
    label = np.arange(N) % 3
    return (np.random.default_rng(seed).normal(size=(N, 3)) + 2.2 * np.eye(3)[label])[:rows]


def save(folder: Path, seed: int = 0, rows: int = N, name: str = "one", cluster: np.ndarray | None = None) -> Path:
    """Predictions and their report in a folder; `cluster` (rows,) names what rows share."""
    more = {} if cluster is None else {"user": [f"u{number}" for number in cluster]}
    made = oochub.Predictions.from_arrays(
        logits=answer(seed, rows), label=np.arange(rows) % 3, challenge=SIDES[:rows], model=name, **more
    )
    if cluster is not None:
        made = replace(made, metadata=replace(made.metadata, facts=BuildFacts(cluster="user")))
    folder.mkdir(parents=True, exist_ok=True)
    oochub.evaluate(made.save(folder / "predictions.parquet"), resamples=100).save(folder / "report.json")
    return folder


def right(seed: int = 0) -> np.ndarray:
    return answer(seed).argmax(1) == np.arange(N) % 3


def judge(report: Path, **rule: object):
    (outcome,) = oochub.check(report, {"rule": [rule]}, anytime=True).outcomes
    return outcome


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return save(tmp_path_factory.mktemp("model"))


def ends(estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


@pytest.mark.parametrize(("rule", "rows"), [({}, slice(None)), ({"slice": "hard"}, slice(0, None, 2))])
def test_a_share_is_held_to_the_mixture(model: Path, rule: dict[str, str], rows: slice) -> None:
    """Of the report alone. Planted fault seen: the interval of one look."""
    ones = right()[rows]
    by_hand = make_interval(ShareEvidence(int(ones.sum()), len(ones)))
    (model_alone,) = oochub.check(
        oochub.Report.load(model / "report.json"),
        {"rule": [{"metric": "accuracy", "at_least": 0.5, **rule}]},
        anytime=True,
    ).outcomes
    assert ends(model_alone.judged) == ends(by_hand)
    between = (by_hand.low + oochub.Report.load(model / "report.json")["accuracy"].low) / 2
    if not rule:
        rule = {"metric": "accuracy", "at_least": round(between, 4)}
        states = [oochub.check(model, {"rule": [rule]}, anytime=each).state for each in (False, True)]
        assert states == ["pass", "undecided"]


def test_a_gap_is_that_of_both_sides(model: Path) -> None:
    sides = [ShareEvidence(int(rows.sum()), len(rows)) for rows in (right()[::2], right()[1::2])]
    assert ends(judge(model, metric="gap", at_least=-0.2).judged) == ends(make_difference(*sides))


def test_clusters_count_once_each(tmp_path: Path) -> None:
    """Of 3 to 7 rows; the gap of clusters on both sides has half of the error a side."""
    cluster = np.repeat(np.arange(80), np.tile([3, 4, 5, 6, 7], 16))[:N]
    folder = save(tmp_path, cluster=cluster)
    means = np.array([right()[cluster == number].mean() for number in range(80)])
    found = judge(folder, metric="accuracy", at_least=0.5)
    assert ends(found.judged) == pytest.approx(ends(make_interval(MeanEvidence(means, 0, 1))))
    assert found.judged.n == 80 and "by the means of 80 clusters" in found.reason
    sides = []
    for start in (0, 1):
        ones, own = right()[start::2], cluster[start::2]
        sides.append(MeanEvidence(np.array([ones[own == number].mean() for number in np.unique(own)]), 0, 1))
    by_hand = make_difference(*sides, are_independent=False)
    assert ends(judge(folder, metric="gap", at_least=-0.3).judged) == pytest.approx(ends(by_hand))


def test_a_change_is_of_rows(model: Path, tmp_path: Path) -> None:
    """Planted fault seen: the old model minus the new one."""
    new = save(tmp_path, seed=1, name="two")
    rules = {"rule": [{"metric": "accuracy", "at_most_worse": 0.1}]}
    (found,) = oochub.check(new, rules, baseline=model, anytime=True).outcomes
    changes = right(1).astype(float) - right(0)
    assert ends(found.judged) == pytest.approx(ends(make_interval(MeanEvidence(changes, -1, 1))))
    assert found.change is found.judged and found.paired == "paired"
    alone = oochub.Report.load(new / "report.json")
    (found,) = oochub.check(alone, rules, baseline=model, anytime=True).outcomes
    assert found.state == "undecided" and "not paired" in found.reason


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"metric": "nll", "at_most": 3.0}, "nll is not a mean of bounded numbers"),
        ({"metric": "ece", "at_most": 0.9}, "ece is not a mean of bounded numbers"),
        ({"metric": "worst_group.accuracy", "at_least": 0.1}, "the rows themselves choose the worst group"),
    ],
)
def test_what_has_no_sequence_is_undecided_and_says_why(rule: dict[str, object], words: str, tmp_path: Path) -> None:
    """Each passes at one look."""
    group = [f"{label}/{side}" for label, side in zip(np.arange(N) % 3, SIDES, strict=True)]
    made = oochub.Predictions.from_arrays(
        logits=answer(0), label=np.arange(N) % 3, challenge=SIDES, group=group, model="one"
    )
    report = oochub.evaluate(made, metrics=["accuracy", "nll", "ece", "worst_group"], resamples=100)
    assert oochub.check(report, {"rule": [rule]}).state == "pass"
    found = judge(report, **rule)
    assert found.state == "undecided" and words in found.reason


def test_looks_in_the_rules_are_the_option(model: Path) -> None:
    rules = {"rule": [{"metric": "accuracy", "at_least": 0.6}]}
    one, other = (oochub.check(model, *of) for of in (({"looks": "any", **rules},), ({"looks": "one", **rules},)))
    assert one.looks == "any" and other.looks == "one"
    option = oochub.check(model, rules, anytime=True)
    assert one.to_json()["outcomes"] == option.to_json()["outcomes"] != other.to_json()["outcomes"]
    with pytest.raises(OochubError, match="'two'"):
        oochub.check(model, {"looks": "two", **rules})


def test_what_is_promised_is_said_in_each_form(model: Path, tmp_path: Path) -> None:
    """Planted fault seen: one look fewer."""
    rules = {"rule": [{"metric": "accuracy", "at_least": 0.6}]}
    looks = [save(tmp_path / str(rows), rows=rows) for rows in (100, 200)]
    for options, words in (
        ({}, "passes by luck in 2.5% of cases, for one look. anytime=True keeps this at every look."),
        ({"earlier": looks}, "This is look 3: a model at a bound passes at one of 3 looks by luck in up to 7.5%"),
        ({"earlier": looks[0]}, "This is look 2"),
        ({"anytime": True, "earlier": looks}, "ever passes by luck in at most 2.5% of cases"),
    ):
        found = oochub.check(model, rules, **options)
        assert words in found.promise and found.promise in found.to_markdown().replace("\\", "")
        assert found.to_json()["earlier"] == found.earlier
    other = save(tmp_path / "other", rows=100, seed=3, name="another")
    with pytest.raises(OochubError, match="is of another model"):
        oochub.check(model, rules, earlier=[other])
    with pytest.raises(OochubError, match="has 400 rows, more than the 100"):
        oochub.check(looks[0], rules, earlier=[model])
    with pytest.raises(OochubError, match="got 2 reports"):
        oochub.check([model, model], rules, earlier=[looks[0]])


@pytest.mark.slow
def test_a_look_that_breaks_the_promise_is_refused(tmp_path: Path) -> None:
    """New clusters may be added, and no rows of old ones; no row may be missing.

    Planted faults seen: no look at the clusters; clusters that are new taken for changed ones.
    """
    rules = {"rule": [{"metric": "accuracy", "at_least": 0.5}]}
    looks = {
        "first": save(tmp_path / "first", rows=90, cluster=np.arange(90) // 3),
        "clusters": save(tmp_path / "clusters", rows=120, cluster=np.arange(120) // 3),
        "rows": save(tmp_path / "rows", rows=120, cluster=np.arange(120) // 3 % 30),
    }
    assert oochub.check(looks["clusters"], rules, earlier=looks["first"], anytime=True).earlier == 1
    assert oochub.check(looks["rows"], rules, earlier=looks["first"]).earlier == 1  # says what its promise is
    with pytest.raises(OochubError, match=r"10 clusters of .* have more rows in .*, such as user u0: 3, then 6"):
        oochub.check(looks["rows"], rules, earlier=looks["first"], anytime=True)
    (looks["first"] / "predictions.parquet").unlink()
    with pytest.raises(OochubError, match="clusters must not gain rows, which only the predictions of"):
        oochub.check(looks["clusters"], rules, earlier=looks["first"], anytime=True)
    other = oochub.Predictions.load(save(tmp_path / "all", rows=200) / "predictions.parquet").take(np.arange(50, 200))
    oochub.evaluate(other.save(tmp_path / "predictions.parquet"), resamples=100).save(tmp_path / "report.json")
    with pytest.raises(OochubError, match=r"50 rows of .* are missing in"):
        oochub.check(tmp_path, rules, earlier=save(tmp_path / "start", rows=100), anytime=True)


def test_predictions_that_contradict_are_an_error_as_with_a_baseline(tmp_path: Path) -> None:
    """Those by the recorded name are others, or give another number. Planted fault seen: the rule is undecided."""
    one, other = (save(tmp_path / str(seed), seed, cluster=np.arange(N) // 4) for seed in (0, 1))
    rules = {"rule": [{"metric": "accuracy", "at_least": 0.5}]}
    report = oochub.Report.load(one / "report.json")
    part = report.slices[0]
    number = part.metrics["accuracy"].to_dict()
    wrong = Estimate.from_dict({**number, "value": number["value"] - 0.01})
    edited = replace(report, slices=(replace(part, metrics={**part.metrics, "accuracy": wrong}), *report.slices[1:]))
    edited.save(one / "report.json")
    with pytest.raises(OochubError, match=r"accuracy is 0\.\d+ in the report, and 0\.\d+ in its predictions"):
        oochub.check(one, rules, anytime=True)
    (other / "predictions.parquet").write_bytes((one / "predictions.parquet").read_bytes())
    with pytest.raises(OochubError, match=r"predictions.parquet is not what .* was made of"):
        oochub.check(other, rules, anytime=True)
