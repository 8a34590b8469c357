"""ONNX files as models: the numbers of the network that was exported, what files may say, and what is refused."""

import copy
import json

import numpy as np
import onnx
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, Image, Value
from onnx import helper, numpy_helper
from PIL import Image as Pictures
from torch import nn
from transformers import ViTImageProcessorPil

import oochub
from oochub import errors
from oochub.errors import OochubError, OochubWarning
from oochub.models.onnx_file import OnnxFile

NAMES = ["corgi", "labrador", "bulldog"]
SIZE = 16
FLOAT = onnx.TensorProto.FLOAT


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    pictures = [Pictures.fromarray(rng.integers(0, 255, (20, 18, 3), np.uint8)) for _ in range(11)]
    features = Features(example_id=Value("string"), image=Image(), label=ClassLabel(names=sorted(NAMES)))
    rows = {"example_id": [f"{k:02}" for k in range(11)], "image": pictures, "label": [k % 3 for k in range(11)]}
    return Dataset.from_dict(rows, features=features, split="test")


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)
    return nn.Sequential(*layers).eval()


def processor():
    return ViTImageProcessorPil(size={"height": SIZE, "width": SIZE}, image_mean=[0.4] * 3, image_std=[0.3] * 3)


def by_hand(net, data):
    """float32 (n, 3) of a plain loop by transformers' processor and torch, in the order of the data's classes."""
    made = []
    for row in data:
        pixels = processor()(row["image"], return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            made.append(net(pixels).numpy()[0])
    return np.stack(made)[:, [NAMES.index(name) for name in sorted(NAMES)]]


def graph(net, *, shape=("n", 3, SIZE, SIZE), last=None, output="scores", more=(), kind=FLOAT, metadata=None):
    """The network of the fixture as a graph, written node by node: no exporter says how it must look."""
    conv, linear = net[0], net[4]
    weights = {
        "w": conv.weight.detach().numpy(), "b": conv.bias.detach().numpy(),
        "v": linear.weight.detach().numpy().T.copy(), "c": linear.bias.detach().numpy(),
    }  # fmt: skip
    nodes = []
    first = "x"
    if kind != FLOAT:
        nodes.append(helper.make_node("Cast", ["x"], ["f"], to=FLOAT))
        first = "f"
    if shape[3] in (3, "channels"):
        nodes.append(helper.make_node("Transpose", [first], ["t"], perm=[0, 3, 1, 2]))
        first = "t"
    end = "z" if last else output
    nodes += [
        helper.make_node("Conv", [first, "w", "b"], ["h"], strides=[2, 2], kernel_shape=[3, 3]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["q"], axis=1),
        helper.make_node("Gemm", ["q", "v", "c"], [end]),
    ]
    if last:
        nodes.append(helper.make_node(last, ["z"], [output]))
    outputs = [helper.make_tensor_value_info(output, FLOAT, [shape[0], 3]), *more]
    made = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", kind, list(shape))], outputs,
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )  # fmt: skip
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, metadata or {})
    return model


def write(folder, model, *, beside=True):
    """The file, with a preprocessor_config.json beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "net.onnx"
    onnx.save(model, str(file))
    if beside:
        processor().save_pretrained(folder)
    return file


@pytest.mark.parametrize("batch", ["n", 1, 4, 16], ids=str)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_file_gives_the_logits_of_its_network(net, data, tmp_path, layout, batch):
    """In either layout, with a batch of any size that the file fixes, or of none."""
    shape = (batch, 3, SIZE, SIZE) if layout == "NCHW" else (batch, SIZE, SIZE, 3)
    file = write(tmp_path, graph(net, shape=shape))
    for size in (3, 16):  # the last batches are not full
        made = oochub.predict(file, data, class_names=NAMES, batch_size=size, cache=False)
        assert np.abs(made.logits - by_hand(net, data)).max() < 1e-5 and list(made.class_names) == sorted(NAMES)
    assert made.metadata.model.id == "net.onnx"
    assert made.metadata.provenance["runtime"].startswith("onnxruntime ")


def test_what_torch_exports_is_predicted(net, data, tmp_path):
    """By the exporter that people use, with free sizes that name the channels, as optimum's do."""
    network = copy.deepcopy(net)
    network.train(False)
    torch.onnx.export(
        network, (torch.randn(2, 3, SIZE, SIZE),), str(tmp_path / "net.onnx"), dynamo=False, input_names=["pixels"],
        dynamic_axes={"pixels": {0: "batch", 1: "num_channels", 2: "height", 3: "width"}},
    )  # fmt: skip
    processor().save_pretrained(tmp_path)
    made = oochub.predict(str(tmp_path / "net.onnx"), data, class_names=NAMES)
    assert np.abs(made.logits - by_hand(net, data)).max() < 1e-5


