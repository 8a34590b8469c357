"""The numbers of the validation split against the hub's metrics and plain NumPy, and the rules that choose an epoch."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset
from trainings import CLASSES, ENVIRONMENTS, made_split, trainer_of, with_group_norm

import oochub
from oochub.errors import OochubError
from oochub.inputs.pictures import Pictures
from oochub.records.build_record import BuildRecord
from oochub.trainers.fine_tuning.run_folder import Progress
from oochub.trainers.fine_tuning.validation import Validation
from oochub.trainers.robust_trainer import _describe_kept_epoch
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import find_task

CHALLENGES = ["easy", "hard_positive", "hard_negative"]
KINDS = np.random.default_rng(8).integers(0, 3, 40)


def split(**columns: Any) -> Dataset:
    return made_split(40, 2, **columns)


def validation(dataset: Dataset, **options: Any) -> Validation:
    examples = Examples(
        dataset, Pictures(with_group_norm()[1]), split="validation", task=find_task(dataset), names=CLASSES
    )
    return Validation(examples, classes=2, **{"environment_column": "environment", **options})


def row_losses(logits: np.ndarray, label: np.ndarray) -> np.ndarray:
    logits = logits.astype(float)
    return np.array([np.log(np.exp(z).sum()) - z[y] for z, y in zip(logits, label, strict=True)])


def test_the_numbers_that_rules_of_selection_need() -> None:
    """Against loops, and the hub's accuracy and worst_group. Planted: hard_loss as the mean over all hard rows."""
    dataset = split(challenge=(ClassLabel(names=CHALLENGES), KINDS))
    logits = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    measured = validation(dataset, metrics=("accuracy", "worst_group"))
    found, label = measured.measure(logits), np.array(dataset["label"])
    losses, right = row_losses(logits, label), logits.argmax(1) == label
    assert found["loss"] == pytest.approx(losses.mean())
    hard = [losses[KINDS == k].mean() for k in (1, 2)]
    assert [found["hard_positive_loss"], found["hard_negative_loss"]] == pytest.approx(hard)
    assert found["hard_loss"] == pytest.approx(max(hard))
    own = validation(dataset).measure(logits)
    environment = np.array(dataset["environment"])
    expected = {ENVIRONMENTS[e]: right[environment == e].mean() for e in (0, 1)}
    assert measured.by_environment(logits) == pytest.approx(expected)
    assert own["accuracy"] == found["accuracy"] == pytest.approx(right.mean())
    assert own["worst_group.accuracy"] == found["worst_group.accuracy"] == pytest.approx(min(expected.values()))


def test_groups_come_before_environments() -> None:
    """With a column `group`, the worst one of its groups; the accuracies by environment stay those of environments."""
    group = np.arange(40) % 4
    dataset = split(group=(ClassLabel(names=list("abcd")), group))
    logits = np.random.default_rng(1).normal(size=(40, 2)).astype(np.float32)
    right = logits.argmax(1) == np.array(dataset["label"])
    measured = validation(dataset)
    worst = min(right[group == g].mean() for g in range(4))
    assert measured.measure(logits)["worst_group.accuracy"] == pytest.approx(worst)
    assert set(measured.by_environment(logits)) == {"road", "grass"}
    reference = oochub.get("metric", "worst_group")
    label = np.array(dataset["label"])
    assert reference(label=label, prediction=logits.argmax(1), group=group)["accuracy"] == pytest.approx(worst)


def test_the_worst_of_groups_that_overlap() -> None:
    """By a loop over the groups of the column `groups`, which go before environments; rows may be in none."""
    rng = np.random.default_rng(3)
    groups = [[name for name in "abc" if rng.random() < 0.4] for _ in range(40)]
    assert min(map(len, groups)) == 0 and max(map(len, groups)) > 1
    dataset = split().add_column("groups", groups)
    measured = validation(dataset, metric_for_best_model="worst_group.accuracy")
    for _ in range(5):
        logits = rng.normal(size=(40, 2)).astype(np.float32)
        right = logits.argmax(1) == np.array(dataset["label"])
        expected = min(right[[name in row for row in groups]].mean() for name in "abc")
        assert measured.measure(logits)["worst_group.accuracy"] == pytest.approx(expected)
    assert measured.selection.greater_is_better
    with pytest.raises(OochubError, match="'worst_group' needs group"):
        validation(dataset, metrics=["worst_group"])


