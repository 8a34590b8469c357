"""The check of an entry: every number of its report recomputed, what differs is named, nothing is computed twice."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from leaderboard_entries import made_predictions, sent_entry
from sklearn.metrics import roc_auc_score

import oochub
from oochub.caches import cache_folder
from oochub.leaderboard.checked_entry import CheckedEntry
from oochub.schema import to_json

EDITS = {  # where a report is edited, and by what its reason names it
    ("gap", "value"): "gap/value",
    ("gap", "n_in"): "gap/n_in",
    ("slices", 2, "metrics", "auc", "low"): "slices/out_of_context/metrics/auc/low",
    ("slices", 0, "n"): "slices/all/n",
    ("groups", "rows", 0, "accuracy", "value"): "groups/",
    ("worst_group", "accuracy", "value"): "worst_group/accuracy/value",
    ("calibration", "in", "ece", "high"): "calibration/in/ece/high",
    ("mistakes", 0, "loss"): "mistakes/test/",
    ("provenance", "seed"): "slices/",
    ("provenance", "resamples"): "200 to",
    ("benchmark", "version"): "benchmark version",
    ("model", "id"): "model id",
    ("provenance", "predictions", "fingerprint"): "fingerprint of the data",
    ("provenance", "predictions", "sha256"): "sha256",
}


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    return sent_entry(tmp_path_factory.mktemp("sent") / "results", who="me")


def _edited(folder, tmp_path, change):
    copy = shutil.copytree(folder, tmp_path / "copy")
    content = json.loads((copy / "report.json").read_text())
    change(content)
    (copy / "report.json").write_text(json.dumps(content))
    return copy


def test_a_sound_entry_is_verified_to_the_last_digit(sent):
    """The number out of context is scikit-learn's on the rows themselves."""
    checked = CheckedEntry.of(sent)
    assert checked.reason == "" and checked.difference == 0 and checked.numbers > 200
    made = made_predictions(1.5, seed=150)
    challenge = made.rows.column("challenge").to_pylist()
    hard = [name != "easy" for name in challenge]
    score = made.logits[:, 1] - made.logits[:, 0]
    assert checked.report.headline("out") == pytest.approx(roc_auc_score(made.label[hard], score[hard]), abs=1e-9)
    assert checked.report.provenance.when == oochub.Report.load(sent / "report.json").provenance.when


@pytest.mark.parametrize("place", EDITS, ids=lambda place: ".".join(map(str, place)))
def test_an_edited_number_is_named(sent, tmp_path, place):
    """Planted faults seen: each part of `_numbers` left out, the origins not compared, a rounding of 1e-2."""

    def change(content):
        for step in place[:-1]:
            content = content[step]
        was = content[place[-1]]
        content[place[-1]] = f"{was}x" if isinstance(was, str) else was + (1 if isinstance(was, int) else 1e-6)

    checked = CheckedEntry.of(_edited(sent, tmp_path, change))
    if place == ("provenance", "resamples"):  # 101 resamples: other intervals, or the same by their laws
        assert checked.reason
    else:
        assert EDITS[place] in checked.reason
    assert checked.report is not None and "\n" not in checked.reason


def test_where_the_errors_go_is_recomputed(tmp_path):
    """Planted fault seen: `errors` left out of `_numbers`, so that any share was verified."""
    rng = np.random.default_rng(0)
    label, context = rng.integers(0, 3, 120), rng.choice(["sea", "land"], 120)
    columns = {"context": context, "challenge": np.where(label == 0, "easy", "hard"), "group": context}
    made = oochub.Predictions.from_arrays(
        logits=rng.normal(size=(120, 3)), label=label, benchmark="board_toy", config="one", model="made", **columns
    )
    facts = replace(made.metadata.facts, usual_contexts={"0": ("sea",), "1": ("land",), "2": ()})
    made = replace(made, metadata=replace(made.metadata, facts=facts))
    sent = sent_entry(tmp_path / "results", predictions=made, who="me")
    assert CheckedEntry.of(sent).reason == ""

    def change(content):
        content["errors"]["share"]["value"] -= 0.01

    assert "errors/share/value was sent as" in CheckedEntry.of(_edited(sent, tmp_path, change)).reason


def test_metrics_without_a_description_are_named(sent, tmp_path):
    """A fuzz case found it: the entry was verified by the metrics that the benchmark declares, and showed those."""
    checked = CheckedEntry.of(_edited(sent, tmp_path, lambda content: content["metrics"].clear()))
    assert checked.reason == "it does not say what its numbers of accuracy, auc, ece, error_rate, nll mean"


def test_a_rounding_is_no_edit(sent, tmp_path):
    """Another numpy rounds the last digits otherwise."""
    checked = CheckedEntry.of(
        _edited(sent, tmp_path, lambda content: content["gap"].update(value=content["gap"]["value"] + 1e-13))
    )
    assert checked.reason == "" and 0 < checked.difference < 1e-12


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "preds.parquet").unlink(), "its file preds.parquet is missing"),
        (lambda folder: (folder / "preds.parquet").write_bytes(b"PAR1 and no more"), "preds.parquet"),
        (lambda folder: (folder / "preds.parquet").write_text("version https://git-lfs.github.com/spec/v1"), "preds"),
        (lambda folder: (folder / "report.json").write_text("{"), "report.json is not complete JSON"),
        (lambda folder: (folder / "entry.json").write_text("[]"), "entry.json"),
        (lambda folder: (folder / "entry.json").unlink(), "entry.json"),
    ],
)
def test_what_is_broken_is_a_reason_and_no_error(sent, tmp_path, spoil, words):
    copy = shutil.copytree(sent, tmp_path / "copy")
    spoil(copy)
    checked = CheckedEntry.of(copy)
    assert words in checked.reason and str(tmp_path) not in checked.reason


def test_predictions_of_another_model_are_not_its(sent, tmp_path):
    copy = shutil.copytree(sent, tmp_path / "copy")
    made_predictions(0.2, seed=1).save(copy / "preds.parquet")
    assert "sha256" in CheckedEntry.of(copy).reason


def test_what_was_checked_is_not_computed_again(sent, tmp_path, monkeypatch):
    """By content: a copy of it is known, an edited one is not. Planted fault seen: the key of the report alone."""
    copy = shutil.copytree(sent, tmp_path / "copy")
    first = CheckedEntry.of(copy)
    assert len(list(cache_folder("checks").glob("*.json"))) == 1

    def refuse(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr("oochub.leaderboard.checked_entry.recomputation", refuse)
    assert to_json(CheckedEntry.of(copy)) == to_json(first)
    made_predictions(0.2, seed=1).save(copy / "preds.parquet")
    with pytest.raises(AssertionError, match="computed again"):
        CheckedEntry.of(copy)


def test_a_broken_cache_is_made_again(sent):
    first = CheckedEntry.of(sent)
    kept = next(cache_folder("checks").glob("*.json"))
    kept.write_text("{")
    assert to_json(CheckedEntry.of(sent)) == to_json(first) and json.loads(kept.read_text())["reason"] == ""
