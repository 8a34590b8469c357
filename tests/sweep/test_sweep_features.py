"""The features track: images seen once, heads that are what their predictions say, tables that never mix."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from sklearn.metrics import roc_auc_score
from tiny_encoder import tiny_encoder

import oochub
import oochub.sweep.feature_measurement
from oochub.cli import main
from oochub.data.load import load
from oochub.evaluation.evaluate import evaluate
from oochub.predicting import predict
from oochub.prediction.predictions import Predictions
from oochub.sweep.feature_measurement import FeatureCache, measure_on_features
from oochub.sweep.runs import Run
from oochub.sweep.sweep import feature_sweep, sweep
from oochub.sweep.sweep_recipe import read_recipe
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fit_linear_probe import fit_linear_probe

TOY = """
about = "Heads on features of a small network."
tasks = ["nooch/ce_car", "nooch/ce_cow"]
model = "resnet-tiny"
seeds = [0, 1]
select = "validation_loss"
options = { contexts = ["road"] }
image_size = 24
[arguments]
num_train_epochs = 2
[methods.ERM]
objective = "erm"
grid = { learning_rate = [1e-3, 1e-2] }
[methods.GDRO]
objective = "group_dro"
[methods.JTT]
objective = "jtt"
"""


@pytest.fixture
def counted(monkeypatch):
    """How many images each extraction saw."""
    seen: list[int] = []

    def counting(model, dataset, **options):
        seen.append(sum(len(part) for part in dataset.values()))
        return predict(model, dataset, **options)

    monkeypatch.setattr(oochub.sweep.feature_measurement, "predict", counting)
    return seen


def toy_recipe(tmp_path: Path) -> Path:
    file = tmp_path / "toy.toml"
    file.write_text(TOY)
    return file


@pytest.mark.slow
def test_pictures_are_seen_once_and_features_are_those_of_predict(tmp_path, coco, counted):
    """Two tasks of the same images, and a third of some more: only the new ones go through the network."""
    car, cow = (load(f"nooch/ce_{name}", data_dir=str(coco), options={"contexts": ["road"]}) for name in ("car", "cow"))
    model, processor = open_backbone("resnet-tiny", class_names=car["test"].features["label"].names, image_size=24)
    few = {"train": car["train"].select(range(20)), "test": car["test"].select(range(10))}
    expected = predict(
        model, car["test"], image_processor=processor, features=True, out=tmp_path / "p.parquet", images=False
    )
    FeatureCache(tmp_path / "cache").features(model, processor, few)
    result = FeatureCache(tmp_path / "cache").features(model, processor, car)
    again = FeatureCache(tmp_path / "cache").features(model, processor, cow)
    total = sum(len(part) for part in car.values())
    assert counted == [30, total - 30]
    rows = {item: row for row, item in enumerate(expected.column("example_id"))}
    order = [rows[item] for item in car["test"]["example_id"]]
    np.testing.assert_allclose(result["test"].numpy(), expected.features[order], atol=1e-5)
    assert list(cow["train"]["example_id"]) == list(car["train"]["example_id"])
    assert torch.equal(again["train"], result["train"]) and result["train"].shape == (len(car["train"]), 128)


@pytest.mark.slow
def test_from_pictures_to_the_table_on_features(tmp_path, coco, counted, monkeypatch, capsys):
    """Each head gives its predictions, they give its report and row; one extraction serves both tasks."""
    out = tmp_path / "out"
    words = ["oochub", "sweep", toy_recipe(tmp_path), "--out", out, "--data-dir", coco, "--features"]
    monkeypatch.setattr(sys, "argv", [str(word) for word in words])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "4 of 16 runs failed" in capsys.readouterr().err
    table = pd.read_parquet(out / "runs.parquet")
    assert len(counted) == 1 and table["track"].unique().tolist() == ["features"]
    failed = table[table["status"] == "failed"]
    assert failed["method"].tolist() == ["JTT"] * 4
    assert failed["error"].str.startswith("jtt is more than a loss of logits").all()
    data = load("nooch/ce_cow", data_dir=str(coco), options={"contexts": ["road"]})
    model, processor = open_backbone("resnet-tiny", class_names=data["test"].features["label"].names, image_size=24)
    reference = predict(model, data, image_processor=processor, images=False)
    (file,) = (out / "features").rglob("0.parquet")
    cached = Predictions.load(file)
    features = dict(zip(cached.column("example_id"), cached.features, strict=True))
    for _, row in table[(table["task"] == "nooch/ce_cow") & (table["status"] == "finished")].iterrows():
        predictions = Predictions.load(out / row["path"] / "predictions.parquet")
        head = load_file(out / row["path"] / "head.safetensors")
        inputs = torch.tensor(np.stack([features[item] for item in predictions.column("example_id")]))
        logits = inputs @ head["0.weight"].T + head["0.bias"]
        np.testing.assert_allclose(predictions.logits, logits.numpy(), atol=1e-5)
        same = predictions.table.drop_columns(["logits"]).to_pydict()
        assert same == reference.table.drop_columns(["logits"]).to_pydict()
        report = evaluate(predictions)
        for name in ("out_of_context/auc", "in_context/auc", "validation/nll"):
            assert row[name] == pytest.approx(float(report[name]), nan_ok=True), name
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(predictions.label), reduction="none").numpy()
        assert row["validation/nll"] == pytest.approx(loss[predictions.split == "validation"].mean(), abs=1e-5)
    page = (out / "selected.md").read_text()
    assert "Track: features." in page
    before = table.drop(columns="seconds")
    with pytest.raises(SystemExit, match="2"):  # jtt again
        main()
    capsys.readouterr()
    assert len(counted) == 1
    pd.testing.assert_frame_equal(pd.read_parquet(out / "runs.parquet").drop(columns="seconds"), before)
    recipe = read_recipe(toy_recipe(tmp_path))
    with pytest.raises(oochub.OochubError, match=r"contains the sweep toy \(features\), not toy \(fine-tuning\)"):
        sweep(recipe, out, measure=measure_on_features)
    assert json.loads(pq.read_schema(out / "selected.parquet").metadata[b"oochub"])["sweep"] == "toy"


@pytest.mark.slow
def test_an_mlp_head_is_a_track_of_its_own(tmp_path, coco, counted, monkeypatch, capsys):
    """From the shell: the predictions are those of the saved layers, with ReLU between, and never in another track."""
    out, text = tmp_path / "out", TOY.partition("[methods.GDRO]")[0].replace(', "nooch/ce_cow"', "")
    (tmp_path / "toy.toml").write_text(text)
    words = ["oochub", "sweep", tmp_path / "toy.toml", "--data-dir", coco, "--out", out]

    def said(*more: str, code: int) -> str:
        monkeypatch.setattr(sys, "argv", [*map(str, words), *more])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert (stopped.value.code or 0) == code
        return capsys.readouterr().err

    assert "head='mlp' is of heads on features. Add --features" in said("--head", "mlp", code=2)
    assert "must be one of linear, mlp, got 'mpl'. Did you mean 'mlp'?" in said("--features", "--head", "mpl", code=2)
    assert "in [1, 100,000], got 0" in said("--features", "--head", "mlp", "--override", "hidden_size=0", code=2)
    said("--features", "--head", "mlp", "--set", "hidden_size=7", code=0)
    table = pd.read_parquet(out / "runs.parquet")
    assert table["track"].tolist() == ["features, MLP head of 7"] * 4 and (table["status"] == "finished").all()
    (file,) = (out / "features").rglob("0.parquet")
    cached = Predictions.load(file)
    features = dict(zip(cached.column("example_id"), cached.features, strict=True))
    for path in table["path"]:
        layers = load_file(out / path / "head.safetensors")
        assert {name: tuple(item.shape) for name, item in layers.items()} == {
            "0.weight": (7, 128), "0.bias": (7,), "1.weight": (2, 7), "1.bias": (2,)
        }  # fmt: skip
        predictions = Predictions.load(out / path / "predictions.parquet")
        inputs = np.stack([features[item] for item in predictions.column("example_id")]).astype(np.float64)
        weights = {name: item.double().numpy() for name, item in layers.items()}
        hidden = np.maximum(inputs @ weights["0.weight"].T + weights["0.bias"], 0)
        np.testing.assert_allclose(
            predictions.logits, hidden @ weights["1.weight"].T + weights["1.bias"], atol=1e-4, rtol=1e-4
        )
        assert "an MLP head (7 hidden) on fixed features of resnet-tiny" in predictions.metadata.notes
    assert "contains the sweep toy (features, MLP head of 7), not toy (features)" in said("--features", code=2)
    (tmp_path / "toy.toml").write_text('head = "mlp"\nhidden_size = 7\n' + text)
    said("--features", code=0)  # the recipe says the same: nothing is left to do
    assert len(counted) == 1


@pytest.mark.slow
def test_one_run_is_scored_by_both_criteria_of_nooch(tmp_path, coco, monkeypatch, capsys):
    """As in the paper: the head trained for gist_car is that for ce_car, bit for bit; its row has both scores."""
    encoder, out = tiny_encoder(tmp_path / "encoder"), tmp_path / "out"
    text = TOY.partition("[methods.GDRO]")[0].replace("nooch/ce_cow", "nooch/gist_car")
    tau = '[per_task."nooch/gist_car".options]\ntau = 0.735\n'  # by count, the toy's hard rows would be the same
    (tmp_path / "toy.toml").write_text(text.replace('{ contexts = ["road"] }', "{}") + tau)
    words = ["oochub", "sweep", tmp_path / "toy.toml", "--data-dir", coco, "--out", out, "--features", "--option"]
    monkeypatch.setattr(sys, "argv", [*map(str, words), "encodr=x"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "No option of nooch named 'encodr'. Did you mean 'encoder'?" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*map(str, words), f"encoder={encoder}"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    table = pd.read_parquet(out / "runs.parquet")
    by_task = {task: part.set_index(["setting", "seed"]) for task, part in table.groupby("task")}
    gist, ce = by_task["nooch/gist_car"], by_task["nooch/ce_car"]
    assert len(gist) == len(ce) == 4 and not any(name.startswith("gist/") for name in table)
    for key, row in gist.iterrows():
        heads = [load_file(out / item["path"] / "head.safetensors") for item in (row, ce.loc[key])]
        assert all(torch.equal(heads[0][name], heads[1][name]) for name in heads[0])
        predictions = Predictions.load(out / row["path"] / "predictions.parquet")
        test = predictions.split == "test"
        score = (predictions.logits[:, 1] - predictions.logits[:, 0])[test]
        result = {}
        for name in ("gist", "ce"):
            hard = predictions.column(f"challenge_{name}")[test] != "easy"
            result[name] = roc_auc_score(predictions.label[test][hard], score[hard])
        assert row["out_of_context/auc"] == pytest.approx(result["gist"], abs=1e-6)
        assert row["ce/out_of_context/auc"] == pytest.approx(result["ce"], abs=1e-6) and result["ce"] != result["gist"]
        for name in ("out_of_context/auc.low", "all/nll", "validation/hard_positive/nll", "gap"):
            assert row[f"ce/{name}"] == pytest.approx(ce.loc[key][name], abs=1e-9, nan_ok=True), name
    assert not any("worst_group" in name for name in table if name.startswith("ce/"))
    assert "ce/out_of_context/auc.sd" in pd.read_parquet(out / "selected.parquet")


@pytest.mark.slow
def test_a_left_out_environment_is_not_trained_on_and_measured(tmp_path, spawrious):
    """Spawrious' second environment left out: the row holds the accuracy on its validation rows alone."""
    run = Run(
        task="spawrious/o2o_hard",
        method="ERM",
        objective="erm",
        seed=0,
        setting={},
        fixed={"num_train_epochs": 1},
        model="resnet-tiny",
        image_size=24,
        left_out="env_2",
    )
    whole = Run(**{**vars(run), "left_out": None})
    rows = {
        each.id: result.numbers for each, result in measure_on_features([run, whole], tmp_path, data_dir=str(spawrious))
    }
    assert set(rows[run.id]) == {"held_out/accuracy"} and "validation/nll" in rows[whole.id]
    predictions = Predictions.load(tmp_path / "runs" / run.id / "predictions.parquet")
    out = (predictions.split == "validation") & (predictions.column("environment") == "env_2")
    right = (predictions.prediction == predictions.label)[out]
    assert 0 < out.sum() < (predictions.split == "validation").sum()
    assert rows[run.id]["held_out/accuracy"] == pytest.approx(right.mean())
    other = Predictions.load(tmp_path / "runs" / whole.id / "predictions.parquet")
    assert not np.allclose(predictions.logits, other.logits)


