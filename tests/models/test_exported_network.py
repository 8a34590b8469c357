"""Networks in other runtimes than torch: the same numbers, exported once, believed only after a comparison."""

import os
from pathlib import Path

import numpy as np
import pytest
import tiny_zero_shot
import torch
import transformers
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image
from model_folders import HEAD, changed, resnet
from PIL import Image as Pictures
from torch import nn

import oochub
from oochub import errors
from oochub.errors import OochubError
from oochub.models.runtimes import exported_network
from oochub.models.runtimes.exported_network import open_runtime
from oochub.prediction.predictions_file import head_file
from oochub.settings import prediction_settings
from oochub.settings.prediction_settings import PredictionSettings

BOTH = ["onnxruntime", "openvino"]


@pytest.fixture(scope="module")
def data():
    """Eleven images of noise of many shapes."""
    rng = np.random.default_rng(0)
    pictures = [Pictures.fromarray(rng.integers(0, 255, (20 + k, 40 - k, 3), np.uint8)) for k in range(11)]
    features = Features({"image": Image(), "label": ClassLabel(names=["LABEL_0", "LABEL_1"])})
    return Dataset.from_dict({"image": pictures, "label": [k % 2 for k in range(11)]}, features, split="test")


@pytest.fixture
def model(tmp_path):
    return resnet(tmp_path / "model")


def predict(model, data, **how):
    return oochub.predict(model, data, **{"cache": False, "images": False, **how})


def exports():
    return sorted(Path(os.environ["OOCHUB_CACHE"], "runtimes").glob("[!.]*"))


def difference(found, reference):
    return np.abs(found - reference).max() / np.ptp(reference)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
def test_logits_and_features_are_those_of_torch(model, data, name, tmp_path):
    """In batches that the rows fill or not, and zoomed. Planted faults: the last batch not cut, features of another."""
    plain = predict(model, data, features=True, zoom=1.5)
    for size in (4, 16):
        made = predict(model, data, features=True, zoom=1.5, runtime=name, batch_size=size, out=tmp_path / "p.parquet")
        for column in ("logits", "features", "zoom_logits", "zoom_features"):
            assert difference(np.stack(made.column(column)), np.stack(plain.column(column))) < 1e-4, column
    stored = oochub.Predictions.load(tmp_path / "p.parquet")
    assert head_file(tmp_path / "p.parquet").is_file() and np.array_equal(stored.head.weight, plain.head.weight)
    said = stored.metadata.provenance
    assert said["runtime"].startswith(f"{name} ") and said["runtime_check"].startswith("logits within 0.00%")
    assert any(f"the network computed in float32 by {name} " in note for note in stored.metadata.notes)
    assert "runtime" not in plain.metadata.provenance


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
def test_every_mode_whose_network_is_exported(name, data, tmp_path):
    """A vision transformer, an image and text model, a linear probe, and a head whose outputs are summed."""
    vision = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.ViTConfig(**vision, image_size=32, patch_size=8, num_labels=3)
    torch.manual_seed(0)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path / "vit")
    processor = transformers.ViTImageProcessorPil(size={"height": 32, "width": 32})
    processor.save_pretrained(tmp_path / "vit")
    summed = {"LABEL_0": ["LABEL_0", "LABEL_2"], "LABEL_1": ["LABEL_1"]}
    whole = DatasetDict(train=data, test=data)
    clip = tiny_zero_shot.folder(tmp_path / "clip", "clip")
    for model, rows, how in (
        (tmp_path / "vit", data, {"label_map": summed}),
        (clip, data, {"mode": "zero_shot", "features": True}),
        (tmp_path / "vit", whole, {"mode": "linear_probe"}),
    ):
        plain, made = (predict(model, rows, **how, runtime=each) for each in ("torch", name))
        assert difference(made.logits, plain.logits) < 1e-4, how
        assert made.metadata.provenance["runtime"].startswith(name)


