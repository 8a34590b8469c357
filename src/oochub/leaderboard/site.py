"""A leaderboard as a static site: every entry of a folder checked, an index, a page a board, a page an entry."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from oochub.artifacts import SITE
from oochub.errors import OochubError
from oochub.files import check_writable, folder_written_whole, sole_writer
from oochub.leaderboard.board import Board
from oochub.leaderboard.board_page import board_page
from oochub.leaderboard.checked_entry import CheckedEntry
from oochub.leaderboard.entry_page import entry_page
from oochub.leaderboard.index_page import index_page
from oochub.leaderboard.leaderboard_table import LeaderboardTable
from oochub.leaderboard.page_stem import page_stem

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


@dataclass(frozen=True, kw_only=True)
class Site:
    """What was written.

    Attributes:
        folder: Where.
        boards: What is on it.
        unread: The entries that are on no board, each with its reason.
    """

    folder: Path
    boards: tuple[Board, ...]
    unread: tuple[CheckedEntry, ...]

    @classmethod
    def write(
        cls, results: str | Path, out: str | Path, *, source: str | None = None, link: str | None = None
    ) -> "Site":
        """Checks the entries of a folder and writes their site, whole or not at all.

        Args:
            results: A folder with one folder an entry: its entry.json, report.json and predictions.
            out: The folder of the site.
            source: What the pages call the results; None takes the folder's name.
            link: The address of the results on the Hub, below which the files of an entry lie.

        Raises:
            OochubError: No such folder, or `out` cannot be written. An entry that is wrong is said on the site.
        """
        folder, target = Path(results).expanduser(), check_writable(out, kind=SITE)
        if not folder.is_dir():
            raise OochubError(
                f"No results at {folder}: there is no such folder. `oochub push report.json --leaderboard {folder}` "
                "makes it."
            )
        if folder.resolve() == target.resolve() or folder.resolve() in target.resolve().parents:
            raise OochubError(f"The site cannot lie in the results: {target} is in {folder}. Choose another --out.")
        checked = _checked(folder)
        with sole_writer(target), folder_written_whole(target, kind=SITE) as draft:
            boards, checked = _entries_written(checked, draft, link)
            unread = [each for each in checked if each.entry is None or each.report is None]
            words = source or folder.resolve().name
            for board in boards:
                stem = page_stem(board.benchmark.name, board.benchmark.config)
                _write(draft / "boards" / f"{stem}.html", board_page(board, source=words))
            _write(draft / "index.html", index_page(boards, unread, source=words))
            table = LeaderboardTable(boards, unread)
            _write(draft / "leaderboard.json", table.to_json())
            _write(draft / "leaderboard.csv", table.to_csv())
            _write(draft / "README.md", _CARD)
        return cls(folder=target, boards=tuple(boards), unread=tuple(unread))


def _checked(folder: Path) -> list[CheckedEntry]:
    """The entry of each folder, by name; hidden folders, and those with neither file of an entry, are none."""
    places = [
        path
        for path in sorted(folder.iterdir())
        if path.is_dir()
        and not path.name.startswith(".")
        and any((path / name).exists() for name in ("entry.json", "report.json"))
    ]
    return [CheckedEntry.of(path) for path in tqdm(places, desc="Checking", unit="entry", disable=None)]


def _entries_written(
    checked: Sequence[CheckedEntry], draft: Path, link: str | None
) -> tuple[list[Board], list[CheckedEntry]]:
    """Writes the page of each entry; one whose report makes no page stands on no board, and no place counts it."""
    boards = Board.all_of(checked)
    refused: dict[str, str] = {}
    placed = [(row, board) for board in boards for row in board.rows]
    for row, own in tqdm(placed, desc="Writing", unit="page", disable=None):
        try:
            page = entry_page(row, own, link=f"{link}/{row.name}" if link else None)
            _write(draft / "entries" / f"{page_stem(row.name)}.html", page)
        except OochubError as error:
            refused[row.name] = f"its report makes no page: {error}"
    if not refused:
        return boards, list(checked)
    without = [replace(each, entry=None, reason=refused.get(each.name, each.reason)) if each.name in refused else each
               for each in checked]  # fmt: skip
    return _entries_written(without, draft, link)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
