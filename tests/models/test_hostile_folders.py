"""What stands in a model's folder makes nobody read files from elsewhere or run code."""

import json

import pytest
import torch
from model_folders import resnet
from safetensors.torch import load_file

from oochub.errors import OochubError
from oochub.models.open_model import open_pretrained, read_model_config


def _open(folder):
    import transformers

    return open_pretrained(
        transformers.AutoModelForImageClassification,
        str(folder),
        probe=lambda: {"pixel_values": torch.zeros(1, 3, 32, 32)},
    )


@pytest.mark.parametrize(
    "name", ["../elsewhere.safetensors", "{above}/elsewhere.safetensors", "weights.bin", "a\\b.bin"]
)
def test_an_index_names_weights_beside_it_alone(tmp_path, name):
    """Weights of another folder, and a pickle, were read before."""
    folder = resnet(tmp_path / "model", classes=2)
    weights = load_file(folder / "model.safetensors")
    torch.save(weights, folder / "weights.bin")
    (folder / "model.safetensors").rename(tmp_path / "elsewhere.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, name.format(above=tmp_path))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(OochubError, match=r"weights must be .safetensors beside it"):
        _open(folder)


@pytest.mark.parametrize("index", [[], {}, {"weight_map": 5}, {"weight_map": {"a": 5}}])
def test_an_index_that_is_none_is_named(tmp_path, index):
    """As any file."""
    folder = resnet(tmp_path / "model", classes=2)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(OochubError, match="must name a file for each weight"):
        _open(folder)


def test_weights_in_parts_are_still_read(tmp_path):
    """With an index as transformers writes it."""
    folder = resnet(tmp_path / "model", classes=2)
    whole = _open(folder).model
    whole.save_pretrained(tmp_path / "parts", max_shard_size="10KB")
    assert len([*(tmp_path / "parts").glob("model-*.safetensors")]) > 1
    parts = _open(tmp_path / "parts").model.state_dict()
    assert all(torch.equal(parts[name], weight) for name, weight in whole.state_dict().items())


@pytest.mark.parametrize(
    "said",
    [
        {"_attn_implementation": "user/kernel"},
        {"vision_config": {"_attn_implementation": "user/kernel"}},
        {"attn_implementation": {"vision_config": "user/kernel"}},
    ],
)
def test_attention_by_code_of_the_hub_is_refused(tmp_path, said):
    """Transformers would fetch and run it where `kernels` is installed."""
    folder = resnet(tmp_path / "model", classes=2)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **said}))
    with pytest.raises(OochubError, match="names code on the Hub"):
        read_model_config(str(folder))
