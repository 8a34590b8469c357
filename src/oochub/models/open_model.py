"""Opens the weights of a model, the only place that does: what makes its outputs comes from the file, all of it.

The config is read here too, and nowhere else: what it says must not contradict itself. What a broken folder makes
transformers raise becomes an error that its owner can act on.
"""

import copy
import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open

from oochub.errors import OochubError, OochubWarning
from oochub.models.other_formats import refuse_no_config, refuse_own_code, refuse_pickles
from oochub.remote.check_source import check_source, split_revision
from oochub.remote.remote_repository import fetch_model_folder
from oochub.storage.reading import read_json

_SHOWN = 5
_UNREAD = ".num_batches_tracked"  # of BatchNorm; read in training alone
_TIED = 2  # times that a weight of the file may stand in a model
_NEW = 10**8  # numbers that a new head may have, 400 MB


Answers = Callable[[Any, Mapping[str, torch.Tensor]], torch.Tensor]


class Pretrained(NamedTuple):
    """A model, float32 and in evaluation mode, and the names of the weights of its file that it has no place for."""

    model: Any
    unexpected: tuple[str, ...]


def open_pretrained(
    auto: Any,
    source: str,
    *,
    probe: Callable[[], Mapping[str, torch.Tensor]],
    words: str = "a model",
    hint: str = "",
    changes: Mapping[str, Any] | None = None,
    logits: str | Answers = "logits",
    whole: bool = False,
) -> Pretrained:
    """A model with its weights.

    Every weight that the logits depend on must stand in the file, in its shape: transformers would draw the others at
    random. Tied weights and buffers that are computed are no weights of the file. A weight that the logits do not
    depend on may miss.

    Args:
        auto: The class that opens it, such as `transformers.AutoModelForImageClassification`.
        source: Folder or Hub id; safetensors only, for a pickle can run code.
        probe: Makes inputs of the model, to see what its logits depend on.
        words: What it should be of.
        hint: What to do where it cannot be loaded.
        changes: What its config is to say instead, for training. Its head may then be new, and every weight whose
            shape the changes set.
        logits: The field of its output that is read, or what gives it from the model and its inputs.
        whole: Whether every weight must be there: where the logits depend on some in ways that have no gradient.

    Raises:
        OochubError: No such model, or weights that do not fit; they are named. Its outputs are not finite.

    Warns:
        OochubWarning: The file has weights that the model has no place for.
    """
    import transformers

    kind = auto.config_class if issubclass(auto, transformers.PreTrainedModel) else None
    config = read_model_config(source, kind=kind, words=words, hint=hint, changes=changes)
    refuse_pickles(source, Path(fetch_model_folder(source)))
    _check_index(source)
    _check_sizes(auto, config, source)
    with model_load_errors(source, words=words, hint=hint), _without_bars():
        model, loading = auto.from_pretrained(
            fetch_model_folder(source),
            config=config,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are looked at below, with better words
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
        )
    if getattr(model.config, "num_channels", None) == 1:
        model.register_forward_pre_hook(_make_gray, with_kwargs=True)
    model.name_or_path = model.config.name_or_path = split_revision(source)[0]
    if (folder := Path(fetch_model_folder(source))).parent.name == "snapshots":
        model.config._commit_hash = folder.name
    missing = {key for key in loading["missing_keys"] if not key.endswith(_UNREAD)}
    mismatched = {
        key: (tuple(given), tuple(wanted))
        for key, given, wanted in loading["mismatched_keys"]
        if not key.endswith(_UNREAD)
    }
    if changes is not None and (missing or mismatched):
        shapes = _compute_shapes(auto, read_model_config(source))
        mismatched = {key: both for key, both in mismatched.items() if shapes.get(key) != both[0]}
        head = _head(auto, model, {*missing, *mismatched})
        missing, mismatched = missing - head, {key: both for key, both in mismatched.items() if key not in head}
    with torch.set_grad_enabled(bool(missing or mismatched)), model_load_errors(source, words=words, hint=hint):
        answers: torch.Tensor = getattr(model(**probe()), logits) if isinstance(logits, str) else logits(model, probe())
    unused = set() if whole else _find_unused(model, answers, {*missing, *mismatched})
    unexpected = tuple(sorted(loading["unexpected_keys"]))
    _refuse(sorted(missing - unused), {k: v for k, v in mismatched.items() if k not in unused}, unexpected, source)
    if not answers.isfinite().all():
        raise OochubError(
            f"{source} produces non-finite outputs, so its weights are corrupted. Download the file again."
        )
    if unexpected:
        warnings.warn(
            f"{source}: {_format_names(unexpected, 'weight')} in the file are not used by {type(model).__name__} and "
            "were skipped. That is expected if it was taken from a larger model.",
            OochubWarning,
            stacklevel=2,
        )
    return Pretrained(model, unexpected)


