"""A compiled network says what the network says; what it needs is looked for before anything is read."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from model_folders import pictures
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

import oochub
from oochub.errors import OochubError
from oochub.settings.prediction_settings import PredictionSettings


@pytest.mark.parametrize("named", [None, "/no/such/compiler"])
def test_without_a_compiler_nothing_is_read(named, monkeypatch, tmp_path):
    """Fault planted: $CXX not looked at."""
    if named is None:
        monkeypatch.delenv("CXX", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setenv("CXX", named)
    with pytest.raises(OochubError, match=r"compile=True requires a C\+\+ compiler, but .* Install one"):
        oochub.predict("nowhere", {}, compile=True, device="cpu")


@pytest.mark.parametrize("others", [{"features": True}, {"odin": 0.01}])
def test_it_is_for_logits_alone(others):
    with pytest.raises(OochubError, match=r"compile=True can only save logits.* Remove features= and odin="):
        oochub.predict("nowhere", {}, compile=True, device="cpu", **others)


def test_it_counts_for_the_cache():
    """Fault planted: left out of the record, as num_workers is."""
    plain = PredictionSettings(device=torch.device("cpu"))
    assert plain.record() == PredictionSettings(device=torch.device("cpu"), num_workers=3).record()
    assert plain.record() | {"compile": True} == PredictionSettings(device=torch.device("cpu"), compile=True).record()


@pytest.mark.campaign  # a C++ compiler takes half a minute
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_logits_are_those_of_the_network(dtype):
    """In a program of its own: processes that had run a thousand tests ended where torch compiled, without a word."""
    code = f"import test_compiled; test_compiled.compare('{dtype}')"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, start_new_session=True, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]


def compare(dtype):
    """Of seven rows in batches of four, the last filled. Planted fault seen: the rows that fill it not dropped."""
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic", num_labels=2)
    model = ResNetForImageClassification(config).eval()
    processor = ViTImageProcessorPil(size={"height": 16, "width": 16})
    given = {"image_processor": processor, "batch_size": 4, "device": "cpu", "dtype": dtype}
    plain = oochub.predict(model, pictures(7), **given)
    found = oochub.predict(model, pictures(7), compile=True, **given)
    np.testing.assert_allclose(found.logits, plain.logits, rtol=0, atol=1e-5 if dtype == "float32" else 1e-2)
    assert found.metadata.provenance["compiled"] == "logits within 0.00% of their range, 0 of 4 answers differ"
    again = oochub.predict(model, pictures(7), **given)
    assert "compiled" not in again.metadata.provenance and np.array_equal(again.logits, plain.logits)
