"""What a command writes: its name, its suffixes, and what of it may stand where it is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from oochub.errors import OochubError, choose_wording
from oochub.storage import ownership
from oochub.storage.ownership import read_mark


@dataclass(frozen=True)
class FileKind:
    """What a command writes: its name in messages, the suffixes that fit, and how an existing one is recognized.

    Attributes:
        name: Name with its article, "a report".
        suffixes: The allowed ends of the file's name, (".json",); () allows any.
        recognizes: Whether an existing file is of this kind, so may be replaced; whether a folder without a manifest
            was written by an earlier version, so that what matches `names` is ours: True, or the patterns to take.
        is_folder: Whether it is a folder.
        or_folder: Whether it is a file, or a folder of the same name where it is very large.
        names: Patterns of the paths that may be written into the folder; `*` takes slashes too.
        is_marked: Whether the format has a place for our mark, which is added when it is written.
        beside: What else is written beside the file: its path by that of the file, and its kind.

    >>> def is_page(path: Path) -> bool:
    ...     return path.read_bytes()[:15].lower() == b"<!doctype html>"
    >>> FileKind("a page", (".html",), is_page).check(Path("page.json"))
    Traceback (most recent call last):
    oochub.errors.OochubError: Cannot write a page to page.json: its name must end in .html.
    """

    name: str
    suffixes: tuple[str, ...]
    recognizes: Callable[[Path], bool | tuple[str, ...]]
    is_folder: bool = False
    or_folder: bool = False
    names: tuple[str, ...] = ()
    is_marked: bool = False
    beside: "Callable[[Path], tuple[Path, FileKind]] | None" = None

    def check(self, path: Path) -> None:
        """Refuses a suffix that does not fit, and a path that holds something that is not ours or was edited.

        Raises:
            OochubError: What is there, and what to do.
        """
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            raise OochubError(f"Cannot write {self.name} to {path}: its name must end in {' or '.join(self.suffixes)}.")
        if self.is_folder and path.exists() and not path.is_dir():
            raise OochubError(f"Cannot write {self.name} to {path}: it is a file. Choose another folder.")
        if path.is_dir():
            self._check_folder(path)
        elif path.is_file() and path.stat().st_size:
            self._check_file(path)

    def _check_file(self, path: Path) -> None:
        governor = ownership.find_governor(path, is_inside=False)
        if governor is not None and (ownership.is_claimed(governor) or governor.is_cache):
            ownership.check_owned(path, governor)
            return
        if ownership.may_overwrite():
            return
        if self.is_marked and read_mark(path) is False:
            raise ownership.refuse(path, "was changed after oochub wrote it")
        if not self.recognizes(path):
            raise self._refuse(path)
        if governor is not None and not self.is_marked:
            ownership.check_owned(path, governor)

    def _check_folder(self, folder: Path) -> None:
        if all(entry.name.startswith(".") and entry.name != ownership.MANIFEST for entry in folder.iterdir()):
            return  # empty, or what a killed process left
        manifest = ownership.FolderManifest.at(folder)
        is_own = manifest is not None and (manifest.kind == self.name or ownership.is_claimed(manifest))
        adopted = () if manifest is not None else self.adopt(folder)
        if not is_own and not adopted and (manifest is not None or not ownership.may_overwrite()):
            if manifest is None or any(entry.name != ownership.MANIFEST for entry in folder.iterdir()):
                raise self._refuse(folder)
        owned = ownership.OwnedFolder(manifest, adopted)
        for file in ownership.list_files(folder):
            name = file.relative_to(folder).as_posix()
            is_wanted = self.or_folder or ownership.match(name, self.names)
            if not is_wanted or owned.has(file) or _is_folder_for(file, name, self.names):
                continue
            if file.is_symlink():
                raise ownership.refuse(file, ownership.LINK)
            if not (ownership.may_overwrite() and file.is_file() and not self.or_folder):
                raise ownership.refuse(file, owned.why(file))

    def _refuse(self, path: Path) -> OochubError:
        more = "" if path.is_dir() or not self.suffixes else f", or {choose_wording('delete it', 'add --overwrite')}"
        return OochubError(
            f"Cannot write {self.name} to {path}: what stands there is not {self.name} that oochub wrote, and is not "
            f"replaced. Choose another output path, or move it away{more}."
        )

    def adopt(self, folder: Path) -> tuple[Path, ...]:
        """The files that an earlier version, which wrote no manifest, wrote into a folder; () if it wrote none."""
        if not (said := self.recognizes(folder)):
            return ()
        patterns = self.names if isinstance(said, bool) else said
        files = [file for file in ownership.list_files(folder) if file.is_file() and not file.is_symlink()]
        return tuple(file for file in files if ownership.match(file.relative_to(folder).as_posix(), patterns))


def _is_folder_for(path: Path, name: str, names: Sequence[str]) -> bool:
    """Whether it is an empty folder where one of the patterns has a folder."""
    heads = [parent.as_posix() for each in names for parent in Path(each).parents]
    return path.is_dir() and not path.is_symlink() and any(fnmatchcase(name, each) for each in heads)