_LUMA = (0.299, 0.587, 0.114)  # of Pillow's mode L; of an equal mean of three channels, the gray image's own


def _make_gray(
    model: object, args: object, inputs: Mapping[str, torch.Tensor]
) -> tuple[object, dict[str, torch.Tensor]]:
    """Makes the images gray for a model that reads one channel."""
    pixels = inputs.get("pixel_values")
    if pixels is None or pixels.shape[1] != len(_LUMA):
        return args, {**inputs}
    weights = pixels.new_tensor(_LUMA).view(1, -1, 1, 1)
    return args, {**inputs, "pixel_values": (pixels * weights).sum(1, keepdim=True)}


@contextmanager
def _without_bars() -> Iterator[None]:
    """Without the bars of transformers: loading weights takes no time worth one, and the work itself has one."""
    from transformers.utils import logging

    is_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if is_shown:
            logging.enable_progress_bar()


def check_memory(source: str, device: torch.device | None = None) -> None:
    """Checks that the weights of a model fit into the memory that is free, before they are read.

    They are held as float32, 4 bytes each, in the memory of this machine first.

    Args:
        source: Folder or Hub id.
        device: Device that the model will run on; None looks at this machine's memory alone.

    Raises:
        OochubError: They do not fit.
    """
    import psutil

    needed = 4 * _count_weights(Path(fetch_model_folder(source)))
    free = {"this machine": psutil.virtual_memory().available}
    if device is not None and device.type == "cuda":
        free[str(device)] = torch.cuda.mem_get_info(device)[0]
    for place, bytes_free in free.items():
        if needed > bytes_free:
            raise OochubError(
                f"The weights of {source} take {needed / 1e9:.1f} GB as float32, but {place} has "
                f"{bytes_free / 1e9:.1f} GB free. Free memory, use a larger machine, or a smaller model."
            )


def _count_weights(folder: Path) -> int:
    """The numbers in the .safetensors files of a folder, as their headers say; 0 for what cannot be read."""
    count = 0
    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(file, "pt") as content:
                count += sum(math.prod(content.get_slice(name).get_shape()) for name in content.keys())
        except (OSError, SafetensorError):  # whoever opens it says what is wrong
            continue
    return count


def _check_sizes(auto: object, config: object, source: str) -> None:
    """Refuses a config of a model that is far larger than its weights: those that miss would be made to be thrown away.

    The shapes of the model take no memory, and those of the weights stand in the headers of the files.
    """
    there, shapes = _count_weights(Path(fetch_model_folder(source))), dict[str, tuple[int, ...]]()
    with suppress(*_FAULTS):  # whoever opens it says what is wrong
        shapes = _compute_shapes(auto, config)
    wanted = sum(map(math.prod, shapes.values()))
    if there and wanted > _TIED * there + _NEW:
        largest = max(shapes, key=lambda name: math.prod(shapes[name]))
        raise OochubError(
            f"config.json of {source} is of a model of {wanted:,} numbers ({largest} is {shapes[largest]}), but the "
            f"files hold {there:,}. Fix the config, or download the files again."
        )


