"""What a folder or repository is that transformers cannot open here as a model, in words, with what to do next."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

from oochub.errors import OochubError, choose_wording
from oochub.remote.check_source import split_revision
from oochub.remote.remote_repository import fetch_model_folder, find_safe_request, list_files
from oochub.storage.reading import read_json

_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
MADE_OF = "oochub_adapter.json"
"""The file of a model merged of an adapter and its base that says so: adapter, revision, base, each text."""
_OLD_TARGETS = ("query", "key", "value")


def is_adapter(source: str) -> bool:
    """Whether a folder or repository holds an adapter of peft in safetensors, and no whole model."""
    try:
        folder = Path(fetch_model_folder(source)).expanduser()
    except OochubError:  # whoever opens it says so
        return False
    files = (ADAPTER_CONFIG, ADAPTER_WEIGHTS)
    return all((folder / name).is_file() for name in files) and not (folder / "model.safetensors").is_file()


def refuse_no_config(source: str, folder: Path) -> None:
    """Says what a folder without config.json holds; a folder with one passes.

    Args:
        source: Folder or Hub id, as typed.
        folder: The folder that its files are in.

    Raises:
        OochubError: An adapter, a model of open_clip, or no finished model.
    """
    if (folder / "config.json").is_file() or not folder.is_dir():
        return
    if (folder / ADAPTER_CONFIG).is_file():
        raise OochubError(_explain_adapter(source, folder))
    if any(folder.glob("open_clip_*")):
        raise OochubError(
            f"{source} is a model of open_clip, which transformers does not open. Many have a copy for transformers on "
            f"the Hub; otherwise {_own_file()}."
        )
    raise OochubError(
        f"{source} does not contain a finished model (no config.json). If training was interrupted, run the same "
        "`oochub train` command again to resume it."
    )


def refuse_own_code(source: str, content: Mapping[str, object]) -> None:
    """Says that a model is code of its own, which transformers would run; other models pass.

    Args:
        source: Folder or Hub id, as typed.
        content: What its config.json says.

    Raises:
        OochubError: It is.
    """
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    code = content.get("auto_map")
    if not isinstance(code, Mapping) or content.get("model_type") in CONFIG_MAPPING_NAMES:
        return
    files = sorted({f"{str(name).partition('--')[2] or name}".partition(".")[0] + ".py" for name in code.values()})
    raise OochubError(
        f"{source} would run its own code ({', '.join(files)}) to be opened, and oochub runs no code of a model. If "
        f"you trust it, {_own_file()}."
    )


def refuse_other_senses(source: str, kind: str) -> None:
    """Refuses types of models that read sound, or whose answers are points; others pass.

    Args:
        source: Folder or Hub id, as typed.
        kind: Its `model_type`.

    Raises:
        OochubError: A model of such a type.
    """
    from transformers.models.auto import modeling_auto

    def list_types(*tasks: str) -> set[str]:
        return {name for task in tasks for name in getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES")}

    seen = list_types("IMAGE_CLASSIFICATION", "SEQUENCE_CLASSIFICATION", "IMAGE_TEXT_TO_TEXT", "OBJECT_DETECTION")
    if kind in list_types("AUDIO_CLASSIFICATION", "CTC", "SPEECH_SEQ_2_SEQ") - seen:
        raise OochubError(
            f"{source} is a model of sound ({kind}). oochub reads images, texts, arrays and graphs. Use a model of one "
            "of these."
        )
    if kind in list_types("KEYPOINT_DETECTION", "KEYPOINT_MATCHING", "POSE_ESTIMATION") - seen:
        raise OochubError(
            f"{source} is a model that finds points in images ({kind}), and gives no classes. Use a classifier, a "
            "detector or an encoder of images."
        )


def refuse_pickles(source: str, folder: Path) -> None:
    """Refuses weights that are a pickle; for a repository, the message names a revision that has safetensors.

    Args:
        source: Folder or Hub id, as typed.
        folder: The folder that its files are in; that of a repository need not hold its weights.

    Raises:
        OochubError: There is a pickle and nothing else.
    """
    name, revision = split_revision(source)
    is_local = Path(source).expanduser().is_dir()
    if any(folder.glob("*.safetensors")) or any(folder.glob("*.safetensors.index.json")):
        return
    files = {path.name for path in folder.iterdir()} if is_local else list_files(name, revision)
    pickles = [file for file in _PICKLES if file in files]
    if not pickles or any(file.endswith(".safetensors") for file in files):
        return
    safe = None if is_local else find_safe_request(name)
    convert = (
        f"from transformers import {_read_class(folder)} as A; "
        f'A.from_pretrained({json.dumps(source)}).save_pretrained("FOLDER")'
    )
    advice = (
        f"Its pull request {safe} has safetensors: look at it on the Hub, then pass {name}@{safe}."
        if safe
        else f"If you trust it, write it again, and pass FOLDER: python -c {shlex.quote(convert)}"
    )
    raise OochubError(
        f"The weights of {source} are a pickle ({pickles[0]}), which can run code when it is opened: only safetensors "
        f"are read. {advice}"
    )


def _read_class(folder: Path) -> str:
    """The class of transformers that a config names; a classifier of images where it names none."""
    content = read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
    named = content.get("architectures") if isinstance(content, dict) else None
    name = str(named[0]) if isinstance(named, list) and named else ""
    return name if name.isidentifier() else "AutoModelForImageClassification"


def _explain_adapter(source: str, folder: Path) -> str:
    content = read_json(folder / ADAPTER_CONFIG)
    about = content if isinstance(content, dict) else {}
    base, kind = (
        " ".join(str(about.get(key) or other).split())[:200]
        for key, other in (("base_model_name_or_path", "BASE"), ("peft_type", "of an unknown kind"))
    )
    merge = (
        "from transformers import AutoModelForImageClassification as A; from peft import PeftModel; "
        f"PeftModel.from_pretrained(A.from_pretrained({json.dumps(base)}), {json.dumps(source)}).merge_and_unload()"
        '.save_pretrained("FOLDER")'
    )
    targets = about.get("target_modules")
    old = [name for name in _OLD_TARGETS if isinstance(targets, list) and name in targets]
    names = (
        f" Its targets have names of transformers 4 ({', '.join(old)}); if peft does not find them, merge it with "
        "transformers 4."
        if old
        else ""
    )
    return (
        f"{source} is an adapter of peft ({kind}) for {base}, not "
        f"a whole model. LoRA in safetensors opens on its base if peft is installed: pip install 'oochub[peft]'. "
        f"Otherwise merge it, and pass FOLDER: python -c {shlex.quote(merge)}{names}"
    )


def _own_file() -> str:
    return choose_wording(
        "open it yourself and pass the model in place of its name",
        "open it in a Python file of your own and pass --model-file FILE.py:NAME",
    )
