"""Whether what somebody wrote into the card of a data set makes it read files from elsewhere."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from huggingface_hub import metadata_load
from yaml import YAMLError

from oochub.errors import OochubError

_KEYS = ("data_files", "data_dir", "path")


def check_card_paths(folder: Path) -> None:
    """Checks the paths in the card of a folder before anything looks for them.

    Args:
        folder: Of a data set; a name on the Hub, or one without a card, has nothing to check.

    Raises:
        OochubError: An address, or a path out of the folder.
    """
    try:
        card = metadata_load(folder / "README.md") if (folder / "README.md").is_file() else None
    except (ValueError, YAMLError, RecursionError, TypeError, AttributeError):
        return  # whoever loads it says what is wrong
    for path in _paths(card.get("configs") if isinstance(card, dict) else None):
        is_absolute = PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()
        if is_absolute or "://" in path or ".." in path.replace("\\", "/").split("/"):
            raise _elsewhere(str(folder), path)


def check_data_files(builder: Any, folder: Path) -> None:
    """Checks the files that a builder found by the card.

    Args:
        builder: Of `datasets.load_dataset_builder`.
        folder: The data set, where it is one here.

    Raises:
        OochubError: One is not of the folder, or of the repository on the Hub.
    """
    for files in (builder.config.data_files or {}).values():
        for file in map(str, files):
            if builder.repo_id:
                is_own = file.startswith(f"hf://datasets/{builder.repo_id}@")
            else:
                is_own = not folder.is_dir() or Path(file).is_relative_to(folder)
            if not is_own or ".." in file.split("/"):
                raise _elsewhere(builder.repo_id or str(folder), file)


def _paths(value: Any) -> Iterator[str]:
    """The paths in the configurations of a card."""
    if isinstance(value, list):
        for each in value:
            yield from _paths(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in _KEYS:
                yield from _texts(each)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _elsewhere(source: str, path: str) -> OochubError:
    return OochubError(
        f"The card of {source} names data from elsewhere, {path[:200]!r}, which are not read. Load them by their own "
        "path, or mend the card."
    )
