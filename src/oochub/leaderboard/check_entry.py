"""An entry of a leaderboard, computed again from its predictions and compared; what was checked before is not.

Before any file of an entry is read, it is seen that they lie in its folder, and how large they are.

The outcome of its check is kept, found by the state of its files before any is read, and so is its page. All lies in
`$OOCHUB_CACHE/checks`. `<digest>.json` is the outcome for a report and predictions of these bytes,
`<digest>.values` what its number out of context is made of, `<digest>.seed` the same for tests over seeds.
`<state>.mark` says which digest the files of a folder had when their names, sizes and times were these. `<key>.page` is
the page of an outcome at its place on a board.
"""

import hashlib
import io
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from oochub.comparison.methods_over_seeds import leave_groups_out
from oochub.comparison.model_difference import list_primary_values
from oochub.data.declaration import find_declaration
from oochub.errors import OochubError
from oochub.evaluation.evaluate import evaluate
from oochub.evaluation.evaluation_rows import EvaluationRows, make_evaluation_rows
from oochub.evaluation.slices import RowSet, make_row_sets
from oochub.leaderboard.compared_rows import digest_compared_rows, list_compared_rows, order_compared_rows
from oochub.leaderboard.leaderboard_entry import BoardKey, LeaderboardEntry
from oochub.prediction.check_predictions import check_answers
from oochub.prediction.predictions import Predictions, concatenate_predictions
from oochub.records.schema import from_json, to_json
from oochub.report import wording
from oochub.report.report import Report
from oochub.report.report_record import check_all_rows
from oochub.stats import RESAMPLES
from oochub.stats.paired_values import PairedValues, pack_values, unpack_values
from oochub.stats.seeded_difference import SeededNumbers
from oochub.storage.cache import describe_state, digest_code, keep_bytes, make_key, make_once, read_kept_bytes
from oochub.storage.reading import NUMPY_FAULTS, parse_json

if TYPE_CHECKING:
    import pandas as pd

    from oochub.leaderboard.benchmark_rows import BenchmarkRows

ROUNDING = 1e-9
"""How far a number may lie from the one that was sent, of 1 or of its own size: other versions of numpy round so."""
SEED = 0
"""Settings of every interval on a board, whatever was sent: nobody looks for a seed that flatters."""
_PRESENT = re.compile(r"--classes[ =]present")
_BLOCK = 1 << 22
_LONGEST = 600  # characters of a reason
_MOST = {"entry.json": 1 << 20, "report.json": 1 << 24}  # bytes
_COMMIT = 40  # letters of its name
_FRESH = 0.05  # seconds in which a file may change twice with one time of change


@dataclass(frozen=True, kw_only=True)
class Recomputation:
    """What came of it.

    Attributes:
        report: Report with the numbers that the predictions give; None if they give none.
        reason: Why the sent numbers are not verified, in words; "" where they are.
        difference: The largest difference between a number that was sent and the same computed again.
        numbers: How many numbers were compared.
        rows: A digest of the examples, labels, sides and groups that the numbers are of.
        own_intervals: Why the intervals that were sent are not compared, in words; "" where they are.
    """

    report: Report | None = None
    reason: str = ""
    difference: float = 0.0
    numbers: int = 0
    rows: str = ""
    own_intervals: str = ""


class Recomputed(NamedTuple):
    """The outcome, and what the entry contributes to the tests of its number out of context; None if it has none."""

    outcome: Recomputation
    values: PairedValues | None = None


def recompute_report(sent: Report, predictions: Sequence[Path], own: "BenchmarkRows | None" = None) -> Recomputed:
    """Scores the predictions with the metrics of the report and the board's seed, and compares every number.

    What a file says of its own answers, a stored summary or digest, is not read: all follows from the answers.

    Args:
        sent: The report as it was sent.
        predictions: The files that it was made of, in its order.
        own: The benchmark's own rows, which then take the place of those in the files; None believes the files.

    Returns:
        The outcome, whatever is wrong with report or predictions being its `reason`; of one that is verified also what
        its number out of context is made of.
    """
    try:
        _check_report(sent)
        opened = open_answers(predictions, own)
        report = _evaluate_again(sent, opened)
        rows = digest_compared_rows(opened)
    except OochubError as error:
        return Recomputed(Recomputation(reason=_strip_folders(str(error), predictions)))
    other = next(
        (f"its report says {what} {was or 'none'}, but its predictions say {now or 'none'}"
         for what, was, now in _list_origins(sent, report) if was != now),
        "",
    )  # fmt: skip
    if other:
        return Recomputed(Recomputation(report=report, reason=other, rows=rows))
    outcome = replace(_compare_numbers(sent, report), rows=rows)
    return Recomputed(outcome, None if outcome.reason else _list_values(opened, report))


