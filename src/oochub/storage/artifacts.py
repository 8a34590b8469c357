"""What the hub writes, each kind declared once: its name, its suffixes, and how one that is there already is known.

An output never takes the place of anything else; see `oochub.storage.ownership`. A table as CSV is one that a
spreadsheet takes for data: text that would be a formula there is written as text (`format_csv`).

What a command writes: its name, its suffixes, and what of it may stand where it is written.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from oochub.errors import OochubError, choose_wording
from oochub.storage import ownership
from oochub.storage.ownership import read_mark
from oochub.storage.reading import read_json

if TYPE_CHECKING:
    import pandas as pd


Integrity = Literal["checked", "not checked"]
"""Whether the bytes of a file were compared with its seal."""
_HEAD = 4096  # bytes that tell what a text is
_FOOT = 2**22  # bytes that hold the metadata of a Parquet file
GROUP_TABLE_MARK = "oochub.groups"  # in the metadata of its schema
_FORMATS = (".png", ".pdf", ".svg")
_PAGE_HEAD = (
    b'<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">',
    b"oochub",
)
_CSV_HEADS = (  # the first columns of each table
    "benchmark,config,metric,slice,method,reported,",
    "example_id,label,context,model,answer,probability,",
    "rank,task,gap,loss_all,loss_hard,",
    "scope,id,decision,at",
    "slice,role,split,n,metric,first,",
    "slice,split,n,metric,first,second,",
    "table,data_set,method,side,",
    "track,rule,stage,task,method,objective,",
    "wnid,name,kept,removed_by,why,published",
)


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
            if manifest is not None and manifest.owns_folder(file):  # empty: another process is about to fill it
                continue
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
        if not (facts := self.recognizes(folder)):
            return ()
        patterns = self.names if isinstance(facts, bool) else facts
        files = [file for file in ownership.list_files(folder) if file.is_file() and not file.is_symlink()]
        return tuple(file for file in files if ownership.match(file.relative_to(folder).as_posix(), patterns))


def _is_folder_for(path: Path, name: str, names: Sequence[str]) -> bool:
    """Whether it is an empty folder where one of the patterns has a folder."""
    heads = [parent.as_posix() for name in names for parent in Path(name).parents]
    return path.is_dir() and not path.is_symlink() and any(fnmatchcase(name, head) for head in heads)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _is_predictions(path: Path) -> bool | tuple[str, ...]:
    if path.is_dir():  # of parts
        return (path / "_manifest.json").is_file()
    return _has_footer(path, b'"class_names"')


def _has_footer(path: Path, words: bytes) -> bool:
    """Whether it is Parquet that says so; not by its schema: one with a flipped bit may be made again."""
    with path.open("rb") as file:
        begin = file.read(4)
        file.seek(max(0, path.stat().st_size - _FOOT))
        return begin == b"PAR1" and words in file.read()


def _is_page(path: Path) -> bool:
    content = path.read_bytes()
    if (is_intact := read_mark(path)) is not None:
        return is_intact
    return content[:15].lower() == b"<!doctype html>" and all(mark in content for mark in _PAGE_HEAD)


def _is_marked(path: Path) -> bool:
    return read_mark(path) is True


def _is_table(path: Path) -> bool:
    first = _head(path).decode("utf-8", "replace").partition("\n")[0].strip()
    is_chosen = first.removeprefix("kind,").startswith("example_id,split,") and ",nll " in first  # of the figures
    if is_chosen and first.endswith(",doubtful"):  # of examples; where a reader marks wrong labels it is theirs
        return all(not line or line.endswith(",") for line in path.read_text("utf-8", "replace").splitlines()[1:])
    return first.startswith(_CSV_HEADS) or is_chosen


def _is_never_replaced(path: Path) -> bool:
    return False


def _is_marked_or(is_older: Callable[[Path], bool]) -> Callable[[Path], bool]:
    """Whether a file has our mark and is as it was, or has none and was written before there were marks."""
    return lambda path: _is_marked(path) or (read_mark(path) is None and is_older(path))


def _is_older_badge(path: Path) -> bool:
    return _head(path).startswith(b"<svg") and holds('aria-label="oochub check: ')(path)


def when(sign: str, is_ours: Callable[[Path], bool | tuple[str, ...]]) -> Callable[[Path], bool]:
    """Whether a folder has a file of this pattern, and what it holds is ours."""

    def recognizes(folder: Path) -> bool:
        return any(not path.is_symlink() and bool(is_ours(path)) for path in folder.glob(sign))

    return recognizes


def has_keys(*keys: str) -> Callable[[Path], bool]:
    """Whether a file is a JSON object with these keys."""

    def recognizes(path: Path) -> bool:
        if path.is_symlink() or not path.is_file():
            return False
        try:
            content = read_json(path)
        except OochubError:
            return False
        return isinstance(content, dict) and set(keys) <= set(content)

    return recognizes


def holds(*words: str) -> Callable[[Path], bool]:
    """Whether a text holds all of these words in its first 4,096 bytes."""
    return lambda path: all(word.encode() in _head(path) for word in words)


_is_report = has_keys("schema_version", "benchmark", "slices")
_is_repair = has_keys("schema_version", "outcome", "reason", "command")


def _is_repair_folder(folder: Path) -> bool | tuple[str, ...]:
    """All of it by its record; of one that was killed before, the features alone."""
    if _is_repair(folder / "repair.json"):
        return True
    return ("features.*",) if when("features.parquet", _is_predictions)(folder) else False


_BESIDE = ("README.md", "LICENSE.md", "build.json", "croissant.json")


def find_configs(folder: Path) -> tuple[str, ...]:
    """Patterns of the files of a repository that an earlier version built, as its build.json says; () for another."""
    record = folder / "build.json"
    content = read_json(record) if has_keys()(record) else {}
    configs = [name for name, part in content.items() if isinstance(part, dict) and "benchmark" in part]
    places = {"data" if name == "default" else name for name in configs if "/" not in name}
    ends = ("*-[0-9a-f]*.parquet", "*-[0-9a-f]*.tar", "index.json")
    return (*_BESIDE, *(f"{place}/{end}" for place in sorted(places) for end in ends)) if places else ()


HEAD = FileKind("a head", (".safetensors",), holds('"__metadata__":{"oochub"'))
"""The last layer of a model, beside its predictions."""
PREDICTIONS = FileKind(
    "predictions",
    (".parquet",),
    _is_predictions,
    or_folder=True,
    names=("_manifest.json", "_thumbnails.parquet", "_layout.json", "_empty-*.json", "part-*.parquet"),
    beside=lambda path: (path.with_suffix(".head.safetensors"), HEAD),
)
"""What `Predictions.save` writes."""
GROUP_TABLE = FileKind("a table of groups", (".parquet",), lambda path: _has_footer(path, GROUP_TABLE_MARK.encode()))
"""The numbers of every group."""
REPORT = FileKind("a report", (".json",), _is_report)
"""What `Report.save` writes."""
REPORTS = FileKind("reports", (), when("*.json", _is_report), is_folder=True, names=("*.json",))
"""A folder with one report per task."""
PAGE = FileKind("a page", (".html", ".htm"), _is_page, is_marked=True)
"""What `Report.to_html` writes, and a review."""
MARKDOWN = FileKind("Markdown", (".md", ".markdown"), _is_marked, is_marked=True)
"""Tables."""
LATEX = FileKind("LaTeX", (".tex", ".latex"), _is_marked, is_marked=True)
"""Tables."""
CSV = FileKind("a table", (".csv",), _is_table)
"""Numbers, rankings, decisions."""
JUNIT = FileKind("JUnit XML", (".xml",), _is_marked_or(holds('<testsuites name="oochub check"')), is_marked=True)
"""What came of the rules of a check, for a CI server."""
BADGE = FileKind("a badge", (".svg",), _is_marked_or(_is_older_badge), is_marked=True)
"""The state of a check as a small SVG."""
RULES = FileKind("a new file of rules", (".toml",), _is_never_replaced)
"""What `oochub check --suggest` writes; people change it, so it takes the place of another only if asked to."""
DECLARATION = FileKind("a new declaration", (".toml",), _is_never_replaced)
"""What `oochub build --describe` writes; people change it, so it takes the place of another only if asked to."""
LIST = FileKind("a list", (".txt",), _is_never_replaced)
"""One id per line, which leaves no place for a mark."""
FIGURE = FileKind("a figure", _FORMATS, _is_marked, is_marked=True)
"""What `oochub report --plot` draws."""
RECORD = FileKind("the record of a repair", (".json",), _is_repair)
"""What `Repair.save` writes."""
_MODEL = (  # what `save_pretrained` of models and processors writes
    *("config.json", "generation_config.json", "*processor_config.json", "model*.safetensors", "README.md"),
    *("model.safetensors.index.json", "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json"),
    "added_tokens.json",
)
RUN = FileKind(
    "a training run",
    (),
    lambda folder: (
        when("recipe.json", has_keys("objective", "settings"))(folder)
        or when("checkpoints/settings.json", has_keys())(folder)
    ),
    is_folder=True,
    names=(*_MODEL, "recipe.json", "training_log.json", "auxiliary_head.safetensors", "checkpoints/*"),
)
"""A model folder with its recipe, or an unfinished one with checkpoints."""
SWEEP = FileKind(
    "a sweep",
    (),
    when("sweep.json", has_keys("recipe", "track")),
    is_folder=True,
    names=(
        *("sweep.json", "runs.parquet", "selected.*", "oracle.*"),
        *("rows/*.json", "logs/*.log", "runs/*/predictions.parquet", "runs/*/report.json", "runs/*/head.safetensors"),
    ),
)
"""Runs, their table and what was selected."""
REPOSITORY = FileKind("a Parquet repository", (), find_configs, is_folder=True, names=_BESIDE)
"""Configs beside a card."""
DETECTOR = FileKind(
    "a detector",
    (),
    when("detector.json", has_keys("detector", "hyperparameters", "columns")),
    is_folder=True,
    names=("detector.json", "state.safetensors"),
)
"""What `Detector.save` writes."""
AUDIT = FileKind(
    "an audit",
    (),
    when("predictions.parquet*", _is_predictions),
    is_folder=True,
    names=(
        *("predictions.parquet", "predictions.parquet/*", "predictions.head.safetensors"),
        *("report.json", "report.html"),
    ),
)
"""What `oochub audit` writes: predictions, report and page."""
REPAIR = FileKind(
    "a repair",
    (),
    _is_repair_folder,
    is_folder=True,
    names=(
        *("repair.json", "repair.html", "collect.csv", *(f"model/{name}" for name in _MODEL)),
        *(f"{name}.{end}" for name in ("features", "unlabeled", "before", "after") for end in ("parquet*", "head.*")),
    ),
)
"""What `oochub repair` writes: the record, the page, predictions, and the repaired model."""
SITE = FileKind(
    "a leaderboard's site",
    (),
    lambda folder: (
        when("leaderboard.json", has_keys("schema_version", "entries", "tests", "unread"))(folder)
        and when("index.html", _is_page)(folder)
    ),
    is_folder=True,
    names=("leaderboard.*", "index.html", "boards/*.html", "entries/*.html", "README.md"),
)
"""What `oochub leaderboard` writes: pages beside their data."""
BROWSER = FileKind(
    "a page of all rows",
    (),
    when("index.html", holds("<!doctype html>", *(mark.decode() for mark in _PAGE_HEAD))),
    is_folder=True,
    names=("index.html", "report.html", "page/*.js", "data/*.js", "sheets/*.jpg", "sheets/*.webp"),
)
"""What `oochub report --browse` writes: a page with its scripts, data and images."""
ENTRY = FileKind(
    "an entry of a leaderboard",
    (),
    when("entry.json", has_keys("track", "selection", "supervision", "predictions")),
    is_folder=True,
    names=("entry.json", "report.json", "*.parquet", "*.parquet/*"),
)
"""A report beside its predictions."""
TRUTH = FileKind(
    "the own rows of a benchmark in the results of a leaderboard",
    (),
    when("truth.json", has_keys("schema_version", "title", "about")),
    is_folder=True,
    names=("truth.json", "*.parquet"),
)
"""What `oochub leaderboard --truth` keeps."""


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