@pytest.mark.slow
def test_modules_and_model_objects_run_too(model, data):
    opened = transformers.ResNetForImageClassification.from_pretrained(model)
    processor = transformers.AutoImageProcessor.from_pretrained(model)
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 2))
    names = {"class_names": ["LABEL_0", "LABEL_1"]}
    for each, how in ((opened, {}), (net, names)):
        plain, made = (
            predict(each, data, **how, image_processor=processor, runtime=name) for name in ("torch", "onnxruntime")
        )
        assert difference(made.logits, plain.logits) < 1e-4


@pytest.mark.slow
def test_a_network_is_exported_once(model, data, monkeypatch):
    """For both runtimes; other weights, a batch of another size and features are other files."""
    predict(model, data, runtime="onnxruntime")
    (file,) = exports()
    exported = []
    export = exported_network._export
    monkeypatch.setattr(exported_network, "_export", lambda *given: exported.append(given) or export(*given))
    for name in BOTH:
        predict(model, data, runtime=name)
    assert not exported and exports() == [file]
    predict(model, data, runtime="onnxruntime", batch_size=3)
    predict(model, data, runtime="onnxruntime", features=True)
    changed(model, lambda weights: weights.update({HEAD: weights[HEAD] + 1}))
    predict(model, data, runtime="onnxruntime")
    assert len(exported) == 3 and len(exports()) == 4


@pytest.mark.slow
def test_a_cached_file_that_is_damaged_or_another_is_made_again(model, data, tmp_path):
    """Planted faults, each alone: bytes not compared with their digest; logits of a cached file not compared."""
    plain = predict(model, data, runtime="onnxruntime")
    (file,) = exports()
    whole = file.read_bytes()
    other = resnet(tmp_path / "other")
    changed(other, lambda weights: weights.update({HEAD: -weights[HEAD]}))
    predict(other, data, runtime="onnxruntime")
    (content,) = (each.read_bytes() for each in exports() if each != file)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    for wrong in (bytes(damaged), b"", content):
        file.write_bytes(wrong)
        made = predict(model, data, runtime="onnxruntime")
        assert np.array_equal(made.logits, plain.logits) and file.read_bytes() == whole


def shifted(monkeypatch, share):
    """ONNX Runtime gives logits that are off by a share of their range."""
    opened = exported_network._OPEN["onnxruntime"]

    def off(model, precision):
        run = opened(model, precision)

        def moved(values):
            logits, *more = run(values)
            return [logits + share * np.ptp(logits) * np.eye(1, logits.shape[1], dtype=np.float32), *more]

        return moved

    monkeypatch.setattr(exported_network, "_OPEN", {**exported_network._OPEN, "onnxruntime": off})


@pytest.mark.slow
def test_other_logits_are_refused_beyond_a_share_of_their_range(model, data, monkeypatch):
    """1e-4 of it. Planted fault: a larger share."""
    shifted(monkeypatch, 2e-4)
    with pytest.raises(OochubError, match=r"In onnxruntime the network gives other logits than in torch: 0\.02%"):
        predict(model, data, runtime="onnxruntime")
    made = predict(model, data, runtime="auto")
    assert "onnxruntime: In onnxruntime the network gives" in made.metadata.provenance["runtime_auto"]
    assert not made.metadata.provenance["runtime"].startswith("onnxruntime")


@pytest.mark.slow
@pytest.mark.parametrize("fastest", ["torch", *BOTH])
def test_auto_takes_the_fastest_and_says_so(model, data, monkeypatch, fastest):
    """By a clock that is planted. Planted fault: the slowest."""
    seconds = {"torch": 2.0, "onnxruntime": 2.0, "openvino": 2.0, fastest: 1.0}
    monkeypatch.setattr(
        exported_network, "_measure_seconds", lambda network, example: seconds[getattr(network, "name", "torch")]
    )
    plain, made = predict(model, data), predict(model, data, runtime="auto")
    said = made.metadata.provenance
    assert said["runtime"].startswith(f"{fastest} ")
    ratios = [f"{name} {seconds[name] / seconds['torch']:.2f}" for name in BOTH]
    assert said["runtime_auto"] == f"times of the first rows to torch: {', '.join(ratios)}"
    assert ("runtime_check" in said) == (fastest != "torch") and difference(made.logits, plain.logits) < 1e-4


