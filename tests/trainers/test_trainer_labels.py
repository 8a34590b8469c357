"""Several labels a row, and numbers: targets, losses, the saved config, and what is refused with words."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, List, Value
from trainings import made_split, trainer_of, with_group_norm
from transformers import AutoImageProcessor, AutoModelForImageClassification, pipeline

import oochub
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts, BuildRecord
from oochub.trainers.backbone import open_backbone
from oochub.trainers.rows.targets import find_task, read_targets

NAMES = ["red", "bright", "none"]


def several(rows: int, seed: int, **columns: Any) -> Dataset:
    """What an image of `made_split` shows, as labels: red for class 1, bright for environment 1."""
    plain = made_split(rows, seed)
    shown = [[k for k, on in enumerate(pair) if on] for pair in zip(plain["label"], plain["environment"], strict=True)]
    return made_split(rows, seed, label=None, labels=(List(ClassLabel(names=NAMES)), shown), **columns)


def numbers(rows: int, seed: int) -> Dataset:
    """The red of an image of `made_split`, as a number."""
    return made_split(rows, seed, label=(Value("float32"), 2.0 * np.array(made_split(rows, seed)["label"]) - 0.5))


def test_targets_of_several_labels() -> None:
    data = Dataset.from_dict({"labels": [[2, 0], [], [1]]}, Features({"labels": List(ClassLabel(names=NAMES))}))
    found = read_targets(data, find_task(data), split="train", names=NAMES)
    assert found.dtype == torch.float32 and found.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    turned = data.select([2, 0])  # an indices mapping, as after shuffle or filter
    assert read_targets(turned, find_task(turned), split="train", names=NAMES).tolist() == [[0, 1, 0], [1, 0, 1]]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["erm", "group_dro", "mixup", "fish"])
def test_a_run_with_several_labels(tmp_path: Path, objective: str) -> None:
    """The validation loss is the mean binary cross entropy; the folder opens as a multi-label model."""
    train, validation = several(50, 1), several(30, 2)
    model = open_backbone("resnet-tiny", class_names=NAMES, problem_type="multi_label_classification", image_size=16)
    settings: dict[str, Any] = {"num_train_epochs": 6, "learning_rate": 3e-3, "sampler": "environments"}
    trainer = trainer_of(tmp_path / "run", train, validation, model=model, objective=objective, **settings)
    result = trainer.train()
    opened = AutoModelForImageClassification.from_pretrained(result.output_dir).eval()
    assert opened.config.problem_type == "multi_label_classification"
    assert opened.config.id2label == dict(enumerate(NAMES))
    processor = AutoImageProcessor.from_pretrained(result.output_dir)
    with torch.no_grad():
        logits = opened(**processor(list(validation["image"]), return_tensors="pt")).logits.double()
    hot = torch.tensor([[float(k in shown) for k in range(3)] for shown in validation["labels"]]).double()
    p = logits.sigmoid()
    expected = -(hot * p.log() + (1 - hot) * (1 - p).log()).mean()
    best = result.history[result.best_epoch - 1]
    assert best["eval_loss"] == pytest.approx(expected.item(), abs=1e-5) == result.best_value
    assert best["eval_loss"] < result.history[0]["eval_loss"] and "eval_accuracy" not in best
    scored = pipeline("image-classification", model=opened, image_processor=processor)(validation[0]["image"])
    assert sum(one["score"] for one in scored) != pytest.approx(1, abs=1e-3)  # sigmoids, not a softmax
    recipe = json.loads((result.output_dir / "recipe.json").read_text())
    assert recipe["data"]["problem_type"] == "multi_label_classification"
    assert "Labels (a row may have several): red, bright, none." in (result.output_dir / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["erm", "group_dro"])
def test_a_run_with_numbers(tmp_path: Path, objective: str) -> None:
    train, validation = numbers(50, 1), numbers(30, 2)
    trainer = trainer_of(
        tmp_path / "run",
        train,
        validation,
        model=open_backbone("resnet-tiny", class_names=["label"], problem_type="regression", image_size=16),
        objective=objective,
        num_train_epochs=8,
        learning_rate=3e-3,
    )
    result = trainer.train()
    opened = AutoModelForImageClassification.from_pretrained(result.output_dir).eval()
    assert opened.config.problem_type == "regression" and opened.config.num_labels == 1
    processor = AutoImageProcessor.from_pretrained(result.output_dir)
    with torch.no_grad():
        found = opened(**processor(list(validation["image"]), return_tensors="pt")).logits[:, 0]
    squares = (found - torch.tensor(validation["label"][:])).square()
    assert result.best_value == pytest.approx(squares.mean().item(), abs=1e-5)
    assert result.best_value < 0.6 < 1.0  # the variance of the labels is 1


def zeros_and_ones(rows: int, seed: int, feature: Any = None) -> Dataset:
    """The same as numbers 0 and 1; whether one is bright nobody knows of every third image."""
    shown = several(rows, seed)["labels"]
    one_hot = [[float(k in row) for k in range(3)] for row in shown]
    unknown = float("nan")
    values = [[unknown if (k, i % 3) == (1, 0) else row[k] for k in range(3)] for i, row in enumerate(one_hot)]
    return made_split(rows, seed, label=None, labels=(feature or List(Value("float32")), values))


@pytest.mark.parametrize("feature", [List(Value("float32")), List(Value("float64"), length=3)])
def test_unknown_labels_are_left_out_of_the_loss(tmp_path: Path, feature: Any) -> None:
    """The first step of SGD is that of torch's binary cross entropy weighted by 1 / (known labels of the row)."""
    train = zeros_and_ones(16, 1, feature)
    assert find_task(train).names == ["0", "1", "2"]
    model, processor = with_group_norm(outputs=3)
    settings: dict[str, Any] = {"optim": "sgd", "momentum": 0.0, "learning_rate": 0.1, "max_steps": 1}
    trainer = trainer_of(tmp_path / "run", train, model=(model, processor), **settings)
    start = {name: values.clone() for name, values in model.state_dict().items()}
    trainer.train()
    found = {name: values.clone() for name, values in trainer.model.state_dict().items()}
    model.load_state_dict(start)
    label = torch.tensor(train["labels"][:])
    weight = torch.tensor([[float(k != 1 or i % 3 != 0) for k in range(3)] for i in range(16)])
    weight /= weight.sum(1, keepdim=True) * 16
    logits = model(**processor(list(train["image"]), return_tensors="pt")).logits
    torch.nn.functional.binary_cross_entropy_with_logits(
        logits, label.nan_to_num(), weight=weight, reduction="sum"
    ).backward()
    for name, values in model.named_parameters():
        slope = values.grad + 1e-4 * start[name]
        assert torch.allclose(found[name], start[name] - 0.1 * slope, atol=1e-6), name