def _list_values(opened: Predictions, found: Report) -> PairedValues | None:
    """What the primary metric out of context is made of, its rows in the order that all entries share."""
    number = found.headline("out")
    if number is None or math.isnan(number.value):
        return None
    evaluated, rows = _evaluate_outside(opened)
    order = order_compared_rows(opened, evaluated.benchmark)
    return list_primary_values(rows, order[rows.mask[order]], evaluated, number)


def measure_seed(predictions: Sequence[Path], own: "BenchmarkRows | None" = None) -> SeededNumbers:
    """What an entry that is one seed of a method contributes to the tests of methods: see `SeededNumbers`.

    Args:
        predictions: Its files, in their order.
        own: See `recompute_report`.

    Raises:
        OochubError: The files cannot be read.
    """
    evaluated, rows = _evaluate_outside(open_answers(predictions, own))
    return leave_groups_out(evaluated, rows, evaluated.benchmark.primary_metric)


def _evaluate_outside(opened: Predictions) -> tuple[EvaluationRows, RowSet]:
    """The rows as an evaluation sees them, and those out of context."""
    sampling = {"resamples": RESAMPLES, "seed": SEED}
    evaluated, _ = make_evaluation_rows(opened, find_declaration(opened), sampling=sampling)
    return evaluated, next(part for part in make_row_sets(evaluated) if part.role == "out")


def open_answers(predictions: Sequence[Path], own: "BenchmarkRows | None" = None) -> Predictions:
    """The answers of an entry, on the benchmark's own rows if these are known; see `recompute_report`."""
    opened = concatenate_predictions([_open_unbelieving(path) for path in predictions])
    return opened if own is None else own.under(opened)


def _open_unbelieving(path: Path) -> Predictions:
    """The predictions of a file without what it says of them: their answers are checked and scored anew."""
    loaded = replace(Predictions.load(path))  # what was remembered of the file stays behind
    check_answers(loaded.rows, loaded.metadata)
    return loaded


def _check_report(sent: Report) -> None:
    check_all_rows(sent, "its report", why="A board has numbers of a whole split")
    if sent.detection or sent.probes:
        raise OochubError("it has numbers of detectors, which need predictions for other sets")
    unsaid = sorted({name for part in sent.slices for name in part.metrics} - set(sent.metrics))
    if unsaid:
        raise OochubError(f"it does not say what its numbers for {', '.join(unsaid)} mean")
    if _PRESENT.search(sent.provenance.command):
        raise OochubError(
            "its answers are among the classes present in the set, but those of the board among all: evaluate "
            "without --classes present"
        )


def _evaluate_again(sent: Report, opened: Predictions) -> Report:
    """The report of the predictions; what made it, and when, is that of the sent one."""
    metrics = dict.fromkeys(
        [name.partition(".")[0] for name in sent.metrics] + [find_declaration(opened).primary_metric]
    )
    report = evaluate(
        opened,
        metrics=list(metrics),
        match=sent.matched_gap.column if sent.matched_gap else None,
        resamples=RESAMPLES,
        seed=SEED,
    )
    provenance = report.provenance
    source = replace(provenance.predictions, file=sent.provenance.predictions.file)
    origin = replace(
        sent.provenance,
        predictions=source,
        training=provenance.training,
        prediction=provenance.prediction,
        seed=provenance.seed,
        resamples=provenance.resamples,
    )
    return replace(report, provenance=origin)


