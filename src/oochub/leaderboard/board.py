"""The board of one version of one config of a benchmark: its entries by track, each with its rank.

Entries of other rows than those of the board are not ranked among its entries. Ranks are those that paired tests of
all entries allow: a range of places for each, none where nothing is known.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.comparison.methods_over_seeds import MethodPlaces, join_seeds, place_methods
from oochub.comparison.model_line import ModelLine, model_lines
from oochub.data.declaration import describe_benchmark, describe_metrics
from oochub.errors import OochubError
from oochub.leaderboard.check_entry import SEED, CheckedEntry
from oochub.leaderboard.compared_rows import count_changes
from oochub.leaderboard.leaderboard_entry import TRACKS, BoardKey, LeaderboardEntry, Track, Withdrawal
from oochub.metric import read_facts
from oochub.records.metadata import Metadata, PredictedBy
from oochub.records.origin_records import EvaluatedBenchmark
from oochub.records.report_records import MetricDescription
from oochub.records.sides import Vocabulary
from oochub.report import format_numbers, wording
from oochub.report.report import Report
from oochub.stats import RESAMPLES
from oochub.stats.estimate import Estimate
from oochub.stats.model_places import RankRange, compare_all_pairs, count_places, find_clearly_better, smallest_found
from oochub.stats.paired_values import PairedValues, name_test
from oochub.stats.seeded_difference import SeededNumbers

if TYPE_CHECKING:
    import pandas as pd

    from oochub.leaderboard.benchmark_rows import BenchmarkRows

FirstCommits = Callable[[Sequence[CheckedEntry]], Mapping[str, int]]

_SAME = 1e-6  # relative: what a run contributes is the number of its report
_SHOWN, _READ = 6, 20  # sets of entries that are named, and whose rows are read


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
        set: Letter of the set of rows that it is of, where it is not known which set is the benchmark's own; else "".
        is_sent: Whether its numbers are those that were sent, since its predictions give none.
        digest: A digest of its report and predictions and of what checked them; "" if they were not read.
        seed_of: Method that it is one of two or more seeds of, which has a place instead; else "".
        measure_seed: Measures what it contributes to the tests of methods over seeds.
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
    set: str = ""
    is_sent: bool = False
    digest: str = ""
    seed_of: str = ""
    measure_seed: Callable[[], SeededNumbers | None] = field(default=lambda: None, repr=False, compare=False)

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
        if self.set:
            return "Disputed"
        return "Not comparable" if not self.is_comparable else "Not verified" if self.reason else "Recomputed"

    @property
    def is_ranked(self) -> bool:
        """Whether it may have a rank, among entries of the same rows, and counts for the line."""
        return (not self.reason or self.set != "") and self.entry.selection != "oracle"

    @property
    def is_tested(self) -> bool:
        """Whether it is tested against others: it may have a rank, and has a number."""
        return self.is_ranked and self.values is not None and not self.seed_of

    @property
    def is_at_chance(self) -> bool:
        """Whether guessing may be as good out of context: its interval reaches what guessing gives, or lies beyond."""
        about, out = self.report.benchmark, self.report.headline("out")
        if out is None or format_numbers.is_undefined(out) or format_numbers.is_undefined(about.chance):
            return False
        if about.metric_direction == "lower":
            return (out.value if format_numbers.is_undefined(out.high) else out.high) >= about.chance
        return (out.value if format_numbers.is_undefined(out.low) else out.low) <= about.chance

    @property
    def worst_group(self) -> Estimate | None:
        """The primary metric, else the accuracy, of the worst group; None without groups."""
        worst = self.report.worst_group or {}
        group = worst.get(self.report.benchmark.primary_metric) or worst.get("accuracy")
        return None if group is None else group.estimate


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
    """Entries of one version of one config of a benchmark.

    Attributes:
        benchmark: What they are of.
        tracks: The rows of each track that has any, the best out of context first.
        lines: The line through the ranked entries of a track; tracks with fewer than two numbers have none.
        truth: What the benchmark's own rows were loaded from; "" where they are not known.
        methods: The places of methods of a track that were sent with several seeds, tested over seeds and rows.
        tests: How the entries of a track were compared; tracks with fewer than two tested entries have none.
        sets: If it is not known which rows are the benchmark's own: a board for the entries of each set of rows.
        undecided: Why verified numbers are not comparable, and what decides it, in words; "" where all are.
        versions: The other versions of the benchmark that have a board, each with a note: "", or that its rows are
            not confirmed.
        changes: What changed since the version before, in words.
        withdrawn: Entries that were withdrawn, and so have neither numbers nor a page.
        withdrawal: Why the benchmark itself was withdrawn; None if it was not.
        is_newest: Whether its version is the newest of its benchmark and config that is said to be the owner's.
    """

    benchmark: EvaluatedBenchmark
    tracks: Mapping[Track, tuple[BoardRow, ...]]
    lines: Mapping[Track, ModelLine]
    tests: Mapping[Track, TrackTests] = field(default_factory=dict)
    truth: str = ""
    methods: Mapping[Track, MethodPlaces] = field(default_factory=dict)
    sets: tuple["Board", ...] = ()
    undecided: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    changes: str = ""
    withdrawn: tuple[tuple[BoardRow, Withdrawal], ...] = ()
    withdrawal: Withdrawal | None = None
    is_newest: bool = True

    @property
    def key(self) -> BoardKey:
        """What it is of."""
        return BoardKey.of(self.benchmark)

    @property
    def parts(self) -> tuple["Board", ...]:
        """The boards whose entries are ranked together: those of the sets, and of what belongs to none."""
        return tuple(part for part in (*self.sets, self) if part.tracks)

    @property
    def set(self) -> str:
        """The letter of the set of rows that its entries are of; "" if there is no dispute."""
        return self.rows[0].set if self.rows and not self.sets else ""

    @property
    def rows(self) -> list[BoardRow]:
        """All entries, set by set and track by track."""
        return [row for part in self.parts for rows in part.tracks.values() for row in rows]

    @property
    def described(self) -> MetricDescription:
        """What the numbers of its metric mean."""
        rows = self.rows or [row for row, _ in self.withdrawn]
        report = next((row for row in rows if not row.reason), rows[0]).report
        return report.description(self.benchmark.primary_metric)

    @classmethod
    def all_of(
        cls,
        entries: Sequence[CheckedEntry],
        own: "Mapping[BoardKey, BenchmarkRows] | None" = None,
        *,
        withdrawn: Mapping[str, Withdrawal] | None = None,
        first_commits: FirstCommits | None = None,
    ) -> "list[Board]":
        """The boards of some entries, by name and version; those whose report cannot be read stand on none.

        An entry whose predictions are of another version of the benchmark than is installed here is not verified. If
        verified entries of a board are of different rows, labels, sides or groups, the set of rows that came first is
        the board's. If no history says which came first, the entries of each set are ranked by themselves.

        Args:
            entries: Checked under the same `own` rows.
            own: The benchmarks' own rows by what they are of, where they are known.
            withdrawn: What was withdrawn, see `Withdrawal.find_all`.
            first_commits: Gives for entries the number of the commit that brought their answers into the results, by
                the name of the entry; None for results without history.
        """
        own_rows, by_name = own or {}, {entry.name: entry for entry in entries}
        places: dict[BoardKey, list[BoardRow]] = {}
        for entry in entries:
            if entry.entry is not None and entry.report is not None:
                row = BoardRow(
                    name=entry.name, entry=entry.entry, report=entry.report, reason=entry.reason,
                    check="" if entry.reason else _check(entry), rows=entry.rows, is_sent=entry.is_sent,
                    digest=entry.digest, values=entry.values,
                    measure_seed=partial(entry.measure_seed, own_rows.get(BoardKey.of(entry.report.benchmark))),
                )  # fmt: skip
                places.setdefault(BoardKey.of(entry.report.benchmark), []).append(row)
        boards, given_up = [], withdrawn or {}
        for key in sorted(places, key=lambda place: place.order):
            whole = given_up.get(f"{key.benchmark}/{key.config}@{key.version}") or given_up.get(f"{key[0]}/{key[1]}")
            rows = _order_rows(places[key])
            gone = [(_keep_own_words(row), why) for row in rows if (why := whole or given_up.get(row.name))]
            rows = [row for row in rows if not (whole or row.name in given_up)]
            board = (
                _make_board_of_version(rows, by_name, first_commits)
                if rows
                else Board(benchmark=gone[0][0].report.benchmark, tracks={}, lines={})
            )
            title = own_rows[key].title if key in own_rows else ""
            boards.append(replace(board, truth=title, withdrawn=tuple(gone), withdrawal=whole))
        return _link_versions(boards, by_name, own_rows)


def _check(each: CheckedEntry) -> str:
    if not each.numbers:
        return ""
    own = each.own_intervals and (
        f"; its intervals are the board's, {RESAMPLES:,} resamples, seed {SEED}: {each.own_intervals}"
    )
    return f"{each.numbers:,} numbers, largest difference {each.difference:.1g}{own}"


def _order_rows(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """The rows by the day they were sent; of another version than is installed here none is verified."""
    ordered = sorted(rows, key=lambda row: (row.entry.date, row.name))
    key, declared = BoardKey.of(rows[0].report.benchmark), _find_declaration(rows[0].report.benchmark)
    if declared is None or declared.version == key.version:
        return ordered
    words = f"its predictions are for version {key.version}, but version {declared.version} is installed here"
    return [row if row.reason else replace(row, reason=words, check="") for row in ordered]


def _make_board_of_version(
    rows: Sequence[BoardRow], entries: Mapping[str, CheckedEntry], first_commits: FirstCommits | None
) -> Board:
    """The board of rows by the day; its entries of other rows than those of the board are not ranked among them."""
    several: dict[tuple[object, ...], list[BoardRow]] = {}
    for row in rows:
        if not row.reason:
            several.setdefault(_make_data_key(row), []).append(row)
    if len(several) < 2:
        return _make_board(rows)
    sets = sorted(several.values(), key=lambda some: (-len(some), some[0].name))
    listed = [entries[some[0].name].list_rows() if place < _READ else None for place, some in enumerate(sets)]
    if first_commits is not None:
        return _let_first_stand(rows, sets, listed, first_commits([entries[row.name] for some in sets for row in some]))
    parts, others = [], sum(map(len, sets))
    for some, letter in zip(sets, _name_sets(len(sets)), strict=True):
        reason = _explain_dispute(others - len(some))
        disputed = [replace(row, reason=reason, check="", is_comparable=False, set=letter) for row in some]
        parts.append(_make_board(disputed, of_models=rows))
    rest = [row for row in rows if row.reason]
    board = _make_board(rest, of_models=rows) if rest else Board(benchmark=parts[0].benchmark, tracks={}, lines={})
    board = replace(board, benchmark=parts[0].benchmark, sets=tuple(parts))
    stands = (
        "It is not known here which are the benchmark's own, and neither a majority of senders nor a date decides, so "
        "the entries of each set are ranked by themselves"
    )
    return replace(board, undecided=_describe_sets(sets, board.key, stands, _describe_letters(listed)))


def _let_first_stand(
    rows: Sequence[BoardRow],
    sets: Sequence[Sequence[BoardRow]],
    listed: "Sequence[pd.DataFrame | None]",
    came: Mapping[str, int],
) -> Board:
    """The board of the set of rows that came into the results first; entries of other sets are not comparable."""
    first = min(range(len(sets)), key=lambda place: min(came[row.name] for row in sets[place]))
    name = min(sets[first], key=lambda row: came[row.name]).name
    reasons: dict[str, str] = {}
    for some, others in zip(sets, listed, strict=True):
        changes = _describe_changes(listed[first], others) or "its rows or labels differ"
        reasons |= {row.name: f"{changes}, compared to {name}, whose answers came first" for row in some}
    reasons = {name: reason for name, reason in reasons.items() if name not in {row.name for row in sets[first]}}
    board = _make_board(
        [replace(row, reason=reasons[row.name], check="", is_comparable=False) if row.name in reasons else row
         for row in rows]
    )  # fmt: skip
    stands = f"Those of {name} stand, because its answers were committed to the results first"
    return replace(board, undecided=_describe_sets(sets, board.key, stands))


def _name_sets(number: int) -> list[str]:
    return [chr(ord("A") + place) if place < 26 else f"A{place}" for place in range(number)]


def _explain_dispute(others: int) -> str:
    return (
        f"{others} other {'entry has' if others == 1 else 'entries have'} other rows or labels, and it is not "
        "known here which are the benchmark's own"
    )


def _describe_changes(first: "pd.DataFrame | None", second: "pd.DataFrame | None") -> str:
    """How many rows differ, and in what; "" where the rows cannot be read."""
    if first is None or second is None:
        return ""
    changes = count_changes(first, second)
    return (
        f"{changes.total:,} of {changes.rows:,} rows {'differs' if changes.total == 1 else 'differ'} ({changes.words})"
    )


def _describe_letters(listed: "Sequence[pd.DataFrame | None]") -> str:
    """In how many rows a few sets differ from the first."""
    named = [*zip(_name_sets(len(listed)), listed, strict=True)][1:_SHOWN]
    differences = [
        f"between A and {letter} {words}" for letter, rows in named if (words := _describe_changes(listed[0], rows))
    ]
    return f" {wording.capitalize_sentence('; '.join(differences))}." if differences else ""


def _describe_sets(sets: Sequence[Sequence[BoardRow]], key: BoardKey, stands: str, changes: str = "") -> str:
    counts = [len(some) for some in sets]
    shown = counts if len(counts) <= _SHOWN else [*counts[: _SHOWN - 1], sum(counts[_SHOWN - 1 :])]
    sizes = f"{', '.join(map(str, shown[:-1]))} and {shown[-1]}"
    return (
        f"Sets of {sizes} entries have different rows, labels, sides or groups.{changes} {stands}. oochub leaderboard "
        f"--truth SOURCE gives the rows of {key}, as oochub build writes them, which are then kept with the results"
    )


def _link_versions(
    boards: Sequence[Board], entries: Mapping[str, CheckedEntry], own: "Mapping[BoardKey, BenchmarkRows]"
) -> list[Board]:
    """The boards with the other versions of their benchmark, and what changed since the version before.

    Once the rows of a version were given, a version without them may be anybody's: it is marked, is not the newest, and
    nothing is compared with it.
    """
    linked = []
    for _, group in groupby(boards, key=lambda board: board.key[:2]):
        same = [*group]
        given = [board for board in same if board.truth]
        shown = [board for board in same if board.truth or any(row.is_recomputed for row in board.rows)] or same
        sure = given or shown
        noted = {board.key.version: "" if board in sure else "not confirmed" for board in shown}
        earlier: tuple[str, pd.DataFrame] | None = None
        for board in same:
            version, changes, undecided = board.key.version, "", board.undecided
            verified = next((row for row in board.rows if not row.reason), None) if board in sure else None
            rows = entries[verified.name].list_rows(own.get(board.key)) if verified else None
            if rows is not None and earlier is not None:
                counts = count_changes(earlier[1], rows)
                changes = f"Since version {earlier[0]}: {counts.words}, of {counts.rows:,} rows that are compared"
            earlier = earlier if rows is None else (version, rows)
            if given and board not in given:
                several = ", ".join(board_given.key.version for board_given in given)
                undecided = (
                    f"The rows of version {several} were given by who keeps the results, those of version {version} "
                    "were not, so it may be anybody's. oochub leaderboard --truth SOURCE gives them"
                    + (f". {undecided}" if undecided else "")
                )
            others = {other: note for other, note in noted.items() if other != version}
            is_newest = board is sure[-1]
            linked.append(replace(board, versions=others, changes=changes, undecided=undecided, is_newest=is_newest))
    return linked


def _find_declaration(about: EvaluatedBenchmark) -> Benchmark | None:
    """The declaration of a config that is installed here."""
    if about.name not in catalog.names("benchmark"):
        return None
    try:
        declared: Benchmark = catalog.get("benchmark", about.name).of(about.config)
    except OochubError:  # a config that this oochub does not have
        return None
    return declared


def _make_data_key(row: BoardRow) -> tuple[Any, ...]:
    """What tells one set of rows, sides and groups from another; splits beside the comparison do not count."""
    parts = [(part.role, part.n, part.examples or "") for part in row.report.slices if part.role != "split"]
    listed, left_out = row.report.group_rows, row.report.groups_left_out
    groups = [(row_of_group.group, row_of_group.role or "", row_of_group.n) for row_of_group in listed]
    if left_out:  # which groups are listed depends on the model
        groups = [("", "", len(listed) + left_out)]
    return (row.rows, *sorted(parts), *sorted(groups))


def _make_board(rows: Sequence[BoardRow], *, of_models: Sequence[BoardRow] | None = None) -> Board:
    """The board of some rows; the entries of a model are counted among `of_models`, or else among them."""
    first = next((row for row in rows if row.is_recomputed), None) or _keep_own_words(rows[0])
    benchmark = first.report.benchmark
    rows = [row if row.is_recomputed else _adopt_board_words(benchmark, _keep_own_words(row)) for row in rows]
    counts = Counter(row.model_key for row in of_models or rows)
    tracks: dict[Track, tuple[BoardRow, ...]] = {}
    lines: dict[Track, ModelLine] = {}
    tests: dict[Track, TrackTests] = {}
    methods: dict[Track, MethodPlaces] = {}
    for track in TRACKS:
        some = [replace(row, entries=counts[row.model_key]) for row in rows if row.entry.track == track]
        ranked = [row for row in some if row.is_ranked and _has_point(row.report)]
        if ranked:
            lines[track] = model_lines([row.report for row in ranked])[0]
        some, placed = _place_seeds(some, benchmark)
        if placed:
            methods[track] = placed
        some, tested = _rank_rows(some, benchmark)
        if tested:
            tests[track] = tested
        if some:
            tracks[track] = _place_rows(some, benchmark, lines.get(track))
    return Board(benchmark=benchmark, tracks=tracks, lines=lines, tests=tests, methods=methods)


def _adopt_board_words(benchmark: EvaluatedBenchmark, row: BoardRow) -> BoardRow:
    """An entry that is not verified, under the board's own words and metric instead of those that were sent."""
    own = replace(benchmark, version=row.report.benchmark.version)
    return replace(row, report=replace(row.report, benchmark=own))


