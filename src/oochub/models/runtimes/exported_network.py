"""A network in another runtime than torch: exported once as ONNX into the cache, and run by ONNX Runtime or OpenVINO.

It is believed only if its logits on the first rows are those of torch, and is quantized to int8 only after that. The
file is named by a digest of the network's weights, layers and code, of the shape of a batch and of the versions that
made it, and by a digest of its own bytes: one that is damaged, or was made of another network, is made again. Nothing
is exported unless a runtime was asked for.
"""

import hashlib
import io
import logging
import math
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError, choose_wording, list_causes
from oochub.models.extraction import Calls, FeatureReader, Head, record_calls, take_features
from oochub.models.onnx_file import open_session
from oochub.models.remembered_checks import MeasuredNetwork
from oochub.models.runtimes import quantization
from oochub.models.runtimes.quantization import (
    Agreement,
    CalibrationImages,
    measure_agreement,
    needs_reduced_range,
    quantize,
)
from oochub.settings.prediction_settings import PredictionSettings, list_runtimes
from oochub.stats.logits import logit_difference
from oochub.storage.cache import digest_files, make_key, make_once
from oochub.storage.files import make_scratch_folder

_WHAT = "The exported network"
_TOLERANCE = 1e-4  # of the range of the logits; both compute in float32, in another order
_LARGEST = 19 * 10**8  # bytes of weights; a file of ONNX holds less than 2^31
_ROUNDS = 3  # passes of a batch, of which the fastest counts
_PLACES = ("Exception from ", "Check '", "FrontEnd API ", "Model wasn't ", "While validating ", "-- ", "Summary:")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")

Run = Callable[[Mapping[str, NDArray[np.generic]]], Sequence[NDArray[np.float32]]]
"""Runs a whole batch: the logits, and the features if they were exported."""


