"""The build records of a repository's configurations, in `build.json` beside its card."""

import json
from pathlib import Path

from huggingface_hub import metadata_load
from yaml import YAMLError

from oochub.build_record import BuildRecord
from oochub.errors import OochubError
from oochub.files import written_whole
from oochub.reading import read_json
from oochub.schema import from_json, to_json

RECORDS = "build.json"
_KEY = "oochub_builds"  # in the card, where earlier versions wrote it


def store_record(folder: Path, config: str, record: BuildRecord) -> None:
    """Writes a record into `build.json`; those of other configurations stay, in whatever order they are built."""
    file = folder / RECORDS
    records = {**(read_json(file) if file.is_file() else {}), config: to_json(record)}
    with written_whole(file) as draft:
        draft.write_text(json.dumps(dict(sorted(records.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")


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
        records, place = read_json(file), f"{file}"
    else:
        file = folder / "README.md"
        try:
            content = (metadata_load(file) or {}) if file.is_file() else {}
        except (ValueError, YAMLError) as error:
            raise OochubError(f"{file} has metadata that are no YAML: {error}. Correct or remove it.") from error
        records, place = content.get(_KEY, {}), f"{file}: {_KEY}"
    if not isinstance(records, dict):
        raise OochubError(f"{place} holds a record for each configuration, got {records!r}. Build it again.")
    found = records.get(config)
    return None if found is None else from_json(BuildRecord, found, what=f"the build record in {file}")