def _keep_own_words(row: BoardRow) -> BoardRow:
    """An entry that is not verified, with what is known here of benchmark and metrics; of others their names alone."""
    about, declared = row.report.benchmark, _find_declaration(row.report.benchmark)
    metric_names = {name.partition(".")[0] for name in row.report.metrics} & {*catalog.names("metric")}
    if declared is not None:
        metadata = Metadata(
            benchmark=about.name, config=about.config, version=about.version, model=PredictedBy(), class_names=(),
            rows={},
        )  # fmt: skip
        about = describe_benchmark(metadata, declared)
    else:
        metric = about.primary_metric.partition(".")[0]
        facts = read_facts(catalog.get("metric", metric)) if metric in catalog.names("metric") else None
        about = replace(
            about, title=about.name, summary="", homepage="", citation="", authors=(), licenses=(), words=Vocabulary(),
            metric_direction=facts.direction if facts else "higher",
        )  # fmt: skip
    metrics = describe_metrics(sorted(metric_names))
    return replace(row, report=replace(row.report, benchmark=about, metrics=metrics))


def _has_point(report: Report) -> bool:
    return all(not format_numbers.is_undefined(report.headline(side)) for side in ("in", "out"))


def _place_seeds(rows: list[BoardRow], benchmark: EvaluatedBenchmark) -> tuple[list[BoardRow], MethodPlaces | None]:
    """The rows of a track, those that are seeds of a method marked, and the places of these methods.

    The seeds of a method are the entries that one sender says are of it, of one selection rule and supervision; of
    several entries of one seed the first counts.
    """
    groups: dict[tuple[str, ...], dict[tuple[int, ...], list[BoardRow]]] = {}
    for row in rows:
        sent = row.entry
        if sent.method.strip() and row.is_tested and row.report.model.seeds:
            key: tuple[str, ...] = (sent.method, sent.who, sent.selection, sent.supervision, sent.external_data)
            groups.setdefault(key, {}).setdefault(row.report.model.seeds, []).append(row)
    measured: dict[str, SeededNumbers] = {}
    seed_of: dict[str, str] = {}
    for told, seeds in groups.items():
        runs = [numbers for some in seeds.values() if (numbers := _measure_seed(some[0])) is not None]
        if len(runs) > 1:
            label = _name_method(told, groups)
            measured[label] = join_seeds(runs)
            seed_of |= {row.name: label for some in seeds.values() for row in some}
    if not measured:
        return rows, None
    placed = place_methods(measured, direction=benchmark.metric_direction)
    if placed is None:
        means = {label: float(runs.values.mean()) for label, runs in measured.items()}
        seeds_of_one = min(len(runs.values) for runs in measured.values())
        places = dict.fromkeys(measured, RankRange(1, len(measured)))
        placed = MethodPlaces(places=places, means=means, pairs=(), smallest=float("nan"), seeds=seeds_of_one)
    return [replace(row, seed_of=seed_of.get(row.name, "")) for row in rows], placed


