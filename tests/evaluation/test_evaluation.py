"""Scores against scikit-learn on planted predictions; slices, gap, groups and mistakes by hand."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

import oochub
from oochub.prediction.predictions import Predictions, count_rows
from oochub.records.build_record import BuildFacts
from oochub.records.schema import from_json, to_json
from oochub.report.report import Report


def nooch_predictions(n=3000, seed=0, *, effect=2.0):
    """A binary task whose logits follow object and context; out of context the context misleads."""
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.4
    context = np.where(rng.random(n) < 0.8, label, ~label)
    score = 1.5 * (2 * label - 1) + effect * (2 * context - 1) + rng.normal(size=n)
    challenge = np.where(label == context, "easy", np.where(label, "hard_positive", "hard_negative"))
    group = [
        f"{'car' if y else 'no_car'}/{'context' if c else 'no_context'}" for y, c in zip(label, context, strict=True)
    ]
    split = np.where(np.arange(n) < n // 3, "validation", "test")
    table = pa.table(
        {
            "example_id": [f"{i:012d}" for i in range(n)],
            "split": split.tolist(),
            "label": label.astype(np.int64),
            "logits": list(np.stack([np.zeros(n), score], 1).astype(np.float32)),
            "group": group,
            "challenge": challenge.tolist(),
            "context_area": [[0.3] if c else [0.0] for c in context],
            "license": ["Attribution License"] * n,
            "source_url": ["https://example.org/1"] * n,
        }
    )
    metadata = {
        "benchmark": "nooch",
        "config": "ce_car",
        "version": "1.0.0",
        "notes": ["not the official NOOCH split"],
        "facts": {"object": "car", "contexts": ["road"]},
        "model": {"id": "m", "revision": None, "mode": "head"},
        "class_names": ["no_car", "car"],
        "rows": count_rows(split.tolist()),
    }
    return Predictions(table, metadata)


@pytest.fixture(scope="module")
def predictions():
    return nooch_predictions()


@pytest.fixture(scope="module")
def report(predictions):
    return oochub.evaluate(predictions)


def test_numbers_against_scikit_learn(predictions, report):
    """Every slice of the main metrics, computed again from the table with scikit-learn."""
    frame = predictions.to_pandas()
    frame["score"] = [float(row[1]) - float(row[0]) for row in frame["logits"]]
    frame["p"] = 1 / (1 + np.exp(-frame["score"]))
    test = frame[frame["split"] == "test"]
    hard = test[test["challenge"] != "easy"]
    slices = {
        "all": test,
        "in_context": test[test["challenge"] == "easy"],
        "out_of_context": hard,
        "hard_positive": test[test["challenge"] == "hard_positive"],
        "hard_negative": test[test["challenge"] == "hard_negative"],
        "validation": frame[frame["split"] == "validation"],
    }
    for name, rows in slices.items():
        assert report[f"{name}/accuracy"].n == len(rows)
        assert report[f"{name}/accuracy"] == pytest.approx(accuracy_score(rows["label"], rows["score"] > 0), abs=1e-12)
        assert report[f"{name}/nll"] == pytest.approx(log_loss(rows["label"], rows["p"], labels=[0, 1]), abs=1e-6)
        if rows["label"].nunique() == 2:
            assert report[f"{name}/auc"] == pytest.approx(roc_auc_score(rows["label"], rows["score"]), abs=1e-12)
        else:
            assert np.isnan(report[f"{name}/auc"]) and report[f"{name}/auc"].reason
    assert report["auc_hard"] == pytest.approx(roc_auc_score(hard["label"], hard["score"]), abs=1e-12)
    assert report["auc"] == report["all/auc"]
    worst = test.assign(right=(test["score"] > 0) == test["label"]).groupby("group")["right"].mean()
    assert report["worst_group"] == pytest.approx(worst.min(), abs=1e-12)
    assert to_json(report)["worst_group"]["accuracy"]["group"] == worst.idxmin()


def test_the_worst_group_in_both_senses(predictions, report):
    """The worst of all four groups (Sagawa et al.), and the worse of the two out of context (NOOCH), by a loop."""
    frame = predictions.to_pandas()
    frame["wrong"] = [(row[1] > row[0]) != label for row, label in zip(frame["logits"], frame["label"], strict=True)]
    test = frame[frame["split"] == "test"]
    for name, rows in (("all", test), ("out_of_context", test[test["challenge"] != "easy"])):
        error = {group: rows[rows["group"] == group]["wrong"].mean() for group in sorted(set(rows["group"]))}
        worst = max(error, key=error.get)
        assert report[f"{name}/worst_group.error_rate"] == pytest.approx(error[worst], abs=1e-12)
        assert report[f"{name}/worst_group.error_rate"].n == (rows["group"] == worst).sum()
        named = report.slice(name).worst_groups["worst_group.error_rate"]
        assert (named.name, named.among) == (worst, {"all": 4, "out_of_context": 2}[name])
    assert "in_context/worst_group.error_rate" not in report and report.slice("in_context").worst_groups is None
    again = from_json(Report, json.loads(json.dumps(to_json(report))), what="the report")
    assert again.slice("all").worst_groups == report.slice("all").worst_groups
    sentence = (
        "Worst group by error: road without car, among 4 groups (all examples of test); "
        "road without car, among 2 groups (out"
    )
    assert sentence in report.to_markdown() and sentence in report.to_html()


def test_adjusted_accuracy_takes_its_weights_from_the_record(predictions, report):
    """Against a loop over groups; a report on all rows alone has it. Fault planted: every group weighed alike."""
    counts = {"car/context": 10, "car/no_context": 1, "no_car/context": 2, "no_car/no_context": 7}
    known = replace(predictions.metadata, facts=BuildFacts(group_counts=counts, contexts=("road",), object="car"))
    number = oochub.evaluate(Predictions(predictions.table, known), metrics=["accuracy", "adjusted_accuracy"])
    frame = predictions.to_pandas()
    test = frame[frame["split"] == "test"]
    right = np.array([(row[1] > row[0]) == label for row, label in zip(test["logits"], test["label"], strict=True)])
    expected = sum(count / 20 * right[test["group"] == group].mean() for group, count in counts.items())
    assert number["adjusted_accuracy"] == pytest.approx(expected, abs=1e-12)
    assert [name for name in number if name.endswith("adjusted_accuracy")] == [
        "adjusted_accuracy",
        "all/adjusted_accuracy",
    ]
    with pytest.raises(oochub.OochubError, match="adjusted_accuracy needs group_counts from the build record"):
        oochub.evaluate(predictions, metrics=["adjusted_accuracy"])


def test_sides_also_go_by_the_benchmarks_own_words(report):
    """Every metric on hard, easy, hard positives, hard negatives and all; an alias adds no number of its own."""
    metrics = ("auc", "accuracy", "error_rate", "nll", "ece")
    for name, own in (("hard", "out_of_context"), ("easy", "in_context")):
        for metric in metrics:
            assert f"{name}/{metric}" in report
            assert report[f"{name}/{metric}"] == report[f"{own}/{metric}"]
            assert report[f"{name}/{metric}"].low == report[f"{own}/{metric}"].low
        assert report.slice(name) is report.slice(own)
    assert all(f"{name}/{metric}" in report for name in ("all", "hard_positive", "hard_negative") for metric in metrics)
    assert not [key for key in report if key.startswith(("hard/", "easy/"))]
    assert "hard/auc_hard" not in report and 3 not in report
    with pytest.raises(oochub.OochubError, match=r"No slice in this report named .hrad.\. Did you mean .hard."):
        report.slice("hrad")


def test_a_name_is_not_hidden_by_a_title(report):
    """A side that is titled like another slice keeps its own name only."""
    data = to_json(report)
    next(part for part in data["slices"] if part["role"] == "in")["title"] = "validation"
    assert from_json(Report, data, what="it")["validation/nll"] == report["validation/nll"] != report["in_context/nll"]


def test_rows_of_a_slice_have_a_name(predictions, report):
    """The same in any order, another when a label or the rows change."""
    order = np.random.default_rng(1).permutation(len(predictions))
    other = oochub.evaluate(Predictions(predictions.table.take(pa.array(order)), predictions.metadata), metrics=["nll"])
    names = [part["examples"] for part in to_json(report)["slices"]]
    assert [part["examples"] for part in to_json(other)["slices"]] == names and len(set(names)) == len(names)
    flipped = predictions.label.copy()
    flipped[-1] = 1 - flipped[-1]
    table = predictions.table.set_column(2, "label", pa.array(flipped))
    changed = oochub.evaluate(Predictions(table, predictions.metadata), metrics=["nll"])
    assert changed.slice("all").examples != names[0]
    assert changed.slice("validation").examples == report.slice("validation").examples


def test_gap_is_out_minus_in_with_an_interval(report):
    gap = report["gap"]
    assert gap == pytest.approx(report["out_of_context/auc"] - report["in_context/auc"], abs=1e-12)
    assert gap.low < gap < gap.high < 0
    assert to_json(report)["gap"]["n_out_smallest"] == min(report["hard_positive/nll"].n, report["hard_negative/nll"].n)


def test_groups_and_contexts_are_named(report):
    rows = {row["group"]: row for row in to_json(report)["groups"]["rows"]}
    assert rows["car/no_context"]["context"] == "no road" and rows["no_car/context"]["context"] == "road"
    assert rows["car/no_context"]["role"] == "out" and rows["car/context"]["role"] == "in"
    assert sum(row["n"] for row in rows.values()) == 2000


def test_calibration_bins_against_a_loop(predictions, report):
    test = (predictions.split == "test") & (predictions.column("challenge") == "easy")
    confidence = predictions.probability[test].max(1)
    right = predictions.prediction[test] == predictions.label[test]
    for one in to_json(report)["calibration"]["in"]["bins"]:
        inside = [low < c <= one["high"] for c in confidence for low in [one["low"]]]
        assert one["n"] == sum(inside)
        assert one["accuracy"] == pytest.approx(right[inside].mean())
        assert one["accuracy_low"] <= one["accuracy"] <= one["accuracy_high"]


def test_mistakes_are_the_worst_of_both_kinds(predictions, report):
    """A loop: wrong rows out of context by loss, at most six of a kind."""
    loss = -np.log(predictions.probability[np.arange(len(predictions)), predictions.label])
    frame = predictions.to_pandas().assign(loss=loss, said=predictions.prediction)
    wrong = frame[(frame["split"] == "test") & (frame["challenge"] != "easy") & (frame["said"] != frame["label"])]
    expected = set()
    for label in (0, 1):
        expected |= set(wrong[wrong["label"] == label].nlargest(6, "loss")["example_id"])
    shown = to_json(report)["mistakes"]
    assert {one["example_id"] for one in shown} == expected and len(shown) == 12
    assert [one["loss"] for one in shown] == sorted((one["loss"] for one in shown), reverse=True)
    assert {(one["kind"], one["context"]) for one in shown} == {("missed", "no road"), ("false_alarm", "road")}
    assert shown[0]["attribution"] == "https://example.org/1 (Attribution License)"


def test_report_survives_the_disk(report, tmp_path):
    again = Report.load(report.save(tmp_path / "r.json"))
    assert to_json(again) == json.loads(json.dumps(to_json(report)))
    assert again["auc_hard"].low == report["auc_hard"].low
    frame = again.to_pandas()
    assert {"slice", "metric", "value", "low", "high", "n"} <= set(frame.columns)
    with pytest.raises(oochub.OochubError, match="Did you mean 'auc_hard'"):
        report["auc_hrd"]
    (tmp_path / "r.json").write_text('{"schema_version": 99}')
    with pytest.raises(oochub.OochubError, match="schema version 99"):
        Report.load(tmp_path / "r.json")
    (tmp_path / "r.json").write_text('{"schema_ver')
    with pytest.raises(oochub.OochubError, match="is not a report"):
        Report.load(tmp_path / "r.json")


def test_wrong_requests(predictions):
    with pytest.raises(oochub.OochubError, match="No metric named 'auc_hrad'"):
        oochub.evaluate(predictions, metrics=["auc_hrad"])
    with pytest.raises(oochub.OochubError, match="No detector named 'vmi'"):
        oochub.evaluate(predictions, detectors=["vmi"])
    with pytest.raises(oochub.OochubError, match="rows in and out of distribution"):
        oochub.evaluate(predictions, detectors=["msp"])
    with pytest.raises(oochub.OochubError, match="apply to detectors only"):
        oochub.evaluate(predictions, pairs=[("a", "b")])
    without = Predictions(predictions.table.drop_columns(["challenge"]), predictions.metadata)
    with pytest.raises(oochub.OochubError, match="auc_hard needs challenge"):
        oochub.evaluate(without)


def test_rows_outside_the_label_set_are_left_out_and_said(predictions):
    label = predictions.label.copy()
    label[-5:] = -1
    table = predictions.table.set_column(2, "label", pa.array(label))
    report = oochub.evaluate(Predictions(table, predictions.metadata))
    assert report["accuracy"].n == 1995
    assert "5 rows outside the label set are skipped" in to_json(report)["notes"]
