"""A leaderboard as a static site: every entry of a folder checked, an index, one page per board, one page per entry.

Every entry is also a row of data, in leaderboard.csv and leaderboard.json, at full precision.
"""

import json
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.errors import OochubError, OochubWarning
from oochub.leaderboard.board import Board, BoardRow
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_pages import make_board_page, make_entry_page, make_index_page, name_page
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
    """

    folder: Path
    boards: tuple[Board, ...]
    unread: tuple[CheckedEntry, ...]

    @classmethod
    def write(
        cls,
        results: str | Path,
        out: str | Path,
        *,
        source: str | None = None,
        link: str | None = None,
        truth: Sequence[str | Path] = (),
    ) -> "Site":
        """Checks the entries of a folder and writes their site, whole or not at all.

        An entry whose files set off an error that nothing foresaw is on the site with the reason, and is warned of.

        Args:
            results: A folder with one folder an entry: its entry.json, report.json and predictions.
            out: The folder of the site.
            source: What the pages call the results; None takes the folder's name.
            link: The address of the results on the Hub, below which the files of an entry lie.
            truth: The benchmarks' own rows, each as `oochub.load` takes it: "spawrious/o2o_hard", a folder that
                `oochub build` wrote. Entries of them are scored under these labels, sides and groups; of other
                benchmarks under those that they agree on.

        Raises:
            OochubError: No such folder, `out` cannot be written, or a truth that cannot be loaded. An entry that is
                wrong is said on the site.
        """
        folder, target = Path(results).expanduser(), check_writable(out, kind=SITE)
        if not folder.is_dir():
            raise OochubError(
                f"Results folder not found: {folder}. Run `oochub push report.json --leaderboard {folder}` to create "
                "it."
            )
        if folder.resolve() == target.resolve() or folder.resolve() in target.resolve().parents:
            raise OochubError(f"The site cannot be inside the results: {target} is in {folder}. Choose another --out.")
        own = _own(truth)
        checked = _check_entries(folder, own)
        with lock_target(target), write_whole_folder(target, kind=SITE) as draft:
            words = source or folder.resolve().name
            try:
                boards = _write_site(checked, draft, own, words, link)
            except OSError:
                raise
            except Exception:  # some entry cannot be shown: it is found by showing each alone
                checked = [_try_entry(each, own, words, link) for each in checked]
                shutil.rmtree(draft)
                draft.mkdir()
                boards = _write_site(checked, draft, own, words, link)
        _warn(checked, boards, own)
        return cls(folder=target, boards=tuple(boards), unread=tuple(_refuse_unread(checked)))


def _own(truth: Sequence[str | Path]) -> "dict[tuple[str, str], BenchmarkRows]":
    """The benchmarks' own rows, by name and config."""
    if not truth:
        return {}
    from oochub.leaderboard.benchmark_rows import BenchmarkRows  # which imports `datasets`

    own: dict[tuple[str, str], BenchmarkRows] = {}
    for place in truth:
        rows = BenchmarkRows.load(str(place))
        if rows.key in own:
            raise OochubError(f"The rows for {'/'.join(rows.key)} are named twice: {own[rows.key].source} and {place}.")
        own[rows.key] = rows
    return own


def _check_entries(folder: Path, own: "Mapping[tuple[str, str], BenchmarkRows]") -> list[CheckedEntry]:
    """The entry of each folder, by name; hidden folders, and those with neither file of an entry, are none."""
    places = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".") and _is_entry(path)]
    return [CheckedEntry.of(path, own) for path in follow(places, desc="Checking", unit="entry", disable=None)]


def _is_entry(path: Path) -> bool:
    try:
        return path.is_dir() and any(os.path.lexists(path / name) for name in ("entry.json", "report.json"))
    except OSError:  # it cannot be looked into, which the check says
        return True


def _refuse_unread(checked: Sequence[CheckedEntry]) -> list[CheckedEntry]:
    return [each for each in checked if each.entry is None or each.report is None]