def test_names_of_labels_come_from_the_build_record() -> None:
    facts = BuildFacts(label_names=("red", "bright", "none"))
    data = zeros_and_ones(4, 1)
    data.info.description = BuildRecord(benchmark="x", config="y", version="1.0.0", facts=facts).describe("Colors.")
    assert find_task(data).names == NAMES
    assert [row[1] is None or row[1] != row[1] for row in data["labels"]] == [True, False, False, True]


def test_labels_that_are_no_labels_are_refused(tmp_path: Path) -> None:
    for values, message in (
        ([[0.0, 0.5, 1.0]] * 4, "The train set: labels must be 0, 1 or nan"),
        ([[0.0, 1.0]] + [[0.0, 1.0, 1.0]] * 3, "The model has 3 classes, but the train set has 2"),
        ([[0.0, 1.0, 1.0]] + [[0.0, 1.0]] * 3, "The train set: labels must be 3 numbers per row"),
        ([[0.0, 1.0, 1.0]] * 3 + [None], "The train set: Every row needs labels"),
    ):
        train = made_split(4, 1, label=None, labels=(List(Value("float32")), values))
        with pytest.raises(OochubError, match=message):
            trainer_of(tmp_path / "run", train, model=with_group_norm(outputs=3))
    words = made_split(4, 1, label=None, labels=(List(Value("string")), [["a"]] * 4))
    with pytest.raises(OochubError, match="'labels' must hold lists of class numbers, or of 0, 1 and nan"):
        find_task(words)


def missing(names: list[str]) -> Dataset:
    return several(20, 1).select_columns(names)


@pytest.mark.parametrize(
    ("data", "change", "message"),
    [
        (several(20, 1), {"objective": "undersample"}, "Undersample needs one class per row, but .* multi_label_class"),
        (several(20, 1), {"objective": "jtt"}, "Jtt needs one class per row"),
        (several(20, 1), {"objective": "lisa"}, "Lisa needs one class per row"),
        (several(20, 1), {"objective": "w2d"}, "W2d needs one class per row"),
        (several(20, 1), {"objective": "reweight"}, "Reweight"),
        (several(20, 1), {"metrics": ("auc",)}, "metric 'auc' cannot be computed: labels here are of the kind multi"),
        (several(20, 1), {"metrics": ("worst_group",)}, "'worst_group' cannot be computed: labels here are"),
        (several(20, 1), {"sampler": "class_balanced"}, "sampler='class_balanced' needs one class per row"),
        (
            several(20, 1, environment=None),
            {"objective": "group_dro"},
            "GroupDro compares environments, but the training",
        ),
        (missing(["image"]), {}, "no column 'label' .* or 'labels'"),
        (numbers(20, 1), {}, "the model has 3. Make it with num_labels=1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path, data: Dataset, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(OochubError, match=message):
        trainer_of(tmp_path / "run", data, data, model=with_group_norm(outputs=3), **change).train()
    assert not (tmp_path / "run").exists()


def test_splits_must_have_the_same_kind_of_labels(tmp_path: Path) -> None:
    with pytest.raises(OochubError, match=r"validation set has labels of the kind .*, but"):
        trainer_of(tmp_path / "run", made_split(20, 1), numbers(20, 2), model=with_group_norm())
    with pytest.raises(OochubError, match="The validation set has no column 'labels'"):
        trainer_of(tmp_path / "run", several(20, 1), made_split(20, 2), model=with_group_norm(outputs=3))
    with pytest.raises(OochubError, match=r"The model has 2 classes, but the train set has 3 \(red, bright, none\)"):
        trainer_of(tmp_path / "run", several(20, 1), model=with_group_norm(outputs=2))


@pytest.mark.slow
def test_nooch_all_trains_by_name(tmp_path: Path, coco: Path) -> None:
    """`oochub train nooch/all`: 171 labels, no environments, the tiny model."""
    from oochub.training import train

    data = {"data_dir": str(coco), "out": tmp_path / "run", "image_size": 16}
    arguments = {"max_steps": 2, "num_train_epochs": 1, "cache_dir": tmp_path / "pixels"}
    result = train("nooch/all", **data, arguments=arguments)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["problem_type"] == "multi_label_classification" and len(config["id2label"]) == 171
    assert result["best_value"] < 1
    with pytest.raises(OochubError, match="No column of nooch/all named 'environment'"):
        train("nooch/all", **{**data, "out": tmp_path / "other"}, objective="group_dro", arguments=arguments)
    assert "nooch" in oochub.names("benchmark")