def _check_index(source: str) -> None:
    """Refuses an index of weights that names files elsewhere, or pickles."""
    folder = Path(fetch_model_folder(source))
    file = folder / "model.safetensors.index.json"
    if not file.is_file() or (folder / "model.safetensors").is_file():
        return
    content = read_json(file)
    names = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise OochubError(f"{file.name} of {source} must name a file for each weight. Download the file again.")
    for name in sorted(set(names.values())):
        if Path(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise OochubError(
                f"{file.name} of {source} names the file {name[:100]!r}; weights must be .safetensors beside it, and "
                "nothing else is read. Download the files again."
            )


def _refuse(
    missing: Collection[str],
    mismatched: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]],
    unexpected: Collection[str],
    source: str,
) -> None:
    if not missing and not mismatched:
        return
    shapes = [f"{key} is {given} in the file, but {wanted} in the model" for key, (given, wanted) in mismatched.items()]
    faults = [f"{_format_names(missing, 'weight')} missing"] if missing else []
    faults += [f"{len(shapes)} with another shape ({'; '.join(shapes[:_SHOWN])})"] if shapes else []
    others = f" The file has {_format_names(unexpected, 'weight')} that the model does not know." if unexpected else ""
    raise OochubError(
        f"The weights of {source} do not fit its config: {' and '.join(faults)}. Without them its outputs would be "
        f"random.{others} Download the file again; if the model has no head for its classes, train one with `oochub "
        "train --model MODEL`."
    )


def _format_names(names: Collection[str], noun: str) -> str:
    """2 weights (a.weight, a.bias)."""
    shown = ", ".join(sorted(names)[:_SHOWN])
    return f"{len(names)} {noun}{'s' if len(names) > 1 else ''} ({shown}{', ...' if len(names) > _SHOWN else ''})"


def _find_unused(model: Any, answers: torch.Tensor, keys: Collection[str]) -> set[str]:
    """Those of the parameters that the logits do not depend on."""
    parameters = {key: parameter for key, parameter in model.named_parameters() if key in keys}
    if not parameters:
        return set()
    gradients = torch.autograd.grad(answers.sum(), list(parameters.values()), allow_unused=True)
    return {key for key, gradient in zip(parameters, gradients, strict=True) if gradient is None}


def _head(auto: Any, model: Any, keys: Collection[str]) -> set[str]:
    """Those of the weights that are the head's: outside the encoder, or of a layer whose shape the labels set."""
    if model.base_model is not model:
        return {key for key in keys if not key.startswith(f"{model.base_model_prefix}.")}
    more = copy.deepcopy(model.config)
    more.num_labels += 1
    shapes, others = _compute_shapes(auto, model.config), _compute_shapes(auto, more)
    layers = {key.rpartition(".")[0] for key in shapes if shapes[key] != others[key]}
    return {key for key in keys if key.rpartition(".")[0] in layers}


def _compute_shapes(auto: Any, config: Any) -> dict[str, tuple[int, ...]]:
    """The shape of every weight of a model of this config; it takes no memory."""
    with torch.device("meta"):
        return {key: tuple(weight.shape) for key, weight in auto.from_config(config).state_dict().items()}


_LARGEST = 2**40  # some configs say 1e12 for "no limit"


def read_model_config(
    source: str,
    *,
    kind: Any = None,
    words: str = "a model",
    hint: str = "",
    changes: Mapping[str, Any] | None = None,
) -> Any:
    """The config of a model, as transformers has it.

    Args:
        source: Folder or Hub id.
        kind: The class of the config; None is what the config says itself.
        words: What the model should be of.
        hint: What to do where it cannot be loaded.
        changes: What it is to say instead.

    Raises:
        OochubError: No config that can be read, one of an unknown architecture, or `num_labels` and `id2label` that
            do not fit each other.
    """
    import transformers

    import oochub.models.affine_resnet  # makes its type known to the Auto classes
    import oochub.models.densenet
    import oochub.models.efficientnet_lite
    import oochub.models.encoder_classifier
    import oochub.models.gin  # noqa: F401

    folder = Path(source)
    check_source(source, kind="model", hint=hint or "Run `oochub train` to create one.")
    place = fetch_model_folder(source)
    refuse_no_config(source, Path(place).expanduser())
    if folder.is_dir():
        content = read_json(folder / "config.json")
    else:
        with model_load_errors(source, words=words, hint=hint):
            content, _ = transformers.PreTrainedConfig.get_config_dict(place)
    if not isinstance(content, Mapping):
        raise OochubError(
            f"config.json of {source} must be an object, got {str(content)[:60]}. Download the file again."
        )
    refuse_own_code(source, content)
    _check_labels(content, source)
    _check_numbers(content, source)
    _check_kernels(content, source)
    with model_load_errors(source, words=words, hint=hint):
        config = (kind or transformers.AutoConfig).from_pretrained(place, trust_remote_code=False, **(changes or {}))
    config.name_or_path = split_revision(source)[0]
    if config.model_type == "timm_wrapper":
        _settle_timm_arguments(config, source)
    return config


