"""NOOCH's protocol as arguments: the optimizers, sizes and pixels of Appendix C.2, against their formulas."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from PIL import Image
from trainings import made_split, trainer_of, with_dropout, with_group_norm
from transformers import AutoImageProcessor, ConvNextImageProcessorPil, ResNetConfig, ResNetForImageClassification

from oochub.cli import main
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import Preprocessing
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fine_tuning.schedule import Schedule, make_optimizer
from oochub.trainers.samplers import UniformSampler
from oochub.trainers.training_step import TrainingStep


def parameter() -> torch.nn.Module:
    model = torch.nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.5, -2.0]]))
    return model


@pytest.mark.parametrize("optim", ["sgd", "adam", "adamw"])
def test_optimizers_against_their_formulas(optim: str) -> None:
    """Five steps on given gradients. L2 decay joins the gradient in sgd and adam, and shrinks the weight in adamw."""
    settings = {"optim": optim, "learning_rate": 1e-2, "momentum": 0.9, "weight_decay": 0.1}
    model = parameter()
    optimizer = make_optimizer(model, RobustTrainingArguments(output_dir="x", **settings))
    w, v, m, s = np.array([[0.5, -2.0]]), 0.0, 0.0, 0.0
    for step in range(1, 6):
        gradient = np.array([[np.sin(step), step]])
        model.weight.grad = torch.tensor(gradient)
        optimizer.step()
        g = gradient + (0.1 * w if optim != "adamw" else 0)
        if optim == "sgd":
            v = 0.9 * v + g
            w = w - 1e-2 * v
        else:
            w = w * (1 - 1e-2 * 0.1) if optim == "adamw" else w
            m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g**2
            w = w - 1e-2 * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
        assert np.allclose(model.weight.detach().numpy(), w, atol=1e-12)


@pytest.mark.parametrize("optim", ["sgd", "adam", "adamw"])
def test_forgetting_is_a_new_optimizer_in_place(optim: str) -> None:
    """After three steps and `forget`, three more equal those of a new optimizer. Planted: counts of steps kept."""
    args = RobustTrainingArguments(output_dir="x", optim=optim)
    one, two = parameter(), parameter()
    optimizer, other = make_optimizer(one, args), make_optimizer(two, args)
    group, state = optimizer.param_groups[0], optimizer.state
    for step in range(6):
        if step == 3:
            TrainingStep(Accelerator(cpu=True), one, optimizer).forget()
            two.load_state_dict(one.state_dict())
        for model, used in ((one, optimizer), (two, other))[: 1 if step < 3 else 2]:
            model.weight.grad = torch.tensor([[1.0 + step, -step]]).double()
            used.step()
    assert torch.equal(one.weight, two.weight)
    assert optimizer.param_groups[0] is group and optimizer.state is state


def test_a_schedule_begins_anew() -> None:
    """A second stage has its own course of the rate, whatever the first was; a saved place is taken up."""
    for kind in ("cosine", "onecycle", "linear", "constant"):
        args = RobustTrainingArguments(output_dir="x", lr_scheduler_type=kind, learning_rate=0.5, warmup_ratio=0.25)
        courses = []
        for first in (0, 3):
            optimizer = make_optimizer(parameter(), args)
            schedule = Schedule(optimizer, args)
            for steps in (first, 8):
                schedule.begin(max(1, steps))
                rates = []
                for _ in range(steps):
                    rates.append((schedule.rate, optimizer.param_groups[0]["lr"]))
                    optimizer.step()
                    schedule.step()
            courses.append(rates)
        assert courses[0] == courses[1] and all(a == b for a, b in courses[0])
        again = []
        for stop in range(8):
            optimizer, taken = make_optimizer(parameter(), args), make_optimizer(parameter(), args)
            before, after = Schedule(optimizer, args), Schedule(taken, args)
            before.begin(8), after.begin(8)
            for _ in range(stop):
                optimizer.step()
                before.step()
            taken.load_state_dict(optimizer.state_dict())
            after.load_state_dict(before.state_dict())
            again.append(after.rate)
        assert again == [rate for rate, _ in courses[0]]


def test_the_protocol_as_arguments(tmp_path: Path) -> None:
    """What a model sees: pixels in [0, 1] of the whole image squeezed to a square, as ToTensor and Resize((s, s))."""
    train = made_split(20, 1)
    settings: dict[str, Any] = {"optim": "sgd", "learning_rate": 1e-4, "momentum": 0.9, "weight_decay": 1e-4}
    settings |= {"per_device_train_batch_size": 10, "early_stopping_patience": 3, "lr_scheduler_type": "constant"}
    model, processor = with_group_norm()
    seen = []
    model.register_forward_pre_hook(
        lambda _, args, kwargs: seen.append(kwargs["pixel_values"].clone()), with_kwargs=True
    )
    trainer = trainer_of(
        tmp_path / "run", train, train, model=(model, processor), normalize=False, num_train_epochs=1, **settings
    )
    result = trainer.train()
    pixels = torch.cat(seen[-2:])  # the validation pass, in order
    expected = np.stack([np.asarray(picture) for picture in train["image"]]).transpose(0, 3, 1, 2) / 255
    assert np.allclose(pixels.numpy()[-20:], expected, atol=1e-6)
    assert processor.do_normalize  # the user's own is as it was
    saved = AutoImageProcessor.from_pretrained(result.output_dir)
    assert not saved.do_normalize and saved.do_rescale
    arguments = json.loads((result.output_dir / "recipe.json").read_text())["arguments"]
    assert {**settings, "normalize": False}.items() <= arguments.items()
    assert [record["learning_rate"] for record in result.history] == [1e-4]


def test_any_backbone_squeezes_to_an_image_size(tmp_path: Path) -> None:
    """A ResNet with ConvNext's processor (shortest edge, center crop), as microsoft/resnet-50 has, at 24 pixels."""
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5)
    ResNetForImageClassification(config).save_pretrained(tmp_path / "resnet")
    ConvNextImageProcessorPil(size={"shortest_edge": 224}, resample=3).save_pretrained(tmp_path / "resnet")
    model, processor = open_backbone(str(tmp_path / "resnet"), class_names=["a", "b"], image_size=24)
    assert model.config.num_labels == 2
    found = Preprocessing.from_processor(processor)
    own = Preprocessing.from_processor(AutoImageProcessor.from_pretrained(tmp_path / "resnet"))
    assert (found.size, found.resize, found.crop) == ((24, 24), (24, 24), None)
    assert (found.mean, found.std, found.resample, found.scale) == (own.mean, own.std, own.resample, own.scale)
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (30, 50, 3), np.uint8))
    wide = processor(picture, return_tensors="np")["pixel_values"][0]
    expected = np.asarray(picture.resize((24, 24), Image.Resampling.BICUBIC)) / 255
    assert np.allclose(wide.transpose(1, 2, 0), (expected - own.mean) / own.std, atol=1e-5)
    weights = [
        open_backbone(str(tmp_path / "resnet"), class_names=["a", "b"], pretrained=loaded, seed=3)[0].state_dict()[
            "resnet.embedder.embedder.convolution.weight"
        ]
        for loaded in (True, False)
    ]
    assert not torch.equal(*weights)
    saved = ResNetForImageClassification.from_pretrained(tmp_path / "resnet").state_dict()
    assert torch.equal(weights[0], saved["resnet.embedder.embedder.convolution.weight"])