def test_what_has_no_features_is_a_failed_row(tmp_path, spawrious):
    """A network that cannot be loaded fails its runs, not the sweep."""
    recipe = tmp_path / "small.toml"
    recipe.write_text("tasks = ['spawrious/o2o_hard']\nmodel = '/no/such'\n[methods.ERM]\nobjective = 'erm'\n")
    measure = partial(measure_on_features, data_dir=str(spawrious))
    result = feature_sweep(read_recipe(recipe), tmp_path / "out", measure=measure)
    table = pd.read_parquet(result.table)
    assert result.failed == 1 and "/no/such" in table["error"][0]


HELD_OUT = """
tasks = ["spawrious/o2o_hard"]
model = "resnet-tiny"
hold_out = true
image_size = 24
[arguments]
num_train_epochs = 3
[methods.ERM]
objective = "erm"
"""


@pytest.mark.slow
def test_rows_held_out_choose_neither_the_epoch_nor_the_setting(tmp_path, spawrious, monkeypatch):
    """The chosen head's loss, by hand on each half: the table's validation is of one, its side in context of the other.

    Planted faults seen: the heads were judged on all rows; the record was not in the predictions.
    """
    judges = []

    def judged(*given, evaluation, **options):
        judges.extend(evaluation[0].dataset["example_id"])
        return fit_linear_probe(*given, evaluation=evaluation, **options)

    monkeypatch.setattr("oochub.sweep.feature_measurement.fit_linear_probe", judged)
    recipe = tmp_path / "held.toml"
    recipe.write_text(HELD_OUT)
    feature_sweep(read_recipe(recipe), tmp_path / "out", measure=partial(measure_on_features, data_dir=str(spawrious)))
    (row,) = pd.read_parquet(tmp_path / "out" / "runs.parquet").to_dict("records")
    (file,) = (tmp_path / "out" / "runs").rglob("predictions.parquet")
    predictions = Predictions.load(file)
    held_out = predictions.metadata.training.held_out
    inside = predictions.split == "validation"
    chose = inside.copy()
    chose[inside] = held_out.choosing(predictions.column("example_id")[inside])
    assert sorted(judges) == sorted(predictions.column("example_id")[chose])
    loss = -np.log(predictions.probability[np.arange(len(predictions)), predictions.label])
    assert row["validation/nll"] == pytest.approx(loss[chose].mean(), rel=1e-6)
    assert row["in_context/nll"] == pytest.approx(loss[inside & ~chose].mean(), rel=1e-6)
    assert row["in_context/nll.n"] == held_out.rows == (inside & ~chose).sum() and held_out.chose == chose.sum()
    assert f"{held_out.words} of the validation split" in predictions.metadata.training.selection
