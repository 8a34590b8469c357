"""A leaderboard as a static site: every entry of a folder checked, an index, one page per board, one page per entry.

Every entry is also a row of data, in leaderboard.csv and leaderboard.json, at full precision.
"""

import json
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.errors import OochubError, OochubWarning
from oochub.leaderboard.board import Board, BoardRow, FirstCommits
from oochub.leaderboard.check_entry import CheckedEntry, Recomputed
from oochub.leaderboard.leaderboard_entry import BoardKey, Withdrawal, name_page
from oochub.leaderboard.leaderboard_pages import make_board_page, make_entry_page, make_index_page
from oochub.process.follow import follow
from oochub.records.schema import to_json
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import SITE, format_csv
from oochub.storage.files import check_writable, lock_target, make_scratch_folder, write_whole_folder

if TYPE_CHECKING:
    from oochub.leaderboard.benchmark_rows import BenchmarkRows

_CARD = """---
title: oochub leaderboard
emoji: 📊
colorFrom: blue
colorTo: yellow
sdk: static
pinned: false
---
A leaderboard of out-of-context prediction: `index.html`, made by `oochub leaderboard`.
"""


_ESTIMATES = ("inside", "outside", "gap", "worst_group")


@dataclass(frozen=True, kw_only=True)
class Site:
    """What was written.

    Attributes:
        folder: Folder that the site was written to.
        boards: Boards on the site.
        unread: The entries that are on no board, each with its reason.
        withdrawn: What was withdrawn, by name.
    """

    folder: Path
    boards: tuple[Board, ...]
    unread: tuple[CheckedEntry, ...]
    withdrawn: Mapping[str, Withdrawal] = field(default_factory=dict)

    @classmethod
    def write(
        cls,
        results: str | Path,
        out: str | Path,
        *,
        source: str | None = None,
        commit: str = "",
        link: str | None = None,
        first_commits: FirstCommits | None = None,
        truth: "Sequence[str | Path | BenchmarkRows]" = (),
    ) -> "Site":
        """Checks the entries of a folder and writes their site, whole or not at all.

        An entry whose files set off an error that nothing foresaw is on the site with the reason, and is warned of.
        The benchmarks' own rows that the results hold are used; others that are given become part of a folder here.

        Args:
            results: A folder with one folder an entry: its entry.json, report.json and predictions.
            out: The folder of the site.
            source: What the pages call the results; None takes the folder's name.
            commit: Commit of the results, which the first page names; "" for a folder here.
            link: The address of the results on the Hub, below which the files of an entry lie.
            first_commits: See `Board.all_of`.
            truth: The benchmarks' own rows, each as `oochub.load` takes it: "spawrious/o2o_hard", a folder that
                `oochub build` wrote. Entries of them are scored under these labels, sides and groups; of other
                benchmarks under those that they agree on.

        Raises:
            OochubError: No such folder, `out` cannot be written, a truth that cannot be loaded, or other rows of a
                version than the results hold. An entry that is wrong is said on the site.
        """
        folder, target = Path(results).expanduser(), check_writable(out, kind=SITE)
        if not folder.is_dir():
            raise OochubError(
                f"Results folder not found: {folder}. Run `oochub push report.json --leaderboard {folder}` to create "
                "it."
            )
        if folder.resolve() == target.resolve() or folder.resolve() in target.resolve().parents:
            raise OochubError(f"The site cannot be inside the results: {target} is in {folder}. Choose another --out.")
        given = load_truth(truth)
        own = join_truth(folder, given)
        if not commit:
            _keep_truth(folder, given)
        checked = _check_entries(folder, own)
        making = _Making(
            own=own,
            words=source or folder.resolve().name,
            commit=commit,
            link=link,
            first=first_commits,
            withdrawn=Withdrawal.find_all(folder),
        )
        with lock_target(target), write_whole_folder(target, kind=SITE) as draft:
            try:
                boards = _write_site(checked, draft, making)
            except OSError:
                raise
            except Exception:  # some entry cannot be shown: it is found by showing each alone
                checked = [_try_entry(entry, making) for entry in checked]
                shutil.rmtree(draft)
                draft.mkdir()
                boards = _write_site(checked, draft, making)
        _warn(checked, boards, given)
        unread = tuple(_refuse_unread(checked, making.withdrawn))
        return cls(folder=target, boards=tuple(boards), unread=unread, withdrawn=making.withdrawn)


def load_truth(truth: "Sequence[str | Path | BenchmarkRows]") -> "dict[BoardKey, BenchmarkRows]":
    """The benchmarks' own rows that are given, by what they are of.

    Args:
        truth: See `Site.write`.

    Raises:
        OochubError: Rows that cannot be loaded, or of one board twice.
    """
    if not truth:
        return {}
    from oochub.leaderboard.benchmark_rows import BenchmarkRows  # which imports `datasets`

    given: dict[BoardKey, BenchmarkRows] = {}
    for place in truth:
        rows = place if isinstance(place, BenchmarkRows) else BenchmarkRows.load(str(place))
        if rows.key in given:
            raise OochubError(f"The rows for {rows.key} are named twice: {given[rows.key].source} and {place}.")
        given[rows.key] = rows
    return given


