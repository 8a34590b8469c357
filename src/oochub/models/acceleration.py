"""How a network runs: on which device, in how many bits, with how many threads, and faster with the same answers.

Under autocast it computes in fewer bits and says what it says in float32. Batch norms are folded into the convolutions
before them: while it predicts, a network says the same in fewer steps. Compiled by torch it gives the same answers from
fewer, fused loops, after a wait of half a minute or more.

torch takes a thread per core and lets them wait for each other in a loop. A small network gains nothing from a second
thread, because the decoders of images keep the other cores busy; and if another program has a core, each operation of
the network waits until that program is taken off it.
"""

import math
import os
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError, OochubWarning, choose_wording
from oochub.models.callable_model import digest_state
from oochub.models.remembered_checks import MeasuredNetwork
from oochub.process.program import count_cores, keep_compiled
from oochub.stats.logits import logit_difference
from oochub.storage.cache import cache_folder

_T = TypeVar("_T")
_STAT = Path("/proc/stat")
_LOOK = 0.5  # seconds between two looks at what other programs take
_AHEAD = 2  # batches that decoders are ahead of the network


def choose_device(device: str | torch.device) -> torch.device:
    """The device of that name, where it is there.

    Args:
        device: "auto", a CUDA GPU if there is one, each process of torchrun its own, else the CPU; "cpu", "cuda",
            "cuda:1", "mps", or a device of torch.

    Raises:
        OochubError: No such device here; those that are there are listed.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if device == "auto" and torch.cuda.is_available():
        rank = os.environ.get("LOCAL_RANK")  # of torchrun, among the processes of this machine
        device = "cuda" if rank is None else f"cuda:{rank}"
    elif device == "auto":
        return torch.device("cpu")
    there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    there += ["mps"] if torch.backends.mps.is_available() else []
    if isinstance(device, str | torch.device) and str(device) in (*there, *(name.partition(":")[0] for name in there)):
        return torch.device(device)
    raise OochubError(
        f"Device {str(device)!r} is not available. Available: {', '.join(there)}; auto uses a GPU if there is one."
    )


DTYPES: Mapping[str, torch.dtype] = {
    "auto": torch.float32,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
"""What a network may compute in with torch, by name; "auto" is float32."""


class Autocast(nn.Module):  # type: ignore[misc]
    """A network under autocast of torch: its weights stay as they are, products of matrices take the shorter type.

    Args:
        network: `network(**inputs).logits` is (b, c).
        dtype: What it computes in.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> model = ResNetForImageClassification(ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1])).eval()
    >>> Autocast(model, torch.bfloat16)(pixel_values=torch.zeros(2, 3, 32, 32)).logits.dtype
    torch.float32
    """

    def __init__(self, network: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.network, self._dtype = network, dtype

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """Its logits, float32."""
        with torch.autocast(next(iter(inputs.values())).device.type, dtype=self._dtype):
            return ImageClassifierOutput(logits=self.network(**inputs).logits.float())


_ARITHMETIC = {
    "bfloat16": ("avx512_bf16", "amx_bf16", "bf16"),  # x86-64; ARM
    "float16": ("avx512_fp16", "amx_fp16", "fp16_arith"),
}
"""What a processor that computes in a dtype says that it has, in `torch.cpu.get_capabilities`."""


def warn_of_slow_dtype(name: str, device: torch.device) -> None:
    """Says where a shorter dtype is no gain: on a processor without arithmetic of it, which torch then imitates.

    Args:
        name: Name of the dtype, one of `DTYPES`.
        device: Device that the network runs on.

    Warns:
        OochubWarning: The dtype is slower than float32 there; the answers are those of any other processor.
    """
    if device.type != "cpu" or name not in _ARITHMETIC or not hasattr(torch.cpu, "get_capabilities"):
        return  # older versions of torch do not say
    has = torch.cpu.get_capabilities()
    if not any(has.get(feature) for feature in _ARITHMETIC[name]):
        option = choose_wording(f'dtype="{name}"')
        warnings.warn(
            f"This processor does not compute in {name} ({', '.join(_ARITHMETIC[name])}), so {option} is slower than "
            "float32 here, and less exact. Remove it.",
            OochubWarning,
            stacklevel=3,
        )


_ROUNDING = 1.5e-6
"""A share of the logits' range, on the probe: other rows move a few times as far, and answers stay those of
transformers within 1e-5. Folding rounds each weight once more, by 2^-24 of itself: trained networks move by less
than 1e-6, some random ones by 1e-5, and one wrong batch norm moves them by percents."""


Answer = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]
"""Numbers that a network gives for its inputs."""

_Place = tuple[nn.Module, str, Any]
"""A layer, the name of an attribute, and what it is for a while."""


@contextmanager
def fold_batch_norm(
    network: nn.Module,
    probe: Mapping[str, torch.Tensor],
    *,
    answer: Answer | None = None,
    measured: MeasuredNetwork | None = None,
) -> Iterator[int]:
    """A block in which a convolution and the batch norm after it are one convolution; after it all is as before.

    A pair is a Conv2d that is called once and a BatchNorm2d whose input is the very output of that call, which nothing
    else reads: a pass over the probe shows it, whatever the layers are called. If the logits of the probe are then not
    the same within rounding, nothing is changed. Weights of convolutions are laid out channels last, as pixels are.
    Without a batch norm there is no pass.

    Args:
        network: Network in evaluation mode.
        probe: Inputs of the network.
        answer: What is asked of the network, in the place of the logits `network(**probe).logits`.
        measured: The same network with what earlier runs measured of it.

    Yields:
        How many batch norms are folded.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    >>> _ = torch.manual_seed(0)
    >>> network = ResNetForImageClassification(config).eval()
    >>> with fold_batch_norm(network, {"pixel_values": torch.randn(2, 3, 32, 32)}) as pairs:
    ...     print(pairs, sum(isinstance(layer, nn.BatchNorm2d) for layer in network.modules()))
    6 0
    """
    answer = answer or (lambda inputs: network(**inputs).logits)
    names, layer_of = {layer: name for name, layer in network.named_modules()}, network.get_submodule
    with ExitStack() as folded:

        def find() -> dict[str, str] | None:
            pairs, logits = _find_pairs(network, probe, answer)
            folded.enter_context(_replace_attributes(_list_folded(network, pairs)))
            with torch.inference_mode():
                difference = logit_difference(answer(probe), logits)
            if difference <= _ROUNDING:
                return {names[norm]: names[convolution] for norm, convolution in pairs.items()}
            folded.close()
            return None

        pairs: Mapping[str, str] | None = {}
        is_earlier = True
        if any(map(_is_norm, network.modules())):
            measured, device = measured or MeasuredNetwork(network, kept=False), str(next(iter(probe.values())).device)
            pairs, is_earlier = measured.measure_once(["folded", digest_state(probe), device], find)
        if is_earlier and pairs is not None:
            places = _list_folded(network, {layer_of(norm): layer_of(name) for norm, name in pairs.items()})
            folded.enter_context(_replace_attributes(places))
        yield len(pairs or ())


def _list_folded(network: nn.Module, pairs: Mapping[nn.Module, nn.Module]) -> list[_Place]:
    """The attributes of layers that folding changes, and what they become."""
    changed: dict[nn.Module, nn.Module] = {norm: nn.Identity() for norm in pairs}
    layers: Any = pairs.items()
    changed |= {convolution: fuse_conv_bn_eval(convolution, norm) for norm, convolution in layers}
    places: list[_Place] = [
        (parent, name, changed[layer])
        for parent in network.modules()
        for name, layer in parent._modules.items()
        if layer in changed
    ]
    for layer in {changed.get(layer, layer) for layer in network.modules() if _is_convolution(layer)}:
        weight: Any = layer.weight
        laid_out = weight.detach().contiguous(memory_format=torch.channels_last)
        places.append((layer, "weight", nn.Parameter(laid_out, requires_grad=False)))
    return places


@contextmanager
def _replace_attributes(places: Sequence[_Place]) -> Iterator[None]:
    """A block in which each attribute of a layer is another."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    try:
        for owner, name, value in places:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _find_pairs(
    network: nn.Module, probe: Mapping[str, torch.Tensor], answer: Answer
) -> tuple[dict[nn.Module, nn.Module], torch.Tensor]:
    """The convolution of each batch norm that can be folded, and the logits of the probe."""
    calls: Counter[nn.Module] = Counter()
    outputs: dict[int, tuple[nn.Module, torch.Tensor]] = {}  # outputs by id, kept: so it stays theirs
    taken: dict[nn.Module, int] = {}

    def see(layer: nn.Module, given: Any, output: torch.Tensor) -> None:
        calls[layer] += 1
        if isinstance(layer, nn.Conv2d):
            outputs[id(output)] = (layer, output)
            reads.counts[id(output)] = 0  # what another tensor had, whose place it took
        elif given and id(given[0]) in outputs:
            taken[layer] = id(given[0])

    reads = _Reads()
    layers = [layer for layer in network.modules() if _is_convolution(layer) or _is_norm(layer)]
    handles = [layer.register_forward_hook(see) for layer in layers]
    try:
        with torch.inference_mode(), reads:
            logits = answer(probe)
    finally:
        for handle in handles:
            handle.remove()
    pairs = {norm: outputs[output][0] for norm, output in taken.items() if reads.counts[output] == 1}
    return {norm: layer for norm, layer in pairs.items() if calls[norm] == calls[layer] == 1}, logits