def _list_origins(sent: Report, found: Report) -> Iterator[tuple[str, Any, Any]]:
    """What report and predictions must say alike: what it is, as sent, as found."""
    for what in ("name", "config", "version", "primary_metric"):
        yield f"benchmark {what}".replace("_", " "), getattr(sent.benchmark, what), getattr(found.benchmark, what)
    for what in ("id", "revision", "objective", "seeds"):
        yield f"model {what}", getattr(sent.model, what), getattr(found.model, what)
    for what in ("rows", "fingerprint", "sha256"):
        was, now = (getattr(report.provenance.predictions, what) for report in (sent, found))
        yield f"{what} of the data" if what != "sha256" else what, was, now


def _compare_numbers(sent: Report, found: Report) -> Recomputation:
    drawn = (sent.provenance.resamples, sent.provenance.seed)
    own = "" if drawn == (RESAMPLES, SEED) else f"those that were sent are of {drawn[0]:,} resamples, seed {drawn[1]}"
    ends = ("/low", "/high") if own else ()
    here, there = (
        {place: was for place, was in _list_numbers(sent) if not place.endswith(ends)},
        dict(_list_numbers(found)),
    )
    wrong: list[str] = []
    largest = 0.0
    for place, was in here.items():
        now = there.get(place, math.nan)
        off = 0.0 if math.isnan(was) and math.isnan(now) and place in there else abs(was - now)
        if off <= ROUNDING * max(1.0, abs(now)):
            largest = max(largest, off)
        else:
            finding = "it cannot be computed" if math.isnan(now) else f"its predictions give {now:.6g}"
            wrong.append(f"{place} was sent as {was:.6g}, {finding}")
    if not wrong:
        return Recomputation(report=found, difference=largest, numbers=len(here), own_intervals=own)
    more = f" (and {len(wrong) - 1:,} more of {len(here):,} numbers)" if len(wrong) > 1 else ""
    return Recomputation(report=found, reason=wrong[0] + more, numbers=len(here), own_intervals=own)


def _list_numbers(report: Report) -> Iterator[tuple[str, float]]:
    """Every number that was measured, by where it stands; null is nan."""
    parts: Mapping[str, Any] = {
        "gap": report.gap,
        "slices": {part.name: part for part in report.slices},
        "matched_gap": report.matched_gap,
        "worst_group": report.worst_group,
        "groups": {f"{row.split}/{row.group}/{row.role}": row for row in report.group_rows},
        "errors": report.errors,
        "calibration": report.calibration,
        "mistakes": {f"{mistake.split}/{mistake.example_id}": mistake for mistake in report.mistakes},
    }
    yield from _flatten_json(to_json(parts), "")


