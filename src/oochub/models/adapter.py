"""Adapters of peft: a folder of LoRA's matrices opens as the model that they make of their base.

The two are merged once, into a model folder in the cache. The adapter's config is read only as far as it says how its
matrices are added; its weights are safetensors.
"""

import hashlib
import inspect
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from oochub import catalog
from oochub.errors import OochubError
from oochub.models.open_model import model_load_errors, open_pretrained, read_model_config
from oochub.models.other_formats import ADAPTER_CONFIG, ADAPTER_WEIGHTS, MADE_OF
from oochub.remote.check_source import split_revision
from oochub.remote.remote_repository import fetch_model_folder
from oochub.storage.cache import cache_folder
from oochub.storage.files import lock_target, write_whole_folder
from oochub.storage.reading import read_bytes, read_json

_CARD = "README.md"
_READ = {
    *("r", "lora_alpha", "target_modules", "exclude_modules", "modules_to_save", "bias", "fan_in_fan_out"),
    *("use_rslora", "use_dora", "rank_pattern", "alpha_pattern", "layers_to_transform", "layers_pattern", "lora_bias"),
}
_KINDS = ("pictures", "texts")


def merge_adapter(source: str) -> str:
    """The folder of the merged model; an adapter of another kind, or without peft installed, as it is.

    Args:
        source: Folder or Hub id of an adapter, see `is_adapter`.

    Raises:
        OochubError: A base that cannot be opened, weights that do not fit it.
    """
    folder = Path(fetch_model_folder(source)).expanduser()
    files = [folder / name for name in (ADAPTER_CONFIG, ADAPTER_WEIGHTS)]
    about = read_json(folder / ADAPTER_CONFIG)
    if not isinstance(about, Mapping) or about.get("peft_type") != "LORA" or find_spec("peft") is None:
        return source
    base = _name_base(about, source)
    digest = hashlib.sha256(b"".join(map(read_bytes, files))).hexdigest()
    place = Path(fetch_model_folder(base)).expanduser()
    of_base = place.name if place.parent.name == "snapshots" else _digest_weights(place)
    both = hashlib.sha256(f"{digest} {of_base}".encode()).hexdigest()[:16]
    name, base_name = (
        Path(place).name if Path(place).is_dir() else split_revision(place)[0] for place in (source, base)
    )
    target = cache_folder("models") / both / name.replace("/", "--")
    if not (target / MADE_OF).is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        revision = folder.name if folder.parent.name == "snapshots" else digest[:40]
        record = {"adapter": name, "revision": revision, "base": f"{base_name}@{of_base}"}
        with lock_target(target), write_whole_folder(target) as draft:
            model, processor = _merge(source, base, about, files[1])
            model.save_pretrained(draft)
            processor.save_pretrained(draft)
            if (folder / _CARD).is_file():
                (draft / _CARD).write_bytes(read_bytes(folder / _CARD))
            (draft / MADE_OF).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return str(target)


def _name_base(about: Mapping[str, object], source: str) -> str:
    name, revision = about.get("base_model_name_or_path"), about.get("revision")
    if not isinstance(name, str) or not name or not isinstance(revision, str | None):
        raise OochubError(
            f"{ADAPTER_CONFIG} of {source} must name its base (base_model_name_or_path), got {name!r:.80}."
        )
    return f"{name}@{revision}" if revision and not Path(name).is_dir() else name


def _digest_weights(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.safetensors")):
        digest.update(read_bytes(file))
    return digest.hexdigest()[:40]


def _merge(source: str, base: str, about: Mapping[str, object], weights: Path) -> tuple[Any, Any]:
    import transformers
    from peft import LoraConfig, get_peft_model, set_peft_model_state_dict

    words = f"the base of the adapter {source}"
    config = read_model_config(base, words=words)
    kinds = [catalog.get("input", name) for name in _KINDS]
    kind = next((k for k in kinds if type(config) in getattr(transformers, k.auto_model)._model_mapping), None)
    if kind is None:
        raise OochubError(f"{base}, the base of the adapter {source}, is no classifier ({config.model_type}).")
    with model_load_errors(base, words=words):
        processor = kind.load_processor(base, None)
    try:
        state = load_file(weights)
    except (SafetensorError, OSError) as error:
        raise OochubError(f"{weights.name} of {source} is damaged: {error}. Download it again.") from error
    count = _count_classes(state, about)
    changes = {"num_labels": count} if count and count != config.num_labels else None
    auto = getattr(transformers, kind.auto_model)
    model = open_pretrained(auto, base, probe=kind.of(processor).probe, words=words, changes=changes).model
    if changes is not None:
        head = {f"base_model.model.{n}" for n in model.state_dict() if not n.startswith(model.base_model_prefix + ".")}
        if missing := sorted(head - state.keys()):
            raise OochubError(f"{weights.name} of {source} lacks weights of its head ({', '.join(missing[:3])}).")
    settable = inspect.signature(LoraConfig).parameters.keys() & _READ
    given = {name: about[name] for name in settable if about.get(name) is not None}
    try:
        merged = get_peft_model(model, LoraConfig(**given))
        result = set_peft_model_state_dict(merged, state)
    except (ValueError, TypeError, RuntimeError, KeyError) as error:
        raise OochubError(f"{source} does not fit its base {base}: {_explain(str(error), about, model)}") from error
    lacking = [name for name in result.missing_keys if "lora_" in name]
    if result.unexpected_keys or lacking:
        names = ", ".join([*result.unexpected_keys, *lacking][:3])
        raise OochubError(f"{source} does not fit its base {base}: {names}. Check the base's revision.")
    return merged.merge_and_unload(), processor


def _count_classes(state: Mapping[str, Tensor], about: Mapping[str, object]) -> int | None:
    """The outputs of the last layer that the adapter brings; None if it brings none."""
    saved = about.get("modules_to_save")
    for name in saved if isinstance(saved, list) else []:
        weights = [value for key, value in state.items() if key.endswith(f"{name}.weight") and value.ndim == 2]
        if weights:
            return int(weights[-1].shape[0])
    return None


def _explain(fault: str, about: Mapping[str, object], model: nn.Module) -> str:
    """The beginning of what peft says; for names of transformers 4 those that the base has now."""
    targets = about.get("target_modules")
    now = {"query": "q_proj", "key": "k_proj", "value": "v_proj"}
    ends = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    old = [name for name in targets if name in now and name not in ends] if isinstance(targets, list) else []
    if old:
        return (
            f"its targets have names of transformers 4 ({', '.join(old)}), which are {', '.join(now[n] for n in old)} "
            "now. Merge it with transformers 4."
        )
    return f"{' '.join(fault.split())[:200]}."
