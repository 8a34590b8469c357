"""Where a model runs, in how many bits, and on how many rows: checked before the work, and said in the predictions."""

import warnings

import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict
from model_folders import pictures, resnet
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

import oochub
from oochub.errors import OochubError, OochubWarning
from oochub.models.acceleration import Autocast, choose_device, warn_of_slow_dtype
from oochub.outputs.classes import Classes
from oochub.prediction.prediction_data import draw_sample
from oochub.prediction.run_model import _describe_dtype_difference as dtype_check

PROCESSOR = ViTImageProcessorPil(size={"height": 16, "width": 16})


def model():
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic", num_labels=2)
    return ResNetForImageClassification(config).eval()


def predicted(data=None, **options):
    return oochub.predict(model(), data or pictures(6), image_processor=PROCESSOR, **options)


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "cpu:1", 0, torch.device("meta"), ""])
def test_an_absent_device_is_said_before_anything_is_read(device):
    """Fault planted: any name that torch knows is taken."""
    with pytest.raises(OochubError, match=r"Device .* is not available. Available: cpu.*auto uses"):
        oochub.predict("nowhere", {}, device=device)


def test_devices_that_are_there():
    assert choose_device("cpu") == choose_device(torch.device("cpu")) == torch.device("cpu")
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert choose_device("auto").type == expected
    found = predicted(device="cpu")
    assert found.logits.shape == (6, 2) and found.metadata.provenance["device"] == "cpu"


@pytest.mark.filterwarnings("ignore:This processor does not compute in")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_fewer_bits_are_those_of_autocast_and_said(dtype, tmp_path):
    """Reference: the model under torch.autocast by hand, where batch norms are not folded: two roundings apart."""
    out = tmp_path / "p.parquet"
    predicted(out=out, dtype=dtype, preprocessing="processor", features=True, device="cpu")
    found, plain = oochub.Predictions.load(out), predicted(preprocessing="processor", device="cpu")
    values = PROCESSOR([row["image"] for row in pictures(6)], return_tensors="pt")["pixel_values"]
    with torch.no_grad(), torch.autocast("cpu", dtype=getattr(torch, dtype)):
        expected = model()(pixel_values=values).logits.float().numpy()
    rounding = 2 * torch.finfo(getattr(torch, dtype)).eps * np.abs(expected).max()
    assert found.logits.dtype == np.float32
    np.testing.assert_allclose(found.logits, expected, rtol=0, atol=rounding)
    assert not np.array_equal(found.logits, plain.logits)
    extent = plain.logits.max() - plain.logits.min()
    share = np.abs(found.logits.astype(float) - plain.logits).max() / extent
    differ = (found.logits.argmax(1) != plain.logits.argmax(1)).sum()
    said = found.metadata.provenance
    assert said["dtype"] == dtype
    (note,) = oochub.evaluate(found).notes
    assert note == f"the network computed in {dtype}: on the first rows {said['dtype_check']} from float32"
    assert plain.metadata.notes == ()
    assert said["dtype_check"] == f"logits within {share:.2%} of their range, {differ} of 6 answers differ"
    assert plain.metadata.provenance["dtype"] == "float32" and "dtype_check" not in plain.metadata.provenance
    np.testing.assert_allclose(found.features @ found.head.weight.T + found.head.bias, found.logits, atol=0.05)


@pytest.mark.parametrize(("dtype", "has"), [("bfloat16", "avx512_bf16"), ("bfloat16", "bf16"), ("float16", "amx_fp16")])
def test_a_processor_that_imitates_a_dtype_is_said(dtype, has, monkeypatch):
    """Before the model is looked for. Faults planted: no warning; one of float32; one of another dtype's arithmetic."""
    others = {"avx512_bf16": has == "amx_fp16", "avx512_fp16": has != "amx_fp16", "avx2": True}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: others)
    with (
        pytest.warns(OochubWarning, match=f"does not compute in {dtype} .* is slower than float32 here"),
        pytest.raises(OochubError, match="out"),
    ):
        oochub.predict("nowhere", pictures(1), dtype=dtype, out="out.txt", device="cpu", features=True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {has: True})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_slow_dtype(dtype, torch.device("cpu"))
        warn_of_slow_dtype("float32", torch.device("cpu"))
        warn_of_slow_dtype(dtype, torch.device("cuda"))


