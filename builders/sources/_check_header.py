"""The first line of a table, which names its columns."""

from collections.abc import Sequence
from pathlib import Path

from oochub.errors import OochubError


def check_header(file: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    """Checks that the first line of a file names each of the columns, once.

    Raises:
        OochubError: It lacks a column, or has it twice.

    >>> check_header(Path("birds.csv"), ["y", "y"], ["y"])
    Traceback (most recent call last):
    oochub.errors.OochubError: birds.csv has twice the column y. It needs y; its first line names y, y. Fetch it again.
    """
    wrong = [name for name in columns if header.count(name) != 1]
    if wrong:
        what = "has twice" if wrong[0] in header else "lacks"
        raise OochubError(
            f"{file} {what} the column {wrong[0]}. It needs {', '.join(columns)}; its first line names "
            f"{', '.join(header)[:200] or 'none'}. Fetch it again."
        )
