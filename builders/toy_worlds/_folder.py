"""Writes a world into its folder: whole or not at all, and never over another one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, unknown_name
from oochub.storage.files import write_whole_folder

_RECORD = "toy_world.json"


def count_of(size: str | int, sizes: dict[str, int], *, least: int) -> int:
    """The number that `size` stands for: a name of `sizes`, or itself when it is an int of at least `least`."""
    if isinstance(size, str):
        if size not in sizes:
            raise unknown_name("toy world size", size, sizes, "For any other size, give a number.")
        return sizes[size]
    if size < least:
        raise OochubError(f"The size of this toy world must be at least {least}, got {size}. Give a larger number.")
    return int(size)


def _holds_world(folder: Path, parameters: dict[str, Any]) -> bool:
    """Whether this very world stands in `folder` already; any other content is an error."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    record = folder / _RECORD
    present = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else None
    if present == parameters:
        return True
    what = f"holds another toy world, {present}" if present else "exists and holds other files"
    raise OochubError(
        f"{folder} {what}; asked for {parameters}. Nothing was written: "
        "give a new or empty folder, or delete this one yourself."
    )


def toy_world(folder: str | Path, record: dict[str, Any], draw: Callable[[Path], None]) -> Path:
    """Draws a world into a folder, whole or not at all; one that stands there already is left as it is.

    Args:
        folder: A new or empty folder, or one that holds this very world.
        record: What makes it this world and no other, JSON types; kept in the folder as `toy_world.json`.
        draw: Draws it into the folder that it is given.

    Returns:
        The folder.

    Raises:
        OochubError: A folder with other content.
    """
    root = Path(folder)
    if not _holds_world(root, record):
        with write_whole_folder(root) as draft:
            draw(draft)
            (draft / _RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return root
