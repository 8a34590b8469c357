"""An ONNX file as a function from a batch of images to logits, by ONNX Runtime on the CPU.

What the file says is taken from it: the layout of its input, a fixed size, a fixed batch, the names of its outputs, how
images are prepared. What it does not say is asked for, and nothing is guessed. Its weights lie in it or beside it.
"""

import ast
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from oochub.errors import OochubError, OochubWarning, check_installed, choose_wording, first_line
from oochub.inputs.pictures.image_processor import ImageTransform, load_image_processor
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.files import make_scratch_folder
from oochub.storage.reading import check_regular_file, read_json

if TYPE_CHECKING:
    import onnx
    import onnxruntime
    from google.protobuf.message import Message

_WHAT = "An ONNX file"
_CHANNELS = 3
_PASSING = ("Identity", "Add", "Reshape", "Flatten", "Squeeze", "Cast")  # between the last linear layer and the logits
_SQUASHING = ("Softmax", "LogSoftmax", "Sigmoid")
_NAMES = ("id2label", "names", "class_names")  # of transformers and optimum, of ultralytics, ours
_PROCESSOR = "preprocessor_config"
_LISTED = 8
_LARGEST_BATCH = 4096  # images that a file may ask for at once
_CLOSE = 1e-4  # of the largest logit
_LONGEST_NAME = 200  # letters of the file that holds its weights


def is_onnx_file(model: object) -> bool:
    """Whether a model is named that is an ONNX file, present or not.

    >>> is_onnx_file("runs/net.onnx"), is_onnx_file("microsoft/resnet-50")
    (True, False)
    """
    return isinstance(model, str | os.PathLike) and os.fspath(model).lower().endswith(".onnx")


def open_session(model: str | bytes, *, folder: Path | None = None) -> "onnxruntime.InferenceSession":
    """A session of ONNX Runtime on the CPU, with as many threads as torch takes; it prints nothing.

    Args:
        model: Path of the file, or its content.
        folder: Folder of its external data, if the content is given.

    Raises:
        OochubError: ONNX Runtime is not installed.
        Exception: ONNX Runtime cannot open it; the class is its own.
    """
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = torch.get_num_threads(), 4
    if folder is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def import_onnxruntime() -> ModuleType:
    """ONNX Runtime, which counts nothing of what is run.

    Raises:
        OochubError: It is not installed.
    """
    check_installed("onnxruntime", "onnx", _WHAT)
    module = import_module("onnxruntime")
    module.disable_telemetry_events()  # its builds since 1.32 would
    return module


