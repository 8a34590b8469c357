"""Networks in int8: scales by hand, images that are named and never scored, how far the answers move."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
import tiny_zero_shot
import torch
import transformers
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image
from model_folders import resnet
from onnx import numpy_helper
from PIL import Image as Pictures
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

import oochub
from oochub.errors import OochubError, word_for_shell
from oochub.models.runtimes import exported_network, quantization
from oochub.models.runtimes.exported_network import open_runtime
from oochub.models.runtimes.quantization import (
    CalibrationImages,
    choose_calibration_rows,
    measure_agreement,
    needs_reduced_range,
)
from oochub.settings.prediction_settings import PredictionSettings
from oochub.stats.proportion import wilson
from oochub.storage.cache import read_kept_bytes

BOTH = ["onnxruntime", "openvino"]
NAMES = ["LABEL_0", "LABEL_1"]


def draw(seed, rows):
    """Images of noise of one color each."""
    rng = np.random.default_rng(seed)
    colors = rng.integers(0, 200, (rows, 1, 1, 3))
    return [Pictures.fromarray((color + rng.integers(0, 55, (20, 24, 3))).astype(np.uint8)) for color in colors]


def images(seed, rows):
    features = Features({"image": Image(), "label": ClassLabel(names=NAMES)})
    return Dataset.from_dict({"image": draw(seed, rows), "label": [k % 2 for k in range(rows)]}, features)


@pytest.fixture
def data():
    return DatasetDict(train=images(1, 30), test=images(2, 12))


@pytest.fixture
def model(tmp_path):
    return resnet(tmp_path / "model")


def predict(model, data, **how):
    return oochub.predict(model, data, **{"cache": False, "images": False, "dtype": "int8", **how})


def test_images_to_calibrate_on_are_drawn_from_all_of_a_sorted_split():
    """400 rows by class: 192 of them, each once, about half of each class. Planted fault seen: the first 192."""
    grays = [Pictures.new("L", (1, 1), k // 2) for k in range(400)]  # black to 199: the class is the half
    part = Dataset.from_dict({"image": grays}, Features({"image": Image()}))
    drawn = choose_calibration_rows("train", DatasetDict(train=part, test=images(2, 3)), {}, "image").rows
    values = [image.getpixel((0, 0)) for image in drawn["image"]]
    assert len(values) == 192 and max(np.bincount(values)) <= 2
    assert 192 / 2 - 20 < sum(value < 100 for value in values) < 192 / 2 + 20


def cached():
    return sorted(Path(os.environ["OOCHUB_CACHE"], "runtimes").glob("*.onnx"))


def open_linear(monkeypatch, pixels, calibrating, checking):
    """A linear network with outputs of very different size, in int8 by ONNX Runtime; and itself."""
    monkeypatch.setattr(exported_network, "needs_reduced_range", lambda: False)
    monkeypatch.setattr(quantization, "needs_reduced_range", lambda: False)
    torch.manual_seed(0)
    net = nn.Linear(12, 3)
    with torch.no_grad():
        net.weight *= torch.tensor([[1.0], [0.1], [0.01]])

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, pixel_values):
            return ImageClassifierOutput(logits=self.net(pixel_values.flatten(1)))

    calibration = CalibrationImages(
        lambda: iter([{"pixel_values": each} for each in calibrating]),
        lambda: iter([{"pixel_values": each} for each in checking]),
        "these",
    )
    asked = PredictionSettings(runtime="onnxruntime", dtype="int8", calibrate_on="these", batch_size=4)
    few, describe = {"pixel_values": pixels}, lambda ours, theirs: ""
    return open_runtime(Network().eval(), few, asked, describe=describe, calibration=calibration), net


@pytest.mark.slow
def test_scales_are_those_by_hand(monkeypatch):
    """A weight has 127 steps for each output, an input 255 over the mean range of the batches, with zero; logits none.

    Those beyond the range that was seen would be cut off.
    """
    torch.manual_seed(1)
    calibrating = [torch.rand(4, 3, 2, 2) * 2, torch.rand(4, 3, 2, 2) * 4]
    checking = [torch.rand(4, 3, 2, 2) * 100]
    pixels = torch.rand(4, 3, 2, 2) * 2
    choice, net = open_linear(monkeypatch, pixels, calibrating, checking)
    (file,) = (each for each in cached() if b"QuantizeLinear" in each.read_bytes())
    graph = onnx.load_from_string(read_kept_bytes("runtimes", file.name)).graph
    arrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    weight = net.weight.detach().numpy()
    (own,) = (each for name, each in arrays.items() if name.endswith("weight_scale"))
    np.testing.assert_allclose(own, np.abs(weight).max(1) / 127, rtol=1e-5)
    high = np.mean([each.max().item() for each in calibrating])
    scales = [each for name, each in arrays.items() if "scale" in name and each.shape == ()]
    assert min(abs(scale / (high / 255) - 1) for scale in scales) < 1e-5
    steps = np.clip(np.round(pixels.flatten(1).numpy() / (high / 255)), 0, 255) * (high / 255)
    whole = np.round(weight / own[:, None]) * own[:, None]
    by_hand = steps @ whole.T + net.bias.detach().numpy()
    np.testing.assert_allclose(
        choice.network(pixel_values=pixels).logits.numpy(), by_hand, atol=own.max() * high / 255
    )  # a step of the bias


@pytest.mark.slow
def test_agreement_is_counted_on_the_images_that_check(monkeypatch):
    """By hand: those that check are far out of the range of those that calibrate, so that all logits are cut off."""
    torch.manual_seed(1)
    checking = [torch.rand(4, 3, 2, 2) * 100, torch.rand(3, 3, 2, 2) * 100]
    choice, net = open_linear(monkeypatch, torch.rand(4, 3, 2, 2), [torch.rand(4, 3, 2, 2)], checking)
    with torch.inference_mode():
        reference = torch.cat([net(each.flatten(1)) for each in checking])
        found = torch.cat([choice.network.compute(pixel_values=each) for each in checking])
    difference = ((found - reference).abs().max() / (reference.max() - reference.min())).item()
    differ = sum(a.argmax().item() != b.argmax().item() for a, b in zip(found, reference, strict=True))
    share = wilson(differ, 7)
    assert difference > 0.2
    assert choice.details["int8_check"] == (
        f"logits within {difference:.2%} of their range, {differ} of 7 answers differ ({share.value:.1%}, 95% interval "
        f"{share.low:.1%} to {share.high:.1%})"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
def test_int8_is_said_like_a_dtype_and_its_images_too(model, data, name, tmp_path):
    plain = predict(model, data, dtype="auto")
    made = predict(model, data, runtime=name, calibrate_on="train", features=True, out=tmp_path / "p.parquet")
    moved = np.abs(made.logits - plain.logits).max() / np.ptp(plain.logits)
    assert 0 < moved < 0.2
    said = made.metadata.provenance
    assert said["dtype"] == "int8" and said["runtime"].startswith(name)
    ran, calibrated = made.metadata.notes[-2:]
    assert ran.startswith(f"the network computed in int8 by {name} ") and "of 8 answers differ" in ran
    assert calibrated.startswith("int8 was calibrated on 20 images of the split train; on others of these logits")
    assert " of 10 answers differ (" in calibrated


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
def test_modes_and_attention(name, data, tmp_path):
    """A vision transformer, a zero-shot model and a linear probe on one."""
    vision = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    config = transformers.ViTConfig(**vision, image_size=32, patch_size=8, num_labels=2)
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path / "vit")
    transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path / "vit")
    clip = tiny_zero_shot.folder(tmp_path / "clip", "clip")
    for model, how in (
        (tmp_path / "vit", {}),
        (clip, {"mode": "zero_shot"}),
        (tmp_path / "vit", {"mode": "linear_probe"}),
    ):
        plain = predict(model, data, dtype="auto", **how)
        made = predict(model, data, runtime=name, calibrate_on=images(5, 24), features=True, **how)
        moved = np.abs(made.logits - plain.logits).max() / np.ptp(plain.logits)
        assert 0 < moved < (np.inf if how else 0.5), (
            how,
            moved,
        )  # of the others the range is small: weights are random


@pytest.mark.slow
def test_a_network_is_quantized_once_for_the_same_images(model, data, monkeypatch, tmp_path):
    """Planted faults: images left out of the name of the file; a file with the content of another believed."""
    made = []
    quantize = exported_network.quantize
    monkeypatch.setattr(exported_network, "quantize", lambda *given: made.append(0) or quantize(*given))
    first = predict(model, data, runtime="onnxruntime", calibrate_on="train")
    again = predict(model, data, runtime="openvino", calibrate_on=data["train"])
    assert len(made) == 1 and len(cached()) == 2
    predict(model, data, runtime="onnxruntime", calibrate_on=images(5, 6))
    assert len(made) == 2 and len(cached()) == 3
    two = [each for each in cached() if b"QuantizeLinear" in each.read_bytes()]
    for file, content in zip(two, [each.read_bytes() for each in reversed(two)], strict=True):
        file.write_bytes(content)
    third = predict(model, data, runtime="onnxruntime", calibrate_on="train")
    assert len(made) == 3 and np.array_equal(third.logits, first.logits) and len(again) == 12


@pytest.mark.slow
def test_images_and_versions_are_a_part_of_the_key(model, data, tmp_path):
    """Planted fault: the images left out."""

    def key(**how):
        found = oochub.predict(model, data, runtime="onnxruntime", **how)
        return found.metadata.provenance["key"], "cached" in found.metadata.provenance["when"]

    plain, train = key(), key(dtype="int8", calibrate_on="train")
    assert len({plain[0], train[0], key(dtype="int8", calibrate_on=images(5, 6))[0]}) == 3
    for number, image in enumerate(draw(1, 30)):
        image.save(tmp_path / f"{number:02}.png")
    assert key(dtype="int8", calibrate_on="train") == (train[0], True)
    assert not key(dtype="int8", calibrate_on=tmp_path)[1]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"calibrate_on": "train"}, r'dtype="int8" needs runtime="onnxruntime" or runtime="openvino"'),
        ({"runtime": "openvino"}, r'dtype="int8" needs calibration images that are not evaluated'),
        ({"runtime": "openvino", "dtype": "auto", "calibrate_on": "train"}, r'calibrate_on= requires dtype="int8"'),
        ({"runtime": "auto", "calibrate_on": "train"}, r'runtime="auto" computes in float32'),
        ({"runtime": "openvino", "calibrate_on": "test"}, r'calibrate_on="test": this split is evaluated.* train\.'),
        (
            {"runtime": "openvino", "calibrate_on": "trian"},
            r"\(splits: train, test\) nor a folder. Did you mean 'train'",
        ),
        (
            {"runtime": "openvino", "calibrate_on": 3},
            "takes a split, a folder of images or a datasets.Dataset, got a int",
        ),
    ],
)
def test_what_cannot_be_calibrated_is_said_before_the_model_is_opened(model, data, how, message):
    (model / "model.safetensors").unlink()
    with pytest.raises(OochubError, match=message):
        predict(model, data, **how)


def test_the_shell_reads_its_own_words():
    with word_for_shell(), pytest.raises(OochubError, match="with --calibrate-on"):
        PredictionSettings(runtime="openvino", dtype="int8")


def test_images_that_are_too_few_or_none(data, tmp_path):
    def choose(wanted, **columns):
        return choose_calibration_rows(wanted, data, {"test": data["test"]}, "image")

    for wanted, message in (
        (data["train"].select([0, 1]), "at least 3 images, got 2"),
        (data["train"].remove_columns("image"), "must have one column of images, but it has none, only label"),
        (tmp_path, "the folder contains no images"),
    ):
        with pytest.raises(OochubError, match=message):
            choose(wanted)
    renamed = choose(data["train"].rename_column("image", "photo"))
    assert renamed.rows.column_names == ["image"] and len(renamed.rows) == 30
    assert choose(images(7, 500)).rows.num_rows == 192


def test_a_file_that_is_scored_is_refused_by_its_path(tmp_path):
    """Before any is read: they are no images. Planted fault: paths compared as they are written."""
    for name in "abcd":
        (tmp_path / f"{name}.png").write_text("no image")
    (tmp_path / "link").symlink_to(tmp_path)
    features = Features({"image": Image()})
    scored = Dataset.from_dict({"image": [str(tmp_path / "link" / "c.png")]}, features)
    with pytest.raises(
        OochubError, match=r"1 of the images drawn from it are scored in the split test, such as c\.png"
    ):
        choose_calibration_rows(tmp_path, {"test": scored}, {"test": scored}, "image")


@pytest.mark.slow
def test_an_image_that_is_scored_is_refused_by_its_pixels(model, data):
    """It is in the last row. Planted fault: the rows of a batch after the first not compared."""
    rows = [*data["train"]["image"][:3], data["test"]["image"][11]]
    own = Dataset.from_dict({"image": rows}, Features({"image": Image()}))
    with pytest.raises(OochubError, match="An image that is scored is also one of the 4 rows of calibrate_on"):
        predict(model, data, runtime="onnxruntime", calibrate_on=own, batch_size=4)


def test_rows_of_the_same_sum_are_no_match():
    """Planted fault: rows compared by their sum alone."""
    pixels = torch.rand(4, 3, 2, 2)
    known = CalibrationImages(lambda: iter([{"pixel_values": pixels}]), lambda: iter([]), "these")
    known.check_unscored({"pixel_values": pixels.flip(3)})
    with pytest.raises(OochubError, match="scored is also one of these"):
        known.check_unscored({"pixel_values": torch.cat([torch.zeros(1, 3, 2, 2), pixels[3:]])})


def test_logits_of_labels_have_no_one_answer():
    batch = {"values": torch.tensor([[0.0, 4.0], [1.0, 2.0]])}
    found = measure_agreement(lambda values: values + 1, lambda values: values, iter([batch]))
    assert found == (0.25, 0, 2)
    assert found.describe(has_classes=False) == "logits within 25.00% of their range on 2 images"


@pytest.mark.parametrize(
    ("has", "is_reduced"),
    [
        ({"architecture": "x86_64", "avx2": True}, True),
        ({"architecture": "x86_64", "avx512_vnni": True}, False),
        ({"architecture": "aarch64"}, False),
    ],
)
def test_weights_take_seven_bits_where_sums_would_overflow(monkeypatch, has, is_reduced):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert needs_reduced_range() is is_reduced
