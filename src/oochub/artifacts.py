"""What the hub writes, each kind declared once: its name, its suffixes, and how one that is there already is known.

An output never takes the place of anything else; see `oochub.files.FileKind`.
"""

from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from oochub.errors import OochubError
from oochub.file_kind import FileKind
from oochub.reading import read_json

_HEAD = 4096  # bytes that tell what a text is
_FOOT = 2**22  # bytes that hold the metadata of a Parquet file
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


def _holds(*signs: str) -> Callable[[Path], bool]:
    """Whether a folder has files of one of these patterns, or nothing but what a killed process left."""

    def recognizes(folder: Path) -> bool:
        if all(entry.name.startswith(".") for entry in folder.iterdir()):
            return True
        return any(next(folder.glob(sign), None) is not None for sign in signs)

    return recognizes


def _is_repository(folder: Path) -> bool:
    readme = folder / "README.md"
    if readme.is_file() and not _head(readme).startswith(b"---"):
        return False
    return _holds("*/*.parquet", "*/*.tar", "README.md")(folder)


def _is_composed(folder: Path) -> bool:
    return _is_repository(folder) or _holds("features", "o2o.csv", "m2m.csv")(folder)


def _holds_only(sign: str, *others: str) -> Callable[[Path], bool]:
    """Whether a folder, which is replaced whole, has this file and no name but those of these patterns."""

    def recognizes(folder: Path) -> bool:
        names = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".draft")}
        is_known = all(any(fnmatchcase(name, known) for known in (sign, *others)) for name in names)
        return is_known and (not names or sign in names)

    return recognizes


PREDICTIONS = FileKind("predictions", (".parquet",), _is_predictions, or_folder=True)
"""Of `Predictions.save`."""
REPORT = FileKind("a report", (".json",), _is_report)
"""Of `Report.save`."""
REPORTS = FileKind("reports", (), _holds("*.json"), is_folder=True)
"""A folder with a report a task."""
PAGE = FileKind("a page", (".html", ".htm"), _is_page)
"""Of `Report.to_html`, and of a review."""
MARKDOWN = FileKind("Markdown", (".md", ".markdown"), _is_text)
"""Tables."""
LATEX = FileKind("LaTeX", (".tex", ".latex"), _is_text)
"""Tables."""
CSV = FileKind("a table", (".csv",), _is_text)
"""Numbers, rankings, decisions."""
LIST = FileKind("a list", (".txt",), _is_text)
"""One id a line."""
FIGURE = FileKind("a figure", tuple(_MAGIC), _is_figure)
"""Of `oochub report --plot`, and a gallery."""
RUN = FileKind("a training run", (), _holds("recipe.json", "checkpoints"), is_folder=True)
"""A model folder with its recipe, or an unfinished one with checkpoints."""
SWEEP = FileKind("a sweep", (), _holds("sweep.json"), is_folder=True)
"""Runs, their table and what was selected."""
STUDY = FileKind("a study", (), _holds("numbers.csv", "predictions"), is_folder=True)
"""Of `oochub detect`: predictions, reports, tables."""
REPOSITORY = FileKind("a Parquet repository", (), _is_repository, is_folder=True)
"""Configs beside a card."""
COMPOSED = FileKind("a composition", (), _is_composed, is_folder=True)
"""Of `oochub compose`: a Parquet repository, or what a search proposes."""
CLEANLINESS = FileKind("a check of cleanliness", (), _holds_only("sample.csv", "rater_*.html"), is_folder=True)
"""Of `oochub cleanliness`: pages beside their sample."""
PROMPT_CHECK = FileKind(
    "a check of a prompt", (), _holds_only("pictures.jsonl", "pictures", "prompt.html"), is_folder=True
)
"""Of `oochub prompt_check`: the pictures of a prompt, beside a page and what became of each."""
DETECTOR = FileKind("a detector", (), _holds("detector.json"), is_folder=True)
"""Of `Detector.save`."""
DEMO = FileKind("the demo", (), _holds("runs", "raw"), is_folder=True)
"""Toy worlds, runs and reports."""
EXAMPLE = FileKind("an example", (), _holds("pictures"), is_folder=True)
"""Of `oochub example`: pictures, and a model trained on them."""
AUDIT = FileKind("an audit", (), _holds("predictions.parquet"), is_folder=True)
"""Of `oochub audit`: predictions, report and page."""
GENERATION = FileKind("generated pictures", (), _holds("generation.json"), is_folder=True)
"""Of `oochub generate`: pictures, their captions and the record of both."""
WATERBIRDS = FileKind(
    "constructed Waterbirds", (), _holds_only("construction.json", "metadata.csv", "[0-2][0-9][0-9].*"), is_folder=True
)
"""Of `oochub construct`: pictures beside their metadata.csv."""
SUBMISSION = FileKind(
    "prediction files of WILDS, or their scores", (), _holds("scores.csv", "*/*_pred.*"), is_folder=True
)
"""Of `oochub submission`."""
SITE = FileKind(
    "a leaderboard's site",
    (),
    _holds_only("leaderboard.json", "index.html", "boards", "entries", "leaderboard.csv", "README.md"),
    is_folder=True,
)
"""Of `oochub leaderboard`: pages beside their data."""
ENTRY = FileKind("an entry of a leaderboard", (), _holds("entry.json"), is_folder=True)
"""A report beside its predictions."""
