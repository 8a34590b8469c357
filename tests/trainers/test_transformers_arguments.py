"""TrainingArguments' fields: those that mean the same here, and what an unknown one is told.

What transformers means by a field is taken from a run of its Trainer and from the errors of its TrainingArguments.
"""

from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from test_trainer_of_transformers import collated
from trainings import CLASSES, SIZE, bytes_of, made_split, trainer_of
from transformers import IntervalStrategy, Trainer, TrainingArguments

import oochub
from oochub.errors import OochubError
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import open_backbone
from oochub.trainers.transformers_arguments import EQUIVALENTS

TRAIN, VALIDATION = made_split(40, 1), made_split(30, 2)
OWN = {field.name for field in fields(RobustTrainingArguments)}
# gradient descent on the whole split at once, so that the order of rows does not matter; the validation loss rises
DESCENT = {"num_train_epochs": 4, "per_device_train_batch_size": 40, "optim": "sgd", "learning_rate": 0.5}


def test_every_field_of_the_installed_transformers_is_known() -> None:
    """A field is one of ours or in the table, none in both."""
    theirs = {name for name in signature(TrainingArguments).parameters}
    assert len(theirs) > 80 and not theirs - OWN - EQUIVALENTS.keys(), sorted(theirs - OWN - EQUIVALENTS.keys())
    assert not OWN & EQUIVALENTS.keys()
    for name, text in EQUIVALENTS.items():
        assert text.endswith(".") and text[0].isupper(), name


def test_the_table_names_what_there_is() -> None:
    """Each of our fields that an equivalent tells of is a field of ours. Planted fault: `warmup_share`."""
    words = {word.strip('.,:"`') for text in EQUIVALENTS.values() for word in text.replace("=", " ").split()}
    told = {word for word in words if "_" in word and word.islower() and word.isidentifier()}
    assert {"mixed_precision", "warmup_ratio", "eval_strategy"} <= told
    others = {"compute_metrics", "fsdp", "requires_grad", "group_balanced"}
    assert not told - OWN - others, told - OWN - others


def test_all_unknown_fields_are_named_at_once(tmp_path: Path) -> None:
    """From the class, `replace` and `oochub.train`. Planted fault: the first alone."""
    given: dict[str, Any] = {"bf16": True, "logging_steps": 10, "evaluation_strategy": "epoch", "sead": 1, "seed": 2}
    expected = [
        '  bf16: Use mixed_precision="bf16".',
        "  logging_steps: Remove it: a run is validated, saved and logged once an epoch.",
        "  evaluation_strategy: Use eval_strategy.",
        "  sead: No such field. Did you mean 'seed'?",
    ]
    for call in (
        lambda: RobustTrainingArguments(output_dir="x", **given),
        lambda: replace(RobustTrainingArguments(output_dir="x"), **given),
        lambda: oochub.train("spawrious/o2o_hard", tmp_path / "run", arguments=given),
    ):
        with pytest.raises(OochubError) as raised:
            call()
        lines = str(raised.value).splitlines()
        assert lines[0] == "RobustTrainingArguments lacks 4 of the fields that are given:" and lines[1:-1] == expected
    with pytest.raises(OochubError, match=r"No training argument named 'sead'. Did you mean 'seed'"):
        RobustTrainingArguments(output_dir="x", sead=1)  # type: ignore[call-arg]
    with pytest.raises(OochubError, match="output_dir is given by out="):
        oochub.train("spawrious/o2o_hard", tmp_path / "run", arguments={"output_dir": "x"})


