"""The board of one config of a benchmark: its entries by track, each with its rank; numbers of other rows are told."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oochub import catalog
from oochub.errors import OochubError
from oochub.leaderboard.checked_entry import CheckedEntry
from oochub.leaderboard.leaderboard_entry import TRACKS, LeaderboardEntry, Track
from oochub.leaderboard.rank_ranges import rank_ranges
from oochub.report import numbers
from oochub.report.comparing.model_line import ModelLine, model_lines
from oochub.report.origin_records import EvaluatedBenchmark
from oochub.report.records import MetricDescription
from oochub.report.report import Report
from oochub.stats.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """One entry on its board.

    Attributes:
        name: The name of its folder.
        entry: What its sender says.
        report: Its numbers: of its predictions, else as they were sent.
        reason: Why it is not verified; "" where it is.
        check: What was compared, in words.
        rank: Best and worst place in its track; None of an entry that is not verified, an oracle, or has no interval.
        off_the_line: Points of the metric above the line of its track, in the direction of better; nan without a line.
        entries: How many entries of this board are of its model.
    """

    name: str
    entry: LeaderboardEntry
    report: Report
    reason: str
    check: str = ""
    rank: tuple[int, int] | None = None
    off_the_line: float = float("nan")
    entries: int = 1

    @property
    def is_ranked(self) -> bool:
        """Whether it may have a rank, and counts for the line."""
        return not self.reason and self.entry.selection != "oracle"

    @property
    def worst_group(self) -> Estimate | None:
        """The primary metric, else the accuracy, of the worst group; None without groups."""
        worst = self.report.worst_group or {}
        found = worst.get(self.report.benchmark.primary_metric) or worst.get("accuracy")
        return None if found is None else found.estimate


@dataclass(frozen=True, kw_only=True)
class Board:
    """Entries of one config of a benchmark.

    Attributes:
        benchmark: What they are of.
        tracks: The rows of each track that has any, the best out of context first.
        lines: The line through the ranked entries of a track; tracks with fewer than two numbers have none.
    """

    benchmark: EvaluatedBenchmark
    tracks: Mapping[Track, tuple[BoardRow, ...]]
    lines: Mapping[Track, ModelLine]

    @property
    def rows(self) -> list[BoardRow]:
        """All entries, track by track."""
        return [row for rows in self.tracks.values() for row in rows]

    @property
    def described(self) -> MetricDescription:
        """What the numbers of its metric mean."""
        report = next((row for row in self.rows if not row.reason), self.rows[0]).report
        return report.description(self.benchmark.primary_metric)

    @classmethod
    def all_of(cls, entries: Sequence[CheckedEntry]) -> "list[Board]":
        """The boards of some entries, by name; those whose report cannot be read stand on none.

        An entry whose predictions are of another version of the benchmark, or of other rows than most verified entries
        have (of equally many, those of the one that was sent first), is not verified.
        """
        places: dict[tuple[str, str], list[BoardRow]] = {}
        for each in entries:
            if each.entry is not None and each.report is not None:
                about = each.report.benchmark
                check = f"{each.numbers:,} numbers, largest difference {each.difference:.1g}" if each.numbers else ""
                row = BoardRow(
                    name=each.name, entry=each.entry, report=each.report, reason=each.reason,
                    check="" if each.reason else check,
                )  # fmt: skip
                places.setdefault((about.name, about.config), []).append(row)
        return [_board(_of_one_data(rows)) for _, rows in sorted(places.items())]


def _of_one_data(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """The rows by the day they were sent, those of another version or of other examples with a reason."""
    ordered = sorted(rows, key=lambda row: (row.entry.date, row.name))
    version = _declared_version(ordered[0].report.benchmark) or _usual([_version(row) for row in _verified(ordered)])
    ordered = [
        row if row.reason or _version(row) == version else
        _refused(row, f"its predictions are of version {_version(row)}, the board is of {version}")
        for row in ordered
    ]  # fmt: skip
    examples = _usual([_examples(row.report) for row in _verified(ordered)])
    return [
        row if row.reason or _examples(row.report) == examples else
        _refused(row, "its predictions are of other rows than those of most entries")
        for row in ordered
    ]  # fmt: skip


def _verified(rows: Sequence[BoardRow]) -> list[BoardRow]:
    return [row for row in rows if not row.reason]


def _refused(row: BoardRow, reason: str) -> BoardRow:
    return replace(row, reason=reason, check="")


def _usual(values: Sequence[Any]) -> Any:
    """The most frequent value, of equally many the first; None of none."""
    return Counter(values).most_common(1)[0][0] if values else None


def _declared_version(benchmark: EvaluatedBenchmark) -> str | None:
    """The version that the benchmark has here; None where it is not installed."""
    if benchmark.name not in catalog.names("benchmark"):
        return None
    try:
        declared: Any = catalog.get("benchmark", benchmark.name).of(benchmark.config)
    except OochubError:  # a config that this oochub does not have
        return None
    return str(declared.version)


def _version(row: BoardRow) -> str:
    return row.report.benchmark.version


def _examples(report: Report) -> tuple[Any, ...]:
    """What tells one set of rows, sides and groups from another; splits beside the comparison do not count."""
    parts = [(part.role, part.n, part.examples) for part in report.slices if part.role != "split"]
    groups = [(row.group, row.role or "", row.n) for row in report.group_rows]
    return (*sorted(parts), *sorted(groups))


def _board(rows: Sequence[BoardRow]) -> Board:
    benchmark = next((row for row in rows if not row.reason), rows[0]).report.benchmark
    rows = [row if not row.reason else _in_words_of(benchmark, row) for row in rows]
    counts = Counter(row.entry.model.casefold() for row in rows)
    tracks: dict[Track, tuple[BoardRow, ...]] = {}
    lines: dict[Track, ModelLine] = {}
    for track in TRACKS:
        some = [replace(row, entries=counts[row.entry.model.casefold()]) for row in rows if row.entry.track == track]
        ranked = [row for row in some if row.is_ranked and _has_point(row.report)]
        if ranked:
            lines[track] = model_lines([row.report for row in ranked])[0]
        if some:
            tracks[track] = _placed(some, benchmark, lines.get(track))
    return Board(benchmark=benchmark, tracks=tracks, lines=lines)


def _in_words_of(benchmark: EvaluatedBenchmark, row: BoardRow) -> BoardRow:
    """An entry that is not verified, under the board's own words and metric instead of those that were sent."""
    own = replace(benchmark, version=row.report.benchmark.version)
    return replace(row, report=replace(row.report, benchmark=own))


