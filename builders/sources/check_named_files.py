"""Files that a table names, which are to lie below a folder."""

import errno
from collections.abc import Iterable
from pathlib import Path

from oochub.errors import OochubError

_NAMED = 5  # of those that are missing


def check_named_files(named: Iterable[tuple[int, str]], name: str, root: Path, *, by: Path) -> None:
    """Checks that the files which a table names lie below a folder; their content is not read.

    Args:
        named: Of each its line in the table, and its path.
        name: The column, or what the files are, in words.
        root: The folder.
        by: The table.

    Raises:
        OochubError: A path that leaves the folder, or a file that is not there; its line is named.

    >>> check_named_files([(2, "../1.jpg")], "img_filename", Path("raw"), by=Path("metadata.csv"))
    Traceback (most recent call last):
    oochub.errors.OochubError: metadata.csv, line 2: img_filename leads out of raw, got '../1.jpg': it is not read.
    """
    folders: dict[str, set[str]] = {}
    missing = []
    count = 0
    for line, path in named:
        parts = path.split("/")  # no Path: there may be 200,000
        if ".." in parts:
            raise OochubError(f"{by}, line {line}: {name} leads out of {root}, got {path[:80]!r}: it is not read.")
        if "" in parts or "." in parts or "\\" in path or "\0" in path:
            raise OochubError(f"{by}, line {line}: {name} is a path below {root}, got {path[:80]!r}.")
        folder, _, file = path.rpartition("/")
        if folder not in folders:
            folders[folder] = _names(root / folder)
        if file not in folders[folder]:
            missing.append(f"line {line}, {path[:120]}")
        count += 1
    if missing:
        more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
        raise OochubError(
            f"{len(missing):,} of the {count:,} files that {by} names are not in {root}: "
            f"{'; '.join(missing[:_NAMED])}{more}. Unpack the archive again."
        )


def _names(folder: Path) -> set[str]:
    """What lies in a folder; nothing where it is none."""
    try:
        return {path.name for path in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except OSError as error:  # no permission, a loop of links
        if error.errno == errno.ENAMETOOLONG:
            return set()
        raise OochubError(f"Cannot read the folder {folder}: {error.strerror}. Check its permissions.") from error
