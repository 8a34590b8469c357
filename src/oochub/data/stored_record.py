"""The build record in a repository's card, so that own contexts and notes are known again where it is loaded."""

from pathlib import Path
from typing import Any

from huggingface_hub import metadata_load
from yaml import YAMLError

from oochub.build_record import BuildRecord
from oochub.errors import OochubError
from oochub.schema import from_json, to_json

_KEY = "oochub_builds"


def store_record(card: Any, config: str, record: BuildRecord) -> None:
    """Writes a record into the metadata of a card (`DatasetCardData`); those of other configurations stay."""
    stored = card.get(_KEY)
    records = {**(stored if isinstance(stored, dict) else {}), config: to_json(record)}
    card[_KEY] = dict(sorted(records.items()))  # in whatever order they are built


def stored_record(folder: Path, config: str) -> BuildRecord | None:
    """The record of a configuration in the card of a repository; None where there is none.

    Args:
        folder: The repository.
        config: The configuration's name, as `datasets` has it.

    Raises:
        OochubError: A record with a field that is missing or of another type; it is named.
    """
    card = folder / "README.md"
    try:
        content = (metadata_load(card) or {}) if card.is_file() else {}
    except (ValueError, YAMLError) as error:
        raise OochubError(f"{card} has metadata that are no YAML: {error}. Correct or remove it.") from error
    stored = content.get(_KEY)
    if stored is None:
        return None
    if not isinstance(stored, dict):
        raise OochubError(f"{card}: {_KEY} holds a record for each configuration, got {stored!r}. Build it again.")
    found = stored.get(config)
    return None if found is None else from_json(BuildRecord, found, what=f"the build record in {card}")