def _flatten_json(value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flatten_json(item, f"{place}/{key}" if place else key)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _flatten_json(item, f"{place}/{number}")
    elif isinstance(value, int | float):
        yield place, float(value)
    elif value is None and place.endswith(("/value", "/low", "/high")):
        yield place, math.nan


def _strip_folders(words: str, predictions: Sequence[Path]) -> str:
    """The words without the folders of this machine, on one line."""
    for path in predictions:
        words = words.replace(f"{path.parent}/", "")
    return " ".join(words.split())


class KeptEntry:
    """What was found out about the files of a folder at an earlier time.

    Args:
        folder: Folder of the entry; none of its files is opened here.
        own: The benchmarks' own rows by what they are of, where they are known.
        outcomes: Outcomes that were found before, by digest, so that copies are read once; it takes new ones.
    """

    def __init__(self, folder: Path, own: "Mapping[BoardKey, BenchmarkRows]", outcomes: dict[str, Recomputed]) -> None:
        self._own, self._outcomes = own, outcomes
        self._state = _describe_folder(folder)
        self._mark = f"{make_key(_describe_code(), self._state)}.mark"

    def find(self) -> tuple[str, Recomputed] | None:
        """The digest and the outcome of a folder whose files are as they were; None for any other.

        A file counts as it was if its size and both its times are the same; the second one is the system's own.
        """
        if self._state is None:
            return None
        if (kept := read_kept_bytes("checks", self._mark)) is None:
            return None
        stored = parse_json(kept, name=self._mark)
        if stored["own"] != _digest_rows(self._own.get(BoardKey(*stored["place"]))):
            return None
        outcome = _find_outcome(stored["digest"], self._outcomes)
        return None if outcome is None else (stored["digest"], outcome)

    def keep(self, digest: str, place: BoardKey) -> None:
        """Notes the digest that the files have.

        Args:
            digest: What `digest_entry` gives for them.
            place: Benchmark, config and version of the report.
        """
        if self._state is not None:
            stored = {"digest": digest, "place": place, "own": _digest_rows(self._own.get(place))}
            keep_bytes("checks", self._mark, json.dumps(stored).encode())


def digest_entry(files: Sequence[Path], own: "BenchmarkRows | None") -> str:
    """A digest of the bytes of report and predictions, of the benchmark's own rows, and of what checks them.

    Args:
        files: The report and the files of predictions, or folders of parts.
        own: The benchmark's own rows, where they are known.
    """
    digest = hashlib.sha256(make_key(_describe_code(), _digest_rows(own)).encode())
    for file in files:
        for part in sorted(file.rglob("*")) if file.is_dir() else [file]:
            if part.is_file():
                digest.update(f"\0{part.name}\0{part.stat().st_size}\0".encode("utf-8", "surrogateescape"))
                with part.open("rb") as content:
                    while block := content.read(_BLOCK):
                        digest.update(block)
    return digest.hexdigest()[:32]


def _find_outcome(digest: str, outcomes: dict[str, Recomputed]) -> Recomputed | None:
    """The outcome for files of a digest, if it was found before, or is in the cache and whole."""
    if digest in outcomes:
        return outcomes[digest]
    if (kept := read_kept_bytes("checks", f"{digest}.json")) is None:
        return None
    try:
        outcome = from_json(Recomputation, parse_json(kept, name=digest), what=digest)
        values = None if outcome.reason else unpack_values(read_kept_bytes("checks", f"{digest}.values") or b"")
    except (OochubError, *NUMPY_FAULTS):
        return None
    outcomes[digest] = Recomputed(outcome, values)
    return outcomes[digest]


def _keep_outcome(digest: str, found: Recomputed) -> None:
    """Keeps an outcome.

    Warns:
        OochubWarning: The cache cannot be written.
    """
    keep_bytes("checks", f"{digest}.values", pack_values(found.values))
    keep_bytes("checks", f"{digest}.json", json.dumps(to_json(found.outcome)).encode(), what="The check")


def make_page_once(made_of: Sequence[object], make: Callable[[], str]) -> str:
    """A page of an entry from the cache, if it is there and whole; else it is made and kept.

    Args:
        made_of: JSON types that decide its content, besides our code.
        make: Makes it.
    """
    name = f"{make_key(_describe_code(), *made_of)}.page"
    return next(make_once("checks", name, lambda: make().encode())).decode()


def _describe_code() -> list[object]:
    return [digest_code(suffixes=(".py", ".jinja", ".css", ".js")), RESAMPLES, SEED]


def _digest_rows(own: "BenchmarkRows | None") -> str:
    return own.digest if own else ""


def _describe_folder(folder: Path) -> list[str] | None:
    """The path, size and times of each file of an entry; None if that cannot tell one content from another."""
    try:
        entries = sorted(_walk_entries(folder), key=lambda entry: entry.path)
        if any(entry.is_symlink() and entry.is_dir() for entry in entries):  # its files lie elsewhere
            return None
        listed = [f"{entry.path} {describe_state(entry.path)}" for entry in entries]
        latest = max(int(line.rpartition(" ")[2]) for line in listed)
    except (OSError, ValueError):  # a file that cannot be looked at
        return None
    return None if latest > (time.time() - _FRESH) * 1e9 else listed  # it may change again within one time of change


def _walk_entries(folder: str | Path) -> "Iterator[os.DirEntry[str]]":
    """All below a folder, hidden files and folders too; a link to a folder is not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _walk_entries(entry.path)


@dataclass(frozen=True, kw_only=True)
class CheckedEntry:
    """What a folder of a leaderboard holds.

    Attributes:
        name: The name of the folder.
        entry: What its sender says; None where that cannot be read.
        report: Report with the numbers that its predictions give, else as it was sent; None if it cannot be read.
        reason: Why it is not verified, in words; "" where it is.
        difference: The largest difference between a number that was sent and the same computed again.
        numbers: How many numbers were compared.
        rows: A digest of the examples, labels, sides and groups that the numbers are of.
        own_intervals: Why the intervals that were sent are not compared, in words; "" where they are.
        is_sent: Whether the report is as it was sent, since its predictions give none.
        is_unforeseen: Whether the reason is an error that no check foresaw: a fault of oochub's own.
        digest: A digest of its report and predictions and of what checked them; "" if they were not read.
        values: What it contributes to the tests of numbers out of context; None where it is not verified, or has none.
        folder: The folder; None of what was not read from one.
    """

    name: str
    entry: LeaderboardEntry | None
    report: Report | None
    reason: str
    difference: float = 0.0
    numbers: int = 0
    rows: str = ""
    own_intervals: str = ""
    is_sent: bool = True
    is_unforeseen: bool = False
    digest: str = ""
    values: PairedValues | None = None
    folder: Path | None = None

    @classmethod
    def of(
        cls,
        folder: Path,
        own: "Mapping[BoardKey, BenchmarkRows] | None" = None,
        outcomes: dict[str, Recomputed] | None = None,
    ) -> "CheckedEntry":
        """Checks the entry in a folder; what is wrong with it is its `reason`, never an error.

        The outcome is kept in `$OOCHUB_CACHE/checks` under the content of report and predictions and our code; files
        that are as they were, by size and times, are not read again.

        Args:
            folder: Folder with `entry.json`, `report.json` and predictions.
            own: The benchmarks' own rows by what they are of, where they are known.
            outcomes: Outcomes by digest that entries share which are checked together: copies are read once.
        """
        outcomes = {} if outcomes is None else outcomes
        name = os.fsencode(folder.name).decode("utf-8", "backslashreplace")
        unread = cls(name=name, entry=None, report=None, reason="", folder=folder)
        if name != folder.name:
            return replace(unread, reason="the name of its folder is not UTF-8")
        kept = KeptEntry(folder, own or {}, outcomes)
        try:
            if (earlier := kept.find()) is not None:
                digest, (outcome, values) = earlier
                unread = replace(unread, entry=LeaderboardEntry.load(folder))
                unread = replace(unread, report=outcome.report or Report.load(folder / "report.json"))
            else:
                check_entry_files(folder)
                entry, sent = LeaderboardEntry.load(folder), Report.load(folder / "report.json")
                unread, place = replace(unread, entry=entry, report=sent), BoardKey.of(sent.benchmark)
                check_entry_files(folder, entry.predictions)
                files = [folder / part for part in ("report.json", *entry.predictions)]
                digest, (outcome, values) = _reuse_or_recompute(sent, files, (own or {}).get(place), outcomes)
                kept.keep(digest, place)
        except Exception as error:  # one sender's files never take the others off the board
            return unread.refused(error, folder)
        return replace(
            unread,
            report=outcome.report or unread.report,
            reason=wording.name(outcome.reason, _LONGEST),
            difference=outcome.difference,
            numbers=outcome.numbers,
            rows=outcome.rows,
            own_intervals=outcome.own_intervals,
            is_sent=outcome.report is None,
            digest=digest,
            values=values,
        )

    @property
    def files(self) -> list[Path]:
        """Its files of predictions, in their order."""
        names = () if self.entry is None else self.entry.predictions
        return [] if self.folder is None else [self.folder / name for name in names]

    def list_rows(self, own: "BenchmarkRows | None" = None) -> "pd.DataFrame | None":
        """The rows that its numbers are of, see `list_compared_rows`; None if they cannot be read.

        Args:
            own: The benchmark's own rows, where they are known.
        """
        try:
            return list_compared_rows(open_answers(self.files, own)) if self.files else None
        except OochubError:
            return None

    def measure_seed(self, own: "BenchmarkRows | None" = None) -> SeededNumbers | None:
        """What it contributes to the tests of methods over seeds, from the cache or anew; None if it cannot be read.

        Args:
            own: The benchmark's own rows, where they are known.
        """

        def pack() -> bytes:
            measured, content = measure_seed(self.files, own), io.BytesIO()
            np.savez(content, values=measured.values, left=measured.left, units=measured.units)
            return content.getvalue()

        try:
            for packed in make_once("checks", f"{self.digest}.seed" if self.digest else None, pack):
                with suppress(*NUMPY_FAULTS), np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
                    return SeededNumbers(arrays["values"], arrays["left"], float(arrays["units"]))
        except OochubError:
            return None
        return None

    def refused(self, error: Exception, folder: Path | None = None) -> "CheckedEntry":
        """This entry with an error as the reason why it is not verified; one that nothing foresaw is said to be so.

        Args:
            error: Error that its files caused.
            folder: Folder whose path is left out of the words.
        """
        words = " ".join(str(error).split())
        if folder is not None:
            words = words.replace(f"{folder}/", "")
        is_foreseen = isinstance(error, OochubError | MemoryError | OSError)
        if isinstance(error, OSError):
            words = f"its files cannot be read: {error.strerror or words}"
        elif isinstance(error, MemoryError):
            words = "it needs more memory than there is"
        elif not is_foreseen:
            words = f"its files caused an unexpected error, {type(error).__name__}: {words or 'no words'}"
        return replace(self, reason=wording.name(words, _LONGEST), is_unforeseen=not is_foreseen)


def _reuse_or_recompute(
    sent: Report, files: Sequence[Path], own: "BenchmarkRows | None", outcomes: dict[str, Recomputed]
) -> tuple[str, Recomputed]:
    """The digest of the files, and the earlier outcome for the same bytes, else a new one."""
    digest = digest_entry(files, own)
    outcome = _find_outcome(digest, outcomes)
    if outcome is None:
        outcome = recompute_report(sent, files[1:], own)
        _keep_outcome(digest, outcome)
    return digest, outcome


_VALUES_A_BYTE, _FREE = 256, 10_000_000  # of a Parquet file; more is made to fill the memory of who reads it


def check_entry_files(folder: Path, predictions: Sequence[str] = ()) -> None:
    """Refuses files that are not there, lead out of the folder, or would fill the memory.

    Args:
        folder: Folder of the entry.
        predictions: The names of its files of predictions, or of folders of parts.

    Raises:
        OochubError: What is wrong, without the folder's own path.
    """
    inside = _find_allowed_folders(folder)
    _check_place(folder, inside, "its folder")
    for name, most in _MOST.items():
        file = folder / name
        _check_place(file, inside, f"its file {name}")
        if file.is_file() and file.stat().st_size > most:
            raise OochubError(f"its {name} has {file.stat().st_size:,} bytes, but at most {most:,} are read")
    for name in predictions:
        if not (folder / name).exists():
            raise OochubError(f"its file {name} is missing")
        for file in [folder / name, *(folder / name).rglob("*")]:
            _check_place(file, inside, f"its file {file.relative_to(folder)}")
            _check_values(file, str(file.relative_to(folder)))


def _find_allowed_folders(folder: Path) -> list[Path]:
    """The folders of an entry's files: its own; in a snapshot of the Hub also that of all fetched files."""
    results = _resolve_path(folder.parent)
    is_snapshot = results.parent.name == "snapshots" and len(results.name) == _COMMIT
    return [results / folder.name, *([results.parent.parent / "blobs"] if is_snapshot else [])]


def _check_place(path: Path, inside: Sequence[Path], what: str) -> None:
    if not any(_resolve_path(path).is_relative_to(place) for place in inside):
        raise OochubError(f"{what} is a link that leads out of it")


def _resolve_path(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` raises where links lead in a loop


def _check_values(file: Path, name: str) -> None:
    """That a Parquet file does not say of a few bytes that they are billions of values."""
    if not (name.endswith(".parquet") and file.is_file()):
        return
    try:
        about = pq.read_metadata(file)
    except (pa.ArrowException, OSError, ValueError):  # reading says what is wrong
        return
    size = file.stat().st_size
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    values = sum(group.column(number).num_values for group in groups for number in range(group.num_columns))
    if values > _VALUES_A_BYTE * size + _FREE:
        raise OochubError(f"its file {name} says that {size:,} bytes hold {values:,} values, so it is not read")