class RuntimeNetwork(nn.Module):
    """A network that a runtime computes; batches are filled to the rows that it was exported for.

    Args:
        name: Name of the runtime.
        run: Runs a batch of the shapes of `example`.
        example: A batch, by the names of the inputs.
        unscored: Images that int8 was calibrated on, of which none may come; None for none.

    Attributes:
        name: Name of the runtime.
        features: Features of the last batch (b, d); None if they were not exported.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        example: Mapping[str, torch.Tensor],
        *,
        unscored: CalibrationImages | None = None,
    ) -> None:
        super().__init__()
        self.name, self._run, self._unscored = name, run, unscored
        self._shapes = {key: tensor.shape for key, tensor in example.items()}
        self.features: torch.Tensor | None = None

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """The logits float32 (b, c) of a batch.

        Raises:
            OochubError: Images of another shape than those of the first rows, or one that int8 was calibrated on.
        """
        if self._unscored is not None:
            self._unscored.check_unscored(inputs)
        return ImageClassifierOutput(logits=self.compute(**inputs))

    def compute(self, **inputs: torch.Tensor) -> torch.Tensor:
        """The logits of any batch, also of images that int8 was calibrated on; see `forward`."""
        shapes = {key: tensor.shape[1:] for key, tensor in inputs.items()}
        if shapes != {key: shape[1:] for key, shape in self._shapes.items()}:
            raise OochubError(
                f"{self.name} takes images of one shape, but the processor of this model gives several. Remove "
                f"{_name_option()}."
            )
        count, rows = len(next(iter(inputs.values()))), next(iter(self._shapes.values()))[0]
        outputs = [self._run(_fill_batch(inputs, start, rows)) for start in range(0, count, rows)]
        logits, *features = (torch.from_numpy(np.concatenate(arrays)[:count]) for arrays in zip(*outputs, strict=True))
        self.features = features[0] if features else None
        return logits


class RuntimeFeatures(FeatureReader):
    """The input of the last linear layer, which a runtime gives beside the logits.

    Args:
        head: The layer.
        network: Network in a runtime; its features are those of its last batch.
    """

    def __init__(self, head: Head, network: RuntimeNetwork) -> None:
        self.head, self._network = head, network

    def __call__(self, calls: Calls, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """See `FeatureReader`."""
        assert self._network.features is not None  # noqa: S101  they are exported where this is made
        return self._network.features


class RuntimeChoice(NamedTuple):
    """A network in a runtime, and what predictions say of it.

    Attributes:
        network: The network; None for torch itself.
        details: What predictions say, by name.
        check: How far its logits of the few rows are from those of torch in float32, in words; for torch "".
        is_earlier: Whether that was measured in an earlier run, on its first rows.
    """

    network: RuntimeNetwork | None
    details: Mapping[str, str]
    check: str = ""
    is_earlier: bool = False


class _Checked(NamedTuple):
    """A network whose logits are those of torch, what `RuntimeChoice` says of them, and the content of its file."""

    network: RuntimeNetwork
    check: str
    is_earlier: bool
    model: bytes


@dataclass(frozen=True)
class _Comparison:
    """A few rows, what torch says of them in float32, and how a runtime is held against it."""

    network: nn.Module
    few: Mapping[str, torch.Tensor]
    example: Mapping[str, torch.Tensor]
    head: Head | None
    describe: Callable[[torch.Tensor, torch.Tensor], str]

    @cached_property
    def reference(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The logits, and the features if a head is given.

        Raises:
            OochubError: The network gives no logits for each row.
        """
        layers = () if self.head is None else self.head.layers
        with torch.inference_mode(), record_calls(self.network, layers) as calls:
            logits = self.network(**self.few).logits
            features = take_features(calls, layers) if layers else None
        if not logits.is_floating_point() or logits.ndim != 2:
            raise OochubError(f"{_name_option()} is for models with logits for each row. Remove it.")
        return logits, features

    def compare(self, opened: RuntimeNetwork) -> tuple[float, str]:
        """The largest difference from torch, and where it is small what is said of it."""
        logits, features = self.reference
        ours = opened(**self.few).logits
        difference = logit_difference(ours, logits)
        if features is not None and opened.features is not None:
            difference = max(difference, logit_difference(opened.features, features))
        return difference, self.describe(ours, logits) if difference <= _TOLERANCE else ""


def check_runtime(asked: PredictionSettings) -> None:
    """Checks that the runtime can run on the device, and that images to calibrate on are of use.

    Raises:
        OochubError: It was asked for by name, and the device is no processor; images without int8.
    """
    if asked.dtype != "int8" and asked.calibrate_on is not None:
        dtype = choose_wording('dtype="int8"')
        option = choose_wording("calibrate_on=")
        raise OochubError(f"{option} requires {dtype}. Add it, or remove {option}.")
    if asked.runtime in _OPEN and asked.device_type != "cpu":
        raise OochubError(
            f"{_name_option(asked.runtime)} runs on the processor, but the device is {asked.device}. Add "
            f"{choose_wording('device=', '--device ')}cpu, or remove it."
        )


