"""Averages of weights: against loops in numpy, SWAD against its algorithm word by word, BatchNorm, what is refused."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from trainings import made_split, trainer_of, with_group_norm

from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import _ON_VALIDATION
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fine_tuning.weight_average import WeightAverage

EPOCHS, BATCHES = 4, 5  # of 8 rows
KINDS = {
    "uniform": {"average_start": 0.5},
    "ema": {"average_decay": 0.8},
    "swad": {"swad_start_patience": 1, "swad_end_patience": 2, "swad_ratio": 1.0},
}


class Watch:
    """Keeps the weights after each step, as transformers' callbacks see them."""

    def __init__(self):
        self.steps, self.losses = [], []

    def on_step_end(self, args, state, control, model=None, **_):
        self.steps.append({name: values.detach().numpy().copy() for name, values in model.named_parameters()})

    def on_evaluate(self, args, state, control, metrics=None, **_):
        self.losses.append(metrics["eval_loss"])


def run(folder, *, model=None, **settings):
    watch = Watch()
    asked = {"num_train_epochs": EPOCHS, "per_device_train_batch_size": 8, "optim": "sgd", "learning_rate": 0.05}
    splits = made_split(BATCHES * 8, 1), made_split(20, 2)
    trainer = trainer_of(folder, *splits, model=model or with_group_norm(), **asked | settings, callbacks=[watch])
    result = trainer.train()
    return result, watch, load_file(folder / "model.safetensors")


def average_by_loop(kind, steps, losses):
    """The weights that are kept, in float64, and the steps that they are of."""
    first, last = 0, len(steps)
    if kind == "uniform":
        first = len(steps) // 2
    if kind == "swad":
        start, end = find_valley(losses, **KINDS["swad"])
        first, last = (start - 1) * BATCHES, end * BATCHES
    mean = {name: values.astype(np.float64) for name, values in steps[first].items()}
    for number in range(first + 1, last):
        share = 0.2 if kind == "ema" else 1 / (number - first + 1)
        mean = {name: (1 - share) * values + share * steps[number][name] for name, values in mean.items()}
    return mean, last - first


def find_valley(losses, *, swad_start_patience, swad_end_patience, swad_ratio):
    """Algorithm 1 of SWAD over epochs from 1: those that begin and end the average; the last one if nothing ends it."""
    start = 0
    for now in range(1, len(losses) + 1):
        if not start:
            window = losses[max(0, now - swad_start_patience) : now]
            if now >= swad_start_patience and window[0] == min(window):
                start, limit = now - swad_start_patience + 1, swad_ratio * np.mean(window)
        elif now - swad_end_patience >= start and limit < min(losses[now - swad_end_patience : now]):
            return start, now - swad_end_patience
    return start, len(losses)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kept_weights_are_those_of_a_loop(tmp_path, kind):
    result, watch, kept = run(tmp_path / "run", average=kind, **KINDS[kind])
    mean, steps = average_by_loop(kind, watch.steps, watch.losses)
    for name, values in mean.items():
        np.testing.assert_allclose(kept[name].numpy(), values, atol=1e-6, rtol=1e-5, err_msg=name)
    last = watch.steps[-1]
    assert any(np.abs(kept[name].numpy() - last[name]).max() > 1e-4 for name in last)
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert f"{steps} steps" in recipe["selection"]["rule"] and recipe["settings"]["arguments"]["average"] == kind
    numbers = recipe["selection"]["numbers"]
    assert numbers["loss"] not in watch.losses and result.best_value == (numbers["loss"] if kind == "swad" else None)


def test_valleys_are_those_of_the_algorithm():
    """Random losses with epochs of different lengths: the first and last epoch, and the mean over their steps."""
    draw, found = np.random.default_rng(0), set()
    for _ in range(300):
        asked = {"swad_start_patience": int(draw.integers(1, 5)), "swad_end_patience": int(draw.integers(1, 5))}
        asked["swad_ratio"] = float(draw.choice([1.0, 1.1, 1.3]))
        weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))
        average = WeightAverage(RobustTrainingArguments(output_dir="x", average="swad", **asked), [weight])
        values, losses = [], []
        for epoch in range(1, int(draw.integers(6, 16))):
            values.append(draw.normal(size=draw.integers(1, 4)))
            for value in values[-1]:
                weight.data.fill_(value)
                average.take(0.5)
            losses.append(float(draw.choice([1.0, 1.2, 1.4, 2.0])))
            average.close_epoch(epoch, losses[-1])
            if average.ended:
                break
        start, end = find_valley(losses, **asked)
        kept = average.restore(len(losses))
        assert average.ended == (end < len(losses))
        if start:
            assert (f"from epoch {start} to {end}," in kept.words, kept.last_epoch) == (True, end)
            assert weight.item() == pytest.approx(np.concatenate(values[start - 1 : end]).mean())
        found.add((bool(start), average.ended))
    assert found == {(True, True), (True, False), (False, False)}


