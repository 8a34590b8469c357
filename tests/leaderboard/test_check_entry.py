"""The check of an entry: every number of its report recomputed, what differs is named, nothing is computed twice."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from leaderboard_entries import describe_checked, made_predictions, sent_entry
from sklearn.metrics import roc_auc_score

import oochub
from oochub.leaderboard.board import Board
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_pages import make_entry_page
from oochub.storage.cache import cache_folder, read_kept_bytes

EDITS = {  # where a report is edited, and by what its reason names it
    ("gap", "value"): "gap/value",
    ("gap", "n_in"): "gap/n_in",
    ("slices", 2, "metrics", "auc", "low"): "slices/out_of_context/metrics/auc/low",
    ("slices", 0, "n"): "slices/all/n",
    ("groups", "rows", 0, "accuracy", "value"): "groups/",
    ("worst_group", "accuracy", "value"): "worst_group/accuracy/value",
    ("calibration", "in", "ece", "high"): "calibration/in/ece/high",
    ("mistakes", 0, "loss"): "mistakes/test/",
    ("benchmark", "version"): "benchmark version",
    ("model", "id"): "model id",
    ("provenance", "predictions", "fingerprint"): "fingerprint of the data",
    ("provenance", "predictions", "sha256"): "sha256",
}


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    return sent_entry(tmp_path_factory.mktemp("sent") / "results", resamples=1000, who="me")


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
    assert EDITS[place] in checked.reason
    assert checked.report is not None and "\n" not in checked.reason


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [{"resamples": 100}, {"resamples": 1000, "seed": 7}, {"resamples": 1000}])
def test_intervals_are_those_of_the_board_whatever_was_sent(tmp_path, sampling):
    """The same predictions have the same intervals whatever seed was chosen for them; that they are is said.

    Seen: the interval of a seed that was looked for, on the board.
    """
    made = made_predictions(1.5, seed=2)
    checked = CheckedEntry.of(sent_entry(tmp_path / "results", predictions=made, **sampling))
    usual = oochub.evaluate(made, resamples=1000, seed=0)
    assert checked.reason == ""
    found = {key: checked.report[key].to_dict() for key in usual}
    assert found == {key: usual[key].to_dict() for key in usual}
    assert (checked.report.provenance.resamples, checked.report.provenance.seed) == (1000, 0)
    sent = (sampling["resamples"], sampling.get("seed", 0))
    assert checked.own_intervals == (
        "" if sent == (1000, 0) else f"those that were sent are of {sent[0]:,} resamples, seed {sent[1]}"
    )
    (board,) = Board.all_of([checked])
    page = make_entry_page(board.rows[0], board)
    assert ("1,000 resamples, seed 0: those that were sent" in page) == (sent != (1000, 0))


def test_points_must_agree_where_intervals_are_not_compared(tmp_path):
    sent = sent_entry(tmp_path / "results", seed=7)

    def change(content):
        content["slices"][0]["metrics"]["accuracy"]["value"] -= 1e-6
        content["slices"][0]["metrics"]["accuracy"]["low"] -= 0.1

    checked = CheckedEntry.of(_edited(sent, tmp_path, change))
    assert checked.reason.startswith("slices/all/metrics/accuracy/value was sent as")


def test_answers_among_the_present_classes_alone_are_not_those_of_the_board(tmp_path):
    """Seen verified, beside entries that answered among all classes."""
    folder = sent_entry(tmp_path / "results")
    oochub.evaluate(folder / "preds.parquet", classes="present").save(folder / "report.json")
    assert "evaluate without --classes present" in CheckedEntry.of(folder).reason


def test_the_main_metric_is_there_whatever_was_sent(tmp_path):
    folder = sent_entry(tmp_path / "results")
    oochub.evaluate(folder / "preds.parquet", metrics=["nll"]).save(folder / "report.json")
    checked = CheckedEntry.of(folder)
    assert checked.reason == "" and checked.report.headline("out") is not None


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
    assert checked.reason == "it does not say what its numbers for accuracy, auc, ece, error_rate, nll mean"


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

    monkeypatch.setattr("oochub.leaderboard.check_entry.recompute_report", refuse)
    assert describe_checked(CheckedEntry.of(copy)) == describe_checked(first)
    made_predictions(0.2, seed=1).save(copy / "preds.parquet")
    assert "AssertionError: computed again" in CheckedEntry.of(copy).reason


def test_a_broken_cache_is_made_again(sent):
    first = CheckedEntry.of(sent)
    kept = next(cache_folder("checks").glob("*.json"))
    kept.write_text("{")
    assert describe_checked(CheckedEntry.of(sent)) == describe_checked(first)
    assert json.loads(read_kept_bytes("checks", kept.name))["reason"] == ""