class OnnxFile:
    """An ONNX file that reads images, open.

    Args:
        file: Path of the file.

    Raises:
        OochubError: No such file, one that is broken, external data outside its folder, inputs that are no images or no
            float32, several outputs of which none is named `logits`, a layout that it does not say.

    Warns:
        OochubWarning: It ends in a softmax or sigmoid; what goes into that are the logits.
    """

    def __init__(self, file: Path) -> None:
        for package in ("onnx", "onnxruntime"):
            check_installed(package, "onnx", _WHAT)
        self._file = check_regular_file(file)
        proto = _parse(self._file)
        external = _check_external_data(proto, self._file)
        self.metadata: Mapping[str, str] = {entry.key: entry.value for entry in proto.metadata_props}
        if broken := [key for key, value in self.metadata.items() if not isinstance(value, str)]:
            raise OochubError(f"{file}: its metadata {broken} are not UTF-8. Export the model again.")
        self._input = _find_input(proto, self._file)
        self._output, self.classes, is_skipped = _find_output(proto, self._file)
        self._last = _find_last_layer(proto, self._output)
        self.__name__ = self._file.name
        self._is_known = False
        self._features: onnxruntime.InferenceSession | None = None
        self._weight: NDArray[np.float32] | None = None
        digest = hashlib.sha256(version("onnxruntime").encode())
        for path in (self._file, *external):
            with path.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        self.revision = digest.hexdigest()[:40]
        self.details = {"runtime": f"onnxruntime {version('onnxruntime')}"}
        try:
            model = proto.SerializeToString() if is_skipped else str(self._file)
            self._session = open_session(model, folder=self._file.parent if is_skipped else None)
        except OochubError:
            raise
        except Exception as error:  # of ONNX Runtime, which has only its own
            raise OochubError(f"ONNX Runtime cannot open {file}: {first_line(error)}. Export it again.") from error

    def class_names(self) -> Sequence[str]:
        """The names of the outputs that the file, or the config.json beside it, says.

        Raises:
            OochubError: Neither says them, or not as names.
        """
        about = {key: _read_value(self.metadata[key]) for key in _NAMES if key in self.metadata}
        config = self._find_beside("config.json")
        if config is not None:
            content = read_json(config)
            about["config.json"] = content.get("id2label") if isinstance(content, Mapping) else None
        for names in about.values():
            if isinstance(names, Mapping):
                names = [names.get(k, names.get(str(k))) for k in range(len(names))]
            if isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names):
                return [str(name) for name in names]
        option = choose_wording("class_names=['cat', 'dog']", "--class-names cat,dog (or a file with a name a line)")
        raise OochubError(
            f"{self._file} does not have class names. Pass them in output order: {option}. The labels of the data "
            "are matched to them by name."
        )

    def load_processor(self) -> object:
        """The image processor that the file says, or the preprocessor_config.json beside it.

        Raises:
            OochubError: Neither says it, or not whole.
        """
        if _PROCESSOR in self.metadata:
            with make_scratch_folder() as folder:
                (folder / "preprocessor_config.json").write_text(self.metadata[_PROCESSOR], "utf-8")
                return self._load_processor(folder)
        beside = self._find_beside("preprocessor_config.json")
        if beside is not None:
            return self._load_processor(beside.parent)
        option = choose_wording(
            "image_processor=FOLDER_OR_ID or transform=FUNCTION", "--image-processor FOLDER_OR_ID, the model's own"
        )
        raise OochubError(
            f"{self._file} has no settings for resizing and normalizing images: it has no metadata {_PROCESSOR!r}, "
            f"and no preprocessor_config.json lies beside it. Save that there, or give {option}."
        )

    def check_processor(self, processor: object) -> None:
        """Passes an image of noise through a processor and the file, before any of the data is read.

        Raises:
            OochubError: A size that contradicts the file's, or an output that is none of logits.
        """
        if isinstance(processor, ImageTransform) or not callable(processor):
            return  # the first call says it: a transform may read what a noise image is not
        from PIL import Image

        noise = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
        tensors = [processor(Image.fromarray(image), return_tensors="pt").get("pixel_values") for image in noise]
        if all(isinstance(tensor, torch.Tensor) and tensor.ndim == 4 for tensor in tensors):
            self(torch.cat(tensors).float())

    def __call__(self, pixels: torch.Tensor, *, is_features: bool = False) -> torch.Tensor:
        """The logits float32 (n, c) of a batch (n, 3, h, w); a fixed batch of the file is filled, or shared out.

        Args:
            pixels: The batch.
            is_features: Give what the last linear layer reads (n, d) instead.

        Raises:
            OochubError: Another size than the file's, a run that fails, probabilities, or numbers that are not finite.
        """
        about = self._input
        height, width = pixels.shape[2:] if pixels.ndim == 4 else (None, None)
        for own, given in ((about.height, height), (about.width, width)):
            if own is not None and own != given:
                raise OochubError(
                    f"{self._file} reads images of {about.height or 'any'} x {about.width or 'any'} pixels, but the "
                    f"processor gives {height} x {width}. Take the processor of this model."
                )
        values = pixels.detach().cpu().float()
        values = values.permute(0, 2, 3, 1) if about.is_channels_last else values
        run = self._run_features if is_features else self._run
        answers = np.concatenate([run(piece) for piece in _split_batch(values.numpy(), about.batch)])
        answers = answers[: len(pixels)]  # the last piece may be filled with copies
        if not self._is_known and not is_features:
            self._check_logits(answers)
        return torch.from_numpy(answers.astype(np.float32, copy=False)).to(pixels.device)

    @property
    def last_layer(self) -> "onnx.NodeProto":
        """The linear layer or 1x1 convolution that makes the logits.

        Raises:
            OochubError: The file does not end in one.
        """
        if self._last is None:
            raise OochubError(
                f"{self._file} does not end in a linear layer that outputs the logits, so it has no features that can "
                f"be found. Predict without {choose_wording('features=True', '--features')}."
            )
        return self._last

    def replace_head(self, weight: NDArray[np.floating], bias: NDArray[np.floating], names: Sequence[str]) -> bytes:
        """The content of the file with a new last layer, whose outputs are the only ones; no external data.

        Args:
            weight: (c, d).
            bias: (c,).
            names: Names of the c outputs.

        Raises:
            OochubError: No last layer, or a file of more than 2 GB.
        """
        import onnx

        features = self.last_layer.input[0]
        proto = onnx.load(str(self._file))
        graph, new = proto.graph, ("repaired.flat", "repaired.weight", "repaired.bias")
        arrays = {new[1]: weight, new[2]: bias}
        graph.initializer.extend(
            onnx.numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name)
            for name, array in arrays.items()
        )
        graph.node.append(onnx.helper.make_node("Flatten", [features], [new[0]], axis=1))
        graph.node.append(onnx.helper.make_node("Gemm", new, ["repaired.logits"], transB=1))
        del graph.output[:]
        shape = [self._input.batch, len(bias)]
        graph.output.append(onnx.helper.make_tensor_value_info("repaired.logits", onnx.TensorProto.FLOAT, shape))
        kept = {key: value for key, value in self.metadata.items() if key not in _NAMES}
        onnx.helper.set_model_props(proto, {**kept, "names": json.dumps(list(names))})
        try:
            content: bytes = proto.SerializeToString()
        except ValueError as error:  # of protobuf
            raise OochubError(f"{self._file} is too large to be written with a new last layer: {error}.") from error
        return content

    def read_head(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The weight (c, d) and the bias (c,) of the last linear layer: features @ weight.T + bias are the logits.

        Args:
            pixels: Images (n, 3, h, w) of two rows or more that differ; the bias is what the weight leaves over.

        Raises:
            OochubError: No such layer; a weight that is not the whole of it.
        """
        instead = f"Predict without {choose_wording('features=True', '--features')}."
        node = self.last_layer
        features, logits, weight = self(pixels, is_features=True), self(pixels), self._weight
        assert weight is not None  # noqa: S101  the features were read
        weight = weight.T if node.op_type == "MatMul" else weight.reshape(len(weight), -1)
        names = {attribute.name: attribute for attribute in node.attribute}
        if node.op_type == "Gemm":
            weight = weight if "transB" in names and names["transB"].i else weight.T
            weight = weight * (names["alpha"].f if "alpha" in names else 1.0)
        tensor = torch.from_numpy(np.ascontiguousarray(weight, dtype=np.float32)).to(logits.device)
        if tensor.shape != (logits.shape[1], features.shape[1]):
            raise OochubError(f"The last layer of {self._file} is not one linear layer of its features. {instead}")
        left = logits - features @ tensor.T
        if float((left - left.mean(0)).abs().max()) > _CLOSE * max(1.0, float(logits.abs().max())):
            raise OochubError(f"The last layer of {self._file} does not give the logits by its weight. {instead}")
        return tensor, left.mean(0)

    def _run_features(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The input of the last layer (n, d), by a session of its own, so that the logits keep their bytes."""
        names, feed = list(self.last_layer.input[:2]), {self._input.name: np.ascontiguousarray(values)}
        if self._features is None:
            import onnx

            proto = onnx.load(str(self._file), load_external_data=False)
            given = {output.name for output in proto.graph.output}
            shown = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names]
            proto.graph.output.extend(output for output in shown if output.name not in given)
            self._features = open_session(proto.SerializeToString(), folder=self._file.parent)
            (self._weight,) = self._features.run(names[1:], feed)
        (array,) = self._features.run(names[:1], feed)
        return np.asarray(array, np.float32).reshape(len(values), -1)

    def _run(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        try:
            (output,) = self._session.run([self._output], {self._input.name: np.ascontiguousarray(values)})
        except Exception as error:  # of ONNX Runtime, which has only its own
            raise OochubError(
                f"ONNX Runtime cannot run {self._file} on {len(values)} images: {first_line(error)}. If it was "
                "exported for a fixed batch or size, its input must say so: export it again."
            ) from error
        array = np.asarray(output)
        if array.dtype.kind not in "fiu":
            raise OochubError(
                f"The output {self._output} of {self._file} is not numeric (it holds {_name_kind(array)}), but "
                "logits are asked for. Export it with only the logits."
            )
        if array.ndim != 2 or len(array) != len(values):  # of every run: rows of another number are of other images
            raise OochubError(
                f"{self._file} must give logits ({len(values)}, classes), one row per image, but its output is "
                f"{array.shape}. Export it with one row of logits per image."
            )
        return array

    def _check_logits(self, made: NDArray[np.float32]) -> None:
        """Looks at the first batch."""
        if not np.isfinite(made).all():
            raise OochubError(f"{self._file} gives outputs that are not finite: its weights are corrupted.")
        if made.shape[1] > 1 and (made >= 0).all() and np.allclose(made.sum(1), 1, atol=1e-3):
            raise OochubError(
                f"{self._file} gives probabilities, but logits are asked for. Export it without its softmax."
            )
        self._is_known = True

    def _find_beside(self, name: str) -> Path | None:
        """A file beside this one; of a folder `onnx`, as repositories of the Hub have it, also the folder above."""
        folder = self._file.absolute().parent
        folders = (folder, folder.parent) if folder.name == "onnx" else (folder,)
        return next((folder / name for folder in folders if (folder / name).is_file()), None)

    def _load_processor(self, folder: Path) -> object:
        try:
            return load_image_processor(str(folder))
        except OochubError:
            raise
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ImportError, RuntimeError) as error:
            raise OochubError(
                f"The image processor of {self._file} cannot be read: {first_line(error)}. Save it again."
            ) from error