@pytest.mark.slow
@pytest.mark.parametrize("best", [True, False])
def test_the_kept_weights_are_those_of_transformers_trainer(tmp_path: Path, best: bool) -> None:
    """The same descent by both trainers keeps the same epoch: the best or the last, to 1e-4 of each weight."""
    ours = trainer_of(
        tmp_path / "ours",
        TRAIN,
        VALIDATION,
        **DESCENT,
        momentum=0.0,
        weight_decay=0.0,
        eval_strategy="epoch",
        save_strategy=IntervalStrategy.EPOCH,
        load_best_model_at_end=best,
        metric_for_best_model="loss",
        greater_is_better=False,
    ).train()
    model, _ = open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
    theirs = Trainer(
        model,
        TrainingArguments(
            output_dir=str(tmp_path / "theirs"),
            **DESCENT,
            lr_scheduler_type="constant",
            max_grad_norm=0.0,
            eval_strategy="epoch",
            save_strategy="epoch",
            load_best_model_at_end=best,
            metric_for_best_model="loss",
            greater_is_better=False,
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
            remove_unused_columns=False,
        ),
        data_collator=lambda rows: normalized(collated(rows)),
        train_dataset=TRAIN,
        eval_dataset=VALIDATION,
    )
    theirs.train()
    losses = [each["eval_loss"] for each in ours.history]
    assert losses == pytest.approx(
        [each["eval_loss"] for each in theirs.state.log_history if "eval_loss" in each], rel=1e-3
    )
    chosen = 1 + int(np.argmin(losses)) if best else 4
    assert int(np.argmin(losses)) < 3 and ours.best_epoch == chosen
    assert ours.best_value == (min(losses) if best else None)
    kept = load_file(ours.output_dir / "model.safetensors")
    for name, values in theirs.model.state_dict().items():
        if values.is_floating_point():
            torch.testing.assert_close(kept[name], values, rtol=1e-3, atol=1e-4)


def normalized(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """As the processor of the small network does it."""
    _, processor = open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
    mean, deviation = (torch.tensor(each)[:, None, None] for each in (processor.image_mean, processor.image_std))
    return batch | {"pixel_values": (batch["pixel_values"] - mean) / deviation}


def test_a_run_without_evaluation(tmp_path: Path) -> None:
    """`eval_strategy="no"` is a run without a validation split, byte for byte."""
    without = trainer_of(tmp_path / "without", TRAIN, max_steps=3).train()
    said = trainer_of(tmp_path / "said", TRAIN, VALIDATION, max_steps=3, eval_strategy="no").train()
    assert bytes_of(without.output_dir) == bytes_of(said.output_dir) and said.best_value is None


def test_what_is_said_by_default_is_the_same_run(tmp_path: Path) -> None:
    """A run that says what holds anyway goes on in the folder of one that does not. Planted fault: a key of the run."""
    trainer_of(tmp_path / "run", TRAIN, VALIDATION, max_steps=2).train()
    said = {"eval_strategy": "epoch", "save_strategy": "epoch", "load_best_model_at_end": True}
    again = trainer_of(tmp_path / "run", TRAIN, VALIDATION, max_steps=2, **said)
    assert again.train().global_step == 2
    with pytest.raises(OochubError, match="load_best_model_at_end"):
        trainer_of(tmp_path / "run", TRAIN, VALIDATION, max_steps=2, load_best_model_at_end=False)


def test_save_steps_are_read_as_transformers_reads_them() -> None:
    """With "epoch" `save_steps` is not read; "steps" needs it."""
    assert RobustTrainingArguments(output_dir="x", save_strategy="epoch", save_steps=500).save_steps == 0
    assert RobustTrainingArguments(output_dir="x", save_strategy="steps", save_steps=500).save_steps == 500
    assert RobustTrainingArguments(output_dir="x", save_steps=500).save_steps == 500


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eval_strategy": "steps"}, "No eval_strategy named 'steps'. Allowed: epoch, no. The validation split"),
        ({"save_strategy": "no"}, "No save_strategy named 'no'. Allowed: epoch, steps. A checkpoint is written"),
        ({"save_strategy": "steps"}, "Set save_steps"),
        ({"eval_strategy": "no", "load_best_model_at_end": True}, "load_best_model_at_end=True needs"),
        ({"eval_strategy": "no", "early_stopping_patience": 2}, "early_stopping_patience=2 needs"),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OochubError, match=message):
        RobustTrainingArguments(output_dir="x", **given)


@pytest.mark.parametrize("given", [{"eval_strategy": "epoch"}, {"load_best_model_at_end": True}])
def test_a_validation_split_that_is_asked_for_is_needed(tmp_path: Path, given: dict[str, Any]) -> None:
    """Transformers' Trainer refuses it as well."""
    with pytest.raises(OochubError, match=r"needs a validation split\. Pass eval_dataset"):
        trainer_of(tmp_path / "run", TRAIN, **given)
    strategy = {"eval_strategy": "epoch", "save_strategy": "epoch"}
    with pytest.raises(ValueError, match="eval_dataset"):
        model, _ = open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
        Trainer(model, TrainingArguments(str(tmp_path), use_cpu=True, **strategy), train_dataset=TRAIN)
