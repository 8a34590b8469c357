"""What the answers of a model depend on, as one short text: equal exactly where they would come out the same."""

import hashlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets

from oochub.input import Input
from oochub.models.model_source import ModelSource
from oochub.records.origin_records import drop_when_and_where, provenance
from oochub.storage.cache import describe_state, digest_code, digest_files, make_key

_ROOMS = "builders class_names inputs models outputs prediction records stats storage".split()
"""The rooms, beside the modules at the root, whose code the answers of a model depend on."""
_READ = ("*.json", "*.txt", "*.model", "*.jinja")  # what transformers reads of a model's folder beside the weights


def cache_key(
    source: ModelSource, inputs: Input, splits: Mapping[str, Any], *, mode: type, settings: Mapping[str, Any]
) -> str | None:
    """A digest of the model, the data, all settings, and the versions of the code; None where one is not known.

    It covers the model's name, weights and files beside them. For each split it covers its name, the fingerprint of
    `datasets`, what its features and description say, and, if images lie in files of their own, their paths, sizes and
    times of change. A time of change also moves where a program that wrote a file put its time of writing back, which
    the fingerprint of `datasets` does not see. A setting that is a path to a file counts by what the file holds.

    Args:
        source: The model; a model object of transformers is never known by a digest.
        inputs: How rows are read.
        splits: Splits of the data set that are predicted or learned from, by name; a stream is not known.
        mode: The class that answers.
        settings: All else that the answers depend on, JSON types, paths, and texts.

    >>> from oochub import catalog
    >>> from oochub.inputs.arrays import ArrayProcessor
    >>> arrays = catalog.get("input", "arrays")(ArrayProcessor(column="array", shape=(3, 4, 4)))
    >>> cache_key(ModelSource(object()), arrays, {}, mode=object, settings={}) is None
    True
    """
    if not source.is_known or inputs.tokenizer is not None:
        return None
    if not all(isinstance(part, datasets.Dataset) for part in splits.values()):
        return None
    about = source.about("")
    content = {
        "model": [about.id, about.trained_on, source.revision, source.path and _digest_files(Path(source.path))],
        "inputs": [inputs.words(), inputs.settings(), inputs.provenance()],
        "splits": [[name, *_split(part, inputs.column)] for name, part in splits.items()],
        "settings": {name: _describe_setting(value) for name, value in settings.items()},
        "code": [mode.__module__, digest_files([Path(inspect.getfile(mode))]), digest_code(*_ROOMS)],
        "versions": drop_when_and_where(provenance()),
    }
    try:
        return make_key(content)
    except TypeError:  # a setting that is an object, such as a tokenizer
        return None


def _digest_files(folder: Path) -> dict[str, str]:
    """Digests of the small files of a model's folder; for a model of the Hub its commit says all."""
    return {file.name: digest_files([file]) for pattern in _READ for file in folder.glob(pattern) if file.is_file()}


def _split(part: datasets.Dataset, column: str) -> list[Any]:
    info = part.info
    about = [info.description, info.dataset_name, info.config_name, str(info.version)]
    return [part._fingerprint, len(part), str(part.features), about, _digest_picture_files(part, column)]


def _digest_picture_files(part: datasets.Dataset, column: str) -> str:
    """A digest of the state of the files that the images of a split lie in; "" where the rows hold their bytes."""
    if not isinstance(part.features.get(column), datasets.Image):
        return ""
    stored = part.cast_column(column, datasets.Image(decode=False)).select_columns([column]).flatten()
    digest = hashlib.sha256()
    for path in stored.select_columns([f"{column}.path"]).with_format("arrow")[:].column(0).to_pylist():
        digest.update(f"{path} {describe_state(path) if path else ''}\n".encode())
    return digest.hexdigest()


def _describe_setting(value: Any) -> Any:
    if isinstance(value, str | Path):
        return [str(value), digest_files([Path(value).expanduser()])] if _is_file(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): _describe_setting(setting) for name, setting in value.items()}
    return [_describe_setting(setting) for setting in value] if isinstance(value, list | tuple) else value


def _is_file(value: str | Path) -> bool:
    try:
        return Path(value).expanduser().is_file()
    except (OSError, RuntimeError, ValueError):  # a text that is no name of a file: too long, with a null
        return False
