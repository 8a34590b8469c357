"""The trainer against a bare loop written from the formulas, under SIGKILL, and on every mistake of its user."""

import json
import os
import random
import resource
import shutil
import signal
import time
from multiprocessing import get_context, set_start_method
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset, Value, load_from_disk
from datasets import Image as ImageFeature
from model_folders import changed
from safetensors.torch import load_file
from trainings import (
    CLASSES,
    ENVIRONMENTS,
    SIZE,
    Stop,
    artifacts,
    bytes_of,
    made_split,
    stopped_after,
    trainer_of,
    with_dropout,
)
from transformers import AutoConfig, AutoImageProcessor, AutoModelForImageClassification

import oochub
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import Preprocessing, normalize
from oochub.models.model_source import _read_training_record as training_record
from oochub.storage.ownership import MANIFEST, FolderManifest
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fine_tuning.loop import Loop
from oochub.trainers.fine_tuning.validation import Validation
from oochub.trainers.robust_trainer import RobustTrainer
from oochub.trainers.samplers import UniformSampler


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Splits on disk, so that other processes load them with the same fingerprint."""
    path = tmp_path_factory.mktemp("splits")
    made_split(50, 1).save_to_disk(path / "train")
    made_split(30, 2).save_to_disk(path / "validation")
    return path


@pytest.fixture(scope="module")
def train(folder: Path) -> Dataset:
    return load_from_disk(folder / "train")


@pytest.fixture(scope="module")
def validation(folder: Path) -> Dataset:
    return load_from_disk(folder / "validation")


@pytest.mark.parametrize(("objective", "accumulate"), [("erm", 1), ("group_dro", 1), ("erm", 2)])
def test_equals_a_bare_loop(tmp_path: Path, train: Dataset, objective: str, accumulate: int) -> None:
    """A loop over the images in the sampler's order, in plain torch: equal weights, bit for bit."""
    trainer = trainer_of(tmp_path / "run", train, objective=objective, gradient_accumulation_steps=accumulate)
    result = trainer.train()

    model, processor = open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
    pixels = torch.tensor(np.stack([np.asarray(picture) for picture in train["image"]]))
    label, environment = torch.tensor(train["label"][:]), torch.tensor(train["environment"][:])
    loss_of = oochub.get("objective", objective)()
    loss_of.prepare(environment_counts=torch.bincount(environment, minlength=3).tolist())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    sampler = UniformSampler(50, seed=0)
    model.train()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        order = list(sampler)
        losses: dict[str, list[float]] = {name: [] for name in ENVIRONMENTS}
        batches = [order[start : start + 16] for start in range(0, 50, 16)]
        for number, rows in enumerate(batches, 1):
            logits = model(pixel_values=normalize(pixels[rows], Preprocessing.from_processor(processor))).logits
            each = torch.nn.functional.cross_entropy(logits, label[rows], reduction="none").tolist()
            for e, value in zip(environment[rows].tolist(), each, strict=True):
                losses[ENVIRONMENTS[e]].append(value)
            (loss_of(logits, label[rows], environment[rows]) / accumulate).backward()
            if number % accumulate == 0 or number == len(batches):
                optimizer.step()
                optimizer.zero_grad()
        found = result.history[epoch]["loss_by_environment"]
        assert found["test"] is None
        for name in ("road", "grass"):
            assert found[name] == pytest.approx(np.mean(losses[name]), abs=1e-5)
    assert result.global_step == 2 * (4 // accumulate)
    saved = load_file(tmp_path / "run" / "model.safetensors")
    for name, tensor in model.state_dict().items():
        assert torch.equal(saved[name], tensor), name


def test_the_folder_opens_with_transformers_and_says_what_was_done(
    tmp_path: Path, train: Dataset, validation: Dataset
) -> None:
    trainer = trainer_of(tmp_path / "run", train, validation, num_train_epochs=6, metrics=("accuracy", "worst_group"))
    result = trainer.train()
    names = {"README.md", "config.json", "model.safetensors", "preprocessor_config.json", "recipe.json", MANIFEST}
    assert {file.name for file in result.output_dir.iterdir()} == names | {"training_log.json"}
    model = AutoModelForImageClassification.from_pretrained(result.output_dir).eval()
    processor = AutoImageProcessor.from_pretrained(result.output_dir)
    assert model.config.id2label == dict(enumerate(CLASSES))
    with torch.no_grad():
        logits = model(**processor(list(validation["image"]), return_tensors="pt")).logits
    label = torch.tensor(validation["label"][:])
    best = result.history[result.best_epoch - 1]
    assert best["eval_loss"] == pytest.approx(torch.nn.functional.cross_entropy(logits, label).item(), abs=1e-5)
    assert best["eval_loss"] == min(record["eval_loss"] for record in result.history) == result.best_value
    right = (logits.argmax(1) == label).numpy()
    environment = np.array(validation["environment"][:])
    assert best["eval_accuracy"] == pytest.approx(right.mean())
    assert best["eval_worst_group.accuracy"] == pytest.approx(min(right[environment == e].mean() for e in (0, 1)))
    assert result.history[-1]["loss"] < 0.5 < result.history[0]["loss"]  # it learns
    recipe = json.loads((result.output_dir / "recipe.json").read_text())
    assert recipe["objective"] == {"name": "erm", "hyperparameters": {}}
    assert recipe["data"]["environments"] == {
        name: train["environment"][:].count(number) for number, name in enumerate(ENVIRONMENTS)
    }
    assert "lowest loss on the validation split" in recipe["selection"]["rule"]
    assert str(tmp_path) not in json.dumps(recipe)
    assert recipe["model"]["pretrained"] is False
    assert "group_dro" not in (card := (result.output_dir / "README.md").read_text())
    assert "trained with erm" in card


@pytest.mark.parametrize("pretrained", [True, False])
def test_what_was_trained_is_read_again(tmp_path: Path, train: Dataset, pretrained: bool) -> None:
    """From a folder's weights, or from its config alone. Planted fault seen: the config kept the name of the folder."""
    trainer_of(tmp_path / "first", train, num_train_epochs=1).train()
    network = open_backbone(str(tmp_path / "first"), class_names=CLASSES, pretrained=pretrained)
    out = trainer_of(tmp_path / "run", train, num_train_epochs=1, model=network).train().output_dir
    record = training_record(out / "recipe.json")
    assert record and (record.architecture, record.pretrained) == ("ResNetForImageClassification", pretrained)
    assert record.base == ("first" if pretrained else None)
    if (
        not pretrained
    ):  # of a user's own model it is not known: this one has the name of the folder and no weights of it
        own = AutoModelForImageClassification.from_config(AutoConfig.from_pretrained(tmp_path / "first"))
        out = trainer_of(tmp_path / "own", train, num_train_epochs=1, model=(own, network[1])).train().output_dir
        record = training_record(out / "recipe.json")
        assert record and (record.base, record.pretrained) == ("first", None)


def test_a_finished_run_is_returned_at_once(tmp_path: Path, train: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    first = trainer_of(tmp_path / "run", train).train()
    monkeypatch.setattr(Loop, "__init__", None)
    again = trainer_of(tmp_path / "run", train)
    assert again.train() == first
    assert torch.equal(
        again.model.state_dict()["classifier.1.bias"],
        load_file(first.output_dir / "model.safetensors")["classifier.1.bias"],
    )


@pytest.mark.parametrize(
    ("stop", "continues_at"),
    [(3, 2), (6, 6), (1, 0), *(pytest.param(*place, marks=pytest.mark.slow) for place in ((5, 4), (7, 6)))],
)
def test_goes_on_within_an_epoch_bit_for_bit(
    tmp_path: Path, train: Dataset, validation: Dataset, monkeypatch: pytest.MonkeyPatch, stop: int, continues_at: int
) -> None:
    """Four batches an epoch, a checkpoint every second step; dropout, augmentation, weights of GroupDRO, a schedule."""
    settings = {
        "model": None,
        "objective": "group_dro",
        "save_steps": 2,
        "augment": "flip_shift",
        "lr_scheduler_type": "onecycle",
        "metrics": ("accuracy",),
    }

    def made(out: Path) -> RobustTrainer:
        return trainer_of(out, train, validation, **(settings | {"model": with_dropout()}))

    with monkeypatch.context() as patch:
        order = stopped_after(100, patch)
        made(tmp_path / "straight").train()
    with monkeypatch.context() as patch:
        stopped_after(stop, patch)
        with pytest.raises(Stop):
            made(tmp_path / "run").train()
    with monkeypatch.context() as patch:
        seen = stopped_after(100, patch)
        made(tmp_path / "run").train()
    assert seen == order[continues_at:]
    assert artifacts(tmp_path / "run") == artifacts(tmp_path / "straight")


def killed_after(seconds: float, out: Path, folder: Path) -> bool:
    """Trains in a child process and kills it; whether the kill came before it was done."""
    child = os.fork()  # fork is seconds faster than starting an interpreter
    if child == 0:
        torch.set_num_threads(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            long_run(out, folder).train()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def long_run(out: Path, folder: Path) -> RobustTrainer:
    train, validation = load_from_disk(folder / "train"), load_from_disk(folder / "validation")
    return trainer_of(out, train, validation, objective="group_dro", num_train_epochs=8, save_steps=1, augment="flip")


@pytest.mark.campaign  # many runs, each killed: 20 seconds
def test_after_sigkill_at_random_moments_the_next_run_ends_equal(tmp_path: Path, folder: Path) -> None:
    """Planted: a checkpoint that counts as complete before its weights are written is taken up, and the run fails.

    Seen before it was mended: a kill while the last checkpoints were being removed left a part of them forever.
    """
    start = time.perf_counter()
    long_run(tmp_path / "straight", folder).train()
    duration = time.perf_counter() - start
    for seed in range(5):
        rng, out, hits = random.Random(seed), tmp_path / f"run{seed}", 0
        for _ in range(50):  # until two hit: a run that ended before its kill has shown that this machine is faster now
            moment = rng.uniform(0, 0.9) * duration
            if killed_after(moment, out, folder):
                hits += 1
                if hits == 2:
                    break
            else:
                duration = moment
                shutil.rmtree(out)
        assert hits == 2, "the kills came too late"
        long_run(out, folder).train()
        assert artifacts(out) == artifacts(tmp_path / "straight"), f"seed {seed}"


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "words"), [(20_000, "Could not write"), (600_000, "Free disk space")])
def test_a_full_disk_is_an_error_and_afterwards_the_run_ends_equal(
    tmp_path: Path, folder: Path, limit: int, words: str
) -> None:
    """A limit on the size of files stands for the disk: below the cache of pixels, and below the optimizer's state."""
    long_run(tmp_path / "straight", folder).train()
    shutil.rmtree(tmp_path / "pixels")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            long_run(tmp_path / "run", folder).train()
        except OochubError as error:
            code = 7 if words in str(error) else 8
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    long_run(tmp_path / "run", folder).train()
    assert artifacts(tmp_path / "run") == artifacts(tmp_path / "straight")


def test_what_a_kill_left_in_a_finished_run_is_removed_and_nothing_else(tmp_path: Path, train: Dataset) -> None:
    """Planted fault: whatever has such a name."""
    out = trainer_of(tmp_path / "run", train).train().output_dir
    before = {file.name for file in out.iterdir()}
    manifest, ours, others = FolderManifest.at(out), ("checkpoints", ".draft"), (".checkpoints.old", ".git")
    for name in ours:
        manifest.add_folder(out / name)
    for name in (*ours, *others):
        (out / name).mkdir()
        (out / name / "config").write_text("")
    trainer_of(tmp_path / "run", train).train()
    assert {file.name for file in out.iterdir()} == before | set(others)
    assert all((out / name / "config").is_file() for name in others)


def test_another_run_in_the_folder_is_named_and_can_be_overwritten(tmp_path: Path, train: Dataset) -> None:
    out = tmp_path / "run"
    trainer_of(out, train).train()
    with pytest.raises(
        OochubError, match=r"finished run that differs in arguments\.learning_rate \(there 0\.001, now 0\.01\)"
    ):
        trainer_of(out, train, learning_rate=0.01)
    with pytest.raises(OochubError, match=r"differs in .*objective\.name \(there 'erm', now 'group_dro'\)"):
        trainer_of(out, train, objective="group_dro")
    before = bytes_of(out)
    trainer_of(out, train, learning_rate=0.01, overwrite_output_dir=True).train()
    assert bytes_of(out) != before
    trainer_of(out, train, learning_rate=0.01)  # now this is the run that stands there
    changed(out, lambda weights: weights.pop("classifier.1.bias"))
    with pytest.raises(OochubError, match=r"model\.safetensors: it was changed after oochub wrote it"):
        trainer_of(out, train, learning_rate=0.01)
    (out / MANIFEST).unlink()  # as an earlier version left it
    with pytest.raises(OochubError, match=r"1 weight \(classifier\.1\.bias\) missing"):  # not trained anew in silence
        trainer_of(out, train, learning_rate=0.01).train()
    for content, words in (('{"objective": ', "is not complete JSON"), ("[]", "does not belong to a training run")):
        (out / "recipe.json").write_text(content)
        with pytest.raises(OochubError, match=rf"recipe\.json {words}"):
            trainer_of(out, train, learning_rate=0.01)


def test_an_unfinished_run_with_other_arguments_is_named(
    tmp_path: Path, train: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_after(5, monkeypatch)
    with pytest.raises(Stop):
        trainer_of(tmp_path / "run", train).train()
    with pytest.raises(
        OochubError, match=r"unfinished run that differs in arguments\.seed .*another --out, or discard"
    ):
        trainer_of(tmp_path / "run", train, seed=1)


def test_a_folder_of_something_else_is_never_touched(tmp_path: Path, train: Dataset) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.tex").write_text("mine")
    with pytest.raises(OochubError, match=r"contains other files \(thesis\.tex\)"):
        trainer_of(tmp_path / "notes", train, overwrite_output_dir=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(OochubError, match="is a file, not a folder"):
        trainer_of(tmp_path / "file" / "run", train)


def test_patience_stops_and_the_best_epoch_is_restored(
    tmp_path: Path, train: Dataset, validation: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses 1, 0.5, 0.5, 0.7 on the validation split: a tie keeps the earlier epoch, patience 2 ends after the 4th."""
    trainer_of(tmp_path / "two", train).train()
    trainer = trainer_of(tmp_path / "run", train, validation, num_train_epochs=9, early_stopping_patience=2)
    losses = iter([1.0, 0.5, 0.5, 0.7, 0.1])
    monkeypatch.setattr(Validation, "measure", lambda self, logits: {"loss": next(losses)})
    result = trainer.train()
    assert (result.best_epoch, result.best_value, len(result.history)) == (2, 0.5, 4)
    assert bytes_of(tmp_path / "run") == bytes_of(tmp_path / "two")


@pytest.mark.slow
def test_decoding_in_every_epoch_gives_the_same_weights(tmp_path: Path, train: Dataset, folder: Path) -> None:
    """In a process of its own, which forks: one that had run a thousand tests has ended here, without a word."""
    trainer_of(tmp_path / "cached", train).train()
    process = get_context("spawn").Process(target=_train_decoding, args=(tmp_path / "decoded", folder))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert bytes_of(tmp_path / "cached") == bytes_of(tmp_path / "decoded")


def _train_decoding(out: Path, folder: Path) -> None:
    set_start_method("fork", force=True)  # a spawned process spawns too, and each of its workers imports torch anew
    trainer_of(out, load_from_disk(folder / "train"), cache="none", dataloader_num_workers=2).train()


def test_max_steps_and_the_linear_schedule(tmp_path: Path, train: Dataset) -> None:
    trainer = trainer_of(tmp_path / "run", train, max_steps=6, lr_scheduler_type="linear", num_train_epochs=10)
    result = trainer.train()
    assert [record["global_step"] for record in result.history] == [4, 6]
    assert [record["learning_rate"] for record in result.history] == pytest.approx([1e-3 * 2 / 6, 0])


def test_diverging_training_is_an_error(tmp_path: Path, train: Dataset) -> None:
    with pytest.raises(OochubError, match="training diverged"):
        trainer_of(tmp_path / "run", train, learning_rate=1e30, optim="sgd").train()


@pytest.mark.parametrize("cache", ["uint8", "none"])
def test_a_broken_picture_is_named_and_nothing_stands_half_written(tmp_path: Path, train: Dataset, cache: str) -> None:
    undecoded = train.cast_column("image", ImageFeature(decode=False)).with_format(None)
    rows = undecoded.to_list()
    rows[7]["image"]["bytes"] = rows[7]["image"]["bytes"][:100]
    broken = Dataset.from_list(rows, train.features)
    with pytest.raises(OochubError, match="example 1/7: cannot read the image"):
        trainer_of(tmp_path / "run", broken, cache=cache).train()
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"checkpoints", MANIFEST}


def out_of_range(train: Dataset) -> Dataset:
    return train.cast_column("label", Value("int64")).map(lambda row: {"label": row["label"] - 1}, keep_in_memory=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": out_of_range}, r"labels of the train set are not one of 0\.\.1, first -1"),
        ({"train": lambda d: d.select([])}, "The train set is empty"),
        ({"train": lambda d: d.remove_columns("label")}, "no column 'label' .* only example_id, image, environment"),
        ({"train": lambda d: d.to_iterable_dataset()}, "load without streaming=True"),
        ({"environment_column": "place"}, "no column 'place'"),
        ({"train": lambda d: d.remove_columns("environment"), "objective": "group_dro"}, "Set environment_column"),
        ({"model": 3}, "The model has 3 classes, but the train set has 2"),
        ({"metrics": ("acuracy",)}, "No metric named 'acuracy'. Did you mean 'accuracy'"),
        ({"metrics": ("auc_hard",)}, "'auc_hard' needs challenge"),
        ({"metric_for_best_model": "worst_group"}, r"number for metric_for_best_model.*worst_group\.accuracy"),
        ({"validation": None, "early_stopping_patience": 2}, "need a validation split"),
        ({"report_to": "tensorbord"}, "No tracker for report_to named 'tensorbord'"),
    ],
)
def test_a_mistake_is_named_before_anything_is_written(
    tmp_path: Path, train: Dataset, validation: Dataset, change: dict[str, Any], message: str
) -> None:
    data = change.pop("train", lambda d: d)(train)
    if "model" in change:
        change["model"] = open_backbone("resnet-tiny", class_names=["a", "b", "c"], image_size=SIZE)
    with pytest.raises(OochubError, match=message):
        trainer_of(tmp_path / "run", data, change.pop("validation", validation), **change)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optim": "adagrad"}, "optim must be one of adamw, adam, sgd, got 'adagrad'"),
        ({"learning_rate": 0}, "learning_rate must be a finite number above 0, got 0"),
        ({"per_device_train_batch_size": 0}, "per_device_train_batch_size must be a whole number, 1 or larger, got 0"),
        ({"weight_decay": -1}, "weight_decay must be a finite number, 0 or larger, got -1"),
        ({"warmup_ratio": 1.0}, "warmup_ratio must be a finite number, 0 or larger, below 1, got 1.0"),
        ({"max_steps": 0}, "max_steps must be 1 or larger, or -1"),
        ({"seed": -1}, "seed must be a whole number in .*got -1"),
        ({"augment": "flips"}, "No augment named 'flips'"),
        ({"output_dir": ""}, "output_dir is empty"),
    ],
)
def test_a_wrong_argument_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(OochubError, match=message):
        RobustTrainingArguments(**({"output_dir": "x"} | change))


def test_backbones(tmp_path: Path, train: Dataset) -> None:
    """The same seed gives the same weights and leaves torch's own generator alone; a folder gets a new head."""
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, second, other = (
        open_backbone("resnet-tiny", class_names=CLASSES, seed=seed)[0].state_dict() for seed in (0, 0, 1)
    )
    assert torch.equal(torch.rand(1), expected)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["classifier.1.weight"], other["classifier.1.weight"])
    out = trainer_of(tmp_path / "run", train, num_train_epochs=1).train().output_dir
    model, processor = open_backbone(str(out), class_names=["a", "b", "c"])
    assert model.config.num_labels == 3
    assert processor.size["height"] == SIZE
    assert torch.equal(
        model.state_dict()["resnet.embedder.embedder.convolution.weight"],
        load_file(out / "model.safetensors")["resnet.embedder.embedder.convolution.weight"],
    )
    with pytest.raises(OochubError, match=r"folder not found.*or take 'resnet-tiny'"):
        open_backbone(str(tmp_path / "nothing" / "here"), class_names=CLASSES)
    with pytest.raises(OochubError, match="two classes or more"):
        open_backbone("resnet-tiny", class_names=["a"])
