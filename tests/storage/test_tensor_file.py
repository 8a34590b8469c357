"""Arrays come back bit for bit or not at all; a file of before, without a digest, opens and says so."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors import torch as safetensors_of_torch

from oochub.errors import OochubError, OochubWarning
from oochub.prediction.predictions_file import StoredHead, head_file
from oochub.storage.tensor_file import load_tensors, save_tensors

ARRAYS = {
    "weight": np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2],
    "bias": np.zeros(3, np.float16),
    "none": np.zeros((0, 3)),
}


def test_what_was_saved(tmp_path: Path) -> None:
    """One metadata entry alone: safetensors orders several at random, and two equal runs would differ."""
    for name in ("a", "b"):
        save_tensors(ARRAYS, tmp_path / name, entry="head", about={"column": "ø", "names": ["x", "y"]})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    arrays, about, checked = load_tensors(tmp_path / "a", entry="head")
    assert checked and about == {"column": "ø", "names": ["x", "y"]} and arrays.keys() == ARRAYS.keys()
    for name, expected in ARRAYS.items():
        assert arrays[name].dtype == expected.dtype
        np.testing.assert_array_equal(arrays[name], expected)
    with safe_open(tmp_path / "a", "pt") as opened:
        assert list(opened.metadata()) == ["head"] and json.loads(opened.metadata()["head"])["column"] == "ø"
        torch.testing.assert_close(opened.get_tensor("weight"), torch.tensor(ARRAYS["weight"].copy()))


def test_every_changed_bit_is_noticed(tmp_path: Path) -> None:
    """Fault planted: the digest over the bytes alone; a changed name, type or shape then passes."""
    file = tmp_path / "head.safetensors"
    save_tensors(ARRAYS, file)
    whole = file.read_bytes()
    for place in range(len(whole)):
        for bit in (0, 5):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            file.write_bytes(damaged)
            try:
                arrays, about, _ = load_tensors(file)
            except OochubError as error:
                assert "head.safetensors" in str(error)
                continue
            assert not about and {name: array.tobytes() for name, array in arrays.items()} == {
                name: array.tobytes() for name, array in ARRAYS.items()
            }, place
    file.write_bytes(whole[:-1])
    with pytest.raises(OochubError, match="not a complete safetensors file"):
        load_tensors(file)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_a_file_of_before_opens_unchecked(metadata: dict[str, str] | None, tmp_path: Path) -> None:
    safetensors_of_torch.save_file({"bias": torch.ones(2)}, tmp_path / "old", metadata=metadata)
    arrays, about, checked = load_tensors(tmp_path / "old")
    assert arrays["bias"].tolist() == [1, 1] and not about and not checked


def test_what_is_no_file_of_arrays(tmp_path: Path) -> None:
    safetensors_of_torch.save_file({"bias": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "brain")
    (tmp_path / "text").write_text("no safetensors")
    for name, words in (
        ("brain", "not a complete"),
        ("text", "not a complete"),
        ("nope", "no such file"),
        (".", "a folder"),
    ):
        with pytest.raises(OochubError, match=words):
            load_tensors(tmp_path / name)


def test_a_damaged_head_is_not_read(tmp_path: Path) -> None:
    """The head beside predictions: another bit in it would move the scores of vim, react and others without a word."""
    file = head_file(tmp_path / "p.parquet")
    save_tensors({"weight": np.ones((3, 2), np.float32), "bias": np.zeros(3, np.float32)}, file)
    assert StoredHead.load(file).weight.tolist() == np.ones((3, 2)).tolist()
    damaged = bytearray(file.read_bytes())
    damaged[-9] ^= 64
    file.write_bytes(damaged)
    old = {"weight": torch.ones(3, 2), "bias": torch.ones(3)}
    safetensors_of_torch.save_file(old, tmp_path / "old.head.safetensors")
    with pytest.warns(OochubWarning, match=r"old\.head\.safetensors was not checked for damage"):
        StoredHead.load(tmp_path / "old.head.safetensors")
    with pytest.raises(OochubError, match=r"p\.head\.safetensors has changed since it was written"):
        StoredHead.load(file)
