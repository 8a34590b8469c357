"""The board of one config of a benchmark: its entries by track, each with its rank; numbers of other rows are told.

Ranks are those that paired tests of all entries allow: a range of places for each, none where nothing is known.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.comparison.model_line import ModelLine, model_lines
from oochub.data.declaration import describe_benchmark, describe_metrics
from oochub.errors import OochubError
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_entry import TRACKS, LeaderboardEntry, Track
from oochub.leaderboard.recomputation import SEED
from oochub.metric import read_facts
from oochub.records.metadata import Metadata, PredictedBy
from oochub.records.origin_records import EvaluatedBenchmark
from oochub.records.report_records import MetricDescription
from oochub.records.sides import Vocabulary
from oochub.report import format_numbers
from oochub.report.report import Report
from oochub.stats import RESAMPLES
from oochub.stats.estimate import Estimate
from oochub.stats.model_places import RankRange, compare_all_pairs, count_places, find_clearly_better, smallest_found
from oochub.stats.paired_values import PairedValues, name_test

if TYPE_CHECKING:
    from oochub.leaderboard.benchmark_rows import BenchmarkRows

_SHOWN = 6  # sizes of sets of entries


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """One entry on its board.

    Attributes:
        name: The name of its folder.
        entry: What its sender says.
        report: Numbers of the entry: of its predictions, else as they were sent.
        reason: Why it is not verified; "" where it is.
        check: What was compared, in words.
        rank: Best and worst place in its track; None of an entry that is not verified, an oracle, or has no number.
        behind: The names of the entries that are clearly better.
        values: What it contributes to the tests of numbers out of context; None where it has no rank.
        off_the_line: Points of the metric above the line of its track, in the direction of better; nan without a line.
        entries: How many entries of this board are of its model.
        rows: A digest of the examples, labels, sides and groups that its numbers are of.
        is_comparable: Whether its rows are those of the board, as far as is known.
        is_sent: Whether its numbers are those that were sent, since its predictions give none.
        digest: A digest of its report and predictions and of what checked them; "" if they were not read.
    """

    name: str
    entry: LeaderboardEntry
    report: Report
    reason: str
    check: str = ""
    rank: RankRange | None = None
    behind: frozenset[str] = frozenset()
    values: PairedValues | None = field(default=None, repr=False)
    off_the_line: float = float("nan")
    entries: int = 1
    rows: str = ""
    is_comparable: bool = True
    is_sent: bool = False
    digest: str = ""

    @property
    def model_key(self) -> str:
        """Equal for models whose names look alike: in case, in width, by signs that nobody sees."""
        plain = unicodedata.normalize("NFKC", self.entry.model).casefold()
        seen = (sign for sign in plain if unicodedata.category(sign) not in ("Cc", "Cf"))
        return re.sub(r"[\s_-]+", " ", "".join(seen)).strip()

    @property
    def is_recomputed(self) -> bool:
        """Whether its numbers are those that its predictions give, whatever else is known of its rows."""
        return not self.reason or not self.is_comparable

    @property
    def verdict(self) -> str:
        """What came of its check, in words."""
        return "Not comparable" if not self.is_comparable else "Not verified" if self.reason else "Recomputed"

    @property
    def is_ranked(self) -> bool:
        """Whether it may have a rank, and counts for the line."""
        return not self.reason and self.entry.selection != "oracle"

    @property
    def is_tested(self) -> bool:
        """Whether it is tested against others: it may have a rank, and has a number."""
        return self.is_ranked and self.values is not None

    @property
    def worst_group(self) -> Estimate | None:
        """The primary metric, else the accuracy, of the worst group; None without groups."""
        worst = self.report.worst_group or {}
        found = worst.get(self.report.benchmark.primary_metric) or worst.get("accuracy")
        return None if found is None else found.estimate


@dataclass(frozen=True, kw_only=True)
class TrackTests:
    """The tests of all pairs of a track.

    Attributes:
        test: Its name.
        n: Rows, or groups, that the numbers are of.
        unit: What n counts, in words.
        pairs: How many pairs there are.
        clear: How many of them differ clearly (Holm, 5%).
        smallest: True difference that would be found with the chance 0.8, for the median pair; nan if unknown.
    """

    test: str
    n: int
    unit: str
    pairs: int
    clear: int
    smallest: float


@dataclass(frozen=True, kw_only=True)
class Board:
    """Entries of one config of a benchmark.

    Attributes:
        benchmark: What they are of.
        tracks: The rows of each track that has any, the best out of context first.
        lines: The line through the ranked entries of a track; tracks with fewer than two numbers have none.
        truth: What the benchmark's own rows were loaded from; "" where they are not known.
        tests: How the entries of a track were compared; tracks with fewer than two tested entries have none.
    """

    benchmark: EvaluatedBenchmark
    tracks: Mapping[Track, tuple[BoardRow, ...]]
    lines: Mapping[Track, ModelLine]
    tests: Mapping[Track, TrackTests] = field(default_factory=dict)
    truth: str = ""

    @property
    def rows(self) -> list[BoardRow]:
        """All entries, track by track."""
        return [row for rows in self.tracks.values() for row in rows]

    @property
    def described(self) -> MetricDescription:
        """What the numbers of its metric mean."""
        report = next((row for row in self.rows if not row.reason), self.rows[0]).report
        return report.description(self.benchmark.primary_metric)

    @property
    def undecided(self) -> str:
        """Why verified numbers are not comparable, and what decides it, in words; "" where all are."""
        several = Counter(_make_data_key(row) for row in self.rows if not row.is_comparable)
        if not several:
            return ""
        counts = sorted(several.values(), reverse=True)
        shown = counts if len(counts) <= _SHOWN else [*counts[: _SHOWN - 1], sum(counts[_SHOWN - 1 :])]
        sizes = f"{', '.join(map(str, shown[:-1]))} and {shown[-1]}"
        return (
            f"Sets of {sizes} entries have different rows, labels, sides or groups. It is not known here which are the "
            "benchmark's own, so none of them is ranked: neither a majority of senders nor a date decides. "
            f"oochub leaderboard --truth SOURCE does, with the rows of {self.benchmark.name}/{self.benchmark.config}, "
            "as oochub build writes them"
        )

    @classmethod
    def all_of(
        cls, entries: Sequence[CheckedEntry], own: "Mapping[tuple[str, str], BenchmarkRows] | None" = None
    ) -> "list[Board]":
        """The boards of some entries, by name; those whose report cannot be read stand on none.

        An entry whose predictions are of another version of the benchmark than is installed here is not verified. If
        verified entries are of different rows, labels, sides or groups, none is comparable.

        Args:
            entries: Checked under the same `own` rows.
            own: The benchmarks' own rows by name and config, where they are known.
        """
        places: dict[tuple[str, str], list[BoardRow]] = {}
        for each in entries:
            if each.entry is not None and each.report is not None:
                about = each.report.benchmark
                row = BoardRow(
                    name=each.name, entry=each.entry, report=each.report, reason=each.reason,
                    check="" if each.reason else _check(each), rows=each.rows, is_sent=each.is_sent,
                    digest=each.digest, values=each.values,
                )  # fmt: skip
                places.setdefault((about.name, about.config), []).append(row)
        known = own or {}
        boards = [(_make_board(_separate_other_data(rows)), known.get(place)) for place, rows in sorted(places.items())]
        return [replace(board, truth=rows.title if rows else "") for board, rows in boards]


def _check(each: CheckedEntry) -> str:
    if not each.numbers:
        return ""
    own = each.own_intervals and (
        f"; its intervals are the board's, {RESAMPLES:,} resamples, seed {SEED}: {each.own_intervals}"
    )
    return f"{each.numbers:,} numbers, largest difference {each.difference:.1g}{own}"


def _separate_other_data(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """The rows by the day they were sent, those that are not of the same data with a reason."""
    ordered = sorted(rows, key=lambda row: (row.entry.date, row.name))
    declared = _find_declaration(ordered[0].report.benchmark)
    if declared is not None:
        words = f"the board is for {declared.version}"
        ordered = [
            row if row.reason or _read_version(row) == declared.version else
            replace(row, reason=f"its predictions are for version {_read_version(row)}, {words}", check="")
            for row in ordered
        ]  # fmt: skip
    sets = Counter(_make_data_key(row) for row in ordered if not row.reason)
    if len(sets) < 2:
        return ordered
    return [row if row.reason else _explain_not_comparable(row, sets) for row in ordered]


def _explain_not_comparable(row: BoardRow, sets: Counter[Any]) -> BoardRow:
    others = sum(sets.values()) - sets[_make_data_key(row)]
    reason = (
        f"{others} other {'entry has' if others == 1 else 'entries have'} other rows or labels, and it is not "
        "known here which are the benchmark's own"
    )
    return replace(row, reason=reason, check="", is_comparable=False)


def _find_declaration(about: EvaluatedBenchmark) -> Benchmark | None:
    """The declaration of a config that is installed here."""
    if about.name not in catalog.names("benchmark"):
        return None
    try:
        declared: Benchmark = catalog.get("benchmark", about.name).of(about.config)
    except OochubError:  # a config that this oochub does not have
        return None
    return declared


def _read_version(row: BoardRow) -> str:
    return row.report.benchmark.version


def _make_data_key(row: BoardRow) -> tuple[Any, ...]:
    """What tells one set of rows, sides and groups from another; splits beside the comparison do not count."""
    parts = [(part.role, part.n, part.examples or "") for part in row.report.slices if part.role != "split"]
    listed, left_out = row.report.group_rows, row.report.groups_left_out
    groups = [(each.group, each.role or "", each.n) for each in listed]
    if left_out:  # which groups are listed depends on the model
        groups = [("", "", len(listed) + left_out)]
    return (_read_version(row), row.rows, *sorted(parts), *sorted(groups))


def _make_board(rows: Sequence[BoardRow]) -> Board:
    first = next((row for row in rows if row.is_recomputed), None) or _keep_own_words(rows[0])
    benchmark = first.report.benchmark
    rows = [row if row.is_recomputed else _adopt_board_words(benchmark, _keep_own_words(row)) for row in rows]
    counts = Counter(row.model_key for row in rows)
    tracks: dict[Track, tuple[BoardRow, ...]] = {}
    lines: dict[Track, ModelLine] = {}
    tests: dict[Track, TrackTests] = {}
    for track in TRACKS:
        some = [replace(row, entries=counts[row.model_key]) for row in rows if row.entry.track == track]
        ranked = [row for row in some if row.is_ranked and _has_point(row.report)]
        if ranked:
            lines[track] = model_lines([row.report for row in ranked])[0]
        some, tested = _rank_rows(some, benchmark)
        if tested:
            tests[track] = tested
        if some:
            tracks[track] = _place_rows(some, benchmark, lines.get(track))
    return Board(benchmark=benchmark, tracks=tracks, lines=lines, tests=tests)


def _adopt_board_words(benchmark: EvaluatedBenchmark, row: BoardRow) -> BoardRow:
    """An entry that is not verified, under the board's own words and metric instead of those that were sent."""
    own = replace(benchmark, version=row.report.benchmark.version)
    return replace(row, report=replace(row.report, benchmark=own))


