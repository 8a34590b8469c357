"""How the shell says in which way a model answers: --mode, --label-map, --restrict, --mode-option."""

import json
import sys

import pytest
from datasets import ClassLabel
from model_folders import edited, pictures, resnet

import oochub
from oochub.cli import main
from oochub.settings.model_settings import ModelSettings


@pytest.fixture
def said(monkeypatch, capsys, tmp_path):
    """Predicts "yeti", "dog" and "cat" by a model of four classes; gives exit code and output."""
    names = {str(k): name for k, name in enumerate(["pug", "jay", "cat", "dog"])}
    model = edited(resnet(tmp_path / "model", classes=4), "config.json", id2label=names, label2id=...)
    data = tmp_path / "rows.parquet"
    labels = ClassLabel(names=["yeti", "dog", "cat"])
    pictures(6).remove_columns("label").add_column("label", [0, 1, 2] * 2, feature=labels).to_parquet(data)
    out = tmp_path / "out.parquet"

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["oochub", "predict", str(model), str(data), "--out", str(out), *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return stopped.value.code, " ".join((printed.out + printed.err).split())

    return call


@pytest.mark.slow
def test_what_is_said_about_a_mode_reaches_it(said, tmp_path):
    """Planted faults: an option that the command does not hand on."""
    code, words = said()
    assert code == 2 and "does not know 1 of these: yeti" in words and "--restrict" in words
    code, words = said("--mode", "haed")
    assert code == 2 and "Did you mean 'head'" in words
    code, words = said("--mode-option", "lable_map=x")
    assert code == 2 and "Did you mean 'label_map'" in words
    assert said("--restrict", "--mode", "head")[0] == 0
    assert tuple(oochub.Predictions.load(tmp_path / "out.parquet").class_names) == ("dog", "cat")
    (tmp_path / "map.json").write_text(json.dumps({"yeti": ["pug", "jay"]}))
    assert said("--label-map", str(tmp_path / "map.json"))[0] == 0
    made = oochub.Predictions.load(tmp_path / "out.parquet")
    assert tuple(made.class_names) == ("yeti", "dog", "cat")
    assert made.metadata.provenance["label_map"]["yeti"]["outputs"] == {"0": "pug", "1": "jay"}


def test_a_changed_label_map_predicts_again(said, tmp_path):
    """The cache knows a file by what it holds. Planted fault: by its path."""
    said("--mode", "head", "--restrict")
    for chosen in ("jay", "pug"):
        (tmp_path / "map.csv").write_text(f"yeti,{chosen}\n")
        assert said("--label-map", str(tmp_path / "map.csv"))[0] == 0
        said_of = oochub.Predictions.load(tmp_path / "out.parquet").metadata.provenance["label_map"]
        assert list(said_of["yeti"]["outputs"].values()) == [chosen]


def test_a_setting_is_said_in_one_way():
    given = ModelSettings(label_map="map.csv", restrict=True, mode_options={"folds": 3})
    assert given.of_mode == {"label_map": "map.csv", "restrict": True, "folds": 3}
    assert ModelSettings().of_mode == {}
    with pytest.raises(oochub.OochubError, match="--mode-option restrict= and --restrict set the same option"):
        ModelSettings(restrict=True, mode_options={"restrict": True}).of_mode  # noqa: B018
