"""How the model computes, where it is asked for: memory format and compilation; references are uncompiled runs."""

import json
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from trainings import arguments, made_split, trainer_of, with_group_norm

from oochub.errors import OochubError
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.launch import prepare_arithmetic

TRAIN = made_split(40, 1)


def _trained(out: Path, objective: str = "erm", **asked: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    trainer = trainer_of(out, model=with_group_norm(), train=TRAIN, objective=objective, num_train_epochs=1, **asked)
    trainer.train()
    return trainer, load_file(out / "model.safetensors")


def _furthest(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> float:
    assert first.keys() == second.keys() and len(first) > 5
    return max(float((first[name] - second[name]).abs().max()) for name in first)


@pytest.mark.parametrize("asked", [{"channels_last": True}, {"mixed_precision": "bf16"}], ids=str)
def test_the_recipe_names_what_was_asked_for_and_the_weights_are_near(asked, tmp_path):
    """One epoch; bfloat16 has 8 bits. Two precisions in one process: Accelerate alone refuses the second."""
    _, plain = _trained(tmp_path / "plain")
    trainer, weights = _trained(tmp_path / "asked", **asked)
    recipes = [json.loads((tmp_path / name / "recipe.json").read_text()) for name in ("plain", "asked")]
    (name, value), *_ = asked.items()
    assert recipes[0]["arguments"].get(name, False) in (False, "no") and recipes[1]["arguments"][name] == value
    assert _furthest(plain, weights) < 0.02 and (_furthest(plain, weights) > 0 or "channels_last" in asked)
    assert all(value.dtype == torch.float32 for value in weights.values())
    formats = {layer.weight.is_contiguous(memory_format=torch.channels_last) for layer in _convolutions(trainer.model)}
    assert formats == {"channels_last" in asked}


def _convolutions(model: nn.Module) -> list[nn.Conv2d]:
    return [each for each in model.modules() if isinstance(each, nn.Conv2d) and max(each.kernel_size) > 1]


@pytest.mark.campaign  # torch compiles
@pytest.mark.parametrize("objective", ["erm", "coral"])
def test_a_compiled_model_learns_what_an_uncompiled_one_does(objective, tmp_path):
    """The reference backend runs the traced graph as it is; coral also reads features, which hooks give.

    In a process of its own, and no slow test: processes that had run a thousand tests have ended here, without a word.
    """
    process = get_context("spawn").Process(target=_compare_compiled, args=(objective, tmp_path))
    process.start()
    process.join()
    assert process.exitcode == 0


def _compare_compiled(objective: str, folder: Path) -> None:
    """Raises unless a compiled model was traced and learned the same weights."""
    traced = []

    def backend(graph: Any, _: Any) -> Any:
        traced.append(graph)
        return graph.forward

    real = nn.Module.compile
    nn.Module.compile = lambda model: real(model, backend=backend)  # type: ignore[method-assign]
    _, plain = _trained(folder / "plain", objective)
    assert not traced
    _, weights = _trained(folder / "compiled", objective, torch_compile=True)
    assert traced and _furthest(plain, weights) < 1e-5
    assert json.loads((folder / "compiled" / "recipe.json").read_text())["arguments"]["torch_compile"] is True


def test_a_machine_that_cannot_compile_is_said_at_once(tmp_path, monkeypatch):
    """Planted fault seen: the error of torch passed on."""

    def fail(_: Any) -> Any:
        raise torch._dynamo.exc.TorchDynamoException("no working C++ compiler\nmore")

    monkeypatch.setattr(torch, "compile", fail)
    with pytest.raises(OochubError, match=r"torch_compile=True .*\(no working C\+\+ compiler\)\. Install"):
        prepare_arithmetic(nn.Conv2d(1, 1, 1), arguments(tmp_path, torch_compile=True))


def test_what_the_option_cannot_change_is_refused(tmp_path):
    with pytest.raises(OochubError, match="two-dimensional convolutions, and Linear has none"):
        prepare_arithmetic(nn.Linear(2, 2), arguments(tmp_path, channels_last=True))
    with pytest.raises(OochubError, match="torch_compile must be true or false, got 'inductor'"):
        RobustTrainingArguments(output_dir="x", torch_compile="inductor")


def test_an_unset_option_leaves_the_settings_of_earlier_versions():
    """So that an unfinished run of theirs goes on."""
    assert not {"torch_compile", "channels_last"} & RobustTrainingArguments(output_dir="x").settings.keys()