ENDS = {
    "Gemm": lambda v, c: [helper.make_node("Gemm", ["q", "v", "c"], ["scores"])],
    "half of a Gemm": lambda v, c: [helper.make_node("Gemm", ["q", "v", "c"], ["scores"], alpha=0.5, beta=3.0)],
    "MatMul": lambda v, c: [
        helper.make_node("MatMul", ["q", "v"], ["m"]),
        helper.make_node("Add", ["c", "m"], ["scores"]),
    ],
    "convolution": lambda v, c: [
        helper.make_node("Transpose", ["v"], ["u"], perm=[1, 0]),
        helper.make_node("Unsqueeze", ["u", "axes"], ["k"]),
        helper.make_node("Conv", ["p", "k", "c"], ["m"], kernel_shape=[1, 1]),
        helper.make_node("Flatten", ["m"], ["scores"], axis=1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_features_are_what_the_last_layer_reads_and_the_head_is_that_layer(net, data, tmp_path, end):
    """Against torch's own layers; the logits are the bytes of a run without features."""
    model = graph(net, shape=(4, 3, SIZE, SIZE))
    last = ENDS[end](*net[4].parameters())
    del model.graph.node[-1]
    model.graph.node.extend(last)
    model.graph.initializer.append(numpy_helper.from_array(np.array([2, 3]), "axes"))
    file = write(tmp_path, model)
    made = oochub.predict(file, data, class_names=NAMES, features=True, cache=False, batch_size=3)
    plain = oochub.predict(file, data, class_names=NAMES, cache=False, batch_size=3)
    pixels = [processor()(row["image"], return_tensors="pt")["pixel_values"] for row in data]
    with torch.no_grad():
        wanted = net[:4](torch.cat(pixels)).numpy()
    assert np.abs(made.features - wanted).max() < 1e-6
    assert made.logits.tobytes() == plain.logits.tobytes()
    scale = (0.5, 3) if end == "half of a Gemm" else (1, 1)
    order = [NAMES.index(name) for name in sorted(NAMES)]
    weight, bias = (each.detach().numpy()[order] * by for each, by in zip(net[4].parameters(), scale, strict=True))
    assert np.abs(made.head.weight - weight).max() < 1e-6 and np.abs(made.head.bias - bias).max() < 1e-5


def test_a_file_without_a_last_linear_layer_has_no_features(net, data, tmp_path):
    model = graph(net)
    model.graph.node[-1].output[0] = "m"
    model.graph.node.append(helper.make_node("Relu", ["m"], ["scores"]))
    with pytest.raises(OochubError, match=r"does not end in a linear layer .* Predict without features=True"):
        oochub.predict(write(tmp_path, model), data, class_names=NAMES, features=True)


def test_names_and_preprocessing_stand_in_the_metadata_or_beside_it(net, data, tmp_path):
    """As ultralytics writes names, as transformers does, in config.json, also above a folder `onnx`."""
    own = processor().to_json_string()
    for number, names in enumerate(
        ({"names": str(dict(enumerate(NAMES)))}, {"id2label": json.dumps(dict(enumerate(NAMES)))},
         {"class_names": json.dumps(NAMES)}, {})
    ):  # fmt: skip
        folder = tmp_path / str(number)
        if names:
            file = write(folder, graph(net, metadata={**names, "preprocessor_config": own}), beside=False)
        else:
            file = write(folder / "onnx", graph(net), beside=False)
            processor().save_pretrained(folder)
            (folder / "config.json").write_text(json.dumps({"id2label": dict(enumerate(NAMES))}))
        made = oochub.predict(file, data)
        assert np.abs(made.logits - by_hand(net, data)).max() < 1e-5


@pytest.mark.parametrize(("name", "words"), [("STRING", "texts"), ("BOOL", "truth values")])
def test_outputs_that_are_no_numbers_are_refused(net, data, tmp_path, name, words):
    """As exports of scikit-learn give labels. Fault planted: numpy's own error, of `isfinite` on texts."""
    model, kind = graph(net, output="numbers"), getattr(onnx.TensorProto, name)
    model.graph.node.append(helper.make_node("Cast", ["numbers"], ["scores"], to=kind))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("scores", kind, ["n", 3]))
    with pytest.raises(OochubError, match=rf"output scores of .*net\.onnx is not numeric \(it holds {words}\)"):
        oochub.predict(write(tmp_path, model), data, class_names=NAMES, cache=False)


@pytest.mark.parametrize("last", ["Softmax", "LogSoftmax", "Sigmoid"])
def test_logits_are_taken_from_before_a_softmax(net, data, tmp_path, last):
    """Planted fault: the probabilities themselves."""
    file = write(tmp_path, graph(net, last=last))
    with pytest.warns(OochubWarning, match=f"ends in {last}"):
        made = oochub.predict(file, data, class_names=NAMES)
    assert np.abs(made.logits - by_hand(net, data)).max() < 1e-5


def test_a_transform_prepares_the_images(net, data, tmp_path):
    """In place of a processor."""

    def shrink(image):
        return processor()(image, return_tensors="pt")["pixel_values"][0]

    file = write(tmp_path, graph(net), beside=False)
    made = oochub.predict(file, data, class_names=NAMES, transform=shrink)
    assert np.abs(made.logits - by_hand(net, data)).max() < 1e-5


def test_several_outputs_are_told_apart_by_name(net, data, tmp_path):
    more = [helper.make_tensor_value_info("q", FLOAT, ["n", 4])]
    file = write(tmp_path / "named", graph(net, output="logits", more=more))
    made = oochub.predict(file, data, class_names=NAMES)
    assert np.abs(made.logits - by_hand(net, data)).max() < 1e-5
    with pytest.raises(OochubError, match=r"it has scores \(n, 3\), q \(n, 4\). Export it with only the logits"):
        OnnxFile(write(tmp_path / "other", graph(net, more=more)))


def test_predictions_are_cached_by_the_bytes_of_the_file(net, data, tmp_path):
    """And of its external data, its processor and its names. Planted fault: external data left out of the digest."""

    def ran(file, **how):
        made = oochub.predict(file, data, **{"class_names": NAMES, **how})
        return not made.metadata.provenance["when"].get("cached")

    file = write(tmp_path / "a", graph(net))
    assert ran(file) and not ran(file)
    other = copy.deepcopy(net)
    with torch.no_grad():
        other[4].bias += 1
    write(tmp_path / "a", graph(other))
    assert ran(file) and not ran(file) and ran(file, class_names=NAMES[::-1])
    ViTImageProcessorPil(size={"height": SIZE, "width": SIZE}, image_mean=[0.1] * 3).save_pretrained(tmp_path / "a")
    assert ran(file)
    folder = tmp_path / "b"
    write(folder, graph(net))
    onnx.save(graph(net), str(folder / "net.onnx"), save_as_external_data=True, location="net.data", size_threshold=0)
    assert ran(folder / "net.onnx") and not ran(folder / "net.onnx")
    weights = bytearray((folder / "net.data").read_bytes())
    weights[:4] = np.float32(3).tobytes()
    (folder / "net.data").write_bytes(weights)
    assert ran(folder / "net.onnx")


def test_external_data_beside_the_file_are_read_and_elsewhere_refused(net, data, tmp_path):
    """Planted faults: a link followed; `..` let through; an absolute path."""
    model = graph(net)
    file = write(tmp_path / "in", model)
    onnx.save(graph(net), str(file), save_as_external_data=True, location="net.data", size_threshold=0)
    made = oochub.predict(file, data, class_names=NAMES)
    assert np.abs(made.logits - by_hand(net, data)).max() < 1e-5
    (tmp_path / "net.data").write_bytes((tmp_path / "in" / "net.data").read_bytes())
    absolute = str(tmp_path / "in" / "net.data")  # in the folder, but only as long as it is not moved
    for place in ("../net.data", absolute, "sub/../../net.data", "*/_ORT_MEM_ADDR_/*", "gone.data", ""):
        proto = onnx.load(str(file), load_external_data=False)
        for tensor in proto.graph.initializer:
            next(each for each in tensor.external_data if each.key == "location").value = place
        (tmp_path / "in" / "other.onnx").write_bytes(proto.SerializeToString())
        with pytest.raises(OochubError, match=r"outside its folder|is not there"):
            OnnxFile(tmp_path / "in" / "other.onnx")
    (tmp_path / "in" / "net.data").unlink()
    (tmp_path / "in" / "net.data").symlink_to(tmp_path / "net.data")
    with pytest.raises(OochubError, match=r"'net.data', which lies outside its folder"):
        OnnxFile(file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": ("n", "a", "b", "c")}, "NCHW.*NHWC.*make_dynamic_shape_fixed"),
        ({"shape": ("n", 3, SIZE, 3)}, r"is \(n, 3, 16, 3\), which does not say"),
        ({"shape": ("n", 1, SIZE, SIZE)}, "images have 3 channels"),
        ({"kind": onnx.TensorProto.FLOAT16}, "reads float16 images.*keep_io_types"),
        ({"kind": onnx.TensorProto.UINT8}, "reads uint8 images"),
        ({"shape": ("n", 3, 32, 32)}, "reads images of 32 x 32 pixels, but the processor gives 16 x 16"),
    ],
)
def test_what_a_file_cannot_be_is_said(net, tmp_path, changes, message):
    """Before the data are looked at: there are none. Planted fault: the layout guessed."""
    file = write(tmp_path, graph(net, **changes))
    with pytest.raises(OochubError, match=message):
        oochub.audit(file, str(tmp_path / "nowhere"), class_names=NAMES)


def test_what_is_missing_is_asked_for(net, data, tmp_path):
    file = write(tmp_path, graph(net), beside=False)
    for how, message in (
        ({}, r"does not have class names.*class_names=\['cat', 'dog'\]"),
        ({"class_names": NAMES}, "has no settings for resizing and normalizing images.*image_processor=FOLDER_OR_ID"),
        ({"class_names": NAMES[:2]}, "has 3 outputs, but 2 class names are given"),
        ({"class_names": NAMES, "mode": "zero_shot"}, "an ONNX file answers with its own outputs"),
        ({"class_names": NAMES, "features": "layer4"}, "with features=: it gives the input of its last layer alone"),
        ({"class_names": NAMES, "odin": 0.001}, "with odin=: it has no gradients"),
        ({"class_names": NAMES, "dtype": "bfloat16"}, "with dtype=: its numbers are those"),
        ({"class_names": NAMES, "transform": len, "image_processor": processor()}, "got transform and image_processor"),
    ):
        with pytest.raises(OochubError, match=message):
            oochub.predict(file, data, **how)
    (tmp_path / "preprocessor_config.json").write_text('{"image_processor_type": "ViTImageProcessor"}')
    with pytest.raises(OochubError, match="does not say image_mean, image_std, size"):
        oochub.predict(file, data, class_names=NAMES)


def test_broken_files_are_said(net, data, tmp_path):
    """Empty, cut off, another format, weights of NaN, probabilities by other nodes, a batch that is fixed inside."""
    whole = graph(net).SerializeToString()
    file = write(tmp_path, graph(net))
    for content in (b"", whole[:200], whole[: len(whole) // 2], b"\x80\x04not", whole[:-3]):
        file.write_bytes(content)
        with pytest.raises(OochubError, match=r"is not a valid ONNX file, or is truncated|cannot open"):
            oochub.predict(file, data, class_names=NAMES)
    with pytest.raises(OochubError, match="there is no such file"):
        oochub.predict(tmp_path / "gone.onnx", data, class_names=NAMES)
    broken = copy.deepcopy(net)
    with torch.no_grad():
        broken[4].bias[0] = float("nan")
    with pytest.raises(OochubError, match="not finite"):
        oochub.predict(write(tmp_path, graph(broken)), data, class_names=NAMES)
    squashed = graph(net, last="Softmax")
    squashed.graph.node[-1].output[0] = "s"
    squashed.graph.node.append(helper.make_node("Abs", ["s"], ["scores"]))
    with pytest.raises(OochubError, match="gives probabilities, but logits are asked for"):
        oochub.predict(write(tmp_path, squashed), data, class_names=NAMES)
    unknown = graph(net, last="NoSuchOperator")
    with pytest.raises(OochubError, match="ONNX Runtime cannot open"):
        oochub.predict(write(tmp_path, unknown), data, class_names=NAMES)


def test_missing_packages_are_named(net, data, tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(OochubError, match=r"needs onnx, which is not installed. Run: pip install 'oochub\[onnx\]'"):
        oochub.predict(write(tmp_path, graph(net)), data, class_names=NAMES)


def test_audit_and_label_maps_take_a_file(net, data, tmp_path):
    """From the file to the page, whose classes are others than those of the data."""
    file = write(tmp_path, graph(net))
    contexts = data.add_column("context", ["grass", "snow", "sand"] * 3 + ["sand", "snow"])
    report = oochub.audit(file, contexts, class_names=["a", "b", "c"], out=tmp_path / "audit",
                          label_map={"corgi": ["a"], "labrador": ["b"], "bulldog": ["c"]})  # fmt: skip
    assert report.model.id == "net.onnx" and "net.onnx" in (tmp_path / "audit" / "report.html").read_text("utf-8")


@pytest.mark.parametrize("batch", [3, "n"])
def test_a_file_with_several_rows_an_image_is_refused(batch, net, data, tmp_path):
    """Each run must give one row of logits per image; six rows for three images would give image 1 a row of image 0.

    Before, the first rows were taken. Planted fault seen: rows counted after they are cut.
    """
    model = graph(net, shape=(batch, 3, SIZE, SIZE), last="Identity")
    model.graph.node.remove(model.graph.node[-1])
    model.graph.node.extend(
        [helper.make_node("Concat", ["z", "z"], ["two"], axis=1), helper.make_node("Reshape", ["two", "k"], ["scores"])]
    )
    model.graph.initializer.append(numpy_helper.from_array(np.array([-1, 3]), "k"))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("scores", FLOAT, ["m", 3]))
    file = write(tmp_path, model)
    with pytest.raises(OochubError, match=r"one row per image, but its output is \([46], 3\)"):
        oochub.predict(file, data, class_names=NAMES, batch_size=3, cache=False)
