"""What a run trains: frozen stages and names, LoRA against peft's own logits, runs that go on, what is refused."""

import copy
import importlib.util
import json
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from trainings import SIZE, Stop, artifacts, bytes_of, made_split, stopped_after, trainer_of, with_dropout
from transformers import AutoModelForImageClassification

from oochub.errors import OochubError
from oochub.trainers import robust_trainer
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.trained_part import choose_trained, merge_adapters

needs_peft = pytest.mark.skipif(
    importlib.util.find_spec("peft") is None, reason="LoRA needs peft: pip install 'oochub[peft]'"
)


@pytest.fixture(scope="module")
def splits() -> tuple[Dataset, Dataset]:
    return made_split(48, 1), made_split(20, 2)


def _states(trainer: Any) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The weights and statistics before and after a training."""
    before = copy.deepcopy(trainer.model.state_dict())
    trainer.train()
    return before, trainer.model.state_dict()


@pytest.mark.parametrize(
    ("freeze", "starts"),
    [
        ("backbone", ("resnet.",)),
        (1, ("resnet.embedder.", "resnet.encoder.stages.0.")),
        pytest.param(
            ("resnet.embedder", "resnet.encoder.stages.1"),
            ("resnet.embedder.", "resnet.encoder.stages.1."),
            marks=pytest.mark.slow,
        ),
        pytest.param("classifier.1.bias", ("classifier.1.bias",), marks=pytest.mark.slow),
    ],
)
def test_what_is_frozen_stays_and_all_else_moves(freeze, starts, splits, tmp_path):
    before, after = _states(trainer_of(tmp_path / "run", *splits, freeze=freeze, learning_rate=0.01))
    still = {name for name in before if torch.equal(before[name], after[name])}
    assert still == {name for name in before if name.startswith(starts)}
    recipe = json.loads((tmp_path / "run/recipe.json").read_text())
    assert recipe["arguments"]["freeze"] == (list(freeze) if isinstance(freeze, tuple) else freeze)
    trainer_of(tmp_path / "run", *splits, freeze=freeze, learning_rate=0.01).train()  # finished: the same run


@needs_peft
def test_merged_logits_are_those_of_peft(splits, tmp_path, monkeypatch):
    """With the trained matrices beside the weights, and after peft's own merge."""
    from peft import LoraConfig, get_peft_model

    pixels, own = torch.randn(4, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(1)), {}

    def merge(model: Any) -> Any:
        own["logits"] = model.eval()(pixels).logits.detach()
        own["state"] = copy.deepcopy(model.state_dict())
        return merge_adapters(model)

    monkeypatch.setattr(robust_trainer, "merge_adapters", merge)
    network = with_dropout()
    base = copy.deepcopy(network[0])
    trainer = trainer_of(
        tmp_path / "run", *splits, model=network, peft="lora", lora_rank=3, lora_alpha=12.0, learning_rate=0.05
    )
    trainer.train()
    opened = AutoModelForImageClassification.from_pretrained(tmp_path / "run").eval()
    merged = opened(pixels).logits.detach()
    np.testing.assert_allclose(merged, own["logits"], atol=2e-6)
    assert not [name for name in opened.state_dict() if "lora" in name or "base_layer" in name]
    names = [name for name, layer in base.named_modules() if name.endswith(("q_proj", "v_proj"))]
    of_peft = get_peft_model(base, LoraConfig(r=3, lora_alpha=12, target_modules=names))
    state = {f"base_model.model.{name}": value for name, value in own["state"].items()}
    assert not of_peft.load_state_dict(state, strict=False).unexpected_keys
    np.testing.assert_allclose(of_peft.merge_and_unload().eval()(pixels).logits.detach(), merged, atol=2e-6)
    untouched = with_dropout()[0].state_dict()
    for name, value in opened.state_dict().items():
        moved = value - untouched[name]
        if name.rpartition(".")[0] in names and name.endswith("weight"):
            assert torch.linalg.matrix_rank(moved, atol=1e-5) == 3, name
        else:
            assert bool(moved.any()) == name.startswith("classifier."), name


@needs_peft
def test_a_stopped_run_goes_on_to_the_same_weights(splits, tmp_path):
    def made(out: str) -> Any:
        return trainer_of(tmp_path / out, *splits, model=with_dropout(), peft="lora", save_steps=2)

    made("straight").train()
    with pytest.MonkeyPatch.context() as patch:
        stopped_after(4, patch)
        with pytest.raises(Stop):
            made("stopped").train()
    made("stopped").train()
    assert artifacts(tmp_path / "stopped") == artifacts(tmp_path / "straight")


@pytest.mark.slow
def test_left_out_it_is_plain_training(splits, tmp_path):
    for name, given in (("plain", {}), ("neutral", {"freeze": None, "peft": None})):
        trainer_of(tmp_path / name, *splits, **given).train()
    assert bytes_of(tmp_path / "plain") == bytes_of(tmp_path / "neutral")
    assert not {"freeze", "peft", "lora_rank"} & {*RobustTrainingArguments(output_dir="x").settings}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"freeze": "resnet.embeder"}, "No module to freeze named 'resnet.embeder'. Did you mean 'resnet.embedder'"),
        ({"freeze": 9}, "freeze=9 is more than the . stages"),
        ({"freeze": ["resnet", "classifier"]}, "leaves nothing to train"),
        ({"freeze": 0}, "freeze must be .*got 0"),
        ({"freeze": "backbone", "average": "ema"}, "statistics of BatchNorm anew, but . of them are frozen"),
        ({"freeze": "backbone", "peft": "lora"}, "freezes the model itself"),
        ({"lora_rank": 4}, "lora_rank=4 is only for peft='lora'"),
        ({"peft": "ia3"}, "peft must be one of lora or none"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_written(given, said, splits, tmp_path):
    with pytest.raises(OochubError, match=said):
        trainer_of(tmp_path / "run", *splits, **given)
    assert not (tmp_path / "run").exists()


@needs_peft
def test_names_of_transformers_4_are_said():
    model = with_dropout()[0]
    args = RobustTrainingArguments(output_dir="x", peft="lora", lora_targets=["query", "value"])
    with pytest.raises(OochubError, match=r"'query'.*transformers 5 calls query q_proj"):
        choose_trained(model, args, [model.classifier])


def test_without_peft_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("oochub.errors.find_spec", lambda name: None)
    model = with_dropout()[0]
    with pytest.raises(OochubError, match=r"LoRA needs peft.*pip install 'oochub\[peft\]'"):
        choose_trained(model, RobustTrainingArguments(output_dir="x", peft="lora"), [model.classifier])
