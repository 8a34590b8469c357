"""ONNX files and what lies beside them, one thing wrong: refused in one line, or the numbers of ONNX Runtime itself."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz_case import CHANGED, REFUSED, SAFE, SAME, Case, Format, Used
from mutations import bytes_cases, json_cases, json_text_cases, place_cases
from PIL import Image

import oochub
from oochub.commands._options import check_models
from oochub.settings.model_settings import ModelSettings

_NET, _WEIGHTS, _PROCESSOR, _CONFIG = "net.onnx", "net.data", "preprocessor_config.json", "config.json"
_NAMES = ["corgi", "labrador", "bulldog"]
_SIZE = 16
_found: dict[Path, Any] = {}


def _beside() -> dict[str, Any]:
    return {
        "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.4, 0.4, 0.4],
        "image_processor_type": "ViTImageProcessor", "image_std": [0.3, 0.3, 0.3], "resample": 2,
        "rescale_factor": 1 / 255, "size": {"height": _SIZE, "width": _SIZE},
    }  # fmt: skip


_LABELS: dict[str, Any] = {"id2label": {str(k): name for k, name in enumerate(_NAMES)}}


def _graph(shape: tuple[Any, ...] = ("n", 3, _SIZE, _SIZE), metadata: dict[str, str] | None = None) -> Any:
    """A convolution, its mean and a linear layer, node by node."""
    import onnx
    from onnx import helper, numpy_helper

    rng = np.random.default_rng(0)
    weights = {"w": (4, 3, 3, 3), "b": (4,), "v": (4, 3), "c": (3,)}
    stored = [numpy_helper.from_array(rng.normal(size=s).astype(np.float32), name) for name, s in weights.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["h"], strides=[2, 2], kernel_shape=[3, 3]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["q"], axis=1),
        helper.make_node("Gemm", ["q", "v", "c"], ["scores"]),
    ]
    kind = onnx.TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info("x", kind, list(shape))]
    outputs = [helper.make_tensor_value_info("scores", kind, [shape[0], 3])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, metadata or {})
    return model


def _make(folder: Path) -> None:
    (folder / _NET).write_bytes(_graph().SerializeToString())
    (folder / _PROCESSOR).write_text(json.dumps(_beside()))
    (folder / _CONFIG).write_text(json.dumps(_LABELS))


def _make_with_metadata(folder: Path) -> None:
    metadata = {"preprocessor_config": json.dumps(_beside()), "names": str(dict(enumerate(_NAMES)))}
    (folder / _NET).write_bytes(_graph(metadata=metadata).SerializeToString())


def _make_external(folder: Path) -> None:
    import onnx

    _make(folder)
    onnx.save(_graph(), str(folder / _NET), save_as_external_data=True, location=_WEIGHTS, size_threshold=0)


@cache
def _data() -> Any:
    from datasets import ClassLabel, Dataset, Features, Value
    from datasets import Image as ImageFeature

    rng = np.random.default_rng(1)
    pictures = [Image.fromarray(rng.integers(0, 255, (20, 18, 3), np.uint8)) for _ in range(3)]
    features = Features(example_id=Value("string"), image=ImageFeature(), label=ClassLabel(names=sorted(_NAMES)))
    rows = {"example_id": ["a", "b", "c"], "image": pictures, "label": [0, 1, 2]}
    return Dataset.from_dict(rows, features=features)


def _use(folder: Path, out: Path) -> Used:
    check_models(str(folder / _NET), how=ModelSettings())
    made = oochub.predict(folder / _NET, _data(), out=out / "p.parquet", cache=False, batch_size=2)
    assert np.isfinite(made.logits).all()
    _found[folder] = made.logits
    return Used(numbers=made.logits, notes=made.metadata.notes, counts={"agree": True})


def _count(folder: Path) -> dict[str, bool]:
    """What ONNX Runtime makes of the pixels that transformers gives, image by image, in the order of the data."""
    import onnx
    import onnxruntime
    from transformers import AutoImageProcessor

    proto = onnx.load(str(folder / _NET), load_external_data=False)
    said = {each.key: each.value for each in proto.metadata_props}
    processor, names = folder / _PROCESSOR, _NAMES
    if "preprocessor_config" in said:
        (folder.parent.parent / "said").mkdir(exist_ok=True)
        processor = folder.parent.parent / "said" / _PROCESSOR
        processor.write_text(said["preprocessor_config"])
    elif (folder / _CONFIG).is_file():
        labels = json.loads((folder / _CONFIG).read_text("utf-8-sig"))["id2label"]
        names = [labels[str(k)] for k in range(3)]
    opened, session = AutoImageProcessor.from_pretrained(processor.parent), onnxruntime.InferenceSession(folder / _NET)
    (asked,) = session.get_inputs()
    batch = asked.shape[0] if isinstance(asked.shape[0], int) else 1
    made = []
    for row in _data():
        pixels = np.asarray(opened(row["image"], return_tensors="np")["pixel_values"], np.float32)
        made.append(session.run(None, {asked.name: np.repeat(pixels, batch, axis=0)})[0][0])
    right = np.stack(made)[:, [names.index(name) for name in sorted(_NAMES)]]
    return {"agree": bool(np.allclose(right, _found[folder], rtol=1e-3, atol=1e-3))}


_THINGS = ("image processor", "processor", "model", "ImageProcessor", "class_names", "class of the data set")
NETS = Format(name="ONNX files", make=_make, use=_use, names=_THINGS, count=_count)
METADATA = Format(name="ONNX metadata", make=_make_with_metadata, use=_use, names=_THINGS, count=_count)
EXTERNAL = Format(name="ONNX external data", make=_make_external, use=_use, names=_THINGS, count=_count)
_ANY = SAFE | {CHANGED}  # what is accepted agrees with ONNX Runtime


def _any(place: str, change: str) -> frozenset[str]:
    return _ANY


def _edited(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """A mutation of the file's content."""

    def mutate(folder: Path) -> None:
        import onnx

        proto = onnx.load(str(folder / _NET), load_external_data=False)
        change(proto)
        (folder / _NET).write_bytes(proto.SerializeToString())

    return mutate


