"""Answer, confidence and loss follow from the logits: no column, of whatever name, says them in their place."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import log_softmax
from sklearn.metrics import accuracy_score, log_loss

from oochub.evaluation.evaluate import evaluate
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.storage.parquet_file import seal

N, NAMES = 400, ["cat", "dog"]
BEFORE = ("prediction", "confidence", "loss")
STORED = tuple(f"oochub_{name}" for name in BEFORE)


def logits_of(seed):
    """Logits (n, 2) of a model that is a little better than guessing, float32."""
    noise = np.random.default_rng(seed).normal(size=(N, 2))
    noise[np.arange(N), label()] += 0.3
    return noise.astype(np.float32)


def label():
    return np.arange(N) % 2


def first(**columns):
    given = {"logits": logits_of(1), "label": label(), **columns}
    return Predictions.from_arrays(**given, class_names=NAMES, model="m")


def by_hand(logits):
    """Answer, confidence and loss of each row, by scipy."""
    logs = log_softmax(logits.astype(np.float64), axis=1)
    return {
        "prediction": logits.argmax(axis=1),
        "confidence": np.exp(logs.max(axis=1)),
        "loss": -logs[np.arange(N), label()],
    }


def numbers(given):
    report = evaluate(given, resamples=100)
    return to_json((report.slices, report.calibration, report.mistakes, report.groups))


def check_follows(predictions, logits):
    """That answers and their report are those of the logits, by scikit-learn and scipy."""
    expected = by_hand(logits)
    np.testing.assert_array_equal(predictions.prediction, expected["prediction"])
    np.testing.assert_allclose(predictions.summary.confidence, expected["confidence"], rtol=1e-9)
    np.testing.assert_allclose(predictions.summary.loss, expected["loss"], rtol=1e-9)
    report = evaluate(predictions, resamples=100)
    assert report["accuracy"].value == pytest.approx(accuracy_score(label(), expected["prediction"]), abs=1e-12)
    odds = np.exp(log_softmax(logits.astype(np.float64), axis=1))
    assert report["nll"].value == pytest.approx(log_loss(label(), odds), rel=1e-9)


@pytest.mark.parametrize("copies", [(), BEFORE])
def test_averaged_logits_are_what_is_evaluated(tmp_path, copies):
    """A file opened in pandas, its logits averaged with another model's, saved and evaluated.

    Seen failing: the columns of the first model, written by `save` under the names prediction, confidence and loss,
    were believed beside the new logits, and its accuracy was reported.
    """
    frame = pd.read_parquet(first().save(tmp_path / "first.parquet"))
    for name in copies:
        frame[name] = by_hand(logits_of(1))[name]
    mean = (np.stack(frame["logits"].tolist()) + logits_of(2)) / np.float32(2)
    frame["logits"] = list(mean)
    assert (mean.argmax(axis=1) != logits_of(1).argmax(axis=1)).any()
    file = Predictions.from_pandas(frame, class_names=NAMES).save(tmp_path / "mean.parquet")
    check_follows(Predictions.load(file), mean)
    check_follows(Predictions.from_pandas(frame, class_names=NAMES), mean)


def test_a_file_tells_other_programs_the_answers(tmp_path):
    """Other readers find them under names of ours; our own round trip is silent and brings the same rows."""
    one = first(label=np.where(np.arange(N) == 7, -1, label()))
    frame = pd.read_parquet(one.save(tmp_path / "p.parquet"))
    expected = by_hand(logits_of(1))
    assert frame["oochub_prediction"].tolist() == expected["prediction"].tolist()
    np.testing.assert_allclose(frame["oochub_confidence"], expected["confidence"], rtol=1e-9)
    known = np.arange(N) != 7
    np.testing.assert_allclose(frame["oochub_loss"][known], expected["loss"][known], rtol=1e-9)
    assert np.isnan(frame["oochub_loss"][7])
    again = Predictions.from_pandas(frame, class_names=NAMES)
    assert again.column_names == one.column_names and not {*STORED} & {
        *Predictions.load(tmp_path / "p.parquet").table.column_names
    }
    assert again.metadata.notes == () and again.digest == one.digest


def test_stale_copies_that_come_with_rows_are_left_out_and_said():
    columns = {f"oochub_{name}": values for name, values in by_hand(logits_of(2)).items()}
    made = Predictions.from_arrays(
        logits=logits_of(1), label=label(), class_names=NAMES, oochub_run=["a"] * N, **columns
    )
    assert not {*STORED} & {*made.column_names} and "oochub_run" in made.column_names
    (note,) = made.metadata.notes
    assert note.startswith(
        "the columns oochub_prediction, oochub_confidence, oochub_loss that came with the rows are left"
    )
    assert note in evaluate(made, resamples=100).notes
    check_follows(made, logits_of(1))
    of_labels = Predictions.from_arrays(logits=[[1.0, 0.0]], labels=[[0]], oochub_loss=[0.0], kind="labels")
    assert "oochub_loss" not in of_labels.column_names and "oochub_loss" in of_labels.metadata.notes[0]


@pytest.mark.parametrize("names", [BEFORE, STORED])
@pytest.mark.parametrize("sealed", [True, False])
def test_forged_copies_decide_nothing(tmp_path, names, sealed):
    """The true label as the answer, sure of it and without loss, beside honest logits, resealed.

    Seen failing: a file that was sealed again was believed.
    """
    honest = pq.read_table(first().save(tmp_path / "p.parquet"))
    forged = honest.drop_columns([name for name in (*BEFORE, *STORED) if name in honest.column_names])
    for name, values in zip(names, (label().astype(np.int32), np.ones(N), np.zeros(N)), strict=True):
        forged = forged.append_column(name, pa.array(values))
    pq.write_table(forged, tmp_path / "forged.parquet")
    if sealed:
        seal(tmp_path / "forged.parquet")
    loaded = Predictions.load(tmp_path / "forged.parquet")
    check_follows(loaded, logits_of(1))
    assert {name for name in BEFORE if name in loaded.column_names} == {*names} & {*BEFORE}


def test_a_file_of_before_opens_without_its_copies(tmp_path):
    """It has them under plain names; where they are not those of the logits they are somebody's own, and stay."""
    honest = pq.read_table(first().save(tmp_path / "p.parquet"))
    said = {**honest.schema.metadata, b"oochub_sums": json.dumps({"digest": first().digest}).encode()}
    plain = honest.select(["example_id", "split", "label", "logits"])
    for name, values in by_hand(logits_of(1)).items():
        plain = plain.append_column(name, pa.array(values))
    file = tmp_path / "before.parquet"
    for change in (None, {"loss": pa.array(np.zeros(N))}, {"prediction": pa.array(["cat"] * N)}):
        table = plain
        for name, values in (change or {}).items():
            table = table.set_column(table.column_names.index(name), name, values)
        pq.write_table(table.replace_schema_metadata(said), file)
        seal(file)
        loaded = Predictions.load(file)
        check_follows(loaded, logits_of(1))
        assert loaded.integrity == "checked" and loaded.digest == first().digest
        assert {*BEFORE} & {*loaded.column_names} == ({*BEFORE} if change else set())


