"""Reads the config of a model, the only place that does; what it says must not contradict itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.models.opening import opening
from oochub.remote.check_source import check_source
from oochub.remote.model_folder import model_folder
from oochub.storage.reading import read_json

_LARGEST = 2**40  # some configs say 1e12 for "no limit"


def model_config(
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
    import oochub.models.gin  # noqa: F401

    folder = Path(source)
    check_source(source, kind="model", hint=hint or "`oochub train` makes one.")
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise OochubError(
            f"{source} holds no finished model (no config.json). If a training run was interrupted there, run the same "
            "`oochub train` command again: it goes on."
        )
    place = model_folder(source)
    if folder.is_dir():
        content = read_json(folder / "config.json")
    else:
        with opening(source, words=words, hint=hint):
            content, _ = transformers.PreTrainedConfig.get_config_dict(place)
    if not isinstance(content, Mapping):
        raise OochubError(f"config.json of {source} must be an object, got {str(content)[:60]}. Get the file again.")
    _check_labels(content, source)
    _check_numbers(content, source)
    _check_kernels(content, source)
    with opening(source, words=words, hint=hint):
        config = (kind or transformers.AutoConfig).from_pretrained(place, trust_remote_code=False, **(changes or {}))
    config.name_or_path = source
    return config


def _check_numbers(content: Mapping[str, Any], source: str) -> None:
    """Refuses numbers that no model has: one of 10**30 layers would be made without end."""
    for name, value in content.items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int) and abs(number) > _LARGEST:
                raise OochubError(f"config.json of {source}: {name} says {number}, more than any model has. Mend it.")


def _check_kernels(content: Any, source: str) -> None:
    """Refuses attention by code of the Hub, which transformers fetches and runs where the package kernels is there."""
    for name, value in content.items() if isinstance(content, Mapping) else ():
        named = value.values() if isinstance(value, Mapping) else [value]
        if "attn_implementation" in str(name) and any(isinstance(each, str) and "/" in each for each in named):
            raise OochubError(
                f"config.json of {source}: {name} names code of the Hub, {str(value)[:100]}, and no model runs code "
                "here. Remove it; the model's own attention gives the same."
            )
        _check_kernels(value, source)


def _check_labels(content: Mapping[str, Any], source: str) -> None:
    names, count = content.get("id2label"), content.get("num_labels")
    if names is None:
        return
    what = f"config.json of {source}: id2label"
    numbers = [str(number) for number in range(len(names))] if isinstance(names, Mapping) else []
    if not numbers or sorted(map(str, names)) != sorted(numbers):
        raise OochubError(f"{what} must name the outputs 0, 1, ... of the model, got {str(names)[:100]}. Mend it.")
    if not all(isinstance(name, str) for name in names.values()):
        raise OochubError(f"{what} must be text for each output, got {str(dict(names))[:100]}. Mend it.")
    if count is not None and count != len(names):
        raise OochubError(f"{what} names {len(names)} outputs, and num_labels says {count}. Mend the wrong one.")
