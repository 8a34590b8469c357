"""Folders of models of every kind: what opens, with which numbers, and what the others are said to be."""

import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
import transformers
from model_folders import edited, needs_peft, peft_adapter, pictures, resnet
from PIL import Image

import oochub
from oochub.errors import OochubError

_SIDE = 16
_TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}


def _net(folder: Path, *, mean: list[float] | None = None, **config: object) -> Path:
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
    torch.manual_seed(1)
    transformers.ResNetForImageClassification(transformers.ResNetConfig(**sizes, **config)).save_pretrained(folder)
    mean = mean or [0.5, 0.5, 0.5]
    size = {"height": _SIDE, "width": _SIDE}
    transformers.ViTImageProcessorPil(size=size, image_mean=mean, image_std=[0.5] * len(mean)).save_pretrained(folder)
    return folder


def _without_config(folder: Path, **files: object) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def _adapter(folder: Path) -> Path:
    about = {"peft_type": "LORA", "base_model_name_or_path": "user/base", "target_modules": ["query", "value"]}
    return _without_config(folder, adapter_config=about)


def _pickle(folder: Path) -> Path:
    weights = _net(folder, num_labels=2) / "model.safetensors"
    weights.unlink()
    torch.save({}, folder / "pytorch_model.bin")
    return folder


def _own_code(folder: Path) -> Path:
    named = {"AutoConfig": "conf.MyConfig", "AutoModelForImageClassification": "user/repo--net.MyNet"}
    return edited(resnet(folder), "config.json", model_type="mynet", auto_map=named)


def _sound(folder: Path) -> Path:
    config = transformers.ASTConfig(**_TINY, max_length=32, num_mel_bins=16)
    transformers.ASTForAudioClassification(config).save_pretrained(folder)
    return folder


def _points(folder: Path) -> Path:
    sizes = {"encoder_hidden_sizes": [8] * 4, "decoder_hidden_size": 8, "descriptor_decoder_dim": 8}
    transformers.SuperPointForKeypointDetection(transformers.SuperPointConfig(**sizes)).save_pretrained(folder)
    return folder


def _backbone(folder: Path) -> Path:
    _net(folder)
    transformers.ResNetForImageClassification.from_pretrained(folder).resnet.save_pretrained(folder)
    return folder


CLOSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a pickle": (_pickle, r"a pickle \(pytorch_model\.bin\).*only safetensors.*import ResNetForImageClassification"),
    "an adapter": (
        _adapter,
        r"an adapter of peft \(LORA\) for user/base, not a whole.*transformers 4 \(query, value\)",
    ),
    "an adapter with lines in its names": (
        lambda f: _without_config(f, adapter_config={"base_model_name_or_path": "b\nRun: x", "peft_type": ["\x1b"]}),
        r"an adapter of peft \(\['\\x1b'\]\) for b Run: x, not a whole model",
    ),
    "a damaged adapter": (
        lambda f: (_without_config(f) / "adapter_config.json").write_text('{"a') and f,
        r"adapter_config\.json is not complete JSON",
    ),
    "open_clip": (
        lambda f: _without_config(f, open_clip_config={"model_cfg": {}}),
        r"a model of open_clip, .*pass the m",
    ),
    "nothing": (lambda f: _without_config(f, recipe={}), r"does not contain a finished model \(no config\.json\)"),
    "own code": (_own_code, r"would run its own code \(conf\.py, net\.py\) to be opened, and oochub runs no code"),
    "sound": (_sound, r"is a model of sound \(audio-spectrogram-transformer\)\. oochub reads images"),
    "points": (_points, r"is a model that finds points in images \(superpoint\), and gives no classes"),
    "no head": (_backbone, r"A linear probe needs a train split, but the dataset has test\. Give it one"),
    "a number": (lambda f: _net(f, num_labels=1, problem_type="regression"), r"has 1 classes"),
}


@pytest.mark.parametrize("kind", CLOSED)
def test_what_does_not_open_is_said_to_be_what_it_is(kind: str, tmp_path: Path) -> None:
    """Faults planted: each check left out gives another message."""
    make, words = CLOSED[kind]
    folder = make(tmp_path / "model")
    with pytest.raises(OochubError, match=f"(?s){words}"):
        oochub.predict(str(folder), pictures(), cache=False)


@pytest.mark.slow
def test_the_printed_line_converts_a_pickle(tmp_path: Path) -> None:
    """The line is run in a process of its own, and the folder that it writes opens, with the same answers."""
    folder = _net(tmp_path / "model", num_labels=2)
    before = oochub.predict(str(folder), pictures(), cache=False)
    model = transformers.ResNetForImageClassification.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(OochubError) as caught:
        oochub.predict(str(folder), pictures(), cache=False)
    line = shlex.split(re.search(r"python -c .*", str(caught.value))[0])
    subprocess.run([sys.executable, *line[1:]], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "FOLDER" / "preprocessor_config.json").write_bytes((folder / "preprocessor_config.json").read_bytes())
    after = oochub.predict(str(tmp_path / "FOLDER"), pictures(), cache=False)
    assert after.table.column("logits").to_pylist() == before.table.column("logits").to_pylist()