def _keep_own_words(row: BoardRow) -> BoardRow:
    """An entry that is not verified, with what is known here of benchmark and metrics; of others their names alone."""
    about, declared = row.report.benchmark, _find_declaration(row.report.benchmark)
    known = {name.partition(".")[0] for name in row.report.metrics} & {*catalog.names("metric")}
    if declared is not None:
        said = Metadata(
            benchmark=about.name, config=about.config, version=about.version, model=PredictedBy(), class_names=(),
            rows={},
        )  # fmt: skip
        about = describe_benchmark(said, declared)
    else:
        metric = about.primary_metric.partition(".")[0]
        facts = read_facts(catalog.get("metric", metric)) if metric in catalog.names("metric") else None
        about = replace(
            about, title=about.name, summary="", homepage="", citation="", licenses=(), words=Vocabulary(),
            metric_direction=facts.direction if facts else "higher",
        )  # fmt: skip
    metrics = describe_metrics(sorted(known))
    return replace(row, report=replace(row.report, benchmark=about, metrics=metrics))


def _has_point(report: Report) -> bool:
    return all(not format_numbers.is_undefined(report.headline(side)) for side in ("in", "out"))


def _rank_rows(rows: list[BoardRow], benchmark: EvaluatedBenchmark) -> tuple[list[BoardRow], TrackTests | None]:
    """The rows of a track with their ranks, by tests of all pairs of those that may have one."""
    places = [place for place, row in enumerate(rows) if row.is_tested]
    values = [row.values for row in rows if row.values is not None and row.is_ranked]
    found = compare_all_pairs(values)
    better = find_clearly_better(-found.gain if benchmark.metric_direction == "lower" else found.gain, found.p_value)
    ranked = list(rows)
    for own, (place, rank) in enumerate(zip(places, count_places(better), strict=True)):
        behind = frozenset(rows[places[other]].name for other in np.flatnonzero(better[own]))
        ranked[place] = replace(rows[place], rank=rank, behind=behind)
    if len(places) < 2:
        return ranked, None
    pairs = len(places) * (len(places) - 1) // 2
    errors = found.error[np.triu_indices(len(places), 1)].tolist()
    tested = TrackTests(
        test=name_test(values[0]),
        n=values[0].n,
        unit=values[0].unit,
        pairs=pairs,
        clear=int(better.sum()),
        smallest=smallest_found(errors, tests=pairs),
    )
    return ranked, tested


def _place_rows(
    rows: Sequence[BoardRow], benchmark: EvaluatedBenchmark, line: ModelLine | None
) -> tuple[BoardRow, ...]:
    """The rows with their distance from the line, the best out of context first."""
    placed = [replace(row, off_the_line=_measure_distance(row.report, line)) for row in rows]
    sign = 1 if benchmark.metric_direction == "lower" else -1

    def order(row: BoardRow) -> tuple[bool, float]:
        out = row.report.headline("out")
        return format_numbers.is_undefined(out), sign * (
            0.0 if out is None or format_numbers.is_undefined(out) else out.value
        )

    return tuple(sorted(placed, key=order))


def _measure_distance(report: Report, line: ModelLine | None) -> float:
    inside, outside = report.headline("in"), report.headline("out")
    if line is None or line.fit is None or inside is None or outside is None or not _has_point(report):
        return float("nan")
    above = outside.value - float(line.at([line.shown(inside)])[0][0])
    return -above if line.described.direction == "lower" else above
