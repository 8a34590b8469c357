"""What RobustTrainer takes as transformers' Trainer does: processing_class, callbacks, compute_metrics, trackers."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from trainings import CLASSES, SIZE, bytes_of, made_split, trainer_of
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback, TrainingArguments

from oochub.errors import OochubError
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fine_tuning.callbacks import EVENTS

TRAIN, VALIDATION = made_split(50, 1), made_split(30, 2)


class Recorder:
    """Writes down each event with the steps and the epochs that its state counts."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int, float]] = []
        self.given: dict[str, set[str]] = {}

    def __getattr__(self, event: str) -> Any:
        if event not in EVENTS:
            raise AttributeError(event)

        def hear(args: Any, state: Any, control: Any, **given: Any) -> None:
            self.heard.append((event, state.global_step, round(state.epoch)))
            self.given[event] = {name for name, value in given.items() if value is not None}

        return hear


class Theirs(Recorder, TrainerCallback):
    """The same for the Trainer of transformers, whose base class has every event."""

    def __getattribute__(self, name: str) -> Any:
        return Recorder.__getattr__(self, name) if name in EVENTS else super().__getattribute__(name)


def f1(answers: Any) -> dict[str, float]:
    logits, label = answers
    return {"eval_f1": f1_score(label, logits.argmax(1), average="macro")}


def collated(rows: Any) -> dict[str, torch.Tensor]:
    pixels = np.stack([np.asarray(row["image"], np.float32).transpose(2, 0, 1) / 255 for row in rows])
    return {"pixel_values": torch.from_numpy(pixels), "labels": torch.tensor([row["label"] for row in rows])}


@pytest.mark.slow
def test_events_are_those_of_transformers_trainer(tmp_path: Path) -> None:
    """The same events at the same steps as the Trainer of transformers has in a run of as many steps.

    Only on_log comes at other places: that Trainer logs the training loss and the validation apart.
    """
    ours, theirs = Recorder(), Theirs()
    trainer_of(
        tmp_path / "run", TRAIN, VALIDATION, per_device_train_batch_size=16, num_train_epochs=3, callbacks=[ours]
    ).train()
    model, _ = open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
    arguments = TrainingArguments(
        output_dir=str(tmp_path / "theirs"),
        per_device_train_batch_size=16,
        num_train_epochs=3,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="epoch",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    Trainer(
        model,
        arguments,
        data_collator=collated,
        train_dataset=TRAIN,
        eval_dataset=VALIDATION,
        callbacks=[theirs],
        compute_metrics=f1,
    ).train()
    both = [[each for each in heard if each[0] != "on_log"] for heard in (ours.heard, theirs.heard)]
    steps = [[(event, step) for event, step, _ in heard] for heard in both]
    assert steps[0] == steps[1] and len(steps[0]) == 2 + 3 * (2 * 4 + 4)
    ends = [[each for each in heard if each[0] in ("on_epoch_end", "on_evaluate", "on_save")] for heard in both]
    assert ends[0] == ends[1]
    assert {event for event, *_ in ours.heard} == set(EVENTS)
    for event, given in ours.given.items():
        assert given <= theirs.given[event] | {"processing_class"}, event  # their run has none
        assert {"model", "processing_class"} <= given


@pytest.mark.slow
def test_early_stopping_of_transformers_is_ours(tmp_path: Path) -> None:
    """`EarlyStoppingCallback` stops where `early_stopping_patience` does, and the same epoch is kept."""
    common = {"num_train_epochs": 30, "learning_rate": 0.05, "per_device_train_batch_size": 16}
    own = trainer_of(tmp_path / "own", TRAIN, VALIDATION, early_stopping_patience=2, **common).train()
    stopper = EarlyStoppingCallback(early_stopping_patience=2)
    theirs = trainer_of(tmp_path / "theirs", TRAIN, VALIDATION, callbacks=[stopper], **common).train()
    assert own.history == theirs.history and len(own.history) < 30
    assert own.best_epoch == theirs.best_epoch == len(own.history) - 2


def test_a_callback_ends_an_epoch(tmp_path: Path) -> None:
    """An epoch that is cut short is validated, and the next one begins at its own first row."""

    class Short:
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            if state.global_step == 2:
                control.should_epoch_stop = True
            return control

    settings = {"num_train_epochs": 3, "per_device_train_batch_size": 16}
    trainer = trainer_of(tmp_path / "run", TRAIN, VALIDATION, callbacks=[Short], **settings)
    assert [each["global_step"] for each in trainer.train().history] == [2, 6, 10, 12]


def test_compute_metrics_by_sklearn(tmp_path: Path) -> None:
    """The F1 of scikit-learn stands in the history and chooses the epoch."""
    result = trainer_of(
        tmp_path / "run",
        TRAIN,
        VALIDATION,
        num_train_epochs=4,
        learning_rate=0.05,
        compute_metrics=f1,
        metric_for_best_model="f1",
        greater_is_better=True,
        metrics=("f1_macro",),
    ).train()
    values = [each["eval_f1"] for each in result.history]
    assert values == pytest.approx([each["eval_f1_macro"] for each in result.history]) and len(set(values)) > 1
    assert result.best_epoch == 1 + int(np.argmax(values)) and result.best_value == max(values)


def test_processing_class_is_the_processor(tmp_path: Path) -> None:
    """The weights are those of a run with `image_processor`."""
    _, processor = open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
    first = trainer_of(tmp_path / "one", TRAIN, max_steps=2).train()
    second = trainer_of(tmp_path / "two", TRAIN, max_steps=2, processing_class=processor).train()
    assert bytes_of(first.output_dir) == bytes_of(second.output_dir)
    with pytest.raises(OochubError, match="Pass one of image_processor="):
        trainer_of(tmp_path / "three", TRAIN, processing_class=None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"compute_metrics": f1, "metric_for_best_model": "f1"}, "Set greater_is_better"),
        ({"compute_metrics": lambda _: {"loss": 1.0}}, "compute_metrics gives 'loss'"),
        ({"compute_metrics": lambda _: [1.0]}, "a dict of numbers by name"),
        ({"callbacks": ["stop"]}, "callbacks= takes callbacks as transformers has them"),
        ({"metric_for_best_model": "f1"}, "f1"),
    ],
)
def test_what_does_not_fit_is_said_before_training(tmp_path: Path, given: Any, message: str) -> None:
    with pytest.raises(OochubError, match=message):
        trainer_of(tmp_path / "run", TRAIN, VALIDATION, **given)
    assert not (tmp_path / "run").exists()


