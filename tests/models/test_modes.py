"""Contract tests over every mode of the catalog: what a file of models/modes must hold, whatever it does."""

import inspect
import json
import shutil
from itertools import combinations
from typing import Any

import pytest
import torch
from mode_examples import EXAMPLES, Example, example_rows
from torch import nn

import oochub
from oochub import catalog
from oochub.models.extraction import Extraction
from oochub.models.feature_reader import HeadFeatures
from oochub.models.mode import Mode, PredictedData, choose_mode
from oochub.models.model_source import ModelSource
from oochub.models.modes.head import HeadMode
from oochub.output import Output
from oochub.prediction.predict import predict_splits
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings

MODES = oochub.names("mode")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example of a mode by its name, made once."""
    made: dict[str, Example] = {}

    def of(name: str) -> Example:
        if name not in made:
            made[name] = EXAMPLES[name](tmp_path_factory.mktemp(name) / "model")
        return made[name]

    return of


def test_an_example_covers_every_mode(capsys):
    """Planted fault: a mode whose line is taken out of EXAMPLES."""
    lacking = sorted(set(MODES) - set(EXAMPLES))
    assert not lacking, f"MODE_EXAMPLES in the test of {lacking}: a tiny model, see tests/helpers/mode_examples.py"
    assert len(MODES) >= 2
    with capsys.disabled():
        print(f"\nmodes covered: {', '.join(MODES)}")  # noqa: T201


def opened(mode: type[Mode], example: Example, order: tuple[str, ...]) -> tuple[Mode, Any]:
    """A mode on the example's rows with the classes in an order; and the inputs of its test split."""
    data, source = example_rows(example.class_names, order), ModelSource(str(example.model))
    inputs = source.inputs(data["test"], preprocessing="processor", kind=mode.reads)
    made = mode(source, inputs, PredictedData(data["test"], data, torch.device("cpu"), 4))
    return made, next(inputs.batches(data["test"], batch_size=len(data["test"]), device=torch.device("cpu")))


def check_signature(mode: type[Mode]) -> None:
    """Three positional parameters, then settings by name with defaults and types."""
    first, others = [], {}
    for name, each in inspect.signature(mode, eval_str=True).parameters.items():
        if each.kind is each.KEYWORD_ONLY:
            others[name] = each
        else:
            first.append(name)
    assert first == ["source", "inputs", "data"], f"{mode.__name__} takes (source, inputs, data, *, settings)"
    for name, each in others.items():
        assert each.default is not each.empty, f"the setting {name} needs a default"
        assert each.annotation is not each.empty, f"the setting {name} needs a type"


def check_mode(mode: type[Mode], name: str, example: Example) -> None:
    """The rules of what stands open; each failure says which one."""
    with torch.random.fork_rng():
        made, batch = opened(mode, example, example.class_names)
        turned, again = opened(mode, example, example.class_names[::-1])
    assert made.about.mode == name, "about says the mode"
    assert isinstance(made.kind, Output) and made.class_names == example.class_names, "the classes of the dataset"
    json.dumps(made.details)
    assert all(isinstance(note, str) and note for note in made.notes), "notes are texts"
    assert set(made.left_out) <= set(example.class_names) and not set(made.left_out) & set(made.class_names)
    assert isinstance(made.network, nn.Module), "the network is a module"
    assert not any(module.training for module in made.network.modules()), "the network is in evaluation mode"
    with torch.inference_mode():
        logits = made.network(**batch.inputs).logits
        one = made.network(**{key: values[:1] for key, values in batch.inputs.items()}).logits
        others = turned.network(**again.inputs).logits
    if "logits" not in made.kind.columns:
        chosen = made.finish(logits.numpy(), batch.columns)
        assert chosen.shape == (len(batch.columns["label"]), 1), "a choice is one number a row"
        assert (made.finish(one.numpy(), batch.columns) == chosen[:1]).all(), "a row is the same alone"
        return
    assert logits.shape == (len(batch.columns["label"]), len(made.class_names)), "logits are (b, c)"
    assert logits.is_floating_point() and logits.isfinite().all(), "logits are finite floats"
    torch.testing.assert_close(one, logits[:1], atol=1e-4, rtol=1e-4, msg="a row is the same alone")
    columns = [turned.class_names.index(each) for each in made.class_names]
    difference = (others[:, columns] - logits).abs().max() / (logits.max() - logits.min())
    assert difference < 0.01, "logits are in the order of the class names"
    if not made.is_one_pass:
        return
    pixels = batch.inputs["pixel_values"].clone().requires_grad_()
    made.network(**{**batch.inputs, "pixel_values": pixels}).logits.sum().backward()
    assert pixels.grad is not None and pixels.grad.abs().sum() > 0, "ODIN needs the gradient of the logits"
    if made.is_linear:
        check_head(made, batch)