def test_a_dtype_that_overflows_is_an_error():
    """Fault planted: no look at the first rows."""

    class Large(torch.nn.Module):
        def forward(self, pixel_values):
            from types import SimpleNamespace

            flat = pixel_values.flatten(1)
            return SimpleNamespace(logits=(flat @ flat.T)[:, :2])

    large = {"pixel_values": torch.full((2, 3, 16, 16), 100.0)}
    with pytest.raises(OochubError, match=r'With dtype="float16" the logits are not finite'):
        dtype_check("float16", Autocast(Large(), torch.float16), Large(), large, Classes())
    with pytest.raises(OochubError, match=r"No dtype named 'half'\. .*bfloat16"):
        predicted(dtype="half")


@pytest.mark.parametrize("named", [True, False])
def test_a_limit_draws_the_same_rows_for_everyone_and_says_so(named):
    """Each row by its own id, in order. Faults planted: the first rows are taken; ids are places in the sample."""
    data = pictures(40).add_column("example_id", [f"id{row}" for row in range(40)]) if named else pictures(40)
    splits = DatasetDict({"validation": data, "test": data.select(range(5))})
    found, every = predicted(splits, limit=6), predicted(splits)
    ids = found.column("example_id").tolist()
    rows = [int(name.removeprefix("id")) for name in ids[:6]]
    assert rows == sorted(set(rows)) and rows != list(range(6)) and found.metadata.rows == {"validation": 6, "test": 5}
    place = {name: row for row, name in enumerate(every.column("example_id").tolist()[:40])}
    assert np.allclose(found.logits[:6], every.logits[[place[name] for name in ids[:6]]], atol=1e-6)
    assert predicted(splits, limit=6).column("example_id").tolist() == ids
    assert "a sample of 6 of 40 rows of validation" in found.metadata.notes
    assert not any("of test" in note for note in found.metadata.notes) and not every.metadata.notes
    report = oochub.evaluate(found)
    assert any("sample of 6 of 40" in note for note in report.notes)


def test_of_a_stream_the_first_rows_are_taken():
    found = predicted({"test": pictures(9).to_iterable_dataset()}, limit=4)
    assert len(found) == 4 and found.metadata.notes == ("no more than the first 4 rows of test",)
    assert np.array_equal(found.logits, predicted({"test": pictures(9)}).logits[:4])


def test_rows_of_a_selection_keep_their_places():
    part = Dataset.from_dict({"text": list("abcdefghij")}).select(range(9, -1, -1))
    sample = draw_sample({"test": part}, 3).parts["test"]
    assert [part[int(row)]["text"] for row in sample["example_id"]] == sample["text"][:]


@pytest.mark.parametrize("limit", [0, -1, True, 2.0, "3"])
def test_a_limit_that_is_no_count_is_refused(limit):
    with pytest.raises(OochubError, match="limit must be a whole number, 1 or larger, got"):
        oochub.predict("nowhere", {}, limit=limit)


def test_a_sample_is_not_taken_from_the_cache_of_all(tmp_path, monkeypatch):
    """Fault planted: limit and dtype are no part of the key."""
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    folder = resnet(tmp_path / "model")
    data = {"test": pictures(6)}
    assert len(oochub.predict(folder, data)) == 6 and len(oochub.predict(folder, data, limit=2)) == 2
    shorter = oochub.predict(folder, data, dtype="bfloat16")
    assert shorter.metadata.provenance["dtype"] == "bfloat16"
    assert "cached" in oochub.predict(folder, data, dtype="float32").metadata.provenance["when"]