def check_onnx_settings(asked: PredictionSettings) -> None:
    """Refuses what an ONNX file cannot do.

    Raises:
        OochubError: Features, ODIN, a dtype, a compiled network or a cluster; what to do instead.
    """
    refused = {
        "features": (
            not isinstance(asked.features, bool),
            "it gives the input of its last layer alone (features=True), not that of a named one",
        ),
        "odin": (asked.odin is not None, "it has no gradients"),
        "compile": (asked.compile, "ONNX Runtime makes its own loops"),
        "dtype": (asked.dtype not in ("auto", "float32"), "its numbers are those that it was exported with"),
        "runtime": (asked.runtime != "torch", "ONNX Runtime runs it already"),
        "engine": (asked.engine != "local", "its session stays in this process"),
    }
    for name, (is_asked, why) in refused.items():
        if is_asked:
            option = choose_wording(f"{name}=", f"--{name}")
            raise OochubError(
                f"An ONNX file cannot be predicted with {option}: {why}. Remove it, or predict the model's folder."
            )


class _ImageInput(NamedTuple):
    """The input of a file: a size or batch of None is free."""

    name: str
    batch: int | None
    height: int | None
    width: int | None
    is_channels_last: bool


def _parse(file: Path) -> "onnx.ModelProto":
    """The file without its external data."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        proto = onnx.load(str(file), load_external_data=False)
    except (DecodeError, ValueError, RuntimeError) as error:
        raise OochubError(
            f"{file} is not a valid ONNX file, or is truncated ({first_line(error)}). Download it again."
        ) from error
    if not proto.HasField("graph") or not proto.graph.node:
        raise OochubError(
            f"{file} is not a valid ONNX file, or is truncated: it has no graph. Download or export it again."
        )
    return proto


def _list_tensors(message: "Message") -> Iterator["onnx.TensorProto"]:
    """Every tensor that is stored somewhere in a message."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for about, value in message.ListFields():
        if about.type == about.TYPE_MESSAGE:
            for part in (value,) if hasattr(value, "DESCRIPTOR") else value:
                yield from _list_tensors(part)