def test_the_region_that_the_headline_of_fmow_leaves_out_counts_here_neither() -> None:
    """By hand: no answer of Other is right, half of Asia's are."""
    region = ["Other"] * 8 + ["Asia"] * 16 + ["Europe"] * 16
    dataset = split().add_column("group", region).add_column("region", region)
    dataset.info.description = BuildRecord(benchmark="wilds", config="fmow", version="1.1").describe("Places.")
    label = np.array(dataset["label"])
    said = np.where(np.arange(40) < 16, 1 - label, label)  # Other and half of Asia are wrong
    logits = np.eye(2, dtype=np.float32)[said]
    for metrics in ((), ("worst_group",)):
        found = validation(dataset, metrics=metrics).measure(logits)
        assert (found["accuracy"], found["worst_group.accuracy"]) == (24 / 40, 1 / 2)
    dataset.info.description = "Somebody's own."
    assert validation(dataset).measure(logits)["worst_group.accuracy"] == 0


def test_where_there_are_no_hard_rows_or_groups() -> None:
    plain = validation(split(environment=None), environment_column=None)
    logits = np.zeros((40, 2), np.float32)
    assert set(plain.measure(logits)) == {"loss", "accuracy"} and plain.by_environment(logits) is None
    with pytest.raises(OochubError, match="'hard_loss' needs hard rows in the validation split"):
        validation(split(), metric_for_best_model="hard_loss")
    easy = split(challenge=(ClassLabel(names=CHALLENGES), np.zeros(40, int)))
    with pytest.raises(OochubError, match="'hard_loss' needs hard rows"):
        validation(easy, metric_for_best_model="hard_loss")


@pytest.mark.parametrize(
    ("rule", "greater"),
    [("loss", False), ("hard_loss", False), ("accuracy", True), ("worst_group.accuracy", True), ("auc", True)],
)
def test_directions(rule: str, greater: bool) -> None:
    dataset = split(challenge=(ClassLabel(names=CHALLENGES), KINDS))
    assert validation(dataset, metric_for_best_model=rule).selection == (rule, greater)
    assert validation(dataset, metric_for_best_model=rule, greater_is_better=not greater).selection[1] is not greater


