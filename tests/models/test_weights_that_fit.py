"""Weights that do not fit a model are an error that names them, never random ones in their place."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from datasets import ClassLabel, Dataset, Features, Value
from import_graph import ROOT
from input_rows import tokenizer
from model_folders import HEAD, SIZE, STEM, changed, edited, pictures, resnet
from safetensors.torch import load_file

import oochub
from oochub.errors import OochubError, OochubWarning
from oochub.models.open_model import open_pretrained
from oochub.trainers.backbone import open_backbone


def renamed(weights: dict[str, torch.Tensor]) -> None:
    for name in [name for name in weights if name.startswith("resnet.encoder")]:
        weights[name.replace("resnet.encoder", "backbone.encoder")] = weights.pop(name)


FAULTS = {
    "renamed": (renamed, r"\d+ weights \(resnet\.encoder.*missing.*The file has \d+ weights \(backbone\.encoder"),
    "a tensor less": (lambda w: w.pop(HEAD), r"1 weight \(classifier\.1\.weight\) missing"),
    "a statistic less": (
        lambda w: w.pop("resnet.embedder.embedder.normalization.running_var"),
        "running_var\\) missing",
    ),
    "another shape": (
        lambda w: w.update({STEM: w[STEM][:, :, :3, :3].contiguous()}),
        r"convolution\.weight is \(8, 3, 3, 3\) in the file, but \(8, 3, 7, 7\) in the model",
    ),
    "a head of other classes": (
        lambda w: w.update({HEAD: torch.zeros(5, 16)}),
        r"classifier\.1\.weight is \(5, 16\) in the file, but \(2, 16\) in the model",
    ),
    "not finite": (lambda w: w[STEM].fill_(float("nan")), "its weights are corrupted"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_weights_that_do_not_fit_are_named(fault: str, tmp_path: Path) -> None:
    """Fault planted: the result of `_refuse` not asked for; the logits then differ from run to run."""
    change, words = FAULTS[fault]
    folder = changed(resnet(tmp_path / "resnet"), change)
    with pytest.raises(OochubError, match=words):
        oochub.predict(folder, pictures())


@pytest.mark.parametrize("size", [100_000, 10**9])
def test_a_config_of_a_huge_model_is_refused_before_it_is_made(size: int, tmp_path: Path, monkeypatch: Any) -> None:
    """Positions of 10^9 pixels beside the weights of a tiny model: no weight is read, and none is drawn."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.ViTConfig(**sizes, image_size=32, patch_size=16, num_labels=2)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path)
    edited(tmp_path, "config.json", image_size=size)
    monkeypatch.setattr(transformers.ViTForImageClassification, "from_pretrained", None)  # is not called
    with pytest.raises(OochubError, match=r"position_embeddings is .*but the files hold [\d,]+\. Fix the config"):
        open_pretrained(transformers.AutoModelForImageClassification, str(tmp_path), probe=dict)


def test_unexpected_weights_are_said_and_kept(tmp_path: Path) -> None:
    """Fault planted: the names not written into the provenance."""
    folder = resnet(tmp_path / "resnet")
    expected = oochub.predict(folder, pictures()).logits
    changed(folder, lambda weights: weights.update({"text.bias": torch.zeros(2), "text.weight": torch.zeros(2, 2)}))
    with pytest.warns(OochubWarning, match=r"2 weights \(text\.bias, text\.weight\) in the file are not used by"):
        predictions = oochub.predict(folder, pictures(), out=tmp_path / "p.parquet")
    stored = oochub.Predictions.load(tmp_path / "p.parquet").metadata.provenance
    assert stored["unexpected_weights"] == ["text.bias", "text.weight"]
    torch.testing.assert_close(torch.tensor(predictions.logits), torch.tensor(expected), rtol=0, atol=0)