def _check_external_data(proto: "onnx.ModelProto", file: Path) -> list[Path]:
    """The files that hold weights beside a file, which lie in its folder.

    Raises:
        OochubError: One that lies elsewhere, by its name or as a link, or is not there.
    """
    import onnx

    folder = file.absolute().parent
    paths: dict[Path, None] = {}
    for tensor in _list_tensors(proto):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        place = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        path = folder / place
        if "\0" in place or len(place) > _LONGEST_NAME:
            raise OochubError(
                f"{file} takes weights from {place[:100]!r}, which is not a name. Download both files again."
            )
        if Path(place).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
            raise OochubError(
                f"{file} takes weights from {place[:100]!r}, which lies outside its folder and is not read. Put the "
                "file of weights beside it, under a plain name."
            )
        if not path.is_file():
            raise OochubError(
                f"{file} takes weights from {place[:100]!r}, which is not there. Download both files again."
            )
        paths[path] = None
    return list(paths)


def _read_shape(value: "onnx.ValueInfoProto") -> list[int | str] | None:
    """The sizes of a value, whole numbers or names; None where nothing is said."""
    shape = value.type.tensor_type
    if not shape.HasField("shape"):
        return None
    return [
        dimension.dim_value if dimension.HasField("dim_value") else dimension.dim_param for dimension in shape.shape.dim
    ]


