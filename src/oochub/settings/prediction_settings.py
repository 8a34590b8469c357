"""How rows are predicted: splits, size of a pass, device, what is stored, and which processes share the work."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Literal

from oochub.errors import OochubError, check_installed, choose_wording
from oochub.settings.option import Settings, option

_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "onnxruntime": {"onnxruntime": "onnx", "onnx": "onnx", "onnxscript": "onnx"},
    "openvino": {"openvino": "openvino", "onnx": "openvino", "onnxscript": "openvino"},
}
"""What a runtime needs, and the extra that brings it."""
_SHORT = (("openvino", "bfloat16"), ("openvino", "int8"), ("onnxruntime", "int8"))
"""The runtimes that compute in fewer bits."""
ODIN_TEMPERATURE = 1000.0
"""The temperature of Liang, Li and Srikant 2018, and of ImageNet-OOD's ODIN."""


@dataclass(frozen=True, kw_only=True)
class EngineSettings(Settings):
    """The engine, and the cluster of one that has a cluster.

    Raises:
        OochubError: An engine that there is not, or settings of a cluster without one.

    >>> EngineSettings(engine="ray", actors=2).words()
    ('--engine', 'ray', '--actors', '2')
    """

    engine: Literal["local", "ray"] = option(
        "local",
        help="Execution engine: local (this process, or torchrun processes except in a repair) or ray (a Ray cluster).",
        more="Each process of torchrun has its own device and its own parts. On a cluster (`pip install "
        "'oochub[ray]'`) tasks read and actors hold the model. Rows, ids and numbers stay the same.",
        panel="Speed",
        commands=("predict", "contexts", "repair"),
        is_keyed=False,
    )
    ray_address: str | None = option(
        None,
        help="Address of a Ray cluster (default: start one on this machine).",
        more='For example "auto".',
        panel="Speed",
        commands=("predict", "contexts", "repair"),
        is_keyed=False,
    )
    actors: int | None = option(
        None,
        help="Number of model replicas in the cluster (default: one per GPU, or one per CPU without GPUs).",
        panel="Speed",
        least=1,
        hint="Omit it for the default.",
        commands=("predict", "contexts", "repair"),
        is_keyed=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine != "ray" and (self.ray_address is not None or self.actors is not None):
            words = choose_wording("ray_address= and actors=")
            raise OochubError(f"{words} need {choose_wording('engine=', '--engine ')}ray.")


def list_runtimes() -> list[str]:
    """The runtimes beside torch that are installed, with what exports a network for them."""
    return [name for name, needed in _PACKAGES.items() if all(map(find_spec, needed))]


@dataclass(frozen=True, kw_only=True)
class PredictionSettings(EngineSettings):
    """The settings of `oochub.predict` besides the model, its mode and the data.

    Raises:
        OochubError: A setting that is out of range, or a name that is none; what is stored beside answers of a compiled
            network.

    >>> PredictionSettings(device="cpu").rows_a_pass
    16
    """

    splits: Iterable[str] | None = option(
        None,
        help="Splits to predict (default: all except train).",
        panel="Data",
        common=True,
        flag="--split",
        commands=("predict", "audit"),
        is_keyed=False,
    )
    limit: int | None = option(
        None,
        help="Predict at most this many random rows per split, for a quick look.",
        more="The seed is fixed. For a stream they are the first rows. Every report says so.",
        panel="Data",
        common=True,
        least=1,
        hint="Omit it for all rows.",
    )
    skip_broken: bool = option(
        False,
        help="Skip unreadable images and report how many were skipped.",
        more="Also those that are refused for safety. Otherwise the first one is an error.",
        panel="Data",
        flag="--skip-broken",
    )
    features: object = option(
        False,
        help="Also save the features before the last layer, and the last layer.",
        more="They are `features`, and `Predictions.head`, in a file `<out>.head.safetensors`. The name of a layer, "
        'such as "layer4" of `net.named_modules()`, stores its output instead: (n, d), or the mean over the tokens of '
        "(n, t, d) or the places of (n, d, h, w). A function or module from the batch of images to floats (n, d) "
        "stores what it returns. Both have no head, so detectors that need one say so.",
        panel="Output",
        common=True,
        flag="--features/--no-features",
        typed=bool,
        commands=("predict",),
    )
    images: bool = option(
        True,
        help="Save thumbnails of the worst mistakes, for the report.",
        more="JPEGs of a few of each group, for the report.",
        panel="Output",
        commands=("predict",),
    )
    odin: float | None = option(
        None,
        help="Also store the logits of images perturbed by ODIN with this epsilon, usually 0.0014.",
        more="Stored as `odin_logits`. The step is in scaled pixels, epsilon / std if the processor normalizes; see "
        "`oochub.models.extraction`.",
        panel="Output",
        above=0,
        hint="The usual value is 0.0014.",
        commands=("predict",),
    )
    odin_temperature: float = option(
        ODIN_TEMPERATURE,
        help="Temperature of ODIN's gradient.",
        more="The same as that of the detector `odin`, which reads the column.",
        panel="Output",
        above=0,
        hint="The usual value is 1000.",
        commands=("predict",),
    )
    zoom: float | None = option(
        None,
        help="Also store the logits of images zoomed by this factor, above 1, for --probe zoom.",
        more="For example 1.2. Stored as `zoom_logits` (with `features` also `zoom_features`, with `odin` also "
        "`zoom_odin_logits`); the network sees the center of each image, 1 / zoom of each side.",
        panel="Output",
        above=1,
        most=100,  # what it keeps of an image of 224 pixels is 2: of smaller centers nothing is left to see
        hint="The usual value is 1.2, which keeps 1 / 1.2 of each side.",
        commands=("predict",),
    )
    preprocessing: Literal["auto", "fused", "processor", "draft"] = option(
        "auto",
        help="Image preprocessing: fused (fast), processor (the model's own), or auto (fused if it matches the "
        "processor).",
        more='"fused" decodes and resizes in one pass, within one gray level of the processor; "processor" is the '
        'model\'s own. "auto" uses "fused" if pixels are within one gray level and logits within 2% of their '
        'range on a few images and noise, otherwise "processor"; the provenance says which was used, and what '
        'was measured. "draft" lets the decoder shrink large JPEGs first, which is faster and less exact; the report '
        "says by how much. For images only.",
        panel="Speed",
    )
    batch_size: int | None = option(
        None,
        help="Number of rows per batch (default: 16, or 128 on a GPU).",
        panel="Speed",
        common=True,
        least=1,
        hint="Omit it for the default.",
    )
    device: Any = option(
        "auto",
        help="Device: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.",
        more="Or a `torch.device`.",
        panel="Speed",
        common=True,
        typed=str,
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16", "int8"] = option(
        "auto",
        help="Precision of the network; auto is float32. int8 requires --runtime and --calibrate-on.",
        more="By torch's autocast; logits are stored in float32. The provenance says how far the first rows move from "
        'float32. "int8" is for the runtimes onnxruntime and openvino.',
        panel="Speed",
    )
    calibrate_on: object = option(
        None,
        help="Images to calibrate int8 on: a split that is not evaluated, or a folder.",
        more="Or a `datasets.Dataset`. At most 192 of them are drawn at random by a fixed seed; a third of these "
        "measure how far the answers move from float32, which the page says. An image that is scored is an error.",
        panel="Speed",
        typed=str | None,
    )
    runtime: Literal["torch", "onnxruntime", "openvino", "auto"] = option(
        "torch",
        help="Inference runtime on CPU; auto uses the fastest installed one, measured on the first rows.",
        more="The network is exported once into the cache, and refused if its logits on the first rows are not torch's "
        "within 1e-4 of their range. The provenance names runtime and version. Extras: `oochub[onnx]`, "
        "`oochub[openvino]`.",
        panel="Speed",
    )
    num_workers: int | None = option(
        None,
        help="Number of image-decoding threads (default: one per core; 0: decode in the main thread, between batches).",
        more="They decode ahead of the network, for a dataset or a stream. Rows and numbers stay the same.",
        panel="Speed",
        least=0,
        hint="Omit it for one thread per core.",
        is_keyed=False,
    )
    threads: int | None = option(
        None,
        help="Number of CPU threads for the network (default: chosen by model size and free cores).",
        more="The logits are the same bits with any number. Other programs and the threads that decode need cores too.",
        panel="Speed",
        least=1,
        hint="Omit it to have it chosen for each pass.",
        is_keyed=False,
    )
    compile: bool = option(
        False,
        help="Compile the network first. Worthwhile for many rows; requires a C++ compiler and saves only logits.",
        more="By torch, in half a minute or more (on a GPU by triton); not with features or odin. The provenance says "
        "how far logits move.",
        panel="Speed",
        flag="--compile",
    )
    cache: bool = option(
        True,
        help="Reuse cached predictions if nothing has changed.",
        more="Predictions by a model folder or Hub id are cached, and reused if model, data, options and versions are "
        'the same: no model runs, and `provenance["when"]["cached"]` says when it did. A model object and a '
        "stream always run. See docs/cache.md.",
        panel="Speed",
        is_keyed=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.zoom is not None:
            object.__setattr__(self, "zoom", float(self.zoom))
        if type(self.features).__name__ in ("bool_", "bool"):  # of NumPy
            object.__setattr__(self, "features", bool(self.features))
        elif not isinstance(self.features, str) and not callable(self.features):
            raise OochubError(
                "features must be true, false, the name of a layer or a function from images to (n, d), got "
                f"{self.features!r:.80}."
            )
        if self.compile and (self.features is not False or self.odin is not None):
            options, others = (
                choose_wording("compile=True"),
                choose_wording("features= and odin="),
            )
            raise OochubError(
                f"{options} can only save logits, because the network is compiled as one graph. Remove {others}, or it."
            )
        if self.preprocessing == "draft" and self.zoom is not None:
            raise OochubError(
                f"{choose_wording('zoom=')} needs full-resolution images, which draft preprocessing does not decode. "
                f"Remove {choose_wording('preprocessing=')}draft, or it."
            )
        if self.runtime != "torch":
            self._check_runtime()
        self._check_calibration()

    def _check_calibration(self) -> None:
        """Refuses int8 without a runtime or images; images without int8 are refused by `check_runtime`."""
        dtype = choose_wording('dtype="int8"')
        calibrate_on = choose_wording("calibrate_on=")
        if self.dtype == "int8" and self.runtime == "torch":
            runtime = choose_wording('runtime="onnxruntime" or runtime="openvino"', "--runtime onnxruntime or openvino")
            raise OochubError(f"{dtype} needs {runtime}. torch computes in float32, bfloat16 and float16.")
        if self.dtype == "int8" and self.calibrate_on is None:
            raise OochubError(
                f"{dtype} needs calibration images that are not evaluated. Pass a split or a folder with "
                f"{calibrate_on}."
            )

    def _check_runtime(self) -> None:
        """Refuses what a runtime beside torch cannot do, or cannot do here."""
        runtime = choose_wording(f'runtime="{self.runtime}"')
        is_layer = isinstance(self.features, str)
        refused = {
            "odin": (self.odin is not None, "has no gradients"),
            "compile": (self.compile, "makes its own loops"),
            "features": (is_layer, "gives the input of the last layer alone (features=True), not that of a named one"),
            "engine": (self.engine != "local", "stays in its process"),
        }
        for name, (is_asked, why) in refused.items():
            if is_asked:
                raise OochubError(f"{runtime} {why}. Remove {choose_wording(f'{name}=', f'--{name}')}, or it.")
        is_short = self.dtype not in ("auto", "float32")
        if is_short and (self.runtime == "auto" or (self.runtime, self.dtype) not in _SHORT):
            dtype = choose_wording(f'dtype="{self.dtype}"')
            raise OochubError(
                f"{runtime} computes in float32 (onnxruntime also in int8, openvino in int8 and bfloat16). Remove "
                f"{dtype}, or it."
            )
        needed = dict(_PACKAGES.get(self.runtime, {}))
        if self.dtype == "int8":
            needed["onnxruntime"] = "onnx"  # it quantizes for both
        for package, extra in needed.items():
            check_installed(package, extra, runtime)

    @property
    def device_type(self) -> str:
        """The kind of the device, of a device of torch or its name: "cpu", "cuda" or "mps"."""
        return str(self.device).partition(":")[0]

    @property
    def rows_a_pass(self) -> int:
        """Rows of a forward pass: those that were asked for, else what suits the device.

        A processor takes 32 rows of 224 pixels more slowly than twice 16, which stay in its cache (docs/speed.md).
        """
        return self.batch_size or (128 if self.device_type == "cuda" else 16)

    def record(self) -> dict[str, Any]:
        """All that the answers depend on, JSON types by name: equal exactly where two predictions ask for the same."""
        dtype = "float32" if self.dtype == "auto" else self.dtype
        kept = super().record()
        if self.calibrate_on is None:
            del kept["calibrate_on"]
        if kept.pop("runtime") != "torch":
            kept["runtime"] = [self.runtime, *(f"{name} {version(name)}" for name in list_runtimes())]
        return kept | {
            "device": self.device_type,
            "dtype": f"torch.{dtype}",
            "batch_size": self.rows_a_pass,
        }
