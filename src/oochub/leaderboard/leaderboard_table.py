"""Every entry of a leaderboard as a row of data: leaderboard.csv and leaderboard.json, at full precision."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from oochub.leaderboard.board import Board, BoardRow
from oochub.leaderboard.checked_entry import CheckedEntry
from oochub.leaderboard.page_stem import page_stem
from oochub.records.schema import to_json
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import format_csv

_ESTIMATES = ("inside", "outside", "gap", "worst_group")


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow:
    """One entry; what is not known is None.

    Attributes:
        benchmark: Name of the benchmark.
        config: Its config.
        version: Of its rows.
        entry: The folder of the entry.
        page: Its page, from the index.
        model: What the model goes by.
        objective: It was trained with.
        track: "standard" or "open".
        selection: What settings were chosen on.
        supervision: What training was told.
        external_data: What else the model saw.
        who: Who sent it.
        date: When.
        verified: Whether every number was computed again and is the same.
        reason: Why not.
        rank_from: Best place in its track.
        rank_to: Worst place in its track.
        entries_of_model: How many entries of this board are of its model.
        metric: Of all numbers but the worst group's where it has none of it.
        inside: In context.
        outside: Out of context.
        gap: Out minus in.
        off_the_line: How far above the line of its track.
        worst_group: Of the worst group.
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
        self.rows = tuple(_row(row) for board in boards for row in board.rows)
        self._unread = {each.name: each.reason for each in unread}

    def to_json(self) -> str:
        """An object with `schema_version`, the `entries`, and of those that cannot be shown the reason, by folder."""
        content = {"schema_version": 1, "entries": to_json(self.rows), "unread": self._unread}
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


def _row(row: BoardRow) -> LeaderboardRow:
    report, entry = row.report, row.entry
    first, last = row.rank or (None, None)
    return LeaderboardRow(
        benchmark=report.benchmark.name,
        config=report.benchmark.config,
        version=report.benchmark.version,
        entry=row.name,
        page=f"entries/{page_stem(row.name)}.html",
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