def open_runtime(
    network: nn.Module,
    few: Mapping[str, torch.Tensor],
    asked: PredictionSettings,
    *,
    describe: Callable[[torch.Tensor, torch.Tensor], str],
    head: Head | None = None,
    calibration: CalibrationImages | None = None,
    has_classes: bool = True,
) -> RuntimeChoice:
    """A network in the runtime that was asked for; for "auto" in the fastest.

    Args:
        network: Network of a mode, in evaluation mode; `network(**few).logits` is (b, c).
        few: Inputs of a few rows.
        asked: The settings.
        describe: Says of its logits (n, c) of the few rows, and of those of torch, how far they are apart.
        head: Last layer, if the features are stored.
        calibration: The images of int8, if it was asked for.
        has_classes: Whether the largest logit is the answer.

    Raises:
        OochubError: It cannot be exported, or gives other logits than torch. For "auto" it then stays in torch.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1])
    >>> network, asked = ResNetForImageClassification(config).eval(), PredictionSettings(runtime="onnxruntime")
    >>> few, describe = {"pixel_values": torch.randn(2, 3, 32, 32)}, lambda ours, theirs: f"{len(ours)} rows compared"
    >>> choice = open_runtime(network, few, asked, describe=describe)
    >>> tuple(choice.network(pixel_values=torch.zeros(5, 3, 32, 32)).logits.shape)
    (5, 2)
    >>> choice.check
    '2 rows compared'
    """
    if set(few) - {"pixel_values", "pixel_mask"}:
        raise OochubError(
            f"{_name_option(asked.runtime)} is for models of images, but this one reads {', '.join(few)}. Remove it."
        )
    example = {name: _repeat_rows(tensor, asked.rows_a_pass) for name, tensor in few.items()}
    comparison = _Comparison(network, few, example, head, describe)
    open_checked = partial(_open_checked, comparison, MeasuredNetwork(network, kept=asked.cache), has_classes)
    if asked.runtime != "auto":
        checked = open_checked(asked.runtime)
        details = {"runtime": _describe(asked.runtime)}
        if asked.dtype != "bfloat16" and calibration is None:
            return RuntimeChoice(checked.network, details, checked.check, checked.is_earlier)
        if calibration is None:
            shorter = RuntimeNetwork(asked.runtime, _OPEN[asked.runtime](checked.model, "bf16"), example)
        else:
            shorter, agreement = _open_quantized(asked.runtime, network, checked.model, example, calibration)
            details["int8_check"] = agreement.describe(has_classes=has_classes)
        return RuntimeChoice(shorter, details, describe(shorter(**few).logits, comparison.reference[0]))
    if asked.device_type != "cpu":
        details = {"runtime": _describe("torch"), "runtime_auto": "not on a processor"}
        return RuntimeChoice(None, details)
    seconds: dict[str, float] = {}
    networks: dict[str, _Checked] = {}
    faults = []
    for name in list_runtimes():
        try:
            networks[name] = open_checked(name)
        except OochubError as error:
            faults.append(f"{name}: {error}")
    for name, candidate in {
        "torch": network,
        **{name: checked.network for name, checked in networks.items()},
    }.items():
        seconds[name] = _measure_seconds(candidate, example)
    fastest = min(seconds, key=lambda name: seconds[name])
    ratios = ", ".join(f"{name} {seconds[name] / seconds['torch']:.2f}" for name in networks)
    note = "; ".join(filter(None, [f"times of the first rows to torch: {ratios}" if ratios else "", *faults]))
    details = {"runtime": _describe(fastest), "runtime_auto": note or "no other runtime is installed"}
    if fastest not in networks:
        return RuntimeChoice(None, details)
    return RuntimeChoice(networks[fastest].network, details, networks[fastest].check, networks[fastest].is_earlier)


def _open_checked(comparison: _Comparison, measured: MeasuredNetwork, has_classes: bool, name: str) -> _Checked:
    """The network in a runtime, its float32 logits compared with those of torch, once for each file.

    Raises:
        OochubError: It cannot be exported or opened, or is not the same.
    """
    difference = math.nan
    for model in _list_exports(name, comparison, measured.digest):
        try:
            opened = RuntimeNetwork(name, _OPEN[name](model, "f32"), comparison.example)
            (difference, check), is_earlier = measured.measure_once(
                [name, version(name), hashlib.sha256(model).hexdigest(), has_classes],
                partial(comparison.compare, opened),
                holds=lambda value: value[0] <= _TOLERANCE,
            )
        except OochubError:
            raise
        except Exception as error:  # a runtime's own, of any class; a file of the cache is then made again
            fault: Exception | None = error
            continue
        fault = None
        if difference <= _TOLERANCE:
            return _Checked(opened, check, is_earlier, model)
    if fault is not None:
        raise OochubError(
            f"{name} cannot run the network: {_describe_fault(fault)} Remove {_name_option()}."
        ) from fault
    raise OochubError(
        f"In {name} the network gives other logits than in torch: {difference:.2%} of their range apart on the first "
        f"rows, at most {_TOLERANCE:.2%} is allowed. Remove {_name_option()}."
    )