def _has_point(report: Report) -> bool:
    return all(not numbers.is_undefined(report.headline(side)) for side in ("in", "out"))


def _placed(rows: Sequence[BoardRow], benchmark: EvaluatedBenchmark, line: ModelLine | None) -> tuple[BoardRow, ...]:
    """The rows with ranks and their distance from the line, the best out of context first."""
    direction = benchmark.metric_direction
    ranks = rank_ranges([row.report.headline("out") if row.is_ranked else None for row in rows], direction=direction)
    placed = [
        replace(row, rank=rank, off_the_line=_off(row.report, line))
        for row, rank in zip(rows, ranks, strict=True)
    ]  # fmt: skip
    sign = 1 if direction == "lower" else -1

    def order(row: BoardRow) -> tuple[bool, float]:
        out = row.report.headline("out")
        return numbers.is_undefined(out), sign * (0.0 if out is None or numbers.is_undefined(out) else out.value)

    return tuple(sorted(placed, key=order))


def _off(report: Report, line: ModelLine | None) -> float:
    inside, outside = report.headline("in"), report.headline("out")
    if line is None or line.fit is None or inside is None or outside is None or not _has_point(report):
        return float("nan")
    above = outside.value - float(line.at([line.shown(inside)])[0][0])
    return -above if line.described.direction == "lower" else above