def _find_input(proto: "onnx.ModelProto", file: Path) -> _ImageInput:
    import onnx

    weights = {tensor.name for tensor in proto.graph.initializer}
    inputs = [value for value in proto.graph.input if value.name not in weights]
    if len(inputs) != 1 or len(shape := _read_shape(inputs[0]) or []) != 4:
        words = ", ".join(f"{value.name} {_format_shape(_read_shape(value))}" for value in inputs[:_LISTED]) or "none"
        raise OochubError(f"{file} must have one input, a batch of images of 4 dimensions; it has {words}.")
    (value,) = inputs
    kind = value.type.tensor_type.elem_type
    if kind != onnx.TensorProto.FLOAT:
        kinds = onnx.TensorProto.DataType.items()
        kind_name = next((name.lower() for name, number in kinds if number == kind), f"type {kind}")
        raise OochubError(
            f"{file} reads {kind_name} images, but they are given as float32. "
            "Export it with a float32 input (converters to float16 call that keep_io_types)."
        )
    dims = value.type.tensor_type.shape.dim
    possible = [axis for axis in (1, 3) if not isinstance(shape[axis], int) or shape[axis] == _CHANNELS]
    sure = [axis for axis in possible if shape[axis] == _CHANNELS]
    named = [
        axis
        for axis in possible
        if "channel" in str(shape[axis]).lower() or dims[axis].denotation in ("DATA_CHANNEL", "CHANNEL")
    ]
    if not possible:
        raise OochubError(
            f"{file} reads {_format_shape(shape)}, but images have 3 channels, in the second or the last dimension."
        )
    chosen = next((several for several in (named, sure, possible) if len(several) == 1), None)
    if chosen is None:
        raise OochubError(
            f"The input {value.name} of {file} is {_format_shape(shape)}, which does not say whether the channels come "
            "second (NCHW) or last (NHWC). Write its shape into it: python -m "
            f"onnxruntime.tools.make_dynamic_shape_fixed --input_name {value.name} --input_shape 1,3,224,224 {file} "
            "fixed.onnx"
        )
    fixed = [length if isinstance(length, int) and length > 0 else None for length in shape]
    if fixed[0] is not None and fixed[0] > _LARGEST_BATCH:
        raise OochubError(
            f"{file} reads {fixed[0]:,} images at once; at most {_LARGEST_BATCH:,} are given. Export it with a batch "
            "of another size, or of any."
        )
    is_last = chosen == [3]
    height, width = fixed[1:3] if is_last else fixed[2:4]
    return _ImageInput(value.name, fixed[0], height, width, is_last)