def _is_convolution(layer: nn.Module) -> bool:
    """One whose weight is stored and not computed, as that of weight normalization is."""
    return isinstance(layer, nn.Conv2d) and "weight" in layer._parameters


def _is_norm(layer: nn.Module) -> bool:
    """One that uses what it saw in training and does nothing else, as some subclasses do."""
    return type(layer) is nn.BatchNorm2d and layer.running_mean is not None and not layer.training


class _Reads(TorchDispatchMode):  # type: ignore[misc]
    """Counts how often operators read each tensor, by its id."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[int] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        self.counts.update(id(tensor) for tensor in tree_leaves((args, named)) if isinstance(tensor, torch.Tensor))
        return func(*args, **named)


_COMPILERS = ("g++", "clang++", "cl")
_OPTIONS: dict[str, Any] = {"freezing": True, "cpp_cache_precompile_headers": False}
"""The headers would lie in TMPDIR for good."""


class Compiled(nn.Module):  # type: ignore[misc]
    """A network under torch.compile, its weights constants; compiled once, at the first batch.

    Args:
        network: Network in evaluation mode; `network(**inputs).logits` is (b, c). Its weights must not change any more.
        rows: Rows of a batch; a smaller one is filled with copies of its first row, which are dropped again.

    Raises:
        OochubError: torch cannot compile it; raised on the first call.
    """

    def __init__(self, network: nn.Module, rows: int) -> None:
        super().__init__()
        keep_compiled(cache_folder("compiled"))
        self._compiled: Any = torch.compile(network, dynamic=False, options=_OPTIONS)
        self._rows = rows

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        """The logits of the rows."""
        from torch._dynamo.exc import TorchDynamoException

        count = len(next(iter(inputs.values())))
        more = max(0, self._rows - count)
        filled = {
            name: torch.cat([tensor, tensor[:1].expand(more, *tensor.shape[1:])]) for name, tensor in inputs.items()
        }
        try:
            return ImageClassifierOutput(logits=self._compiled(**(filled if more else inputs)).logits[:count])
        except TorchDynamoException as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            option = choose_wording("compile=True")
            raise OochubError(f"torch.compile cannot compile the network: {lines[0]} Remove {option}.") from error


def check_compiler(device: torch.device) -> None:
    """Checks that there is what torch.compile compiles with.

    Args:
        device: Device that the network runs on.

    Raises:
        OochubError: No C++ compiler for a processor, no triton for a GPU.
    """
    option = choose_wording("compile=True")
    if device.type == "cuda" and not find_spec("triton"):
        raise OochubError(f"{option} needs the package triton for a GPU: pip install triton, or remove it.")
    named = os.environ.get("CXX")
    if device.type != "cuda" and not any(shutil.which(compiler) for compiler in ([named] if named else _COMPILERS)):
        there = f"$CXX is {named!r}, which is not a program" if named else f"there is none of {', '.join(_COMPILERS)}"
        raise OochubError(
            f"{option} requires a C++ compiler, but {there}. Install one (apt install g++) or remove the option."
        )


class FreeCores:
    """The cores that other programs leave to this one.

    They are at most those that it may use, by its affinity and the quota of its control group. What others take is the
    processor time of the whole machine less its own, from one look to the next.
    """

    def __init__(self) -> None:
        self._may = count_cores()
        self._free = self._may
        self._seen = self._look()

    def count(self) -> int:
        """How many there are, at least 1; outside Linux those that this program may use."""
        now = self._look()
        if self._seen is None or now is None or now[0] - self._seen[0] < _LOOK:
            return self._free
        wall, busy, own = (after - before for after, before in zip(now, self._seen, strict=True))
        others = max(0.0, (busy - own) / wall)
        self._seen, self._free = now, max(1, min(self._may, round((os.cpu_count() or 1) - others)))
        return self._free

    @staticmethod
    def _look() -> tuple[float, float, float] | None:
        """Seconds of the clock, of all processors at work, and of this process."""
        try:
            user, nice, system, _, _, *rest = map(int, _STAT.read_text("ascii").partition("\n")[0].split()[1:9])
        except (OSError, ValueError):
            return None
        return time.monotonic(), (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK"), time.process_time()


def choose_threads(free: int, network: float, beside: float) -> int:
    """The fewest threads with which a pass takes no longer than all cores need for it and the work beside it.

    Args:
        free: Cores that are free.
        network: Seconds of one thread for the network's pass over a batch.
        beside: Seconds of other threads for the same batch, such as those that decode its images.

    >>> choose_threads(2, network=0.02, beside=0.03), choose_threads(2, network=1.2, beside=0.03)
    (1, 2)
    >>> choose_threads(8, network=1.0, beside=1.0), choose_threads(1, network=1.2, beside=0.03)
    (4, 1)
    """
    return max(1, min(free, math.ceil(free * network / max(network + beside, 1e-9))))


class PassThreads:
    """Gives torch the threads for each pass of a network, until the block ends; the logits are the same bits.

    The first passes run in one thread and tell, in processor time, what the network and the work beside it take. From
    then on the free cores are counted again and again. If no number is given, torch never gets more threads than it had
    before, so OMP_NUM_THREADS sets the limit.

    >>> with PassThreads(is_shared=True) as threads:
    ...     threads.run(torch.get_num_threads)
    1
    """

    def __init__(self, *, is_shared: bool, given: int | None = None) -> None:
        """Counts the free cores from now on.

        Args:
            is_shared: Whether torch runs the passes on the processor; otherwise nothing is changed.
            given: Number of threads for every pass; None chooses it.
        """
        self._most, self._given = torch.get_num_threads(), given
        self._is_shared = is_shared and (self._most > 1 or given is not None)
        self._cores = FreeCores()
        self._passes, self._network, self._beside = 0, 0.0, 0.0
        self._began = time.process_time() - time.thread_time()
        self._is_measured = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._is_shared:
            torch.set_num_threads(self._most)

    def run(self, work: Callable[[], _T]) -> _T:
        """Does one pass."""
        if not self._is_shared:
            return work()
        free = min(self._most, self._cores.count())
        chosen = choose_threads(free, self._network, self._beside) if self._passes else 1
        threads = self._given or chosen
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
        self._is_measured |= threads > 1
        before = time.thread_time()
        result = work()
        if not self._is_measured:
            self._passes += 1
            self._network += (time.thread_time() - before - self._network) / self._passes
            others = time.process_time() - time.thread_time() - self._began
            self._beside = others / (self._passes + _AHEAD)
        return result
