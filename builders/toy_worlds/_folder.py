"""Where a world is written: whole or not at all, and never over another one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, unknown_name
from oochub.files import folder_written_whole

_RECORD = "toy_world.json"


def count_of(size: str | int, sizes: dict[str, int], *, least: int) -> int:
    """The number that `size` stands for: a name of `sizes`, or itself when it is an int of at least `least`."""
    if isinstance(size, str):
        if size not in sizes:
            raise unknown_name("toy world size", size, sizes, "An int gives any other number.")
        return sizes[size]
    if size < least:
        raise OochubError(f"The size of this toy world is at least {least}, got {size}. Give a larger number.")
    return int(size)


def stands(folder: Path, parameters: dict[str, Any]) -> bool:
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


@contextmanager
def written_whole(folder: Path, parameters: dict[str, Any]) -> Iterator[Path]:
    """Yield a temporary sibling of `folder` that takes its place, with the record, when the block ends well."""
    with folder_written_whole(folder) as draft:
        yield draft
        (draft / _RECORD).write_text(json.dumps(parameters, indent=1) + "\n", encoding="utf-8")