def _shaped(value: str, *sizes: int | str) -> Callable[[Any], None]:
    """The file says that its input or output is of these sizes."""

    def change(proto: Any) -> None:
        (about,) = getattr(proto.graph, value)
        del about.type.tensor_type.shape.dim[:]
        for size in sizes:
            dim = about.type.tensor_type.shape.dim.add()
            setattr(dim, "dim_value" if isinstance(size, int) else "dim_param", size)

    return change


def _weight(name: str, change: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda proto: change(next(each for each in proto.graph.initializer if each.name == name))


def _located(**entries: str) -> Callable[[Any], None]:
    """Where the weights of the convolution lie, as the file says."""

    def change(proto: Any) -> None:
        weight = proto.graph.initializer[0]
        kept = {each.key: each.value for each in weight.external_data} | entries
        del weight.external_data[:]
        for key, value in kept.items():
            weight.external_data.add(key=key, value=value)

    return change


def _said(**entries: str) -> Callable[[Any], None]:
    def change(proto: Any) -> None:
        for each in proto.metadata_props:
            each.value = entries.get(each.key, each.value)

    return change


_CHANGED: dict[str, Callable[[Any], Any]] = {
    "whose output says four classes": _shaped("output", "n", 4),
    "whose output says a billion classes": _shaped("output", "n", 10**9),
    "whose output says no classes": _shaped("output", "n", 0),
    "whose output says -1 classes": _shaped("output", "n", -1),
    "whose output says one dimension": _shaped("output", "n"),
    "whose output says a fixed batch": _shaped("output", 7, 3),
    "whose input says 64 pixels": _shaped("input", "n", 3, 64, 64),
    "whose input says a batch of 4": _shaped("input", 4, 3, _SIZE, _SIZE),
    "whose input says a batch of 10 billion": _shaped("input", 10**10, 3, _SIZE, _SIZE),
    "whose input says a batch of 1 million": _shaped("input", 10**6, 3, _SIZE, _SIZE),
    "whose input says a batch of -1": _shaped("input", -1, 3, _SIZE, _SIZE),
    "whose input says sides of 2**62": _shaped("input", "n", 3, 2**62, 2**62),
    "whose input says channels last": _shaped("input", "n", _SIZE, _SIZE, 3),
    "whose input says five dimensions": _shaped("input", "n", 1, 3, _SIZE, _SIZE),
    "whose input says nothing": lambda proto: proto.graph.input[0].type.tensor_type.ClearField("shape"),
    "whose input is of no type": lambda proto: proto.graph.input[0].ClearField("type"),
    "whose input is of an unknown type": lambda p: setattr(p.graph.input[0].type.tensor_type, "elem_type", 999),
    "without an input": lambda proto: proto.graph.ClearField("input"),
    "without an output": lambda proto: proto.graph.ClearField("output"),
    "without nodes": lambda proto: proto.graph.ClearField("node"),
    "without weights": lambda proto: proto.graph.ClearField("initializer"),
    "with every node twice": lambda proto: proto.graph.node.extend([*proto.graph.node]),
    "with every weight twice": lambda proto: proto.graph.initializer.extend([*proto.graph.initializer]),
    "with nodes in another order": lambda proto: proto.graph.node.append(proto.graph.node.pop(0)),
    "with a node that reads itself": lambda proto: proto.graph.node[1].input.__setitem__(0, "r"),
    "with identities that go round": lambda proto: [
        proto.graph.node.add(op_type="Identity", input=["b1"], output=["a1"]),
        proto.graph.node.add(op_type="Identity", input=["a1"], output=["b1"]),
        setattr(proto.graph.output[0], "name", "a1"),
    ],
    "with a node without inputs": lambda proto: proto.graph.node[4].ClearField("input"),
    "that ends in a softmax of nothing": lambda proto: [
        setattr(proto.graph.node[4], "op_type", "Softmax"),
        proto.graph.node[4].ClearField("input"),
    ],
    "that ends in an identity of nothing": lambda proto: [
        setattr(proto.graph.node[4], "op_type", "Identity"),
        proto.graph.node[4].ClearField("input"),
    ],
    "with a weight of other sizes": _weight("w", lambda each: each.dims.__setitem__(0, 5)),
    "with a weight of 2**62 numbers": _weight("w", lambda each: each.dims.__setitem__(0, 2**62)),
    "with a weight of -1 numbers": _weight("w", lambda each: each.dims.__setitem__(0, -1)),
    "with a weight of another type": _weight("w", lambda each: setattr(each, "data_type", 11)),
    "with a weight of text": _weight("w", lambda each: setattr(each, "data_type", 8)),
    "with a weight without bytes": _weight("w", lambda each: each.ClearField("raw_data")),
    "with weights of nan": _weight("c", lambda each: setattr(each, "raw_data", b"\xff" * 12)),
    "of another version of ONNX": lambda proto: setattr(proto, "ir_version", 2**40),
    "of no operators": lambda proto: proto.ClearField("opset_import"),
    "of operators of the year 9999": lambda proto: setattr(proto.opset_import[0], "version", 9999),
    "with an input name of 10,000 letters": lambda proto: [
        setattr(proto.graph.input[0], "name", "x" * 10_000), proto.graph.node[0].input.__setitem__(0, "x" * 10_000),
    ],
    "with an output name of line feeds": lambda proto: [
        setattr(proto.graph.output[0], "name", "a\n\0b"), proto.graph.node[4].output.__setitem__(0, "a\n\0b"),
    ],
    "with an operator of line feeds": lambda proto: setattr(proto.graph.node[4], "op_type", "a\n\0b" * 100),
    "that makes a tensor of 4 TB": lambda proto: [
        proto.graph.initializer.add(name="huge", data_type=7, dims=[1], int64_data=[10**12]),
        proto.graph.node.add(op_type="ConstantOfShape", input=["huge"], output=["sea"]),
        proto.graph.node.add(op_type="ReduceSum", input=["sea"], output=["drop"], name="sum"),
        proto.graph.node[4].output.__setitem__(0, "before"),
        proto.graph.node.add(op_type="Add", input=["before", "drop"], output=["scores"]),
    ],
}  # fmt: skip


def _write_deep(folder: Path) -> None:
    """The file with graphs 3,000 deep, as bytes: protobuf makes none, and joins a field that is written twice."""

    def field(number: int, content: bytes) -> bytes:
        size, length = len(content), b""
        while size > 127:
            size, length = size >> 7, length + bytes([size & 127 | 128])
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    graph = b""
    for _ in range(3_000):
        graph = field(1, field(5, field(6, graph)))  # a node, its attribute, its graph
    (folder / _NET).write_bytes((folder / _NET).read_bytes() + field(7, graph))


_PLACES: dict[str, dict[str, str]] = {
    "elsewhere": {"location": "../net.data"},
    "at an absolute path": {"location": "/etc/hostname"},
    "at another name": {"location": "gone.data"},
    "at a name with a line feed": {"location": "a\nb"},
    "at a name with a null character": {"location": "a\0b"},
    "at a name of 10,000 letters": {"location": "n" * 10_000},
    "nowhere": {"location": ""},
    "in the folder itself": {"location": "."},
    "in the file itself": {"location": _NET},
    "past the end": {"offset": str(2**40)},
    "before the start": {"offset": "-4"},
    "at no number": {"offset": "abc"},
    "of another length": {"length": "4"},
    "of a length without end": {"length": str(2**62)},
    "of no length": {"length": "abc"},
}
_IN_METADATA: dict[str, dict[str, str]] = {
    "a processor that is cut off": {"preprocessor_config": json.dumps(_beside())[:60]},
    "an empty processor": {"preprocessor_config": ""},
    "a processor nested deeply": {"preprocessor_config": "[" * 100_000},
    "a processor of 10 MB": {"preprocessor_config": json.dumps({**_beside(), "more": "x" * 10**7})},
    "a processor with half of a character": {"preprocessor_config": '{"image_processor_type": "\\ud800"}'},
    "names nested deeply": {"names": "[" * 100_000},
    "names nested in brackets": {"names": "(" * 150 + ")" * 150},
    "names of 10 MB": {"names": "{" + "'a':" * (10**7 // 4)},
    "names that are a sum": {"names": "1+" * 200_000 + "1"},
    "names that are a call": {"names": "__import__('os').getcwd()"},
    "names of other classes": {"names": "{0: 'a', 1: 'b', 2: 'c'}"},
    "two names": {"names": "{0: 'corgi', 1: 'labrador'}"},
    "names that are alike": {"names": "{0: 'corgi', 1: 'corgi', 2: 'corgi'}"},
    "names with line feeds": {"names": r"{0: 'corgi', 1: 'labra\ndor', 2: 'bull\0dog'}"},
    "a name of 10,000 letters": {"names": str(["corgi", "labrador", "b" * 10_000])},
    "names of other numbers": {"names": "{5: 'corgi', 6: 'labrador', 7: 'bulldog'}"},
    "names that are numbers": {"names": "[1, 2, 3]"},
    "names that are null": {"names": "null"},
    "names that are not finite": {"names": "[NaN, Infinity, 1e999]"},
}

CASES = [
    *((NETS, case) for case in bytes_cases(_NET, expect=_ANY, flips=120)),
    *((NETS, case) for case in place_cases(_NET)),
    *((NETS, case) for case in json_cases(_PROCESSOR, _beside(), _any)),
    *((NETS, case) for case in json_cases(_CONFIG, _LABELS, _any)),
    *(
        (NETS, Case(name=case.name, mutate=case.mutate, expect=_ANY))
        for file in (_PROCESSOR, _CONFIG)
        for case in (*json_text_cases(file), *place_cases(file))
    ),
    *((NETS, Case(name=f"a file {word}", mutate=_edited(change), expect=_ANY)) for word, change in _CHANGED.items()),
    (NETS, Case(name="a file with 3,000 graphs in each other", mutate=_write_deep, expect=_ANY)),
    *((EXTERNAL, case) for case in bytes_cases(_WEIGHTS, expect=_ANY, flips=24)),
    *((EXTERNAL, case) for case in place_cases(_WEIGHTS)),
    *(
        (EXTERNAL, Case(name=f"weights {word}", mutate=_edited(_located(**entries)), expect=_ANY))
        for word, entries in _PLACES.items()
    ),
    *((METADATA, case) for case in bytes_cases(_NET, expect=_ANY, flips=60, seed=1)),
    *(
        (METADATA, Case(name=f"metadata with {word}", mutate=_edited(_said(**entries)), expect=_ANY))
        for word, entries in _IN_METADATA.items()
    ),
]
EVERYDAY = ("weights elsewhere", "net.onnx cut in half", "metadata with names nested deeply", "net.onnx a fifo")


@pytest.mark.parametrize("name", EVERYDAY)
def test_a_file_that_is_wrong_is_refused(campaign, name):
    kind, case = next(each for each in CASES if each[1].name == name)
    assert campaign.run(kind, case) in {REFUSED, SAME}


@pytest.mark.campaign
@pytest.mark.parametrize(("kind", "case"), CASES, ids=lambda part: part.name)
def test_onnx_files(campaign, kind, case):
    campaign.run(kind, case)
