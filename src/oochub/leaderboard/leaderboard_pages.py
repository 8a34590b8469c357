"""The pages of a leaderboard: that of a board, that of an entry, and the first one.

The entries of a board stand in tables that sort and filter in the page, by a script of ours without requests. The page
of an entry is its report, below what its sender says and whether its numbers are verified. The first page has one row
per board, never an average over them, and what could not be read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from oochub.comparison.methods_over_seeds import MethodPlaces, format_places
from oochub.comparison.model_line import draw_line_chart
from oochub.comparison.rank_models import describe_pairs, describe_smallest, format_place
from oochub.leaderboard.board import Board, BoardRow
from oochub.leaderboard.check_entry import CheckedEntry, make_page_once
from oochub.leaderboard.leaderboard_entry import RULES, SUPERVISIONS, TRACKS, UNSAID, Track, Withdrawal, name_page
from oochub.records.document import Block
from oochub.records.report_records import MetricDescription
from oochub.records.schema import to_json
from oochub.report import format_numbers, svg, wording
from oochub.report.page import render_page
from oochub.report.self_contained_page import environment, self_contained_page
from oochub.stats.model_places import RankRange

_LIMIT = 4_000_000  # bytes
_POINTS = 200  # of a chart
_FEW = 4  # ticks
_FAR = 1e12  # beyond it no number is drawn


_INDEX_LIMIT = 2_000_000  # bytes


def make_board_page(board: Board, *, source: str) -> str:
    """Renders a board as one HTML file; the same board gives the same bytes.

    Args:
        board: Board with at least one entry.
        source: What the entries were read from, in words.

    Raises:
        OochubError: The page would exceed 4 MB: more than about 2,000 entries.
    """
    benchmark, rows = board.benchmark, board.rows
    described = board.described
    verified = [row for row in rows if not row.reason]
    scale = _scale(verified or rows, is_share=described.unit == "fraction")
    charts = [
        (_title_track(part, track), line)
        for part in board.parts
        for track, line in part.lines.items()
        if 2 <= len(line.points) <= _POINTS
    ]
    return self_contained_page(
        "leaderboard.html.jinja",
        own="leaderboard",
        most=_LIMIT,
        advice=f"It has {len(rows):,} entries: keep the newest in the folder.",
        place=wording.name_benchmark(benchmark),
        lead=(
            f"{_count(len(rows), 'entry', 'entries')}, {format_numbers.count(len(verified))} verified from their "
            f"predictions when this page was made{_describe_truth(board)}. Sorted by the result out of context."
        ),
        version="" if board.key.version == UNSAID else wording.name(board.key.version, 40),
        versions=[
            (
                "none" if version == UNSAID else f"{wording.name(version, 40)}{note and f' ({note})'}",
                board.key._replace(version=version).page,
            )
            for version, note in board.versions.items()
        ],
        changes=board.changes,
        withdrawal=board.withdrawal,
        withdrawn=[
            (wording.name(row.entry.model, 80), row.name, wording.name(row.entry.who, 60), why)
            for row, why in board.withdrawn
        ],
        undecided=board.undecided,
        notes=[wording.name(note, 300) for note in _find_shared_notes(verified)],
        metric=" ".join(
            (wording.name(described.title, 60), format_numbers.unit_of(benchmark.primary_metric, described.unit))
        ),
        unit=described.unit,
        arrow=format_numbers.arrow(benchmark.metric_direction),
        first=1 if benchmark.metric_direction == "lower" else -1,
        sides=(wording.title_side(benchmark, "in"), wording.title_side(benchmark, "out")),
        axis=svg.tick_labels(
            scale, lambda tick: f"{format_numbers.SCALES.get(described.unit, 1) * tick:.4g}", most=_FEW
        ),
        chance=_describe_chance(board),
        rules=RULES,
        supervisions=SUPERVISIONS,
        tracks=[
            {
                "name": f"{track}-{part.set}" if part.set else track,
                "title": _title_track(part, track),
                "rule": f"{wording.capitalize_sentence(TRACKS[track])}: {_count(len(some), 'entry', 'entries')}.",
                "tests": _describe_tests(part, track, described.unit),
                "methods": _format_methods(part, track, described),
                "rows": _make_rows(some, scale),
            }
            for part in board.parts
            for track, some in part.tracks.items()
        ],
        charts=[
            {
                "title": title,
                "sentence": line.sentence,
                "drawing": draw_line_chart(line, number=number),
            }
            for number, (title, line) in enumerate(charts)
        ],
        source=source,
    )


def _format_methods(part: Board, track: Track, described: MetricDescription) -> Block | None:
    """The places of the methods of a track; None without methods."""
    placed = part.methods.get(track)
    if placed is None:
        return None
    title = "Methods over seeds, out of context"
    block = format_places({title: placed}, heading=title, metric=wording.name(described.title, 40), unit=described.unit)
    return block if placed.pairs else replace(block, below=())


def _describe_chance(board: Board) -> str:
    """What guessing gives, and how many entries are no better; "" where there is no such number."""
    if format_numbers.is_undefined(board.benchmark.chance):
        return ""
    words = f"Chance is {format_numbers.quantity(board.benchmark.chance, board.described.unit)}"
    count = sum(row.is_at_chance for row in board.rows)
    return f"{words}; {_count(count, 'entry is', 'entries are')} no better" if count else words


def _title_track(part: Board, track: Track) -> str:
    return f"{wording.capitalize_sentence(track)} track" + (f", rows {part.set}, disputed" if part.set else "")


def _describe_truth(board: Board) -> str:
    return f", under the labels, sides and groups of {wording.name(board.truth, 60)}" if board.truth else ""


def _find_shared_notes(verified: Sequence[BoardRow]) -> list[str]:
    """The notes that all verified entries have: what one of them says alone stands on its page."""
    if not verified:
        return []
    every = [wording.list_caveats(row.report) for row in verified]
    return [note for note in every[0] if all(note in others for others in every[1:])]


def _make_rows(rows: Sequence[BoardRow], scale: svg.LinearScale) -> list[dict[str, Any]]:
    place_of, tiers = {row.name: place for place, row in enumerate(rows)}, _find_tiers(rows)
    ranked = sum(row.rank is not None for row in rows)
    cells = []
    for row in rows:
        own = _make_row(row, scale)
        own["data"] += _list_behind(row, place_of)
        cells.append(own | {"places": _draw_places(row.rank, ranked), "starts_tier": row.name in tiers})
    return cells


def _make_row(row: BoardRow, scale: svg.LinearScale) -> dict[str, Any]:
    report, entry = row.report, row.entry
    inside, outside = report.headline("in"), report.headline("out")
    off = None if format_numbers.is_undefined(row.off_the_line) else row.off_the_line
    worst, unit = row.worst_group, report.unit if report.benchmark.primary_metric in (report.worst_group or {}) else ""
    seed = f"seed {', '.join(map(str, report.model.seeds))} of {row.seed_of}" if row.seed_of else ""
    about = [seed, report.model.objective or "", entry.who, f"{row.entries} entries" if row.entries > 1 else ""]
    return {
        "page": name_page(row.name),
        "model": wording.name(entry.model, 80),
        "about": " · ".join(wording.name(words, 60) for words in about if words),
        "rule": entry.selection,
        "supervision": entry.supervision,
        "rank": (
            format_numbers.ABSENT if row.rank is None else format_place(row.rank.best, row.rank.worst, to="\u2013")
        ),
        "chart": svg.dumbbell(inside, outside, scale, chance=report.benchmark.chance),
        "is_at_chance": row.is_at_chance,
        "inside": inside,
        "outside": outside,
        "gap": report.gap.estimate,
        "off": off,
        "worst": format_numbers.ABSENT if worst is None else format_numbers.quantity(worst, unit or "fraction"),
        "reason": wording.name(row.reason, 160),
        "verdict": row.verdict.lower(),
        "data": _make_sort_data(i=inside, o=outside, g=report.gap.estimate, f=off, w=worst),
    }


def _make_sort_data(**values: float | None) -> Markup:
    """The numbers by which the script sorts, those that there are."""
    defined = [
        (key, value) for key, value in values.items() if value is not None and not format_numbers.is_undefined(value)
    ]
    return Markup("").join(Markup(' data-{}="{:.7g}"').format(key, float(value)) for key, value in defined)


def _list_behind(row: BoardRow, place_of: Mapping[str, int]) -> Markup:
    """The places on the page of the entries that are clearly better, as ranges: "0-3,7"; nothing without a rank."""
    if row.rank is None:
        return Markup("")
    places = np.array(sorted(place_of[name] for name in row.behind), np.int64)
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else []
    words = [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
    return Markup(' data-a="{}"').format(",".join(words))


def _draw_places(rank: RankRange | None, entries: int) -> Markup:
    """A bar from the best to the worst place; the number beside it says the same."""
    if rank is None:
        return Markup("")
    start, width = 100 * (rank.best - 1) / entries, 100 * (rank.worst - rank.best + 1) / entries
    return Markup(
        '<svg class="pl" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect x="{:.2f}" width="{:.2f}" height="6"/></svg>'
    ).format(start, width)


def _find_tiers(rows: Sequence[BoardRow]) -> set[str]:
    """The names of the entries that begin a tier: each above it is clearly better than it and than each below."""
    ranked = [row for row in rows if row.rank is not None]
    # How many entries from the first on are clearly better than each, without a gap.
    ahead = [next(place for place, other in enumerate(ranked) if other.name not in row.behind) for row in ranked]
    return {row.name for place, row in enumerate(ranked) if place and min(ahead[place:]) >= place}


def _describe_tests(board: Board, track: Track, unit: str) -> list[str]:
    """How the ranks of a track were found; nothing where there are fewer than two."""
    tests = board.tests.get(track)
    if tests is None:
        return []
    pairs = describe_pairs(tests.clear, tests.pairs, tests.n, tests.test, unit=tests.unit)
    return [text for text in (f"Ranks are ranges of places: {pairs}", describe_smallest(tests.smallest, unit)) if text]


def _scale(rows: Sequence[BoardRow], *, is_share: bool) -> svg.LinearScale:
    """From the lowest to the highest number of the board, to full ticks; of shares never beyond 0 and 1."""
    estimates = [e for row in rows for side in ("in", "out") if (e := row.report.headline(side)) is not None]  # type: ignore[arg-type]
    ends = svg.list_ends(estimates)
    edge = 1.0 if is_share else _FAR
    low, high = (
        min(max(end, -edge if not is_share else 0.0), edge) for end in (min(ends, default=0.0), max(ends, default=1.0))
    )
    if high - low < 1e-6 * max(1.0, abs(high)):
        low, high = low - 0.05, high + 0.05
    places = svg.ticks(low, high, most=_FEW)
    step = places[1] - places[0] if len(places) > 1 else high - low
    low = places[0] - (step if places[0] > low else 0)
    high = places[-1] + (step if places[-1] < high else 0)
    return svg.LinearScale(low=max(low, 0.0), high=min(high, 1.0)) if is_share else svg.LinearScale(low=low, high=high)


def _count(number: int, one: str, many: str) -> str:
    return f"{format_numbers.count(number)} {one if number == 1 else many}"


def make_entry_page(row: BoardRow, board: Board, *, link: str | None = None) -> str:
    """Renders an entry as one HTML file: if it is verified, with its recomputed numbers, else as it was sent.

    Images are shown of verified entries alone. A page is kept without what its entry alone says, for all copies, with a
    gap of as many bytes, so that its size is that of the page; it is made again if what it is made of has changed.

    Args:
        row: Row of the board.
        board: Board that the entry stands on.
        link: Address of the entry's files on the Hub; None for a folder here.

    Raises:
        OochubError: A report that would exceed the limits of its page, or with an image that is not a JPEG.
    """
    report, entry = row.report, row.entry
    facts = [
        ("Model", wording.name(entry.model, 400)),
        ("Track", entry.track),
        ("Chosen on", RULES[entry.selection]),
        ("Supervision", SUPERVISIONS[entry.supervision]),
        ("External data", wording.name(entry.external_data, 400)),
        ("Sent by", wording.name(entry.who)),
        ("Sent", entry.date),
        ("Rank", _rank_in_words(row)),
        ("Entries of the model", str(row.entries)),
        ("Files", link or ""),
    ]
    words = {
        "reason": row.reason.rstrip("."),
        "verdict": row.verdict,
        "shown": _describe_shown(row),
        "check": row.check,
        "facts": [(title, text) for title, text in facts if text],
        "board": board.key.page,
        "place": _name_board(board),
    }
    above = environment().get_template("entry.html.jinja").render(entry=words)
    gap = "\0" * len(above.encode())  # no text of a page has this character
    render = partial(render_page, report, images=not row.reason, above=gap, advice="Evaluate fewer splits at once.")
    # an entry that fails is under the board's words
    on_board = [] if row.is_recomputed else [to_json(report.benchmark), to_json(report.metrics)]
    made_of = [row.digest, not row.reason, len(gap), on_board]
    return (make_page_once(made_of, render) if row.digest else render()).replace(gap, above)


def _describe_shown(row: BoardRow) -> str:
    """What the page of an entry that is not verified shows, and what not."""
    if row.set:
        return (
            "The metrics below were recomputed from its predictions. It is ranked among the entries of the same rows "
            "only, and its images are not shown."
        )
    if not row.is_comparable:
        which = "The metrics below were recomputed from its predictions"
    elif row.is_sent:
        which = "The metrics below are as submitted; none was recomputed"
    else:
        which = "The numbers below come from its predictions; they are not those that were sent"
    return f"{which}. It is not ranked, does not count toward the fitted line, and its images are not shown."


def _rank_in_words(row: BoardRow) -> str:
    if row.rank is None:
        why = row.verdict.lower() if row.reason else "chosen on test groups, or without an interval"
        why = f"its method {row.seed_of} has a place" if row.seed_of else why
        return f"none: {why}"
    first, last = row.rank
    of = f"of the {row.entry.track} track" + (f", among the entries of rows {row.set}" if row.set else "")
    return f"{first} {of}" if first == last else f"{first} to {last} {of}"


def make_index_page(
    boards: Sequence[Board],
    unread: Sequence[CheckedEntry],
    *,
    source: str,
    withdrawn: Mapping[str, Withdrawal] | None = None,
) -> str:
    """Renders the index as one HTML file; the same boards give the same bytes.

    Args:
        boards: Boards that `Board.all_of` gives.
        unread: The entries that stand on none.
        source: What the entries were read from, in words.
        withdrawn: What was withdrawn, by name.

    Raises:
        OochubError: The page would exceed 2 MB.
    """
    every = [row for board in boards for row in board.rows]
    verified = sum(not row.reason for row in every)
    noun = "entry" if len(every) == 1 else "entries"
    return self_contained_page(
        "leaderboard_index.html.jinja",
        own="leaderboard",
        most=_INDEX_LIMIT,
        advice=f"It has {len(boards):,} boards and {len(unread):,} entries that cannot be shown: keep fewer.",
        lead=(
            f"{format_numbers.count(len(every))} {noun} on {format_numbers.count(len(boards))} "
            f"board{'' if len(boards) == 1 else 's'}, {format_numbers.count(verified)} verified from their predictions "
            "when this page was made. A board is one version of a config; there is no average over boards."
        ),
        benchmarks=sorted({board.benchmark.name for board in boards}),
        boards=[_make_board_row(board) for board in boards],
        withdrawn=withdrawn or {},
        unread=[(entry.name, entry.reason) for entry in unread],
        tracks=TRACKS,
        source=source,
    )


def _name_board(board: Board) -> str:
    """The benchmark, by its author's title where there is one, and the version of its rows."""
    version = "" if board.key.version == UNSAID else wording.name(board.key.version, 40)
    return f"{wording.name_benchmark(board.benchmark)} {version}".rstrip()