def test_a_size_that_a_model_cannot_take_is_named(tmp_path: Path) -> None:
    vit, processor = with_dropout()
    vit.save_pretrained(tmp_path / "vit")
    processor.save_pretrained(tmp_path / "vit")
    assert open_backbone(str(tmp_path / "vit"), class_names=["a", "b"], image_size=16)
    with pytest.raises(OochubError, match="ViTForImageClassification only takes images of 16 pixels"):
        open_backbone(str(tmp_path / "vit"), class_names=["a", "b"], image_size=32)
    with pytest.raises(OochubError, match="image_size must be a whole number of pixels from 16"):
        open_backbone("resnet-tiny", class_names=["a", "b"], image_size=8)


def test_dropout_of_the_features_is_in_training_only(tmp_path: Path) -> None:
    """With dropout .5 the head sees doubled or zeroed features in training, and all of them in evaluation."""
    train, (model, processor), seen = made_split(16, 1), with_group_norm(), []
    trainer = trainer_of(
        tmp_path / "run", train, train, model=(model, processor), dropout=0.5, num_train_epochs=1, learning_rate=1e-9
    )
    trainer.model.classifier[1].register_forward_hook(lambda layer, inputs, output: seen.append(inputs[0].clone()))
    trainer.train()
    dropped, whole = seen[-2], seen[-1]
    assert 0.3 < (dropped == 0).float().mean() < 0.7 and (whole == 0).float().mean() < 0.1
    order = list(UniformSampler(16, seed=0))
    kept = dropped != 0
    assert torch.allclose(dropped[kept], 2 * whole[order][kept], atol=1e-5)
    with pytest.raises(OochubError, match=r"dropout must be a finite number, 0 or larger, below 1, got 1\.0"):
        trainer_of(tmp_path / "other", train, dropout=1.0)


