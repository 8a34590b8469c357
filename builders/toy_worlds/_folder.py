"""Writes a world into its folder: whole or not at all, and never over another one."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from PIL import Image

from oochub.errors import OochubError, unknown_name
from oochub.process.follow import follow
from oochub.storage.files import write_whole_folder

Files = Iterator[tuple[str, Image.Image | str | bytes]]
"""The files of a world one after the other: a path within its folder, and what it holds."""
FINE = {"quality": 95, "subsampling": 0}
"""How photographs are saved that lose next to nothing."""
_Cell = TypeVar("_Cell")


class World(NamedTuple):
    """A world that can be drawn.

    Attributes:
        name: Name of the function that draws it.
        sizes: The number that the name of a size stands for.
        least: The least number.
        counts: What the number counts.
        version: Raised when the same arguments give other files than before, under the name of the work.
        saved: How images are saved, as Pillow calls it.
    """

    name: str
    sizes: dict[str, int]
    least: int
    counts: str = "count"
    version: Mapping[str, int] = {"drawing": 1}
    saved: Mapping[str, Any] = {"quality": 92}

    def draw(self, folder: str | Path, draw: Callable[..., Files], size: str | int, **options: Any) -> Path:
        """Draws the world into a folder, whole or not at all; one that stands there already is left as it is.

        Args:
            folder: A new or empty folder, or one that holds this very world.
            draw: Gives the files, from the number that `size` stands for and the options.
            size: A name of `sizes`, or a number of at least `least`.
            **options: What else makes it this world and no other, JSON types; kept in the folder as `toy_world.json`.

        Returns:
            The folder.

        Raises:
            OochubError: An unknown size, or a folder with other content.
        """
        if isinstance(size, str) and size not in self.sizes:
            raise unknown_name("toy world size", size, self.sizes, "For any other size, give a number.")
        count = self.sizes[size] if isinstance(size, str) else int(size)
        if count < self.least:
            raise OochubError(
                f"The size of this toy world must be at least {self.least}, got {size}. Give a larger number."
            )
        root, record = Path(folder), {"world": self.name, **self.version, self.counts: count, **options}
        if not _holds_world(root / "toy_world.json", record):
            with write_whole_folder(root) as draft:
                for name, content in draw(count, **options):
                    path = draft / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    if isinstance(content, Image.Image):
                        content.save(path, **self.saved)
                    else:
                        path.write_bytes(content.encode() if isinstance(content, str) else content)
                (draft / "toy_world.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return root

    def follow(self, cells: Iterable[_Cell]) -> Iterable[_Cell]:
        """The cells one after the other, with a bar if they take long."""
        bar: Iterable[_Cell] = follow(cells, desc=self.name.replace("_", " "), disable=None, delay=2)
        return bar


def write_table(*rows: Iterable[object], **settings: Any) -> str:
    """The text of a CSV file; the settings are those of `csv.writer`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", **settings).writerows(rows)
    return text.getvalue()


def _holds_world(file: Path, record: dict[str, Any]) -> bool:
    """Whether this very world stands in the folder of `file` already; any other content is an error."""
    folder = file.parent
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    present = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    if present == record:
        return True
    what = f"holds another toy world, {present}" if present else "exists and holds other files"
    raise OochubError(
        f"{folder} {what}; asked for {record}. Nothing was written: "
        "give a new or empty folder, or delete this one yourself."
    )