def _list_exports(name: str, comparison: _Comparison, digest: str | None) -> Iterator[bytes]:
    """The network as ONNX: what the cache has, if it is whole, then exported anew and kept."""
    of_network = comparison.network, comparison.example, comparison.head
    file = None if digest is None else f"{_make_export_key(digest, *of_network)}.onnx"
    yield from make_once("runtimes", file, lambda: _export(name, *of_network), what=_WHAT)


def _open_quantized(
    name: str,
    network: nn.Module,
    model: bytes,
    example: Mapping[str, torch.Tensor],
    calibration: CalibrationImages,
) -> tuple[RuntimeNetwork, Agreement]:
    """The network in int8, which takes no image that it was calibrated on, and how far it is from float32.

    Raises:
        OochubError: It cannot be quantized or opened.
    """
    code, digest = digest_files([Path(quantization.__file__)]), hashlib.sha256(model).hexdigest()
    key = make_key(digest, calibration.key, code, needs_reduced_range(), version("onnxruntime"))

    def make() -> bytes:
        rows = len(next(iter(example.values())))
        with _quiet():
            return quantize(model, (_fill_batch(batch, 0, rows) for batch in calibration.calibrating()))

    fault: Exception | None = None
    try:
        for content in make_once("runtimes", f"{key}.onnx", make, what=_WHAT):
            try:
                opened = RuntimeNetwork(name, _OPEN[name](content, "f32"), example, unscored=calibration)
                opened.compute(**example)
                break
            except Exception as error:  # a runtime's own, of any class; a file of the cache is then made again
                fault = error
        else:
            raise fault or AssertionError(name)
    except OochubError:
        raise
    except Exception as error:
        raise OochubError(
            f"The network cannot be quantized for {name}: {_describe_fault(error)} Remove {choose_wording('dtype=')} "
            "int8."
        ) from error
    with torch.inference_mode():
        return opened, measure_agreement(
            opened.compute, lambda **inputs: network(**inputs).logits, calibration.checking()
        )


def _make_export_key(digest: str, network: nn.Module, example: Mapping[str, torch.Tensor], head: Head | None) -> str:
    """A digest of all that an export is made of, from that of the network."""
    names = {layer: name for name, layer in network.named_modules()}
    layers = [] if head is None else [names[layer] for layer in head.layers]
    shapes = [(name, str(tensor.dtype), tuple(tensor.shape)) for name, tensor in example.items()]
    packages = [(name, version(name)) for name in ("torch", "transformers", "onnx", "onnxscript")]
    return make_key(digest, layers, shapes, packages, digest_files([Path(__file__)]))


class _Positional(nn.Module):
    """A network as the exporter takes it: inputs by place, the logits and maybe the features."""

    def __init__(self, network: nn.Module, names: Sequence[str], head: Head | None) -> None:
        super().__init__()
        self.network, self._names = network, tuple(names)
        self._layers = () if head is None else head.layers

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with record_calls(self.network, self._layers) as calls:
            logits = self.network(**dict(zip(self._names, values, strict=True))).logits
        return (logits, take_features(calls, self._layers)) if self._layers else (logits,)


