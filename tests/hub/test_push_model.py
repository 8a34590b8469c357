"""A trained model goes to the Hub and back: the same logits, and nothing of a run that is no model."""

import json

import numpy as np
import pytest
from model_folders import pictures, resnet

import oochub
from oochub.errors import OochubError

HERE = "user/model"


@pytest.fixture
def run(tmp_path):
    """A run with what else may lie in its folder."""
    folder = resnet(tmp_path / "runs" / "x")
    data = {"benchmark": None, "config": None, "version": None, "rows": {"train": 3}, "environment_column": None}
    recipe = {"objective": {"name": "erm", "hyperparameters": {}}, "arguments": {}, "data": data}
    (folder / "recipe.json").write_text(json.dumps({**recipe, "selection": {"rule": "the last epoch"}}))
    (folder / "README.md").write_text("---\nlibrary_name: transformers\n---\n# A small network\n")
    for name in ("checkpoints/epoch-1/model.safetensors", "logs/events.1", "cache/pixels.npy", "training_log.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"not of the model")
    return folder


def test_the_model_gives_the_same_logits(hub, run):
    """Planted faults: the checkpoints pushed too; the processor left out."""
    pushed = oochub.push(run, HERE)
    names = {"model.safetensors", "config.json", "preprocessor_config.json", "recipe.json", "README.md"}
    assert set(pushed.added) == names
    here, there = (oochub.predict(model, pictures()) for model in (str(run), HERE))
    assert np.array_equal(here.logits, there.logits)
    assert not oochub.push(run, HERE).is_change
    assert hub.content(HERE, "recipe.json") == (run / "recipe.json").read_bytes()


def test_the_card_says_the_results(hub, run):
    """Planted fault: the card of the run as it is."""
    labels = [0, 1] * 10
    rows = oochub.Predictions.from_arrays(logits=[[1.0, 0.0]] * 20, label=labels, split="test", class_names=["a", "b"])
    report = oochub.evaluate(rows, resamples=100)
    report.save(run / "report.json")
    oochub.push(run, HERE)
    card = hub.content(HERE, "README.md").decode()
    assert card.startswith("---\nlibrary_name: transformers\n") and "# A small network" in card
    assert card.endswith(f"## Evaluation\n\n{report.to_markdown().strip()}\n") and "| chance | 50.0 |" in card
    (run / "report.json").write_text("{}")
    with pytest.raises(OochubError, match=r"report.json"):
        oochub.push(run, HERE)


def test_fewer_files_of_weights(hub, run):
    """Those of an earlier push go; what a colleague put there stays. Planted fault: nothing is deleted."""
    (run / "model-00002-of-00002.safetensors").write_bytes(b"more")
    oochub.push(run, HERE)
    (run / "model-00002-of-00002.safetensors").unlink()
    assert set(oochub.push(run, HERE).deleted) == {"model-00002-of-00002.safetensors"}


def test_what_is_no_finished_model(hub, run, tmp_path):
    """Planted fault: an unfinished run is pushed without its weights."""
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    with pytest.raises(OochubError, match="does not contain a finished model"):
        oochub.push(tmp_path / "run", HERE)
    (tmp_path / "secret").write_text("{}")
    (run / "tokenizer.json").symlink_to(tmp_path / "secret")
    with pytest.raises(OochubError, match=r"tokenizer.json leads out of"):
        oochub.push(run, HERE)
    with pytest.raises(OochubError, match="is a model: remove without_images="):
        oochub.push(run, HERE, without_images=True)
    assert not hub.requests