def test_auto_without_another_runtime_is_torch(model, data, monkeypatch):
    for module in (prediction_settings, errors):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    made = predict(model, data, runtime="auto")
    assert made.metadata.provenance["runtime"].startswith("torch ")
    assert made.metadata.provenance["runtime_auto"] == "no other runtime is installed"
    for name, extra in (("onnxruntime", "onnx"), ("openvino", "openvino")):
        with pytest.raises(OochubError, match=rf"needs {name}.* pip install 'oochub\[{extra}\]'"):
            predict(model, data, runtime=name)


@pytest.mark.slow
def test_the_runtime_and_its_version_are_a_part_of_the_key(model, data, monkeypatch):
    def key(**how):
        return oochub.predict(model, data, **how).metadata.provenance["key"]

    keys = [key(), key(runtime="onnxruntime"), key(runtime="openvino"), key(runtime="auto")]
    assert len(set(keys)) == 4 and key(runtime="onnxruntime") == keys[1]
    assert "cached" in oochub.predict(model, data, runtime="openvino").metadata.provenance["when"]
    monkeypatch.setattr(prediction_settings, "version", lambda name: "99")
    assert key(runtime="onnxruntime") not in keys
    assert key() == keys[0]


@pytest.mark.slow
def test_bfloat16_by_openvino_is_said_like_a_dtype(model, data, tmp_path):
    plain = predict(model, data)
    try:
        made = oochub.audit(model, with_contexts(data), runtime="openvino", dtype="bfloat16", out=tmp_path / "audit")
    except OochubError as error:
        pytest.skip(str(error))  # a processor without it
    assert made["error_rate"] is not None
    found = oochub.Predictions.load(tmp_path / "audit" / "predictions.parquet")
    assert 0 < difference(found.logits, plain.logits) < 0.05
    assert found.metadata.provenance["dtype"] == "bfloat16"
    page = (tmp_path / "audit" / "report.html").read_text("utf-8")
    assert "the network computed in bfloat16 by openvino " in page


def with_contexts(data):
    return data.add_column("context", ["grass", "snow", "grass", "snow", "snow", "grass"] + ["snow"] * 5)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"odin": 0.01}, "has no gradients. Remove odin="),
        ({"compile": True}, "makes its own loops. Remove compile="),
        ({"engine": "ray"}, "stays in its process. Remove engine="),
        ({"features": "resnet"}, "gives the input of the last layer alone"),
        ({"dtype": "float16"}, 'computes in float32 .onnxruntime also in int8, openvino .* Remove dtype="float16"'),
        ({"dtype": "bfloat16"}, 'Remove dtype="bfloat16"'),
        ({"runtime": "tensorrt"}, "No runtime named 'tensorrt'"),
    ],
)
def test_what_a_runtime_cannot_do_is_said(how, message):
    """Before a model is opened: there is none."""
    with pytest.raises(OochubError, match=message):
        oochub.predict("nowhere", None, **{"runtime": "onnxruntime", **how})


class Branches(nn.Module):
    """What no exporter can follow: its layers depend on the numbers."""

    def forward(self, pixels):
        values = pixels.flatten(1)[:, :2]
        return values if values.sum() > 0 else values * 2


@pytest.mark.slow
def test_what_cannot_be_exported_is_said_in_one_line(data, capfd):
    """Before the rows; with auto it stays in torch, which is said. Nothing else is printed."""
    given = {"class_names": ["LABEL_0", "LABEL_1"], "transform": lambda image: torch.rand(3, 4, 4)}
    with pytest.raises(OochubError, match=r"cannot be exported for onnxruntime: .*Remove runtime=") as raised:
        predict(Branches(), data, runtime="onnxruntime", **given)
    assert "\n" not in str(raised.value) and "\x1b" not in str(raised.value)
    printed = capfd.readouterr()
    assert not printed.out and not printed.err
    made = predict(Branches(), data, runtime="auto", **given)
    assert "cannot be exported" in made.metadata.provenance["runtime_auto"]