def _export(name: str, network: nn.Module, example: Mapping[str, torch.Tensor], head: Head | None) -> bytes:
    """The network as the bytes of an ONNX file for batches of one shape.

    Raises:
        OochubError: The exporter cannot, or it is too large.
    """
    size = sum(tensor.numel() * tensor.element_size() for tensor in (*network.parameters(), *network.buffers()))
    if size > _LARGEST:
        raise OochubError(
            f"{_name_option(name)} takes networks of at most {_LARGEST / 1e9:.1f} GB, but this one has "
            f"{size / 1e9:.1f} GB. Remove it."
        )
    outputs = ["logits"] if head is None else ["logits", "features"]
    whole, given = _Positional(network, tuple(example), head).eval(), tuple(tensor.cpu() for tensor in example.values())
    try:
        with _quiet(), torch.no_grad(), make_scratch_folder() as folder:
            program = torch.onnx.export(
                whole, given, dynamo=True, verbose=False, input_names=list(example), output_names=outputs
            )
            assert program is not None  # noqa: S101  so it is with dynamo
            program.save(str(folder / "network.onnx"), external_data=False)
            return (folder / "network.onnx").read_bytes()
    except OochubError:
        raise
    except Exception as error:  # the exporter lets through what any layer raises
        cause = [*list_causes(error)][-1]
        raise OochubError(
            f"{type(network).__name__} cannot be exported for {name}: {_describe_fault(cause)} Remove {_name_option()}."
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """A block in which the exporter says nothing: it warns of packages that no model needs, and prints graphs."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _open_onnxruntime(model: bytes, precision: str) -> Run:
    session = open_session(model)

    def run(values: Mapping[str, NDArray[np.generic]]) -> Sequence[NDArray[np.float32]]:
        return [np.asarray(array) for array in session.run(None, dict(values))]

    return run


def _open_openvino(model: bytes, precision: str) -> Run:
    """OpenVINO would take bfloat16 by itself where the processor has it: what it computes in is always said."""
    import openvino

    core = openvino.Core()
    about = {
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "NUM_STREAMS": 1,
    }
    compiled = core.compile_model(core.read_model(model), "CPU", about)
    if precision == "bf16" and "bfloat16" not in str(compiled.get_property("INFERENCE_PRECISION_HINT")):
        option = choose_wording('dtype="bfloat16"')
        raise OochubError(f"OpenVINO does not compute in bfloat16 on this processor. Remove {option}.")

    def run(values: Mapping[str, NDArray[np.generic]]) -> Sequence[NDArray[np.float32]]:
        outputs = compiled(dict(values))
        return [np.asarray(outputs[output]) for output in compiled.outputs]

    return run


_OPEN: Mapping[str, Callable[[bytes, str], Run]] = {"onnxruntime": _open_onnxruntime, "openvino": _open_openvino}
"""What opens the bytes of an ONNX file, by the name of the runtime, which is that of its package."""


def _fill_batch(inputs: Mapping[str, torch.Tensor], start: int, rows: int) -> dict[str, NDArray[np.generic]]:
    """Rows from a place on, filled with copies of the first of them."""
    few = {name: tensor[start : start + rows] for name, tensor in inputs.items()}
    return {name: np.ascontiguousarray(_repeat_rows(tensor, rows).cpu().numpy()) for name, tensor in few.items()}


def _repeat_rows(values: torch.Tensor, rows: int) -> torch.Tensor:
    """The first rows of a batch; a shorter one is filled with copies of its first row."""
    more = max(0, rows - len(values))
    return torch.cat([values, values[:1].expand(more, *values.shape[1:])])[:rows] if more else values[:rows]


def _measure_seconds(network: nn.Module, example: Mapping[str, torch.Tensor]) -> float:
    """The time of a batch, the fastest of a few."""
    seconds = []
    with torch.inference_mode():
        for _ in range(_ROUNDS + 1):  # the first one warms up
            start = time.perf_counter()
            network(**example)
            seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def _describe(name: str) -> str:
    return f"{name} {version(name)}"


def _name_option(name: str = "") -> str:
    return choose_wording(f'runtime="{name}"' if name else "runtime=", f"--runtime {name}".strip())


def _describe_fault(error: BaseException) -> str:
    """The first line that says something; OpenVINO first says in which of its files the error is."""
    lines = [line for line in _COLORS.sub("", str(error)).splitlines() if line.strip()]
    telling = [line for line in lines if not line.strip().startswith(_PLACES)]
    text = (telling or lines or [type(error).__name__])[0]
    return f"{text.strip()[:200].rstrip('. ')}."
