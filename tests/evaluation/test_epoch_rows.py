"""Rows that chose the epoch of a model: held out by half, they stand in no number of the report, and it says so."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

import oochub
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.errors import OochubError
from oochub.records.metadata import Training
from oochub.storage.reading import read_json
from oochub.sweep.measurement import collect_numbers
from oochub.sweep.runs import Run


def _chooses(ids):
    """The rule as it is written down: the first byte of SHA-256 of "hold_out/<id>" is below 128."""
    return np.array([hashlib.sha256(b"hold_out/" + str(each).encode()).digest()[0] < 0x80 for each in ids])


@pytest.fixture(scope="module")
def trained(spawrious, tmp_path_factory):
    """A run that holds out half of the rows in context, and what it says of validation and test."""
    folder = tmp_path_factory.mktemp("runs") / "held_out"
    oochub.train("spawrious/o2o_hard", folder, data_dir=str(spawrious), arguments=_SHORT, hold_out=True)
    return folder, oochub.predict(folder, oochub.load("spawrious/o2o_hard", data_dir=str(spawrious)))


_SHORT = {"num_train_epochs": 2}


@pytest.mark.slow
def test_train_and_evaluate_agree_on_the_rows(trained):
    """The numbers of the kept epoch are of one half, those of the report of the other; scikit-learn gives both."""
    folder, predictions = trained
    inside, ids = predictions.split == "validation", predictions.column("example_id")
    chose = inside & _chooses(ids)
    rest = inside & ~chose
    assert chose.sum() and rest.sum() and chose.sum() != rest.sum()
    recipe = read_json(folder / "recipe.json")
    held_out = {"split": "validation", "by": "example_id", "chose": chose.sum(), "rows": rest.sum()}
    assert recipe["selection"]["held_out"] == held_out
    assert f"on {chose.sum()} of {inside.sum()} rows of the validation split" in recipe["selection"]["rule"]
    label, answer, probability = predictions.label, predictions.prediction, predictions.probability
    numbers = recipe["selection"]["numbers"]
    assert numbers["accuracy"] == pytest.approx(accuracy_score(label[chose], answer[chose]), abs=1e-12)
    assert numbers["loss"] == pytest.approx(log_loss(label[chose], probability[chose], labels=range(4)), rel=1e-5)
    report = oochub.evaluate(predictions, resamples=100)
    assert report["in_context/accuracy"].n == rest.sum()
    assert report["in_context/accuracy"].value == pytest.approx(accuracy_score(label[rest], answer[rest]))
    loss = log_loss(label[rest], probability[rest], labels=range(4))
    assert report["in_context/nll"].value == pytest.approx(loss, rel=1e-6)
    assert report["accuracy"].n == (predictions.split == "test").sum()
    rows = [row for row in report.group_rows if row.role == "in"]
    assert sum(row.n for row in rows) == rest.sum()


@pytest.mark.slow
def test_the_page_says_how_many_chose_and_how_many_are_reported(trained):
    """Both counts, and no word that the number may be too good. Planted fault seen: the note of all rows stayed."""
    _, predictions = trained
    chose = int(_chooses(predictions.column("example_id")[predictions.split == "validation"]).sum())
    rest = int((predictions.split == "validation").sum()) - chose
    report = oochub.evaluate(predictions, resamples=100)
    said = f"{chose} rows of split validation, selected by a hash of example_id, chose the epoch"
    assert said in report.to_html() and f"the numbers are from the other {rest}" in report.to_html()
    assert "too good" not in report.to_html() and "left out" not in " ".join(report.notes)


@pytest.mark.parametrize("other", [{"config": "o2o_easy"}, {"benchmark": "waterbirds"}, None])
def test_a_model_of_other_data_has_all_rows(trained, other):
    """Planted fault seen: the record was read of a model that was trained on another challenge."""
    _, predictions = trained
    training = predictions.metadata.training
    known = replace(training, data={**training.data, **other}) if other else Training(objective="erm")
    changed = replace(predictions, metadata=replace(predictions.metadata, training=known))
    report = oochub.evaluate(changed, resamples=100)
    assert report["in_context/accuracy"].n == (predictions.split == "validation").sum()
    assert not [note for note in report.notes if "chose the epoch" in note]


def test_a_pair_is_of_rows_that_chose_for_neither(trained):
    """Planted fault seen: the rows of the first model alone were left out."""
    _, predictions = trained
    metadata = predictions.metadata
    rule = replace(metadata.training, held_out=None, selection="epoch 1, the lowest loss on the validation split")
    every = replace(predictions, metadata=replace(metadata, training=rule))
    rest = int((~_chooses(predictions.column("example_id")[predictions.split == "validation"])).sum())
    for pair in ((predictions, every), (every, predictions)):
        compared = paired_comparison(*pair, resamples=100)
        (inside,) = (rows for rows in compared.slices if rows.role == "in")
        assert inside.n == rest
        assert len([note for note in compared.notes if "chose the epoch" in note]) == 2


def test_a_sweep_selects_on_the_rows_that_chose(trained):
    """Of split validation its numbers are of one half, of the side in context of the other; ids of others stay."""
    _, predictions = trained
    inside = predictions.split == "validation"
    chose = inside & _chooses(predictions.column("example_id"))
    numbers = collect_numbers(predictions, oochub.evaluate(predictions, resamples=100))
    right = predictions.label == predictions.prediction
    assert numbers["validation/accuracy"] == pytest.approx(right[chose].mean())
    assert numbers["in_context/accuracy"] == pytest.approx(right[inside & ~chose].mean())
    assert right[chose].mean() != right[inside & ~chose].mean()
    fixed = {"task": "spawrious/o2o_hard", "method": "ERM", "objective": "erm", "seed": 0, "setting": {}}
    every, half = (Run(**fixed, fixed={}, model="resnet-tiny", hold_out=hold_out) for hold_out in (False, True))
    assert every.id != half.id and every.id == Run(**fixed, fixed={}, model="resnet-tiny").id


def test_hold_out_where_no_row_of_the_report_chooses(tmp_path, run):
    """NOOCH's rows in context are of test: said before any data are looked for."""
    with pytest.raises(
        OochubError, match=r"The report of nooch/ce_car covers test and none of those rows: remove hold"
    ):
        oochub.train("nooch/ce_car", tmp_path / "run", data_dir=str(tmp_path / "nowhere"), hold_out=True)
    _, _, err = run("train", "nooch/ce_car", "--data-dir", tmp_path, "--out", tmp_path / "run", "--hold-out")
    assert "--hold-out is for data whose report includes the rows that choose" in err
