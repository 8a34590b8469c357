"""Kinds of files that the hub writes: what may stand under a name, and what may be replaced there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from oochub.errors import OochubError


@dataclass(frozen=True)
class FileKind:
    """What a command writes: its name in messages, the suffixes that fit, and how an existing one is recognized.

    Attributes:
        name: With its article, "a report".
        suffixes: The allowed ends of the file's name, (".json",); () allows any.
        recognizes: Whether an existing file or folder that is not empty is of this kind, so may be replaced.
        is_folder: Whether it is a folder.
        or_folder: Whether it is a file, or a folder of the same name where it is very large.

    >>> def is_page(path: Path) -> bool:
    ...     return path.read_bytes()[:15].lower() == b"<!doctype html>"
    >>> FileKind("a page", (".html",), is_page).check(Path("page.json"))
    Traceback (most recent call last):
    oochub.errors.OochubError: Cannot write a page to page.json: its name must end in .html.
    """

    name: str
    suffixes: tuple[str, ...]
    recognizes: Callable[[Path], bool]
    is_folder: bool = False
    or_folder: bool = False

    def check(self, path: Path) -> None:
        """Refuses a suffix that does not fit, and a path that holds something else; links are followed.

        Raises:
            OochubError: What is there, and what to do.
        """
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            raise OochubError(f"Cannot write {self.name} to {path}: its name must end in {' or '.join(self.suffixes)}.")
        if self.is_folder and path.exists() and not path.is_dir():
            raise OochubError(f"Cannot write {self.name} to {path}: it is a file. Choose another folder.")
        is_empty = not path.exists() or (not any(path.iterdir()) if path.is_dir() else not path.stat().st_size)
        if not is_empty and not self.recognizes(path):
            raise OochubError(
                f"Cannot write {self.name} to {path}: what stands there is not {self.name}, and is not replaced. "
                "Choose another output path, or move it away."
            )
