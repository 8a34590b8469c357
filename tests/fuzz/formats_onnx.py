"""ONNX files and what lies beside them, one thing wrong: refused in one line, or finite numbers."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_case import Format, Used
from PIL import Image

import oochub
from oochub.commands._options import check_models
from oochub.settings.model_settings import ModelSettings

_NET, _WEIGHTS, _PROCESSOR, _CONFIG = "net.onnx", "net.data", "preprocessor_config.json", "config.json"
_NAMES = ["corgi", "labrador", "bulldog"]
_SIZE = 16


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
    return Used(numbers=made.logits, notes=made.metadata.notes)


_THINGS = ("image processor", "processor", "model", "ImageProcessor", "class_names", "class of the dataset")
NETS = Format(name="ONNX files", make=_make, use=_use, names=_THINGS)
METADATA = Format(name="ONNX metadata", make=_make_with_metadata, use=_use, names=_THINGS)
EXTERNAL = Format(name="ONNX external data", make=_make_external, use=_use, names=_THINGS)