def clip(folder: Path) -> Path:
    """A whole CLIP, of which an image classifier takes the vision tower."""
    tower = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.CLIPConfig(
        text_config={**tower, "vocab_size": 20, "max_position_embeddings": 8},
        vision_config={**tower, "image_size": SIZE, "patch_size": 8},
        projection_dim=8,
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    transformers.CLIPImageProcessorPil(
        size={"shortest_edge": SIZE}, crop_size={"height": SIZE, "width": SIZE}
    ).save_pretrained(folder)
    return folder


def test_the_vision_tower_of_a_clip(tmp_path: Path) -> None:
    """Training takes it with a warning and a new head; prediction has no head to take."""
    folder = clip(tmp_path / "clip")
    with pytest.warns(OochubWarning, match=r"\d+ weights \(logit_scale, text_"):
        model, _ = open_backbone(str(folder), class_names=["a", "b", "c"])
    stored = load_file(folder / "model.safetensors")
    for name, weight in model.vision_model.state_dict().items():
        torch.testing.assert_close(weight, stored[f"vision_model.{name.removeprefix('vision_model.')}"])
    with pytest.raises(OochubError, match=r"2 weights \(classifier\.bias, classifier\.weight\) missing.*oochub train"):
        oochub.predict(folder, pictures(), mode="head")
    with pytest.raises(OochubError, match=r"A linear probe needs a train split.*oochub train"):
        oochub.predict(folder, pictures(), mode="linear_probe")
    changed(folder, lambda weights: weights.pop("vision_model.post_layernorm.bias"))  # the logits do not see it
    with pytest.warns(OochubWarning):
        open_backbone(str(folder), class_names=["a", "b", "c"])
    changed(folder, lambda weights: weights.pop("vision_model.encoder.layers.0.mlp.fc1.bias"))
    with pytest.raises(OochubError, match=r"1 weight \(vision_model.*fc1\.bias\) missing"):
        open_backbone(str(folder), class_names=["a", "b", "c"])


def test_training_asks_for_a_new_head_and_no_more(tmp_path: Path) -> None:
    """Fault planted: every mismatched weight let through where the label count is another."""
    folder = resnet(tmp_path / "resnet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, _ = open_backbone(str(folder), class_names=["a", "b", "c"])
    assert model.config.num_labels == 3
    torch.testing.assert_close(model.state_dict()[STEM], load_file(folder / "model.safetensors")[STEM])
    changed(folder, lambda weights: weights.update({STEM: weights[STEM][:, :, :3, :3].contiguous()}))
    with pytest.raises(OochubError, match=r"convolution\.weight is \(8, 3, 3, 3\)"):
        open_backbone(str(folder), class_names=["a", "b", "c"])
    changed(
        resnet(folder),
        lambda weights: (
            weights.pop("resnet.encoder.stages.0.layers.0.shortcut.convolution.weight", None) or weights.pop(STEM)
        ),
    )
    with pytest.raises(OochubError, match=r"1 weight \(resnet\..*\) missing"):
        open_backbone(str(folder), class_names=["a", "b", "c"])


def test_a_pooler_that_the_features_come_from(tmp_path: Path) -> None:
    """A masked language model has none: its classifier would see a random projection."""
    words = tokenizer()
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=12, **shape)
    words.save_pretrained(tmp_path / "bert")
    kind = oochub.catalog.get("input", "texts")
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path / "bert")
    with pytest.raises(OochubError, match=r"bert\.pooler\.dense\.weight\) missing"):
        open_backbone(str(tmp_path / "bert"), class_names=["a", "b"], kind=kind)
    transformers.BertModel(config).save_pretrained(tmp_path / "bert")
    open_backbone(str(tmp_path / "bert"), class_names=["a", "b"], kind=kind)


def test_weights_configs_and_processors_are_opened_in_one_place_each() -> None:
    """Every other call of `from_pretrained` would take random weights in silence. Fault planted: one in backbone.py."""
    allowed = {
        "src/oochub/models/open_model.py",
        "src/oochub/inputs/arrays.py",  # a JSON file of ours
        "src/oochub/inputs/graphs.py",  # the same
        "src/oochub/inputs/pictures/chat_processor.py",  # images and prompts
        "src/oochub/inputs/pictures/image_processor.py",
        "src/oochub/inputs/texts.py",  # a tokenizer
        "src/oochub/inputs/token_ids.py",  # a JSON file of ours
        "src/oochub/models/captioner.py",  # a tokenizer
        "src/oochub/models/other_formats.py",  # in lines that it prints for the user to run
        "speed/prediction.py",  # of folders that it has just written
        "speed/runtimes.py",  # transformers' pipeline, beside ours
        "probing/inpainting.py",  # of diffusers; it refuses weights that are missing
    }
    plugins = ("trainers", "studies", "builders", "eval_modules", "loading_scripts", "probing", "attention", "figures")
    rooms = ("src/oochub", "speed", "reviewing", "browsing", *plugins)
    files = {file for room in rooms for file in (ROOT / room).rglob("*.py")}
    calls = {file.relative_to(ROOT).as_posix() for file in files if ".from_pretrained(" in file.read_text("utf-8")}
    assert calls == allowed


def test_tied_weights_are_no_false_alarm(tmp_path: Path) -> None:
    """A weight that stands in the file once and is used twice, and buffers that are computed."""
    words = tokenizer()
    config = transformers.AlbertConfig(
        vocab_size=len(words), embedding_size=8, hidden_size=16, num_attention_heads=2, intermediate_size=16
    )
    words.save_pretrained(tmp_path)
    transformers.AlbertForSequenceClassification(config).save_pretrained(tmp_path)
    rows = Dataset.from_dict(
        {"text": ["a book", "good"], "label": [0, 1]},
        Features({"text": Value("string"), "label": ClassLabel(num_classes=2)}),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", OochubWarning)
        first, second = (oochub.predict(tmp_path, rows, cache=False).logits for _ in range(2))
    assert (first == second).all()


def test_counts_of_batches_are_not_missed(tmp_path: Path) -> None:
    """Files of before torch 0.4.1 lack them; they are read in training alone. Fault planted: counted as missing."""
    folder = resnet(tmp_path / "resnet")
    expected = oochub.predict(folder, pictures()).logits
    changed(folder, lambda weights: [weights.pop(name) for name in list(weights) if name.endswith("batches_tracked")])
    assert (oochub.predict(folder, pictures()).logits == expected).all()