def join_truth(folder: Path, given: "Mapping[BoardKey, BenchmarkRows]") -> "dict[BoardKey, BenchmarkRows]":
    """The benchmarks' own rows: those that the results hold, and those that are given.

    Args:
        folder: Folder of the results.
        given: Rows by what they are of.

    Raises:
        OochubError: Other rows of a version than the results hold.
    """
    if not given and not (folder / "truth").is_dir():
        return {}
    from oochub.leaderboard.benchmark_rows import BenchmarkRows

    kept = BenchmarkRows.find(folder)
    for key, rows in given.items():
        if key in kept:
            rows.check_same(kept[key])
    return {**given, **kept}


def _keep_truth(folder: Path, given: "Mapping[BoardKey, BenchmarkRows]") -> None:
    """Makes rows part of the results in a folder here; where that cannot be, they count this once."""
    for rows in given.values():
        try:
            rows.save(folder)
        except OochubError as error:
            words = f"The rows of {rows.key} could not be kept with the results, so give them again next time: {error}"
            warnings.warn(words, OochubWarning, stacklevel=4)


def _check_entries(folder: Path, own: "Mapping[BoardKey, BenchmarkRows]") -> list[CheckedEntry]:
    """The entry of each folder, by name; hidden folders, and those with neither file of an entry, are none."""
    places = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".") and _is_entry(path)]
    outcomes: dict[str, Recomputed] = {}
    return [
        CheckedEntry.of(path, own, outcomes) for path in follow(places, desc="Checking", unit="entry", disable=None)
    ]


def _is_entry(path: Path) -> bool:
    try:
        return path.is_dir() and any(os.path.lexists(path / name) for name in ("entry.json", "report.json"))
    except OSError:  # it cannot be looked into, which the check says
        return True


def _refuse_unread(checked: Sequence[CheckedEntry], withdrawn: Mapping[str, Withdrawal]) -> list[CheckedEntry]:
    return [entry for entry in checked if (entry.entry is None or entry.report is None) and entry.name not in withdrawn]


@dataclass(frozen=True, kw_only=True)
class _Making:
    """What the pages are made with, besides the entries."""

    own: "Mapping[BoardKey, BenchmarkRows]"
    words: str
    commit: str
    link: str | None
    first: FirstCommits | None
    withdrawn: Mapping[str, Withdrawal]


def _write_site(checked: Sequence[CheckedEntry], draft: Path, made: _Making) -> list[Board]:
    """Writes every page and table into an empty folder.

    The page of the newest version also stands under the name of its benchmark and config alone.
    """
    boards = Board.all_of(checked, made.own, withdrawn=made.withdrawn, first_commits=made.first)
    unread = _refuse_unread(checked, made.withdrawn)
    placed = [(row, board) for board in boards for row in board.rows]
    for row, board in follow(placed, desc="Writing", unit="page", disable=None):
        page = make_entry_page(row, board, link=f"{made.link}/{row.name}" if made.link else None)
        _write(draft / "entries" / f"{name_page(row.name)}.html", page)
    for board in boards:
        page = make_board_page(board, source=made.words)
        _write(draft / "boards" / f"{board.key.page}.html", page)
        if board.is_newest:
            _write(draft / "boards" / f"{name_page(*board.key[:2])}.html", page)
    source = f"{made.words} at {made.commit[:8]}" if made.commit else made.words
    _write(draft / "index.html", make_index_page(boards, unread, source=source, withdrawn=made.withdrawn))
    table = LeaderboardTable(boards, unread, made.withdrawn)
    _write(draft / "leaderboard.json", table.to_json())
    _write(draft / "leaderboard.csv", table.to_csv())
    _write(draft / "README.md", _CARD)
    return boards


def _try_entry(each: CheckedEntry, made: _Making) -> CheckedEntry:
    """The entry; one of which no site can be made stands on no board, with the reason."""
    try:
        with make_scratch_folder() as folder:
            _write_site([each], folder, made)
        return each
    except OSError:
        raise
    except Exception as error:  # whatever it is, the others are shown
        refused = replace(each, entry=None).refused(error)
        return replace(refused, reason=f"no page can be made from its report: {refused.reason}")