def test_files_of_tensorboard_hold_the_history(tmp_path: Path) -> None:
    """The reader of tensorboard finds each number of each epoch, those of the environments among them."""
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    result = trainer_of(
        tmp_path / "run", TRAIN, VALIDATION, num_train_epochs=2, metrics=("ece",), report_to="tensorboard"
    ).train()
    reader = accumulators.EventAccumulator(str(tmp_path / "run" / "oochub"))
    reader.Reload()
    numbers = {tag: [(each.step, each.value) for each in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}
    for record in result.history:
        for name, value in _numbers_of(record).items():
            written = dict(numbers[name.replace(" ", "_")])
            assert written[record["global_step"]] == pytest.approx(value, rel=1e-6), name


def test_the_database_of_trackio_holds_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As sqlite reads it: each number of each epoch, and the settings."""
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # read when it is imported
    pytest.importorskip("trackio", reason="trackio wants pillow below 13, so it is in no environment of ours")
    result = trainer_of(
        tmp_path / "run", TRAIN, VALIDATION, num_train_epochs=2, metrics=("ece",), report_to="trackio"
    ).train()
    with closing(sqlite3.connect(tmp_path / "trackio" / "oochub.db")) as database:
        rows = dict(database.execute("select step, metrics from metrics"))
        ((config,),) = database.execute("select config from configs")
    assert json.loads(config)["learning_rate"] == 1e-3
    for record in result.history:
        assert json.loads(rows[record["global_step"]]) == pytest.approx(_numbers_of(record))


def _numbers_of(record: dict[str, Any]) -> dict[str, float]:
    """What a tracker is to have of an epoch."""
    tables = {name: values for name, values in record.items() if isinstance(values, dict)}
    assert set(tables) == {"loss_by_environment", "eval_accuracy_by_environment"}
    of_all = {f"{table}/{name}": value for table, values in tables.items() for name, value in values.items()}
    flat = {name: value for name, value in of_all.items() if value is not None}  # one environment has no row
    numbers = flat | {name: value for name, value in record.items() if isinstance(value, float)}
    assert {"loss", "eval_loss", "eval_accuracy", "eval_ece", "learning_rate"} <= set(numbers) and len(flat) == 4
    return numbers