def _make_board_row(board: Board) -> dict[str, Any]:
    benchmark, rows = board.benchmark, board.rows
    described = board.described
    unit = format_numbers.unit_of(benchmark.primary_metric, described.unit)
    return {
        "benchmark": benchmark.name,
        "place": _name_board(board),
        "page": board.key.page,
        "sets": len(board.sets),
        "withdrawal": board.withdrawal,
        "metric": f"{wording.name(described.title, 60)} {unit} {format_numbers.arrow(described.direction)}".rstrip(),
        "entries": len(rows),
        "verified": sum(not row.reason for row in rows),
        "models": len({row.entry.model.casefold() for row in rows}),
        "best": [
            _find_best(board.tracks.get(track, ()), described.unit)
            or _find_best_method(board.methods.get(track), described.unit)
            for track in TRACKS
        ],
    }


def _find_best(rows: Sequence[BoardRow], unit: str) -> dict[str, Any] | None:
    """The first ranked entry of a track, whose rows are sorted; None without one."""
    ranked = [row for row in rows if row.rank is not None]
    if not ranked:
        return None
    out = ranked[0].report.headline("out")
    return {
        "value": format_numbers.quantity(out, unit),
        "interval": "" if out is None else format_numbers.interval(out, unit),
        "model": wording.name(ranked[0].entry.model, 60),
        "is_at_chance": ranked[0].is_at_chance,
        "others": sum(row.rank is not None and row.rank[0] == 1 for row in ranked[1:]),
    }


def _find_best_method(placed: MethodPlaces | None, unit: str) -> dict[str, object] | None:
    """The method with the best mean of a track in which only methods have places."""
    if placed is None:
        return None
    best = next(iter(placed.places))
    return {
        "value": format_numbers.quantity(placed.means[best], unit),
        "interval": f"mean of {placed.seeds} seeds or more",
        "model": best,
        "is_at_chance": False,
        "others": len(placed.leaders) - 1,
    }
