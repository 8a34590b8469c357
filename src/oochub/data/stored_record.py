"""What `build.json` beside a repository's card says of its configurations: their build records and files."""

import json
from pathlib import Path
from typing import Any

from huggingface_hub import metadata_load
from yaml import YAMLError

from oochub.data.written_files import WrittenFiles
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord
from oochub.records.schema import from_json, to_json
from oochub.storage.files import written_whole
from oochub.storage.reading import read_json

RECORDS = "build.json"
_KEY = "oochub_builds"  # in the card, where earlier versions wrote it
_WRITTEN = "written"  # of a configuration


def store_record(folder: Path, config: str, record: BuildRecord, written: WrittenFiles) -> None:
    """Writes a record into `build.json`; those of other configurations stay, in whatever order they are built.

    Args:
        folder: The repository.
        config: The configuration's name.
        record: Of its build.
        written: Its files.
    """
    records = {**stored_builds(folder), config: to_json(record) | {_WRITTEN: to_json(written)}}
    with written_whole(folder / RECORDS) as draft:
        draft.write_text(json.dumps(dict(sorted(records.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")


def stored_builds(folder: Path) -> dict[str, Any]:
    """The content of `build.json`, by configuration; empty where there is none.

    Raises:
        OochubError: It is no JSON, or no object.
    """
    file = folder / RECORDS
    return _by_config(read_json(file), str(file)) if file.is_file() else {}


def stored_record(folder: Path, config: str) -> BuildRecord | None:
    """The record of a configuration of a repository; None where there is none.

    Args:
        folder: The repository.
        config: The configuration's name, as `datasets` has it.

    Raises:
        OochubError: A record with a field that is missing or of another type; it is named.
    """
    file = folder / RECORDS
    if file.is_file():
        records = stored_builds(folder)
    else:
        file = folder / "README.md"
        try:
            content = (metadata_load(file) or {}) if file.is_file() else {}
        except (ValueError, YAMLError) as error:
            raise OochubError(f"{file} has metadata that are no YAML: {error}. Correct or remove it.") from error
        records = _by_config(content.get(_KEY, {}), f"{file}: {_KEY}")
    if config not in records:
        return None
    return from_json(BuildRecord, records[config], what=f"the build record in {file}")


def stored_files(folder: Path, config: str) -> WrittenFiles | None:
    """The files of a configuration as they were written; None where an earlier version wrote it, without digests.

    Raises:
        OochubError: `build.json` is broken, or was changed by hand.
    """
    build = stored_builds(folder).get(config)
    if not isinstance(build, dict) or _WRITTEN not in build:
        return None
    return WrittenFiles.read(build[_WRITTEN], what=f"the digests of {config} in {folder / RECORDS}")


def _by_config(records: Any, place: str) -> dict[str, Any]:
    if not isinstance(records, dict):
        raise OochubError(f"{place} holds a record for each configuration, got {repr(records)[:60]}. Build it again.")
    return records
