"""Recipes whose environments are contexts that `oochub contexts` found, by both tracks."""

import json
import sys

import pandas as pd
import pytest
from planted_pictures import planted_folder

import oochub
from oochub.cli import main

RECIPE = """
about = "Groups that were found."
tasks = ["./found"]
model = "resnet-tiny"
image_size = 16
environments = "label/contexts:red"
[arguments]
num_train_epochs = 1
[methods.GDRO]
objective = "group_dro"
[methods."Reweight (has it or not)"]
objective = "reweight_environments"
environments = "contexts:red"
"""
LEFT_OUT = """
about = "Each half is left out in turn."
tasks = ["./found"]
model = "resnet-tiny"
image_size = 16
environments = "contexts:red"
select = "leave_one_environment_out"
leave_out = ["red", "without red"]
[arguments]
num_train_epochs = 1
[methods.ERM]
objective = "erm"
"""


@pytest.fixture
def found(tmp_path, monkeypatch):
    """A repository with contexts by their properties, in the working directory."""
    folder = planted_folder(tmp_path / "pictures", train=20, test=10)
    (folder / "test").rename(folder / "validation")
    planted_folder(tmp_path / "more", train=10, test=0)
    (tmp_path / "more" / "train").rename(folder / "test")
    monkeypatch.chdir(tmp_path)
    return oochub.contexts(folder, by="properties", label="tone", out=tmp_path / "found")


def swept(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["oochub", "sweep", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code


@pytest.mark.slow
@pytest.mark.parametrize("track", [pytest.param((), marks=pytest.mark.campaign), ("--features",)])
def test_a_recipe_trains_on_found_groups(tmp_path, monkeypatch, found, track):
    (tmp_path / "own.toml").write_text(RECIPE)
    swept(monkeypatch, "own.toml", "--out", "runs", *track)
    table = pd.read_parquet(tmp_path / "runs" / "runs.parquet")
    assert table["status"].eq("finished").all(), table["error"].tolist()
    assert table["environments"].tolist() == ["label/contexts:red", "contexts:red"]
    if not track:
        red = found["train"].features["contexts"].feature.names.index("red")
        rows = sum(red in row for row in found["train"]["contexts"])
        recipe = json.loads((tmp_path / "runs" / table["path"][1] / "recipe.json").read_text())
        assert recipe["data"]["environments"] == {"red": rows, "without red": len(found["train"]) - rows}


@pytest.mark.slow
@pytest.mark.parametrize("track", [pytest.param((), marks=pytest.mark.campaign), ("--features",)])
def test_found_environments_are_left_out_in_turn(tmp_path, monkeypatch, found, track):
    (tmp_path / "own.toml").write_text(LEFT_OUT)
    swept(monkeypatch, "own.toml", "--out", "runs", *track)
    table = pd.read_parquet(tmp_path / "runs" / "runs.parquet")
    assert table["status"].eq("finished").all(), table["error"].tolist()
    held = table[table["left_out"].notna()]
    assert held["left_out"].tolist() == ["red", "without red"]
    rows = found["validation"].remove_columns("image").to_list()
    red = found["validation"].features["contexts"].feature.names.index("red")
    is_red = {row["example_id"]: red in row["contexts"] for row in rows}
    for run in held.to_dict("records"):
        predictions = oochub.Predictions.load(tmp_path / "runs" / run["path"] / "predictions.parquet")
        examples = zip(predictions.split, predictions.column("example_id"), strict=True)
        out = [split == "validation" and is_red[name] == (run["left_out"] == "red") for split, name in examples]
        right = (predictions.prediction == predictions.label)[out]
        assert len(right) == 10 and run["held_out/accuracy"] == pytest.approx(right.mean())
