"""What the hub writes, each kind declared once: its name, its suffixes, and how one that is there already is known.

An output never takes the place of anything else; see `oochub.storage.files.FileKind`. A table as CSV is one that a
spreadsheet takes for data: text that would be a formula there is written as text (`format_csv`).
"""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub.errors import OochubError
from oochub.storage.files import FileKind
from oochub.storage.reading import read_json

if TYPE_CHECKING:
    import pandas as pd


_HEAD = 4096  # bytes that tell what a text is
_FOOT = 2**22  # bytes that hold the metadata of a Parquet file
GROUP_TABLE_MARK = "oochub.groups"  # in the metadata of its schema
_MAGIC = {".png": b"\x89PNG\r\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _is_text(path: Path) -> bool:
    head = _head(path)
    return b"\0" not in head and "\ufffd" not in head.decode("utf-8", "replace")[:-1]  # the cut may halve a letter


def _is_predictions(path: Path) -> bool:
    if path.is_dir():  # of parts
        return (path / "_manifest.json").is_file()
    with path.open("rb") as file:  # not by its schema: one with a flipped bit may be made again
        begin = file.read(4)
        file.seek(max(0, path.stat().st_size - _FOOT))
        return begin == b"PAR1" and b'"class_names"' in file.read()


def _is_group_table(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(4)
        file.seek(max(0, path.stat().st_size - _FOOT))
        return begin == b"PAR1" and GROUP_TABLE_MARK.encode() in file.read()


def _is_report(path: Path) -> bool:
    try:
        content = read_json(path)
    except OochubError:
        return False
    return isinstance(content, dict) and {"schema_version", "benchmark", "slices"} <= set(content)


def _is_page(path: Path) -> bool:
    content = path.read_bytes()
    return content[:15].lower() == b"<!doctype html>" and b"oochub" in content


def _is_figure(path: Path) -> bool:
    return _head(path).startswith(_MAGIC[path.suffix.lower()])


def _is_junit(path: Path) -> bool:
    return b"<testsuites" in _head(path)


def _is_badge(path: Path) -> bool:
    head = _head(path)
    return head.startswith(b"<svg") and b"oochub check" in head


def _is_never_replaced(path: Path) -> bool:
    return False


def holds(*signs: str) -> Callable[[Path], bool]:
    """Whether a folder has files of one of these patterns, or nothing but what a killed process left."""

    def recognizes(folder: Path) -> bool:
        if all(entry.name.startswith(".") for entry in folder.iterdir()):
            return True
        return any(next(folder.glob(sign), None) is not None for sign in signs)

    return recognizes


def is_repository(folder: Path) -> bool:
    """Whether a folder holds Parquet files or shards, or a card that begins with YAML."""
    readme = folder / "README.md"
    if readme.is_file() and not _head(readme).startswith(b"---"):
        return False
    return holds("*/*.parquet", "*/*.tar", "README.md")(folder)


def holds_only(sign: str, *others: str) -> Callable[[Path], bool]:
    """Whether a folder, which is replaced whole, has this file and no name but those of these patterns."""

    def recognizes(folder: Path) -> bool:
        names = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".draft")}
        is_known = all(any(fnmatchcase(name, known) for known in (sign, *others)) for name in names)
        return is_known and (not names or sign in names)

    return recognizes


