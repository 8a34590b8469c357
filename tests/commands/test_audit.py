"""The command audit as its user runs it, beside `oochub example`, which makes what the README audits."""

import json

import pytest
import torch
from PIL import Image
from planted_pictures import PROCESSOR, planted_folder
from transformers import ResNetConfig, ResNetForImageClassification

import oochub.prediction.predict as prediction
from oochub.prediction.run_model import run_model


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """Runs a command in an empty folder; gives its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    return run


@pytest.mark.campaign
@pytest.mark.parametrize("control", [False, True])
def test_the_first_example_of_the_readme(run, tmp_path, control):
    """Trained where the background gives the breed away the model relies on it; trained where not, it does not."""
    code, *_ = run("example", "toy", *(["--control"] if control else []))
    assert code == 0
    words = ("toy/model", "toy/pictures", "--label-column", "breed", "--context-column", "background")
    code, out, _ = run("audit", *words, "--out", "toy/audit", "--json")
    said = json.loads(out)
    assert code == 0 and said["case"] in (("unclear", "no_effect") if control else ("relies",)), said
    assert (said["gap"]["value"] > -0.1) if control else (said["gap"]["high"] < -0.2)
    code, out, _ = run("audit", *words, "--out", "toy/audit")
    last = out.strip().splitlines()
    assert code == 0 and last[-1] == "toy/audit/report.html" and said["headline"] in last[-2]
    assert (tmp_path / last[-1]).read_text("utf-8").startswith("<!doctype html>")


def test_what_is_wrong_ends_with_2_and_says_what_to_do(run, tmp_path):
    planted_folder(tmp_path / "squares", train=2, test=2)
    columns = ("--label-column", "tone", "--context-column", "ground")
    code, _, err = run("audit", "./nomodel", "squares", *columns)
    assert code == 2 and "No model at ./nomodel" in err
    PROCESSOR.save_pretrained(tmp_path / "model")
    code, _, err = run("audit", "./model", "squares", *columns)
    assert code == 2 and "no config.json" in err
    code, _, err = run("audit", "./model", "nosquares", *columns)
    assert code == 2 and "No dataset at nosquares" in err
    code, _, err = run("audit", "./model", "squares", "--contexts", "segments")
    assert code == 2 and "needs --context-model:" in err
    code, _, err = run("audit", "./model", "squares", "--usual", "light")
    assert code == 2 and "CLASS=CONTEXT" in err
    code, _, err = run("audit", "./model", "squares", "--out", "squares", *columns)
    assert code == 2 and "is not an audit" in err
    assert not (tmp_path / "audit").exists()


@pytest.mark.slow
@pytest.mark.parametrize("change", ["nothing", "model", "data", "option", "code"])
def test_a_second_audit_runs_no_model_unless_something_changed(run, tmp_path, monkeypatch, change):
    """Weights, an image, an option of the prediction, and our own code, each alone; the report stays to the byte."""
    folder = planted_folder(tmp_path / "squares", train=4, test=4)
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], id2label={0: "dark", 1: "light"})
    network = ResNetForImageClassification(config)
    network.save_pretrained(tmp_path / "model")
    PROCESSOR.save_pretrained(tmp_path / "model")
    words = ["audit", "./model", "squares", "--label-column", "tone", "--context-column", "ground"]
    assert run(*words)[0] == 0
    report = (tmp_path / "audit/report.json").read_bytes()
    if change == "model":
        network.classifier[1].bias.data += 1
        network.save_pretrained(tmp_path / "model")
    elif change == "data":
        file = next(folder.rglob("test/*.png"))
        Image.open(file).rotate(180).save(file)
    elif change == "option":
        words += ["--batch-size", "3"]
    elif change == "code":
        monkeypatch.setattr("oochub.models.cache_key.digest_code", lambda *rooms: "another")
    passes = []
    monkeypatch.setattr(prediction, "run_model", lambda *a, **k: passes.append(a) or run_model(*a, **k))
    code, _, err = run(*words)
    assert code == 0 and len(passes) == (change != "nothing")
    assert ("Reusing " in err) == (change == "nothing")
    assert change != "nothing" or (tmp_path / "audit/report.json").read_bytes() == report