def _colors(rows: int = 4) -> tuple[np.ndarray, datasets.Dataset]:
    pixels = np.random.default_rng(0).integers(0, 256, (rows, _SIDE, _SIDE, 3), dtype=np.uint8)
    pixels[0] = pixels[0, ..., :1]  # gray already
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])})
    images = [Image.fromarray(each) for each in pixels]
    return pixels, datasets.Dataset.from_dict({"image": images, "label": [0, 1] * (rows // 2)}, features)


@pytest.mark.parametrize("mean", [[0.5], [0.5, 0.5, 0.5]])
@pytest.mark.parametrize("preprocessing", ["fused", "processor"])
def test_a_model_of_one_channel_sees_gray_images(mean: list[float], preprocessing: str, tmp_path: Path) -> None:
    """The logits are those of a bare forward pass on 0.299 R + 0.587 G + 0.114 B; the page says so."""
    named = {"id2label": {0: "cat", 1: "dog"}}
    folder = _net(tmp_path / "model", num_channels=1, mean=mean, **named)
    pixels, data = _colors()
    answers = oochub.predict(str(folder), {"test": data}, preprocessing=preprocessing, cache=False)
    gray = torch.from_numpy(pixels @ np.array([0.299, 0.587, 0.114]))[:, None].float()
    with torch.inference_mode():
        bare = transformers.ResNetForImageClassification.from_pretrained(folder).eval()((gray / 255 - 0.5) / 0.5).logits
    np.testing.assert_allclose(answers.logits, bare.numpy(), atol=1e-5)
    assert any("made gray" in note for note in answers.metadata.notes)


@pytest.mark.parametrize(("name", "positive"), [("LABEL_0", 1), ("cat", 0), ("dog", 1)])
def test_one_logit_is_a_sigmoid_of_two_classes(name: str, positive: int, tmp_path: Path) -> None:
    """Of the class that bears the output's name, else of the second; features and head agree with the logits."""
    folder = _net(tmp_path / "model", id2label={0: name})
    pixels, data = _colors()
    answers = oochub.predict(str(folder), {"test": data}, features=True, cache=False)
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2).float()
    with torch.inference_mode():
        model = transformers.ResNetForImageClassification.from_pretrained(folder).eval()
        chance = model((images / 255 - 0.5) / 0.5).logits.sigmoid().numpy()[:, 0]
    ours = torch.from_numpy(np.asarray(answers.logits)).softmax(1).numpy()
    np.testing.assert_allclose(ours[:, positive], chance, atol=1e-6)
    assert any(f"above 0 it answers {('cat', 'dog')[positive]}" in note for note in answers.metadata.notes)
    np.testing.assert_allclose(answers.features @ answers.head.weight.T + answers.head.bias, answers.logits, atol=1e-5)


@needs_peft
def test_an_adapter_opens_on_its_base(tmp_path: Path) -> None:
    """The logits are those of peft's own model. Planted faults: the head of the base; alpha of 8; no record."""
    folder, model = peft_adapter(tmp_path, lora_alpha=20, rank_pattern={"layers.1.attention.v_proj": 2})
    pixels, data = _colors()
    made = oochub.predict(str(folder), data.cast_column("label", datasets.ClassLabel(names=list("abc"))), cache=False,
                          label_map={"a": "LABEL_0", "b": "LABEL_1", "c": "LABEL_2"})  # fmt: skip
    inputs = torch.tensor(pixels.transpose(0, 3, 1, 2) / 127.5 - 1, dtype=torch.float32)
    np.testing.assert_allclose(made.logits, model(inputs).logits.detach(), atol=1e-5)
    weights = hashlib.sha256((tmp_path / "base/model.safetensors").read_bytes()).hexdigest()[:40]
    about = made.metadata.model
    files = b"".join((folder / name).read_bytes() for name in ("adapter_config.json", "adapter_model.safetensors"))
    assert (about.id, about.base) == ("adapter", f"base@{weights}")
    assert about.revision == hashlib.sha256(files).hexdigest()[:40]


@needs_peft
def test_adapters_that_do_not_fit_say_why(tmp_path: Path) -> None:
    folder, _ = peft_adapter(tmp_path)
    about = json.loads((folder / "adapter_config.json").read_text())
    for changed, words in (
        ({"target_modules": ["query", "value"]}, r"transformers 4 \(query, value\), which are q_proj, v_proj now"),
        ({"r": 3}, "does not fit its base .*size mismatch"),
        ({"base_model_name_or_path": None}, "must name its base"),
        ({"target_modules": ["q_proj"]}, "does not fit its base .*v_proj"),
    ):
        (folder / "adapter_config.json").write_text(json.dumps(about | changed))
        with pytest.raises(OochubError, match=f"(?s){words}"):
            oochub.predict(str(folder), pictures(), cache=False)
    weights = folder / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])
    with pytest.raises(OochubError, match=r"adapter_model\.safetensors of .* is damaged"):
        oochub.predict(str(folder), pictures(), cache=False)