def test_the_fault_of_a_runtime_is_its_first_line_that_says_something():
    error = RuntimeError(
        "Exception from core.cpp:105:\nCheck 'false' failed at a.cpp:1:\nKernel is larger than it.\n\n"
    )
    assert exported_network._describe_fault(error) == "Kernel is larger than it."
    assert (
        exported_network._describe_fault(RuntimeError("Exception from core.cpp:105")) == "Exception from core.cpp:105."
    )
    assert exported_network._describe_fault(RuntimeError()) == "RuntimeError."


def test_a_large_network_and_other_inputs_are_refused(model, data, monkeypatch):
    monkeypatch.setattr(exported_network, "_LARGEST", 1000)
    with pytest.raises(OochubError, match=r"takes networks of at most 0\.0 GB"):
        predict(model, data, runtime="onnxruntime")
    with pytest.raises(OochubError, match="is for models of images, but this one reads input_ids"):
        asked = PredictionSettings(runtime="openvino")
        open_runtime(nn.Identity(), {"input_ids": torch.zeros(2, 3)}, asked, describe=lambda ours, theirs: "")


def test_a_device_that_is_no_processor_is_refused():
    with pytest.raises(OochubError, match=r"runs on the processor, but the device is cuda:0. Add device=cpu"):
        exported_network.check_runtime(PredictionSettings(runtime="openvino", device="cuda:0"))


@pytest.mark.slow
def test_threads_are_those_of_torch(model, monkeypatch):
    """Which OMP_NUM_THREADS sets. Planted fault: as many as there are cores."""
    import onnxruntime

    seen = []
    session = onnxruntime.InferenceSession
    monkeypatch.setattr(
        onnxruntime,
        "InferenceSession",
        lambda model, options, **more: seen.append(options) or session(model, options, **more),
    )
    before = torch.get_num_threads()
    network = transformers.ResNetForImageClassification.from_pretrained(model).eval()
    few = {"pixel_values": torch.randn(3, 3, 16, 16)}
    try:
        torch.set_num_threads(3)
        open_runtime(network, few, PredictionSettings(runtime="onnxruntime"), describe=lambda ours, theirs: "")
    finally:
        torch.set_num_threads(before)
    assert [options.intra_op_num_threads for options in seen] == [3]


@pytest.mark.slow
def test_a_network_is_compared_with_torch_once(model, data, monkeypatch):
    """Then also for other rows, which say so. Planted faults: compared again; not said; for all weights."""
    compared = []
    own = exported_network.logit_difference
    monkeypatch.setattr(exported_network, "logit_difference", lambda *both: compared.append(1) or own(*both))
    first = predict(model, data, runtime="onnxruntime", cache=True)
    again = predict(model, data.select(range(2, 7)), runtime="onnxruntime", cache=True)
    assert compared == [1]
    checks = [each.metadata.provenance["runtime_check"] for each in (first, again)]
    assert checks[1] == f"{checks[0]} on the first rows of an earlier run" and "of 8 answers differ" in checks[0]
    assert sum("on the first rows of an earlier run logits within" in note for note in again.metadata.notes) == 1
    assert difference(again.logits, predict(model, data.select(range(2, 7))).logits) < 1e-4
    predict(model, data, runtime="onnxruntime", features=True, cache=True)
    assert len(compared) == 3  # the features too
    other = transformers.ResNetForImageClassification.from_pretrained(model)
    with torch.no_grad():
        other.classifier[1].weight.add_(1)
    other.save_pretrained(model)
    predict(model, data, runtime="onnxruntime", cache=True)
    assert len(compared) == 4


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_only_warns(model, data, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "file"))
    with pytest.warns(oochub.errors.OochubWarning, match="exported network could not be cached"):
        assert len(predict(model, data, runtime="onnxruntime")) == 11