def _warn(checked: Sequence[CheckedEntry], boards: Sequence[Board], given: "Mapping[BoardKey, BenchmarkRows]") -> None:
    """Says what its maker should know of a site that is whole all the same."""
    for entry in checked:
        if entry.is_unforeseen:
            words = f"{entry.name} is not verified, and that is a bug in oochub: {entry.reason.rstrip('.')}. Report it."
            warnings.warn(words, OochubWarning, stacklevel=3)
    keys = [board.key for board in boards]
    for key, rows in given.items():
        if key not in keys:
            several = ", ".join(map(str, keys)) or "none"
            words = (
                f"There are no entries for {key}, whose rows {rows.source} contains; there are entries for {several}."
            )
            warnings.warn(words, OochubWarning, stacklevel=3)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow:
    """One entry; what is not known is None.

    Attributes:
        benchmark: Name of the benchmark.
        config: Config of the benchmark.
        version: Version of its rows.
        rows: Letter of the set of rows that its rank is for, where it is disputed which are the benchmark's; else "".
        entry: The folder of the entry.
        page: Path of its page, from the index.
        model: Name that the model goes by.
        method: Method that it is one of several seeds of, which has a place instead of it; "" for others.
        objective: Objective that it was trained with.
        track: "standard" or "open".
        selection: Rows that settings were chosen on.
        supervision: What training was told.
        external_data: What else the model saw.
        who: Name of the sender.
        date: Day on which it was sent.
        verified: Whether every number was computed again and is the same.
        reason: Why it is not verified; "" where it is.
        rank_from: Best place in its track.
        rank_to: Worst place in its track.
        entries_of_model: How many entries of this board are of its model.
        metric: Metric of all numbers; the worst group's is the accuracy if the groups have no number of this metric.
        inside: Estimate in context.
        outside: Estimate out of context.
        gap: Estimate out of context minus in context.
        off_the_line: How far it lies above the line of its track.
        worst_group: Estimate on the worst group.
        chance: What guessing gives.
        at_chance: Whether its interval out of context reaches chance or lies beyond it.
    """

    benchmark: str
    config: str
    version: str
    rows: str
    entry: str
    page: str
    model: str
    method: str
    objective: str | None
    track: str
    selection: str
    supervision: str
    external_data: str
    who: str
    date: str
    verified: bool
    reason: str
    rank_from: int | None
    rank_to: int | None
    entries_of_model: int
    metric: str
    inside: Estimate | None
    outside: Estimate | None
    gap: Estimate
    off_the_line: float
    worst_group: Estimate | None
    chance: float
    at_chance: bool


class LeaderboardTable:
    """The rows of all boards, in their order."""

    def __init__(
        self, boards: Sequence[Board], unread: Sequence[CheckedEntry], withdrawn: Mapping[str, Withdrawal]
    ) -> None:
        self.rows = tuple(_make_table_row(row) for board in boards for row in board.rows)
        self._tests = [
            {**board.key._asdict(), "rows": part.set, "track": track, **to_json(tests)}
            for board in boards
            for part in board.parts
            for track, tests in part.tests.items()
        ]
        self._methods = [
            {**board.key._asdict(), "rows": part.set, "track": track, "method": method,
             "mean": placed.means[method], "rank_from": place.best, "rank_to": place.worst}
            for board in boards
            for part in board.parts
            for track, placed in part.methods.items()
            for method, place in placed.places.items()
        ]  # fmt: skip
        self._withdrawn = withdrawn
        self._unread = {entry.name: entry.reason for entry in unread}

    def to_json(self) -> str:
        """An object with `schema_version`, the `entries`, how those of each track were tested, and the `methods`.

        What has no numbers is beside them: the `unread`, entries that cannot be shown, each with its reason, by folder,
        and the `withdrawn`.
        """
        content = {
            "schema_version": 1,
            "entries": to_json(self.rows),
            "tests": self._tests,
            "methods": self._methods,
            "unread": self._unread,
            "withdrawn": to_json(self._withdrawn),
        }
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """A line an entry, of an estimate its value, low, high and n, each a column; no text is a formula."""
        import pandas as pd

        plain = [name for name in LeaderboardRow.__dataclass_fields__ if name not in _ESTIMATES]
        parts = ("value", "low", "high", "n")
        heads, lines = [*plain, *(f"{name}_{part}" for name in _ESTIMATES for part in parts)], []
        for row in self.rows:
            estimates = [getattr(row, name) for name in _ESTIMATES]
            cells = [
                getattr(estimate, part) if estimate is not None else None for estimate in estimates for part in parts
            ]
            values = [*(getattr(row, name) for name in plain), *cells]
            lines.append([None if cell is None or cell != cell else cell for cell in values])
        return format_csv(pd.DataFrame(lines, columns=heads, dtype=object))


def _make_table_row(row: BoardRow) -> LeaderboardRow:
    report, entry = row.report, row.entry
    first, last = row.rank or (None, None)
    return LeaderboardRow(
        benchmark=report.benchmark.name,
        config=report.benchmark.config,
        version=report.benchmark.version,
        rows=row.set,
        entry=row.name,
        page=f"entries/{name_page(row.name)}.html",
        model=entry.model,
        method=row.seed_of,
        objective=report.model.objective,
        track=entry.track,
        selection=entry.selection,
        supervision=entry.supervision,
        external_data=entry.external_data,
        who=entry.who,
        date=entry.date,
        verified=not row.reason,
        reason=row.reason,
        rank_from=first,
        rank_to=last,
        entries_of_model=row.entries,
        metric=report.benchmark.primary_metric,
        inside=report.headline("in"),
        outside=report.headline("out"),
        gap=report.gap.estimate,
        off_the_line=row.off_the_line,
        worst_group=row.worst_group,
        chance=report.benchmark.chance,
        at_chance=row.is_at_chance,
    )