def test_swad_ends_the_run(tmp_path):
    """With a limit below every loss the first epoch is the valley, and the run ends after two more of twelve."""
    asked = KINDS["swad"] | {"swad_ratio": 0.1}
    result, watch, _ = run(tmp_path / "run", average="swad", num_train_epochs=12, **asked)
    assert find_valley(watch.losses, **asked) == (1, 1) and len(watch.losses) == 3
    assert result.best_epoch == 1 and len(result.history) == 3
    note = json.loads((tmp_path / "run" / "recipe.json").read_text())["selection"]["rule"]
    assert "from epoch 1 to 1" in note and _ON_VALIDATION in note  # what a report says of the rows that chose


def test_batch_norm_is_that_of_the_training_rows(tmp_path):
    """The first BatchNorm's statistics against the mean over batches, computed here from what comes into it."""
    tiny = {"class_names": ["no car", "car"], "image_size": 16}
    model, processor = open_backbone("resnet-tiny", **tiny)
    _, _, kept = run(tmp_path / "run", model=(model, processor), average="uniform", average_start=0.0)
    name, layer = next((name, each) for name, each in model.named_modules() if isinstance(each, nn.BatchNorm2d))
    seen = []
    layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach().numpy().astype(np.float64)))
    model.train()
    trainer = trainer_of(tmp_path / "other", made_split(BATCHES * 8, 1), made_split(20, 2), model=(model, processor))
    examples = trainer._train
    examples.open(None)
    for first in range(0, BATCHES * 8, 8):
        rows = examples.__getitems__(list(range(first, first + 8)))
        model(**examples.inputs.ready(rows, augment="none", generator=torch.Generator()))
    seen = seen[-BATCHES:]
    mean = np.mean([part.mean((0, 2, 3)) for part in seen], axis=0)
    variance = np.mean([part.var((0, 2, 3), ddof=1) for part in seen], axis=0)
    np.testing.assert_allclose(kept[f"{name}.running_mean"].numpy(), mean, atol=1e-5)
    np.testing.assert_allclose(kept[f"{name}.running_var"].numpy(), variance, rtol=1e-4)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"average": "swa"}, "average must be one of none, uniform, ema, swad, got 'swa'"),
        ({"average": "ema", "average_start": 0.5}, "average_start=0.5 is only for average='uniform', got 'ema'"),
        ({"average": "uniform", "average_start": 1.0}, "average_start must be a finite number"),
        ({"average": "swad", "swad_end_patience": 0}, "swad_end_patience must be a whole number, 1 or larger"),
        ({"average": "swad", "eval_strategy": "no"}, "goes by the validation loss"),
        ({"average": "ema", "load_best_model_at_end": True}, "keeps averaged weights"),
    ],
)
def test_what_is_refused(asked, said):
    with pytest.raises(OochubError, match=said):
        RobustTrainingArguments(output_dir="x", **asked)


def test_objectives_whose_last_stage_has_no_steps_are_refused(tmp_path):
    with pytest.raises(OochubError, match="Dfr ends without a step, so average="):
        run(tmp_path / "run", average="uniform", objective="dfr")
    with pytest.raises(OochubError, match="needs a validation split"):
        trainer_of(tmp_path / "run", made_split(16, 1), None, model=with_group_norm(), average="swad")


def test_runs_without_an_average_are_those_of_before():
    named = RobustTrainingArguments(output_dir="x").settings
    assert not {name for name in named if "average" in name or "swad" in name}
    assert SimpleNamespace(**RobustTrainingArguments(output_dir="x", average="ema").settings).average_decay == 0.999