def _measure_seed(row: BoardRow) -> SeededNumbers | None:
    """What a run contributes; None where it cannot be read, or is not the number of the report."""
    numbers, out = row.measure_seed(), row.report.headline("out")
    if numbers is None or out is None or not np.isclose(numbers.values[0], out.value, rtol=_SAME, atol=_SAME):
        return None
    return numbers


def _name_method(key: tuple[str, ...], groups: Mapping[tuple[str, ...], object]) -> str:
    """A method's own name; with what tells it from others of the same name, where there are."""
    same = [other for other in groups if wording.name(other[0], 60) == wording.name(key[0], 60)]
    told = [part for place, part in enumerate(key[1:], 1) if len({other[place] for other in same}) > 1 and part]
    return wording.name(key[0], 60) + (f" ({wording.name(', '.join(told), 60)})" if told else "")


def _rank_rows(rows: list[BoardRow], benchmark: EvaluatedBenchmark) -> tuple[list[BoardRow], TrackTests | None]:
    """The rows of a track with their ranks, by tests of all pairs of those that may have one."""
    places = [place for place, row in enumerate(rows) if row.is_tested]
    values = [row.values for row in rows if row.values is not None and row.is_tested]
    tests = compare_all_pairs(values)
    better = find_clearly_better(-tests.gain if benchmark.metric_direction == "lower" else tests.gain, tests.p_value)
    ranked = list(rows)
    for own, (place, rank) in enumerate(zip(places, count_places(better), strict=True)):
        behind = frozenset(rows[places[other]].name for other in np.flatnonzero(better[own]))
        ranked[place] = replace(rows[place], rank=rank, behind=behind)
    if len(places) < 2:
        return ranked, None
    pairs = len(places) * (len(places) - 1) // 2
    errors = tests.error[np.triu_indices(len(places), 1)].tolist()
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