def test_the_nooch_rule_chooses_the_epoch_and_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three epochs whose losses fall, and whose larger hard loss is smallest in the second. Planted: the mean of both.

    The kept weights, their numbers in recipe.json, the words of the rule on the card.
    """
    numbers = iter(
        [
            {"loss": 0.9, "hard_positive_loss": 1.0, "hard_negative_loss": 2.0, "hard_loss": 2.0},
            {"loss": 0.8, "hard_positive_loss": 1.6, "hard_negative_loss": 1.5, "hard_loss": 1.6},
            {"loss": 0.7, "hard_positive_loss": 0.1, "hard_negative_loss": 1.8, "hard_loss": 1.8},
        ]
    )
    dataset = split(challenge=(ClassLabel(names=CHALLENGES), KINDS))
    trainer = trainer_of(
        tmp_path / "run", made_split(30, 1), dataset, metric_for_best_model="hard_loss", num_train_epochs=3
    )
    monkeypatch.setattr(Validation, "measure", lambda self, logits: next(numbers))
    result = trainer.train()
    assert (result.best_epoch, result.best_value) == (2, 1.6)
    chosen = json.loads((result.output_dir / "recipe.json").read_text())["selection"]
    assert chosen["metric"] == "hard_loss" and chosen["numbers"]["hard_positive_loss"] == 1.6
    assert set(chosen["numbers"]["accuracy_by_environment"]) == {"road", "grass"}
    card = (result.output_dir / "README.md").read_text()
    assert "lowest hard_loss, the larger of the mean losses of hard positives and hard negatives: NOOCH's rule" in card
    assert "| hard_loss | 1.6 |" in card and "| accuracy_by_environment, grass |" in card


def test_a_run_records_them_in_every_epoch(tmp_path: Path) -> None:
    dataset = split(challenge=(ClassLabel(names=CHALLENGES), KINDS))
    result = trainer_of(tmp_path / "run", made_split(30, 1), dataset).train()
    for record in result.history:
        assert {"eval_loss", "eval_hard_positive_loss", "eval_hard_negative_loss", "eval_hard_loss"} < set(record)
        assert {"eval_accuracy", "eval_worst_group.accuracy", "eval_accuracy_by_environment"} < set(record)


def test_logits_far_from_zero() -> None:
    """No overflow: logits of 1e4 cost 1e4 where they are wrong."""
    dataset = split()
    label = np.array(dataset["label"])
    logits = np.stack([1e4 * (label == 1), np.zeros(40)], 1).astype(np.float32)
    expected = np.log(2) * (label == 0).mean()
    assert validation(dataset).measure(logits)["loss"] == pytest.approx(1e4 * (label == 1).mean() + expected)
    assert torch.isfinite(torch.tensor(validation(dataset).measure(-logits)["loss"]))


@pytest.mark.parametrize(
    ("stages", "losses", "best", "words"),
    [
        ([1, 1, 1], [0.9, 0.2, 0.5], 2, "epoch 2 of 3, which has the lowest loss on the validation split (0.2)"),
        (
            [1, 1, 2, 2, 2],  # an epoch of the first stage had less
            [0.9, 0.1, 0.5, 0.3, 0.4],
            4,
            "epoch 4 of 5, which has the lowest loss among epochs 3 to 5, those of the last stage, on the validation "
            "split (0.3)",
        ),
        (
            [1, 1, 1, 2],  # dfr
            [0.5, 0.3, 0.1452, 0.6931],
            4,
            "epoch 4 of 4, the only one of the last stage: the validation split chose nothing (its loss is 0.6931)",
        ),
    ],
)
def test_the_sentence_names_the_epochs_that_competed(stages, losses, best, words):
    """Only those of the last stage do. Fault planted: the lowest of all epochs claimed."""
    history = [
        {"epoch": k, "stage": stage, "eval_loss": loss}
        for k, (stage, loss) in enumerate(zip(stages, losses, strict=True), 1)
    ]
    progress = Progress(
        epoch=len(stages), stage=stages[-1] - 1, best_epoch=best, best_value=losses[best - 1], history=history
    )
    validation = SimpleNamespace(selection=("loss", False))
    assert _describe_kept_epoch(progress, validation, None)["rule"] == words
    competing = [loss for stage, loss in zip(stages, losses, strict=True) if stage == stages[-1]]
    assert min(competing) == losses[best - 1]


@pytest.mark.parametrize("shared", [0, 5])
def test_images_of_validation_that_are_trained_on_are_said(shared, tmp_path, recwarn):
    """By their bytes, before the first step. Planted faults seen: names compared; the count of the other split."""
    train, other = made_split(30, 1), made_split(20, 2)
    rows = other.to_dict()
    rows["image"][:shared] = train.to_dict()["image"][:shared]
    validation = Dataset.from_dict(rows, other.features)
    trainer_of(tmp_path / "run", train, validation, num_train_epochs=1).train()
    said = [str(each.message) for each in recwarn if "byte for byte" in str(each.message)]
    assert len(said) == bool(shared)
    if shared:
        assert said[0].startswith("The images of 5 of 20 rows of validation also stand in train, byte for byte")