def _settle_timm_arguments(config: Any, source: str) -> None:
    """Leaves the number of classes out of the arguments for timm, which transformers gives it a second time."""
    given = dict(config.model_args or {})
    count = given.pop("num_classes", config.num_labels)
    if count != config.num_labels:
        raise OochubError(
            f"config.json of {source}: num_classes says {config.num_labels}, but model_args says {count}. Fix the "
            "wrong one."
        )
    config.model_args = given or None


def _check_numbers(content: Mapping[str, Any], source: str) -> None:
    """Refuses numbers that no model has: one of 10**30 layers would be made without end."""
    for name, value in content.items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int) and abs(number) > _LARGEST:
                raise OochubError(f"config.json of {source}: {name} says {number}, more than any model has. Fix it.")


def _check_kernels(content: Any, source: str) -> None:
    """Refuses attention by code of the Hub, which transformers fetches and runs where the package kernels is there."""
    for name, value in content.items() if isinstance(content, Mapping) else ():
        named = value.values() if isinstance(value, Mapping) else [value]
        if "attn_implementation" in str(name) and any(isinstance(text, str) and "/" in text for text in named):
            raise OochubError(
                f"config.json of {source}: {name} names code on the Hub, {str(value)[:100]}, but no code of a model "
                "is run here. Remove it; the model's own attention gives the same result."
            )
        _check_kernels(value, source)


def _check_labels(content: Mapping[str, Any], source: str) -> None:
    names, count = content.get("id2label"), content.get("num_labels")
    if names is None:
        return
    what = f"config.json of {source}: id2label"
    numbers = [str(number) for number in range(len(names))] if isinstance(names, Mapping) else []
    if not numbers or sorted(map(str, names)) != sorted(numbers):
        raise OochubError(f"{what} must name the outputs 0, 1, ... of the model, got {str(names)[:100]}. Fix it.")
    if not all(isinstance(name, str) for name in names.values()):
        raise OochubError(f"{what} must be text for each output, got {str(dict(names))[:100]}. Fix it.")
    if count is not None and count != len(names):
        raise OochubError(f"{what} names {len(names)} outputs, but num_labels says {count}. Fix the wrong one.")


_FAULTS: tuple[type[Exception], ...] = (
    ArithmeticError,  # a size of 0 in a config
    AttributeError,
    ImportError,  # an architecture that needs another package
    LookupError,
    OSError,
    RuntimeError,
    SafetensorError,
    StrictDataclassError,  # a field of a config that is of another type
    TypeError,
    ValueError,
)


@contextmanager
def model_load_errors(source: str, *, words: str = "a model", hint: str = "") -> Iterator[None]:
    """A block in which transformers reads the files of a model, and nothing else is done.

    Args:
        source: Folder or Hub id.
        words: What it should be of.
        hint: What to do next.

    Raises:
        OochubError: The files cannot be had or are broken.

    >>> with model_load_errors("runs/erm"):
    ...     raise OSError("config.json is cut off")
    Traceback (most recent call last):
    oochub.errors.OochubError: 'runs/erm' is neither a folder nor a Hub id of a model that can be loaded: config.json \
is cut off.
    """
    try:
        yield
    except OochubError:
        raise
    except Exception as error:
        if not isinstance(error, _FAULTS) and type(error) is not Exception:  # tokenizers raises the bare Exception
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise OochubError(
            f"{source!r} is neither a folder nor a Hub id of {words} that can be loaded: {lines[0].rstrip('.: ')}."
            f"{f' {hint}' if hint else ''}"
        ) from error