PREDICTIONS = FileKind("predictions", (".parquet",), _is_predictions, or_folder=True)
"""What `Predictions.save` writes."""
GROUP_TABLE = FileKind("a table of groups", (".parquet",), _is_group_table)
"""The numbers of every group."""
REPORT = FileKind("a report", (".json",), _is_report)
"""What `Report.save` writes."""
REPORTS = FileKind("reports", (), holds("*.json"), is_folder=True)
"""A folder with one report per task."""
PAGE = FileKind("a page", (".html", ".htm"), _is_page)
"""What `Report.to_html` writes, and a review."""
MARKDOWN = FileKind("Markdown", (".md", ".markdown"), _is_text)
"""Tables."""
LATEX = FileKind("LaTeX", (".tex", ".latex"), _is_text)
"""Tables."""
CSV = FileKind("a table", (".csv",), _is_text)
"""Numbers, rankings, decisions."""
JUNIT = FileKind("JUnit XML", (".xml",), _is_junit)
"""What came of the rules of a check, for a CI server."""
BADGE = FileKind("a badge", (".svg",), _is_badge)
"""The state of a check as a small SVG."""
RULES = FileKind("a new file of rules", (".toml",), _is_never_replaced)
"""What `oochub check --suggest` writes; people change it, so it never takes the place of another."""
DECLARATION = FileKind("a new declaration", (".toml",), _is_never_replaced)
"""What `oochub build --describe` writes; people change it, so it never takes the place of another."""
LIST = FileKind("a list", (".txt",), _is_text)
"""One id per line."""
FIGURE = FileKind("a figure", tuple(_MAGIC), _is_figure)
"""What `oochub report --plot` draws."""
RUN = FileKind("a training run", (), holds("recipe.json", "checkpoints"), is_folder=True)
"""A model folder with its recipe, or an unfinished one with checkpoints."""
SWEEP = FileKind("a sweep", (), holds("sweep.json"), is_folder=True)
"""Runs, their table and what was selected."""
REPOSITORY = FileKind("a Parquet repository", (), is_repository, is_folder=True)
"""Configs beside a card."""
DETECTOR = FileKind("a detector", (), holds("detector.json"), is_folder=True)
"""What `Detector.save` writes."""
AUDIT = FileKind("an audit", (), holds("predictions.parquet"), is_folder=True)
"""What `oochub audit` writes: predictions, report and page."""
REPAIR = FileKind("a repair", (), holds("repair.json", "features.parquet"), is_folder=True)
"""What `oochub repair` writes: the record, the page, predictions, and the repaired model."""
SITE = FileKind(
    "a leaderboard's site",
    (),
    holds_only("leaderboard.json", "index.html", "boards", "entries", "leaderboard.csv", "README.md"),
    is_folder=True,
)
"""What `oochub leaderboard` writes: pages beside their data."""
BROWSER = FileKind(
    "a page of all rows",
    (),
    holds_only("index.html", "report.html", "page", "data", "sheets"),
    is_folder=True,
)
"""What `oochub report --browse` writes: a page with its scripts, data and images."""
ENTRY = FileKind("an entry of a leaderboard", (), holds("entry.json"), is_folder=True)
"""A report beside its predictions."""


_FORMULA = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def find_plot_kind(path: str) -> FileKind:
    """What a file of `oochub report --plot` holds by its name: the figure, or as .csv the table that belongs to it.

    >>> find_plot_kind("gap.png").name, find_plot_kind("chosen.csv").name
    ('a figure', 'a table')
    """
    return CSV if path.lower().endswith(".csv") else FIGURE


def format_csv(frame: "pd.DataFrame") -> str:
    r"""The rows of a frame as CSV, its index left out; text that begins as a formula gets an apostrophe before it.

    Numbers stay numbers, also those below 0. What is read again as data, such as decisions by the ids of images, is
    not written by this.

    >>> import pandas as pd
    >>> format_csv(pd.DataFrame({"model": ["=HYPERLINK(1)", "a-b"], "gap": [-0.5, 2.0]}))
    "model,gap\n'=HYPERLINK(1),-0.5\na-b,2.0\n"
    """
    import pandas as pd

    plain = frame.rename(columns=_format_cell)
    for number, kind in enumerate(plain.dtypes):
        if kind.kind not in "biufM":
            cells = [_format_cell(value) for value in plain.iloc[:, number]]
            plain.isetitem(number, pd.array(cells, dtype=object))
    text: str = plain.to_csv(index=False)
    return text


def _format_cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = re.sub("\r\n?", "\n", value)  # Python leaves a lone CR without quotes, and it begins a row elsewhere
    return f"'{text}" if text.startswith(_FORMULA) else text