def check_head(made: Mode, batch: Any) -> None:
    """The head gives the logits from the features; a mode that has none says so."""
    try:
        head = made.head(batch.inputs)
    except oochub.OochubError as error:
        assert "features" in str(error), "a mode without a head says that features are unknown"
        return
    stored = Extraction(made.network, features=HeadFeatures(head))(batch)
    assert head.weight.shape == (len(made.class_names), stored["features"].shape[1]), "the head is (c, d)"
    rebuilt = stored["features"] @ head.weight.T.float().cpu() + head.bias.float().cpu()
    torch.testing.assert_close(rebuilt, stored["logits"], atol=1e-3, rtol=1e-3, msg="the head gives the logits")


@pytest.mark.parametrize("name", MODES)
def test_a_mode_keeps_its_contract(name, example):
    mode = catalog.get("mode", name)
    check_signature(mode)
    check_mode(mode, name, example(name))


@pytest.mark.parametrize("name", MODES)
def test_a_mode_predicts(name, example, tmp_path):
    """From the folder to a file by its name; the file says which mode it was."""
    folder, names = example(name)
    data = example_rows(names, names)
    oochub.predict(str(folder), data, mode=name, splits=["test"], out=tmp_path / "p.parquet", cache=False)
    made = oochub.Predictions.load(tmp_path / "p.parquet")
    assert made.metadata.model.mode == name and len(made) == 2 * len(names)
    assert made.class_names == list(names) and made.label.tolist() == data["test"]["label"][:]


@pytest.mark.parametrize("name", MODES)
def test_a_wrong_setting_is_said_before_weights_are_read(name, example, tmp_path):
    """The folder has no weights any more. Planted fault: the settings checked when the mode is open."""
    folder, names = example(name)
    shutil.copytree(folder, tmp_path / "model", ignore=shutil.ignore_patterns("*.safetensors"))
    data = example_rows(names, names)["test"]
    with pytest.raises(oochub.OochubError, match=f"No option of the mode {name} named 'no_such_setting'"):
        how = ModelSettings(mode=name, mode_options={"no_such_setting": 1})
        predict_splits(str(tmp_path / "model"), data, how, PredictionSettings(cache=False))


def check_ranks(modes: dict[str, type[Mode]]) -> None:
    """No model is served by two modes of one rank: "auto" would have to guess."""
    for (one, first), (other, second) in combinations(modes.items(), 2):
        both = first.architectures() & second.architectures()
        assert first.rank != second.rank or not both, f"{one} and {other} have one rank and serve {sorted(both)[:3]}"


def test_auto_has_one_answer(example):
    """Planted fault: a second mode of the rank and the models of head."""
    modes = {name: catalog.get("mode", name) for name in MODES}
    check_ranks(modes)
    twin = type("Twin", (HeadMode,), {})
    with pytest.raises(AssertionError, match="head and twin have one rank"):
        check_ranks({"head": HeadMode, "twin": twin})
    for name, mode in modes.items():
        assert mode.architectures(), f"{name} serves nothing"
        chosen = choose_mode(ModelSource(str(example(name).model)), "auto", {})
        assert chosen.rank <= mode.rank and ModelSource(str(example(name).model)).architecture in chosen.architectures()
