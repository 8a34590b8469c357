"""The first page of a leaderboard: a row a board, never an average over them, and what could not be read."""

from collections.abc import Sequence
from typing import Any

from oochub.leaderboard.board import Board, BoardRow
from oochub.leaderboard.checked_entry import CheckedEntry
from oochub.leaderboard.leaderboard_entry import TRACKS, Track
from oochub.leaderboard.page_stem import page_stem
from oochub.report import format_numbers, wording
from oochub.report.self_contained_page import self_contained_page

_LIMIT = 2_000_000  # bytes


def index_page(boards: Sequence[Board], unread: Sequence[CheckedEntry], *, source: str) -> str:
    """Renders the index as one HTML file; the same boards give the same bytes.

    Args:
        boards: Of `Board.all_of`.
        unread: The entries that stand on none.
        source: What the entries were read from, in words.

    Raises:
        OochubError: The page would exceed 2 MB.
    """
    every = [row for board in boards for row in board.rows]
    verified = sum(not row.reason for row in every)
    noun = "entry" if len(every) == 1 else "entries"
    return self_contained_page(
        "leaderboard_index.html.jinja",
        own="leaderboard",
        most=_LIMIT,
        advice=f"It has {len(boards):,} boards and {len(unread):,} entries that cannot be shown: keep fewer.",
        lead=(
            f"{format_numbers.count(len(every))} {noun} on {format_numbers.count(len(boards))} "
            f"board{'' if len(boards) == 1 else 's'}, {format_numbers.count(verified)} verified from their predictions "
            "when this page was made. A board is a config of a benchmark; there is no average over boards."
        ),
        benchmarks=sorted({board.benchmark.name for board in boards}),
        boards=[_board(board) for board in boards],
        unread=[(each.name, each.reason) for each in unread],
        tracks=TRACKS,
        source=source,
    )


def _board(board: Board) -> dict[str, Any]:
    benchmark, rows = board.benchmark, board.rows
    described = board.described
    unit = format_numbers.unit_of(benchmark.primary_metric, described.unit)
    return {
        "benchmark": benchmark.name,
        "place": wording.name(f"{benchmark.name}/{benchmark.config}"),
        "page": page_stem(benchmark.name, benchmark.config),
        "metric": f"{wording.name(described.title, 60)} {unit} {format_numbers.arrow(described.direction)}".rstrip(),
        "entries": len(rows),
        "verified": sum(not row.reason for row in rows),
        "models": len({row.entry.model.casefold() for row in rows}),
        "best": [_best(board.tracks.get(track, ()), described.unit) for track in _tracks()],
    }


def _tracks() -> tuple[Track, ...]:
    return tuple(TRACKS)


def _best(rows: Sequence[BoardRow], unit: str) -> dict[str, Any] | None:
    """The first ranked entry of a track, whose rows are sorted; None without one."""
    ranked = [row for row in rows if row.rank is not None]
    if not ranked:
        return None
    out = ranked[0].report.headline("out")
    return {
        "value": format_numbers.quantity(out, unit),
        "interval": "" if out is None else format_numbers.interval(out, unit),
        "model": wording.name(ranked[0].entry.model, 60),
        "others": sum(row.rank is not None and row.rank[0] == 1 for row in ranked[1:]),
    }