def test_forward_per_environment(tmp_path: Path) -> None:
    """A step of GroupDRO in which BatchNorm sees one environment at a time, against a plain loop. Planted: joint."""
    train = made_split(16, 1)
    tiny = {"class_names": ["no car", "car"], "image_size": 16}
    settings = {"optim": "sgd", "momentum": 0.0, "weight_decay": 0.0, "learning_rate": 0.1, "max_steps": 1}
    made = {"objective": "group_dro", "forward": "per_environment", "model": open_backbone("resnet-tiny", **tiny)}
    trainer = trainer_of(tmp_path / "run", train, **made, **settings)
    trainer.train()
    model, processor = open_backbone("resnet-tiny", **tiny)
    pixels = processor(list(train["image"]), return_tensors="pt")["pixel_values"]
    label, environment = torch.tensor(train["label"][:]), torch.tensor(train["environment"][:])
    losses = [
        torch.nn.functional.cross_entropy(
            model.train()(pixel_values=pixels[environment == e]).logits, label[environment == e]
        )
        for e in (0, 1)
    ]
    weights = torch.softmax(0.01 * torch.stack(losses).detach(), 0)
    (weights * torch.stack(losses)).sum().backward()
    found = trainer.model.state_dict()
    for name, values in model.named_parameters():
        assert torch.allclose(found[name], values - 0.1 * values.grad, atol=1e-6), name
    joint = trainer_of(
        tmp_path / "joint",
        train,
        **{**made, "forward": "joint", "model": open_backbone("resnet-tiny", **tiny)},
        **settings,
    )
    joint.train()
    assert (
        max((joint.model.state_dict()[name] - found[name]).abs().max() for name, _ in model.named_parameters()) > 1e-4
    )
    coral = {**made, "objective": "coral", "model": open_backbone("resnet-tiny", **tiny)}
    assert trainer_of(tmp_path / "coral", train, **coral, **settings).train().global_step == 1


def test_the_command_line_takes_any_argument(tmp_path: Path, coco: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields of RobustTrainingArguments as key=value, over the options; a wrong one is named."""
    words = ["train", "nooch/ce_car", "--data-dir", str(coco), "--out", str(tmp_path / "run"), "--image-size", "16"]
    given = ["optim=sgd", "normalize=false", "metric_for_best_model=hard_loss", "sampler=group_balanced", "max_steps=2"]
    words += [part for one in [*given, f"cache_dir={tmp_path / 'pixels'}"] for part in ("--argument", one)]
    monkeypatch.setattr("sys.argv", ["oochub", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())
    expected = {"optim": "sgd", "normalize": False, "sampler": "group_balanced", "max_steps": 2}
    assert expected.items() <= recipe["arguments"].items() and recipe["selection"]["metric"] == "hard_loss"
    monkeypatch.setattr("sys.argv", ["oochub", *words, "--argument", "optimizer=sgd"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
