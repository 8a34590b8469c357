"""A scale and a shift after each block of a ResNet: against torch by hand, trained, saved and opened again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch import Tensor
from torch.nn import functional
from trainings import (
    CLASSES,
    SIZE,
    made_split,
    trainer_of,
    with_dropout,
    with_group_norm,
)
from transformers import AutoModelForImageClassification, ResNetConfig, ResNetForImageClassification

from oochub.cli import main
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import Preprocessing, normalize
from oochub.models.affine_resnet import AffineResNetForImageClassification, add_affine
from oochub.predicting import predict
from oochub.trainers.backbone import open_backbone
from oochub.trainers.samplers import UniformSampler


@pytest.fixture(scope="module")
def splits() -> tuple[Dataset, Dataset]:
    return made_split(48, 1), made_split(20, 2)


def resnet(layer_type: str) -> ResNetForImageClassification:
    torch.manual_seed(0)
    shape: dict[str, Any] = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2], "num_labels": 3}
    return ResNetForImageClassification(ResNetConfig(layer_type=layer_type, **shape)).eval()


def by_hand(state: dict[str, Tensor], pixels: Tensor) -> Tensor:
    """The logits of `resnet("basic")` with its affine parameters, from its weights alone, in evaluation mode."""

    def normalized(x: Tensor, of: str) -> Tensor:
        mean, variance = state[f"{of}.running_mean"][:, None, None], state[f"{of}.running_var"][:, None, None]
        scaled = (x - mean) / (variance + 1e-5).sqrt() * state[f"{of}.weight"][:, None, None]
        return scaled + state[f"{of}.bias"][:, None, None]

    def layer(x: Tensor, of: str, stride: int, padding: int) -> Tensor:
        convolved = functional.conv2d(x, state[f"{of}.convolution.weight"], stride=stride, padding=padding)
        return normalized(convolved, f"{of}.normalization")

    x = layer(pixels, "resnet.embedder.embedder", 2, 3).clamp(min=0)
    x = functional.max_pool2d(x, 3, 2, 1)
    for stage, depth in enumerate((1, 2)):
        for number in range(depth):
            block = f"resnet.encoder.stages.{stage}.layers.{number}"
            stride = 2 if (stage, number) == (1, 0) else 1
            inner = layer(x, f"{block}.layer.0", stride, 1).clamp(min=0)
            inner = layer(inner, f"{block}.layer.1", 1, 1)
            around = layer(x, f"{block}.shortcut", stride, 0) if stride > 1 else x
            x = (inner + around).clamp(min=0)
            x = x * state[f"{block}.activation.1.weight"][:, None, None]
            x = x + state[f"{block}.activation.1.bias"][:, None, None]
    return x.mean((2, 3)) @ state["classifier.1.weight"].T + state["classifier.1.bias"]


def test_the_logits_are_those_of_a_network_by_hand() -> None:
    """In float64. Planted: the shift left out, or the affine before the ReLU."""
    model = add_affine(resnet("basic")).double()
    with torch.no_grad():
        for values in model.state_dict().values():
            if values.is_floating_point():
                values.copy_(torch.rand_like(values) + 0.1 if values.ndim == 1 else torch.randn_like(values) / 10)
        for name, values in model.named_parameters():
            if ".activation.1." in name:
                values.copy_(torch.randn_like(values))
        pixels = torch.randn(2, 3, 32, 32, dtype=torch.float64)
        found, wanted = model(pixels).logits, by_hand(model.state_dict(), pixels)
    assert found.shape == (2, 3) and float((found - wanted).abs().max()) < 1e-9


@pytest.mark.parametrize("layer_type", ["basic", "bottleneck"])
def test_it_begins_as_the_same_network_and_changes_with_each_block(layer_type: str) -> None:
    model, pixels = resnet(layer_type), torch.randn(2, 3, 32, 32)
    made = add_affine(model)
    assert add_affine(made) is made
    first = model(pixels).logits
    assert torch.equal(made(pixels).logits, first)
    own = [values for name, values in made.named_parameters() if ".activation.1." in name]
    assert [len(values) for values in own] == [8, 8, 16, 16, 16, 16]  # a weight and a bias a block
    for values in own:
        with torch.no_grad():
            values += 0.5
            assert float((made(pixels).logits - first).abs().max()) > 1e-6
            values -= 0.5
    assert torch.equal(model(pixels).logits, first)


@pytest.mark.slow
def test_training_equals_a_bare_loop(tmp_path: Path, splits: Any) -> None:
    """The same network in plain torch, the scales and shifts held by hooks: equal weights, to rounding."""
    trainer = trainer_of(tmp_path / "run", splits[0], affine_after_blocks=True, optim="sgd", learning_rate=0.01)
    trainer.train()
    model, processor = open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
    pixels = torch.tensor(np.stack([np.asarray(picture) for picture in splits[0]["image"]]))
    label = torch.tensor(splits[0]["label"][:])
    own: dict[str, torch.nn.Parameter] = {}
    for name, block in model.named_modules():
        if type(block).__name__ == "ResNetBasicLayer":
            channels = block.layer[1].normalization.num_features
            scale = own.setdefault(f"{name}.activation.1.weight", torch.nn.Parameter(torch.ones(channels)))
            shift = own.setdefault(f"{name}.activation.1.bias", torch.nn.Parameter(torch.zeros(channels)))
            block.register_forward_hook(
                lambda _, __, out, scale=scale, shift=shift: (
                    torch.einsum("nchw,c->nchw", out, scale) + shift[:, None, None]
                )
            )
    optimizer = torch.optim.SGD([*model.parameters(), *own.values()], lr=0.01, momentum=0.9, weight_decay=1e-4)
    sampler = UniformSampler(48, seed=0)
    model.train()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for rows in torch.tensor(list(sampler)).split(16):
            logits = model(normalize(pixels[rows], Preprocessing.from_processor(processor))).logits
            functional.cross_entropy(logits, label[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()
    found = trainer.model.state_dict()
    scales = [values.detach() for name, values in own.items() if name.endswith("weight")]
    assert len(scales) == 3 and min(float((values - 1).abs().max()) for values in scales) > 1e-4
    for name, values in (model.state_dict() | own).items():
        assert torch.allclose(found[name].double(), values.detach().double(), atol=2e-5), name


@pytest.mark.slow
def test_the_folder_opens_and_says_what_the_trainer_said(tmp_path: Path, splits: Any) -> None:
    """The Auto classes know it after an import; nothing of it is lost on the way."""
    trainer = trainer_of(tmp_path / "run", *splits, affine_after_blocks=True, learning_rate=0.01)
    folder = trainer.train().output_dir
    opened = AutoModelForImageClassification.from_pretrained(folder, trust_remote_code=False).eval()
    assert isinstance(opened, AffineResNetForImageClassification)
    pixels = torch.randn(4, 3, SIZE, SIZE)
    with torch.no_grad():
        assert torch.equal(opened(pixels).logits, trainer.model.eval()(pixels).logits)
    scales = [values for name, values in opened.named_parameters() if name.endswith("activation.1.weight")]
    assert len(scales) == 3 and all((values != 1).any() for values in scales)
    found = predict(folder, splits[1], features=True, out=tmp_path / "p.parquet", images=False)
    pictures = torch.tensor(np.stack([np.asarray(picture) for picture in splits[1]["image"]]))
    with torch.no_grad():
        wanted = trainer.model(normalize(pictures, Preprocessing.from_processor(trainer._inputs.processor))).logits
    assert np.allclose(found.logits, wanted.numpy(), atol=1e-5) and found.features is not None
    assert "oochub.models.affine_resnet" in (folder / "README.md").read_text()
    assert json.loads((folder / "recipe.json").read_text())["arguments"]["affine_after_blocks"] is True
    onward, _ = open_backbone(str(folder), class_names=CLASSES)  # one may train on from the folder
    assert torch.equal(onward.eval()(pixels).logits, trainer.model(pixels).logits)
    again = trainer_of(tmp_path / "run", *splits, affine_after_blocks=True, learning_rate=0.01)
    assert again.train().history and torch.equal(again.model.eval()(pixels).logits, opened(pixels).logits)


@pytest.mark.slow
def test_transformers_alone_refuses_the_folder_and_a_study_opens_it(tmp_path: Path, splits: Any) -> None:
    """In place of opening it as a ResNet without the affine parameters, which would say something else."""
    folder = trainer_of(tmp_path / "run", *splits, affine_after_blocks=True, max_steps=1).train().output_dir
    code = f"from transformers import AutoModelForImageClassification as A; A.from_pretrained({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode and "oochub_affine_resnet" in done.stderr
    study = (
        "from oochub.studies.imagenet_ood.model_list import StudiedModel, check_classes; from pathlib import Path; "
        f"model = StudiedModel('one', {str(folder)!r}, 0); check_classes([model], {len(CLASSES)}); "
        "from oochub.studies.imagenet_ood.random_copy import random_copy; "
        f"print(random_copy(model, Path({str(tmp_path / 'copies')!r})))"
    )
    done = subprocess.run([sys.executable, "-c", study], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_other_networks_are_refused_before_anything_is_written(tmp_path: Path, splits: Any) -> None:
    for model, said in ((with_dropout(), "got ViTForImageClassification"), (with_group_norm(), "has other layers")):
        with pytest.raises(OochubError, match=said):
            trainer_of(tmp_path / "run", *splits, model=model, affine_after_blocks=True)
    with pytest.raises(OochubError, match="affine_after_blocks must be true or false, got 1"):
        trainer_of(tmp_path / "run", *splits, affine_after_blocks=1)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_command_line_trains_and_predicts(tmp_path: Path, coco: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--argument affine_after_blocks=true`, and `oochub predict` with its folder."""
    given = ["affine_after_blocks=true", "max_steps=2", f"cache_dir={tmp_path / 'pixels'}"]
    words = ["train", "nooch/ce_car", "--data-dir", str(coco), "--out", str(tmp_path / "run"), "--image-size", "16"]
    words += [part for one in given for part in ("--argument", one)]
    folder = ["predict", str(tmp_path / "run"), "nooch/ce_car", "--data-dir", str(coco), "--split", "test"]
    for line in (words, [*folder, "--out", str(tmp_path / "test.parquet")]):
        monkeypatch.setattr("sys.argv", ["oochub", *line])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code
    assert json.loads((tmp_path / "run" / "config.json").read_text())["model_type"] == "oochub_affine_resnet"
    assert (tmp_path / "test.parquet").is_file()