def test_a_user_s_own_columns_of_these_names_are_kept_and_read_by_no_number(tmp_path):
    """Whatever they hold: the report is that of the same rows without them, but for its note.

    Seen failing for numbers: prediction, confidence and loss in a file were taken for the summary.
    """
    rng = np.random.default_rng(5)
    group = np.array(["sea", "land"])[rng.integers(0, 2, N)]
    texts = {"prediction": ["cat"] * N, "confidence": ["low"] * N, "loss": [None] * N, "correct": ["yes"] * N}
    values = {name: rng.normal(size=N) for name in (*BEFORE, "correct", "score", "probability")}
    expected = numbers(first(group=group))
    for own in (texts, values, {"correct": np.ones(N, bool)}):
        made = first(group=group, **own)
        loaded = Predictions.load(made.save(tmp_path / "own.parquet"))
        assert {*own} <= {*loaded.column_names} and loaded.table.equals(made.table)
        assert loaded.to_pandas()[list(own)].equals(made.to_pandas()[list(own)])
        for each in (made, loaded):
            assert numbers(each) == expected
        notes = evaluate(loaded, resamples=100).notes
        shadowed = {*own} & {"prediction", "loss", "correct", "score", "probability"}
        assert all(any(f"the column {name} is not read" in note for note in notes) for name in shadowed)