def _find_output(proto: "onnx.ModelProto", file: Path) -> tuple[str, int | None, bool]:
    """The output that holds the logits, how many classes it has if that is said, and whether a softmax was skipped."""
    import onnx

    outputs = {output.name: _read_shape(output) for output in proto.graph.output}
    flat = [name for name, shape in outputs.items() if shape is None or len(shape) == 2]
    name = "logits" if "logits" in outputs else flat[0] if len(flat) == 1 else None
    if name is None:
        words = (
            ", ".join(f"{output} {_format_shape(shape)}" for output, shape in [*outputs.items()][:_LISTED]) or "none"
        )
        raise OochubError(
            f"{file} must have one output of logits (n, classes), or one that is named logits; it has {words}. "
            "Export it with only the logits."
        )
    shape = outputs[name]
    if shape is not None and len(shape) != 2:
        raise OochubError(f"The output {name} of {file} must be (n, classes), but is {_format_shape(shape)}.")
    classes = shape[1] if shape is not None and isinstance(shape[1], int) and shape[1] > 0 else None
    makers = {output: node for node in proto.graph.node for output in node.output}
    node = makers.get(name)
    for _ in proto.graph.node:  # at most as many: identities may go round
        if node is None or node.op_type != "Identity" or not node.input:
            break
        node = makers.get(node.input[0])
    if node is None or node.op_type not in _SQUASHING or node.domain not in ("", "ai.onnx") or not node.input:
        return name, classes, False
    logits = node.input[0]
    if logits not in outputs:
        value = onnx.helper.make_tensor_value_info(logits, onnx.TensorProto.FLOAT, None)
        proto.graph.output.append(value)
    warnings.warn(
        f"{file} ends in {node.op_type}, which gives no logits. What goes into it is predicted: the logits.",
        OochubWarning,
        stacklevel=2,
    )
    return logits, classes, True


def _find_last_layer(proto: "onnx.ModelProto", output: str) -> "onnx.NodeProto | None":
    """The linear layer or 1x1 convolution that makes the output, perhaps reshaped; None without one."""
    makers = {name: node for node in proto.graph.node for name in node.output if node.op_type != "Constant"}
    node = makers.get(output)
    for _ in proto.graph.node:
        if node is None or node.op_type not in _PASSING:
            break
        node = next((makers[maker] for maker in node.input if maker in makers), None)
    is_linear = node is not None and node.op_type in ("Gemm", "MatMul", "Conv")
    return node if is_linear else None


def _format_shape(shape: Sequence[int | str] | None) -> str:
    return (
        "(of a shape that it does not say)"
        if shape is None
        else f"({', '.join(str(length or '?') for length in shape)})"
    )


def _split_batch(values: NDArray[np.float32], size: int | None) -> Iterator[NDArray[np.float32]]:
    """The batch in pieces of a fixed size, the last one filled with copies of its last image; whole without one."""
    if size is None:
        yield values
        return
    for start in range(0, len(values), size):
        few = values[start : start + size]
        more = np.repeat(few[-1:], size - len(few), axis=0)
        yield np.concatenate([few, more]) if len(more) else few


def _read_value(text: str) -> object:
    """What a text of the metadata means: JSON, or a literal of Python, as ultralytics writes; else the text."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return text


def _name_kind(found: NDArray[np.generic]) -> str:
    first = found.ravel()[0] if found.size else None
    return {"U": "texts", "S": "texts", "b": "truth values"}.get(
        found.dtype.kind, "texts" if isinstance(first, str) else f"a {type(first).__name__} per row"
    )
