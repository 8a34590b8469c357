"""A second head for a context: against a loop by hand, left out, stopped, in two processes, from the shell."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Array2D, ClassLabel, Dataset, List, Value
from safetensors.torch import load_file
from trainings import CLASSES, SIZE, Stop, artifacts, bytes_of, made_split, stopped_after, trainer_of, with_group_norm
from transformers import AutoModelForImageClassification

from oochub.cli import main
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import Preprocessing, normalize
from oochub.storage.tensor_file import load_tensors
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fine_tuning.auxiliary import read_auxiliary
from oochub.trainers.samplers import UniformSampler

ROWS = 48
CASES = {"words": 3, "areas": 2, "areas.1": 1, "hospital": 3, "share": 1}  # columns and outputs


def columns(rows: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    share = rng.random(rows).round(1) * (rng.random(rows) < 0.5)
    return {
        "words": (ClassLabel(names=["sea", "sky", "road"]), rng.integers(0, 3, rows)),
        "areas": (List(Value("float32")), np.stack([share, rng.random(rows) - 0.5], 1).astype(np.float32)),
        "hospital": (Value("int64"), rng.choice([7, 20, 300], rows)),
        "share": (Value("float64"), share),
    }


@pytest.fixture(scope="module")
def splits() -> tuple[Dataset, Dataset]:
    return made_split(ROWS, 1, **columns(ROWS, 5)), made_split(20, 2)


def targets_by_hand(rows: Dataset, name: str) -> Any:
    """Of each row: a class from 0, or 0 and 1 for each number."""
    if name == "hospital":  # in the order of their names
        return [{"20": 0, "300": 1, "7": 2}[str(value)] for value in rows["hospital"]]
    if name == "words":
        return [{"road": 0, "sea": 1, "sky": 2}[["sea", "sky", "road"][value]] for value in rows["words"]]
    if name == "share":
        return [[float(value > 0)] for value in rows["share"]]
    places = (0, 1) if name == "areas" else (1,)
    return [[float(values[place] > 0) for place in places] for values in rows["areas"]]


@pytest.mark.parametrize("name", CASES)
def test_targets(splits: Any, name: str) -> None:
    found = read_auxiliary(splits[0], name, 1.0)
    assert found.label.tolist() == targets_by_hand(splits[0], name) and len(found.names) == CASES[name]


@pytest.mark.parametrize(("name", "weight", "objective"), [("words", 0.5, "erm"), ("areas", 2.0, "group_dro")])
def test_equals_a_bare_loop(tmp_path: Path, splits: Any, name: str, weight: float, objective: str) -> None:
    """A second linear layer on the pooled features in plain torch: both heads and the network, to rounding."""
    from oochub import get

    train = splits[0]
    given = {"objective": objective, "auxiliary_column": name, "auxiliary_weight": weight, "optim": "sgd"}
    trainer = trainer_of(tmp_path / "run", train, learning_rate=0.005, seed=3, **given)
    trainer.train()
    model, processor = open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
    torch.manual_seed(3)
    second = torch.nn.Linear(128, CASES[name])
    start = second.weight.detach().clone()
    pixels = torch.tensor(np.stack([np.asarray(picture) for picture in train["image"]]))
    label, environment = torch.tensor(train["label"][:]), torch.tensor(train["environment"][:])
    wanted = torch.tensor(targets_by_hand(train, name))
    loss_of = get("objective", objective)()
    loss_of.prepare(environment_counts=torch.bincount(environment, minlength=3).tolist())
    optimizer = torch.optim.SGD([*model.parameters(), *second.parameters()], lr=0.005, momentum=0.9, weight_decay=1e-4)
    sampler = UniformSampler(ROWS, seed=3)
    model.train()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows in torch.tensor(list(sampler)).split(16):
            pooled = model.resnet(normalize(pixels[rows], Preprocessing.from_processor(processor))).pooler_output
            said = second(pooled.flatten(1))
            if name == "words":
                other = -said.log_softmax(1)[range(len(rows)), wanted[rows]].mean()
            else:
                chance = said.sigmoid()
                other = -(wanted[rows] * chance.log() + (1 - wanted[rows]) * (1 - chance).log()).mean()
            (loss_of(model.classifier(pooled), label[rows], environment[rows]) + weight * other).backward()
            optimizer.step()
            optimizer.zero_grad()
    found = load_file(tmp_path / "run" / "model.safetensors")
    for key, values in model.state_dict().items():
        assert torch.allclose(found[key].double(), values.double(), atol=2e-5), key
    head = load_file(tmp_path / "run" / "auxiliary_head.safetensors")
    assert float((second.weight - start).detach().abs().max()) > 1e-3
    assert torch.allclose(head["weight"], second.weight, atol=1e-5)
    assert torch.allclose(head["bias"], second.bias, atol=1e-5)


@pytest.mark.slow
def test_the_folder_is_a_plain_model_and_the_head_lies_apart(tmp_path: Path, splits: Any) -> None:
    trainer = trainer_of(tmp_path / "run", *splits, auxiliary_column="words")
    early = AutoModelForImageClassification.from_pretrained(
        trainer.save_model(tmp_path / "early"), output_loading_info=True
    )[1]
    assert not early["unexpected_keys"]
    folder = trainer.train().output_dir
    plain = trainer_of(tmp_path / "plain", *splits).train().output_dir
    assert {file.name for file in folder.iterdir()} - {file.name for file in plain.iterdir()} == {
        "auxiliary_head.safetensors"
    }
    assert load_file(folder / "model.safetensors").keys() == load_file(plain / "model.safetensors").keys()
    assert not any("auxiliary" in key for key in trainer.model.state_dict())
    opened, loading = AutoModelForImageClassification.from_pretrained(folder, output_loading_info=True)
    assert not loading["missing_keys"] and not loading["unexpected_keys"]
    pixels = torch.randn(4, 3, SIZE, SIZE)
    with torch.no_grad():
        assert torch.equal(opened.eval()(pixels).logits, trainer.model.eval()(pixels).logits)
    second = load_tensors(folder / "auxiliary_head.safetensors", entry="auxiliary_head")
    assert second.checked and second.about == {"column": "words", "names": ["road", "sea", "sky"]}
    recipe = json.loads((folder / "recipe.json").read_text())
    assert recipe["arguments"]["auxiliary_column"] == "words"
    assert recipe["model"]["parameters"] == sum(each.numel() for each in opened.parameters())
    assert "learned to predict `words`" in (folder / "README.md").read_text()
    trainer_of(folder, *splits, overwrite_output_dir=True).train()  # another run takes the head away
    assert not (folder / "auxiliary_head.safetensors").exists()


@pytest.mark.slow
def test_a_weight_of_zero_is_plain_training(tmp_path: Path, splits: Any) -> None:
    """Bit for bit, and the head then does not learn (its weight decay apart)."""
    trainer_of(tmp_path / "plain", *splits, optim="sgd", weight_decay=0.0).train()
    zero = {"auxiliary_column": "areas", "auxiliary_weight": 0}
    trainer_of(tmp_path / "zero", *splits, optim="sgd", weight_decay=0.0, **zero).train()
    assert bytes_of(tmp_path / "zero") == bytes_of(tmp_path / "plain")
    trainer_of(tmp_path / "one", *splits, optim="sgd", weight_decay=0.0, auxiliary_column="areas").train()
    assert bytes_of(tmp_path / "one") != bytes_of(tmp_path / "plain")


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", [{}, {"forward": "per_environment", "dropout": 0.2, "gradient_accumulation_steps": 2}]
)
def test_a_stop_changes_nothing(
    tmp_path: Path, splits: Any, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    def made(out: str) -> Any:
        return trainer_of(tmp_path / out, *splits, auxiliary_column="words", save_steps=1, num_train_epochs=3, **given)

    made("straight").train()
    for stop in (2, 5):
        out = f"stopped{stop}"
        with monkeypatch.context() as patch:
            stopped_after(stop, patch)
            with pytest.raises(Stop):
                made(out).train()
        made(out).train()
        assert artifacts(tmp_path / out) == artifacts(tmp_path / "straight")


def processes(folder: Path) -> None:
    """What each of the processes of `test_two_processes_equal_one` does."""
    count = int(os.environ["WORLD_SIZE"])
    given = {"auxiliary_column": "words", "auxiliary_weight": 3.0, "optim": "sgd", "learning_rate": 0.01}
    size = {"per_device_train_batch_size": 16 // count, "model": with_group_norm()}
    trainer_of(folder / "run", made_split(160, 1, **columns(160, 5)), **given, **size).train()


@pytest.mark.campaign
def test_two_processes_equal_one(tmp_path: Path) -> None:
    """20 steps on 16 rows in all; both heads and the network to 1e-5."""
    found = []
    for count in (1, 2):
        folder = tmp_path / str(count)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={count}", __file__]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # of pytest: the helpers of the tests
        command += [str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110)
        assert done.returncode == 0, done.stderr[-3000:]
        recipe = json.loads((folder / "run" / "recipe.json").read_text())
        assert recipe["settings"]["processes"] == count
        files = ("model.safetensors", "auxiliary_head.safetensors")
        found.append({key: values for file in files for key, values in load_file(folder / "run" / file).items()})
    one, two = found
    assert one.keys() == two.keys() and {"weight", "bias"} <= one.keys()
    assert max(float((one[key] - two[key]).abs().max()) for key in one) < 1e-5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"auxiliary_column": "sea"}, "No column of the training set for auxiliary_column named 'sea'"),
        ({"auxiliary_column": "areas.2"}, "each row of 'areas' has 2, from 0"),
        ({"auxiliary_column": "square"}, "must hold names, whole numbers, numbers or lists of numbers"),
        ({"auxiliary_column": "same"}, "is the same in all training rows"),
        ({"auxiliary_column": "gap"}, "must hold finite numbers"),
        ({"auxiliary_column": "unknown"}, "Some training rows have no 'unknown'"),
        ({"auxiliary_column": "ragged"}, "the same number of numbers in each row"),
        ({"auxiliary_column": "words", "objective": "mixup"}, "Mixup mixes rows or takes its own steps"),
        ({"auxiliary_column": "words", "objective": "fish"}, "Fish mixes rows or takes its own steps"),
        ({"auxiliary_column": "words", "auxiliary_weight": -1}, "auxiliary_weight must be a finite number"),
        ({"auxiliary_weight": 0.5}, "auxiliary_weight=0.5 is only for a second head"),
    ],
)
def test_a_mistake_is_named_before_anything_is_written(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    more = {
        "square": (Array2D((2, 2), "float32"), np.zeros((8, 2, 2))),
        "same": (Value("string"), ["a"] * 8),
        "gap": (Value("float32"), [np.nan] + [1.0] * 7),
        "unknown": (ClassLabel(names=["a", "b"]), [None, 1, 0, 1, 0, 1, 0, 1]),
        "ragged": (List(Value("float32")), [[1.0], [1.0, 0.0]] * 4),
    }
    rows = made_split(8, 1, **columns(8, 5), **more)
    with pytest.raises(OochubError, match=said):
        trainer_of(tmp_path / "run", rows, **change)
    assert not (tmp_path / "run").exists()


def test_the_command_line_predicts_the_context_of_nooch(
    tmp_path: Path, coco: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--argument auxiliary_column=context_area.0`: the context of the highest alpha, as in Appendix A."""
    given = ["auxiliary_column=context_area.0", "auxiliary_weight=0.1", "max_steps=2", f"cache_dir={tmp_path / 'p'}"]
    words = ["train", "nooch/ce_car", "--data-dir", str(coco), "--out", str(tmp_path / "run"), "--image-size", "16"]
    monkeypatch.setattr("sys.argv", ["oochub", *words, *(part for one in given for part in ("--argument", one))])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert load_file(tmp_path / "run" / "auxiliary_head.safetensors")["weight"].shape == (1, 128)


if __name__ == "__main__":
    processes(Path(sys.argv[1]))
