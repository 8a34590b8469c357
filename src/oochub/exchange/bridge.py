"""What a bridge to another program is: which files it reads, by their content, and what it writes of predictions."""

import hashlib
import math
from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pyarrow as pa

from oochub import catalog
from oochub.errors import OochubError
from oochub.records.metadata import RESERVED
from oochub.report.report_record import ReportRecord
from oochub.storage.artifacts import FileKind
from oochub.storage.reading import read_bytes

if TYPE_CHECKING:
    import datasets

    from oochub.prediction.predictions import Predictions

ROW = "row_number"
"""A column beside the rows of predictions that says which row each line is of, from 0."""
_HEAD = 1 << 16  # bytes by which a file is recognized


class BridgedAnswers(NamedTuple):
    """What another program's file says of each row.

    Attributes:
        table: `example_id`, `split` if it is known, and the answers in the columns of docs/answers.md.
        model: Name of the model that answered; None if the file does not say it.
        notes: What a reader of the report must know.
    """

    table: pa.Table
    model: str | None = None
    notes: tuple[str, ...] = ()


class RowImage(NamedTuple):
    """The untouched bytes of an image, and the suffix of its format, ".jpg"."""

    content: bytes
    suffix: str


class Bridge(ABC):
    """A program that predictions come from or go to; a subclass is a file of `exchange/bridges/`, named like it.

    Attributes:
        title: What the program is called.
        answers: What it reads as answers, in words; "" if it reads none.
        beside: What it reads as columns beside the rows of predictions, in words; "" if it reads none.
        written: What it writes of predictions; None if it writes nothing.
        written_kinds: Kinds of output that it writes.
        needs_images: Whether `write` needs the images of the rows.
        of_report: Whether it writes a report, not predictions.
    """

    title: ClassVar[str]
    answers: ClassVar[str] = ""
    beside: ClassVar[str] = ""
    written: ClassVar[FileKind | None] = None
    written_kinds: ClassVar[tuple[str, ...]] = ()
    needs_images: ClassVar[bool] = False
    of_report: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The name of the bridge, that of its file."""
        return type(self).__module__.rpartition(".")[2]

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Whether a file or folder is of this program.

        Args:
            path: An existing file or folder.
            head: The first bytes of a file; b"" for a folder.
        """
        return False

    def files(self, path: Path) -> Sequence[Path]:
        """The files that are read of a path; their bytes are what the provenance names."""
        return [path]

    def read(self, path: Path, model: str | None) -> BridgedAnswers:
        """The answers that a file or folder holds.

        Args:
            path: What `recognizes` is true of.
            model: Name of the model to take, if the file holds answers of several; None takes the only one.

        Raises:
            OochubError: A file that is damaged, or holds no answers.
        """
        raise OochubError(f"{path} is a file of {self.title} without answers. It can be used as {self.beside}.")

    def fit(self, answers: BridgedAnswers, data: "Mapping[str, datasets.Dataset]") -> BridgedAnswers:
        """The answers after a look at the data that they are for: ids, sizes of images, names of categories.

        Args:
            answers: What `read` gave.
            data: The splits by name, as `oochub.load` gives them.

        Raises:
            OochubError: The answers cannot be those of these data.
        """
        return answers

    def read_columns(self, path: Path) -> pa.Table:
        """Columns to stand beside the rows of predictions: with `example_id` or `ROW`, or in the order of the rows.

        Raises:
            OochubError: A file that is damaged, or holds no such columns.
        """
        raise OochubError(f"{path} contains answers of {self.title}. Name the data that they are for with --benchmark.")

    def check(self, predictions: "Predictions") -> None:
        """Checks that predictions can be written, before the first slow step.

        Raises:
            OochubError: Predictions of a kind that the program has no place for.
        """
        if self.of_report:
            raise OochubError(
                f"{self.title} takes the numbers of a report, not predictions. Pass the report.json of "
                "`oochub evaluate`."
            )
        kind = predictions.metadata.kind
        if kind not in self.written_kinds:
            raise OochubError(
                f"{self.title} has no place for predictions of the kind {kind}. Export predictions of the kind "
                f"{' or '.join(self.written_kinds)}."
            )

    def write(self, predictions: "Predictions", draft: Path, images: Iterator[RowImage | None]) -> None:
        """Writes predictions in the program's format.

        Args:
            predictions: Predictions that `check` passed.
            draft: The file, or the empty folder, to fill.
            images: The image of each row, in order, if `needs_images`; None for a row without one.
        """
        raise NotImplementedError

    def write_report(self, report: ReportRecord, draft: Path) -> None:
        """Writes the numbers of a report in the program's format.

        Args:
            report: Any report.
            draft: The file to fill.
        """
        raise NotImplementedError


def get_bridge(name: str) -> Bridge:
    """The bridge of that name.

    Raises:
        OochubError: An unknown bridge.

    >>> get_bridge("fiftyone").title
    'FiftyOne'
    """
    kind: type[Bridge] = catalog.get("bridge", name)
    return kind()


def find_bridge(path: Path) -> Bridge | None:
    """The bridge that recognizes a file or folder by its content; None if there is none, or no such file.

    Raises:
        OochubError: The file cannot be read.

    >>> find_bridge(Path("nowhere.json")) is None
    True
    """
    path = path.expanduser()
    is_folder = path.is_dir()
    if not is_folder and not path.is_file():
        return None
    head = b"" if is_folder else read_bytes(path, at_most=_HEAD)
    bridges = (get_bridge(name) for name in catalog.names("bridge"))
    return next((bridge for bridge in bridges if bridge.recognizes(path, head)), None)


def tally(number: int, one: str, many: str) -> str:
    """A number with what it counts.

    >>> tally(1, "box has", "boxes have"), tally(1200, "box has", "boxes have")
    ('1 box has', '1,200 boxes have')
    """
    return f"{number:,} {one if number == 1 else many}"


def list_plain_columns(predictions: "Predictions", *, without: Sequence[str] = ()) -> dict[str, str]:
    """The columns that become fields of samples, with what they hold: plain values, or lists of text ("texts").

    Args:
        predictions: Any predictions.
        without: Names that the program has for fields of its own.
    """
    light = predictions.rows.light.schema
    skipped = {*RESERVED, *without, predictions.output.label_column, *predictions.output.columns}
    kinds: dict[str, str] = {"example_id": "text", "split": "text"}
    for field in light:
        kind = _find_kind(field.type)
        if field.name not in {*skipped, *kinds} and kind is not None and not field.name.startswith(("_", "$")):
            kinds[field.name] = kind
    return kinds


def _find_kind(given: pa.DataType) -> str | None:
    held = given.value_type if pa.types.is_dictionary(given) else given
    if pa.types.is_list(held):
        return "texts" if _find_kind(held.value_type) == "text" else None
    tests = {
        "text": pa.types.is_string(held) or pa.types.is_large_string(held),
        "truth": pa.types.is_boolean(held),
        "whole": pa.types.is_integer(held),
        "fraction": pa.types.is_floating(held),
    }
    return next((kind for kind, holds in tests.items() if holds), None)


def make_plain(value: object) -> object:
    """A value as JSON has it: None for a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def digest_files(files: Sequence[Path]) -> str:
    """SHA-256 of a file's bytes; of several, of their names and digests."""
    digests = [hashlib.sha256(read_bytes(file)).hexdigest() for file in files]
    if len(files) == 1:
        return digests[0]
    listed = "".join(f"{file.name} {digest}\n" for file, digest in zip(files, digests, strict=True))
    return hashlib.sha256(listed.encode()).hexdigest()