def _write_site(
    checked: Sequence[CheckedEntry],
    draft: Path,
    own: "Mapping[tuple[str, str], BenchmarkRows]",
    words: str,
    link: str | None,
) -> list[Board]:
    """Writes every page and table into an empty folder."""
    boards, unread = Board.all_of(checked, own), _refuse_unread(checked)
    placed = [(row, board) for board in boards for row in board.rows]
    for row, board in follow(placed, desc="Writing", unit="page", disable=None):
        page = make_entry_page(row, board, link=f"{link}/{row.name}" if link else None)
        _write(draft / "entries" / f"{name_page(row.name)}.html", page)
    for board in boards:
        stem = name_page(board.benchmark.name, board.benchmark.config)
        _write(draft / "boards" / f"{stem}.html", make_board_page(board, source=words))
    _write(draft / "index.html", make_index_page(boards, unread, source=words))
    table = LeaderboardTable(boards, unread)
    _write(draft / "leaderboard.json", table.to_json())
    _write(draft / "leaderboard.csv", table.to_csv())
    _write(draft / "README.md", _CARD)
    return boards


def _try_entry(
    each: CheckedEntry, own: "Mapping[tuple[str, str], BenchmarkRows]", words: str, link: str | None
) -> CheckedEntry:
    """The entry; one of which no site can be made stands on no board, with the reason."""
    try:
        with make_scratch_folder() as folder:
            _write_site([each], folder, own, words, link)
        return each
    except OSError:
        raise
    except Exception as error:  # whatever it is, the others are shown
        refused = replace(each, entry=None).refused(error)
        return replace(refused, reason=f"no page can be made from its report: {refused.reason}")


def _warn(
    checked: Sequence[CheckedEntry], boards: Sequence[Board], own: "Mapping[tuple[str, str], BenchmarkRows]"
) -> None:
    """Says what its maker should know of a site that is whole all the same."""
    for each in checked:
        if each.is_unforeseen:
            words = f"{each.name} is not verified, and that is a bug in oochub: {each.reason.rstrip('.')}. Report it."
            warnings.warn(words, OochubWarning, stacklevel=3)
    known = {(board.benchmark.name, board.benchmark.config) for board in boards}
    for key, rows in own.items():
        if key not in known:
            several = ", ".join(sorted("/".join(each) for each in known)) or "none"
            words = (
                f"There are no entries for {'/'.join(key)}, whose rows {rows.source} contains; there are entries for "
                f"{several}."
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
        entry: The folder of the entry.
        page: Path of its page, from the index.
        model: Name that the model goes by.
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
    """

    benchmark: str
    config: str
    version: str
    entry: str
    page: str
    model: str
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


class LeaderboardTable:
    """The rows of all boards, in their order."""

    def __init__(self, boards: Sequence[Board], unread: Sequence[CheckedEntry]) -> None:
        self.rows = tuple(_make_table_row(row) for board in boards for row in board.rows)
        self._tests = [
            {"benchmark": board.benchmark.name, "config": board.benchmark.config, "track": track, **to_json(tests)}
            for board in boards
            for track, tests in board.tests.items()
        ]
        self._unread = {each.name: each.reason for each in unread}

    def to_json(self) -> str:
        """An object with `schema_version`, the `entries`, how those of each track were tested, and the `unread`.

        The unread are entries that cannot be shown, each with its reason, by folder.
        """
        content = {"schema_version": 1, "entries": to_json(self.rows), "tests": self._tests, "unread": self._unread}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """A line an entry, of an estimate its value, low, high and n, each a column; no text is a formula."""
        import pandas as pd

        plain = [name for name in LeaderboardRow.__dataclass_fields__ if name not in _ESTIMATES]
        parts = ("value", "low", "high", "n")
        heads, lines = [*plain, *(f"{name}_{part}" for name in _ESTIMATES for part in parts)], []
        for row in self.rows:
            estimates = [getattr(row, name) for name in _ESTIMATES]
            cells = [getattr(each, part) if each is not None else None for each in estimates for part in parts]
            known = [*(getattr(row, name) for name in plain), *cells]
            lines.append([None if cell is None or cell != cell else cell for cell in known])
        return format_csv(pd.DataFrame(lines, columns=heads, dtype=object))


def _make_table_row(row: BoardRow) -> LeaderboardRow:
    report, entry = row.report, row.entry
    first, last = row.rank or (None, None)
    return LeaderboardRow(
        benchmark=report.benchmark.name,
        config=report.benchmark.config,
        version=report.benchmark.version,
        entry=row.name,
        page=f"entries/{name_page(row.name)}.html",
        model=entry.model,
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
    )
