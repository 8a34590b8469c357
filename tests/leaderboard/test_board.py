"""Boards: which entries are of the same rows, which have a rank, and that two tracks are never ranked together."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from leaderboard_entries import made_predictions, sent_entry

import oochub
from oochub.leaderboard.board import Board
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_entry import BoardKey, LeaderboardEntry
from oochub.leaderboard.leaderboard_pages import _scale, make_board_page, make_entry_page
from oochub.prediction.predictions import Predictions
from oochub.stats.delong import paired_delong
from oochub.stats.estimate import Estimate
from oochub.stats.paired_values import PairedValues, pack_values

SENT = (
    (0.9, {"model": "a"}),
    (1.2, {"model": "b"}),
    (1.5, {"model": "A", "date": "2026-11-21"}),
    (1.8, {"model": "c", "selection": "oracle"}),
    (2.1, {"model": "d"}),
    (2.4, {"model": "e"}),
    (2.7, {"model": "f"}),
    (2.6, {"model": "s", "track": "standard"}),
)


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    results = tmp_path_factory.mktemp("board") / "results"
    return [CheckedEntry.of(sent_entry(results, skill, **said)) for skill, said in SENT]


def _find_better(scores):
    """The pairs (winner, loser) that differ clearly: the smallest p of 15 against 0.05 / 15, the next of 14, ..."""
    rows = made_predictions(0.0)
    hard, pairs = rows.column("challenge") != "easy", {}
    for i, j in itertools.combinations(range(len(scores)), 2):
        change, p = paired_delong(rows.label[hard], scores[i][hard], scores[j][hard])
        pairs[i, j] = (p, float(change))
    clear = set()
    for rank, (i, j) in enumerate(sorted(pairs, key=pairs.get)):
        p, change = pairs[i, j]
        if p > 0.05 / (len(pairs) - rank):
            break
        clear.add((i, j) if change > 0 else (j, i))
    return clear


def _by_model(board):
    return {row.entry.model: row for row in board.rows}


@pytest.mark.slow
def test_ranks_are_of_a_track_and_count_no_oracle(checked):
    """By hand: DeLong of each pair, Holm word by word. Planted faults seen: both tracks, an oracle that counts."""
    (board,) = Board.all_of(checked)
    rows = _by_model(board)
    assert [row.entry.model for row in board.tracks["standard"]] == ["s"] and rows["s"].rank == (1, 1)
    assert rows["c"].rank is None and not rows["c"].reason
    ranked = [row for row in board.tracks["open"] if row.rank is not None]
    assert len(ranked) == 6
    skills = {said["model"]: skill for skill, said in SENT}
    own = [skills[row.entry.model] for row in ranked]
    better = _find_better([made_predictions(skill, seed=int(100 * skill)).logits[:, 1] for skill in own])
    for place, row in enumerate(ranked):
        assert row.behind == {ranked[other].name for other in range(6) if (other, place) in better}
        assert row.rank == (1 + len(row.behind), 6 - sum((place, other) in better for other in range(6)))
    tests = board.tests["open"]
    assert (tests.test, tests.pairs, tests.clear) == ("paired DeLong", 15, len(better)) and 0 < len(better) < 15
    assert "standard" not in board.tests
    values = [float(row.report.headline("out")) for row in board.tracks["open"]]
    assert values == sorted(values, reverse=True)
    assert rows["a"].entries == rows["A"].entries == 2 and rows["b"].entries == 1


def test_where_lower_is_better_the_lowest_number_is_first():
    """By hand: errors on 60 rows out of context, each model's twice as large as those of the one before."""
    rng = np.random.default_rng(0)
    label, is_hard, noise = rng.normal(size=120), np.arange(120) % 2 == 0, rng.normal(size=120)
    sizes = {"d": 2.0, "a": 0.25, "e": 4.0, "b": 0.5, "oracle": 0.1, "c": 1.0}
    found, errors = [], {}
    for name, size in sizes.items():
        value = label + size * noise * np.where(is_hard, 1.2 + 0.1 * (name in "bd"), 1.0)
        errors[name] = (value - label) ** 2
        made = Predictions.from_arrays(value=value, label=label, challenge=np.where(is_hard, "hard", "easy"))
        report = oochub.evaluate(made, resamples=100)
        about = replace(report.benchmark, primary_metric="mean_squared_error", metric_direction="lower")
        entry = LeaderboardEntry(
            model=name, track="open", selection="oracle" if name == "oracle" else "hard", supervision="labels",
            date="2026-11-20", predictions=("preds.parquet",),
        )  # fmt: skip
        number = report["hard/mean_squared_error"]
        values = PairedValues(kind="means", values=errors[name][is_hard], number=number, n=60)
        report = replace(report, benchmark=about)
        found.append(CheckedEntry(name=name, entry=entry, report=report, reason="", is_sent=False, values=values))
    (board,) = Board.all_of(found)
    assert [row.name for row in board.rows] == ["oracle", "a", "b", "c", "d", "e"]
    assert [row.rank for row in board.rows] == [None, *((place, place) for place in range(1, 6))]
    assert [sorted(row.behind) for row in board.rows[1:]] == [["a", "b", "c", "d", "e"][:k] for k in range(5)]
    means = {name: [each[~is_hard].mean(), each[is_hard].mean()] for name, each in errors.items()}
    slope, intercept = np.polyfit(*np.array([means[name] for name in "abcde"]).T, 1)
    for row in board.rows:
        inside, outside = means[row.name]
        assert row.off_the_line == pytest.approx(slope * inside + intercept - outside, abs=1e-9)
    pages = [make_entry_page(row, board) for row in board.rows[:2]]
    assert "none: chosen on test groups" in pages[0] and ">1 of the open track<" in pages[1]
    tests = board.tests["open"]
    assert (tests.test, tests.n, tests.pairs, tests.clear) == ("sign flips", 60, 10, 10)


@pytest.mark.parametrize(
    ("ends", "is_share", "expected"),
    [
        ((0.93, 1.0), True, (0.9, 1.0)),  # full ticks of .05
        ((0.0, 0.97), True, (0.0, 1.0)),
        ((-3.5, 8.2), False, (-5.0, 10.0)),
        ((0.5, 0.5), True, (0.45, 0.55)),  # no width: 5 points on either side
    ],
)
def test_a_scale_ends_at_full_ticks_and_a_share_at_0_and_1(ends, is_share, expected):
    """By hand. Planted fault seen: shares beyond 1."""
    low, high = ends
    number = Estimate((low + high) / 2, low=low, high=high, n=50, method="")
    row = SimpleNamespace(report=SimpleNamespace(headline=lambda side: number if side == "out" else None))
    scale = _scale([row], is_share=is_share)
    assert (scale.low, scale.high) == pytest.approx(expected)


def _other_rows(checked, tmp_path, model):
    made = made_predictions(2.0, seed=3, rows=299)
    return CheckedEntry.of(sent_entry(tmp_path / "other", predictions=made, model=model, date="2026-01-01"))


def _send_both(tmp_path, one, other):
    return [
        CheckedEntry.of(sent_entry(tmp_path / "results", predictions=each, model=name))
        for each, name in ((one, "one"), (other, "other"))
    ]


def _is_undecided(board, *sizes):
    """No entry is verified or on the board's own tables; those of each set are ranked among themselves."""
    assert [len(part.rows) for part in board.sets] == list(sizes) and [part.set for part in board.sets] == list("AB")
    ranked = [[row.rank for row in part.rows if row.rank is not None] for part in board.sets]
    assert all(1 <= rank.best <= rank.worst <= len(ranks) for ranks in ranked for rank in ranks)
    assert all(ranks or all(row.entry.selection == "oracle" for row in part.rows)
               for ranks, part in zip(ranked, board.sets, strict=True))  # fmt: skip
    return all(not row.is_comparable and row.reason and row.verdict == "Disputed" for row in board.rows) and not (
        board.lines or board.tracks
    )


@pytest.mark.slow
def test_entries_of_other_rows_are_ranked_apart(checked, tmp_path):
    """Neither eight senders nor the first date decide; the eight keep the ranks that they have without the ninth."""
    other = _other_rows(checked, tmp_path, "other")
    assert not other.reason
    (alone,) = Board.all_of(checked)
    (board,) = Board.all_of([*checked, other])
    assert _is_undecided(board, 8, 1)
    assert [(row.name, row.rank, row.behind) for row in board.sets[0].rows] == [
        (row.name, row.rank, row.behind) for row in alone.rows
    ]
    assert "299 of 299 rows differ" in board.undecided or "1 row removed" in board.undecided, board.undecided
    rows = _by_model(board)
    known = "and it is not known here which are the benchmark's own"
    assert rows["other"].reason == f"8 other entries have other rows or labels, {known}"
    assert rows["a"].reason == f"1 other entry has other rows or labels, {known}"
    assert "Sets of 8 and 1 entries have different rows" in board.undecided and "--truth SOURCE" in board.undecided
    page = make_board_page(board, source="here")
    assert "Not decided:" in page and page.count("disputed</span>") == 9
    assert 'id="open-A"' in page and 'id="open-B"' in page and "Open track, rows B, disputed" in page


def test_of_two_senders_who_disagree_about_labels_none_is_comparable(tmp_path):
    """Whoever is said to have sent first. Seen: the one with the earlier date was verified and had the first rank.

    With a history of the results the first commit decides. Planted faults seen: the last one; the date.
    """
    made = made_predictions(1.5, seed=1)
    flipped = np.where(made.prediction == made.label, made.label, made.prediction)
    own = {"label": flipped} | {name: made.column(name) for name in ("challenge", "group")}
    forged = Predictions.from_arrays(logits=made.logits, benchmark="board_toy", config="one", model="made", **own)
    both = [
        CheckedEntry.of(sent_entry(tmp_path / "results", predictions=each, model=name, date=day))
        for each, name, day in ((made, "honest", "2026-11-20"), (forged, "forged", "1999-01-01"))
    ]
    assert not any(each.reason for each in both)
    (board,) = Board.all_of(both)
    assert _is_undecided(board, 1, 1)
    wrong = int((made.prediction != made.label).sum())
    said = f"{wrong:,} of 300 rows differ ({wrong:,} rows relabelled)"
    assert f"Between A and B {said}." in board.undecided
    page = make_entry_page(board.rows[0], board)
    assert (
        "1 of the open track, among the entries of rows A" in page and "It is ranked among the entries of the" in page
    )
    (board,) = Board.all_of(both, first_commits=lambda some: {each.name: "forged" in each.name for each in some})
    (honest, forged) = sorted(board.rows, key=lambda row: row.reason)
    assert honest.rank == (1, 1) and not honest.reason and honest.entry.model == "honest" and not board.sets
    assert forged.rank is None and forged.verdict == "Not comparable"
    assert forged.reason == f"{said}, compared to {honest.name}, whose answers came first"


def test_swapped_groups_are_other_rows(tmp_path):
    """As many rows in each group, and other rows in them. Seen: both verified, compared as if they were the same."""
    made = made_predictions(1.5, seed=1)
    group = made.column("group").copy()
    sea, land = (np.flatnonzero(group == name)[0] for name in ("sea", "land"))
    group[[sea, land]] = group[[land, sea]]
    swapped = made_predictions(1.5, seed=1, group=group)
    both = _send_both(tmp_path, made, swapped)
    assert not any(each.reason for each in both)
    (board,) = Board.all_of(both)
    assert _is_undecided(board, 1, 1)
    assert "2 of 300 rows differ (2 rows with another side, group or cluster)" in board.undecided


def test_the_order_of_the_rows_is_no_other_rows(tmp_path):
    made = made_predictions(1.5, seed=1)
    turned = made.take(np.arange(len(made))[::-1])
    both = _send_both(tmp_path, made, turned)
    (board,) = Board.all_of(both)
    assert not any(row.reason for row in board.rows) and not board.undecided
    assert pack_values(both[0].values) == pack_values(both[1].values)  # planted fault seen: in the order of the file
    assert [row.rank for row in board.rows] == [(1, 2), (1, 2)]
    assert "1 to 2 of the open track" in make_entry_page(board.rows[0], board)


def test_another_version_is_another_board(checked):
    """By number, not by letters; the page of each links the others, and nothing else of an earlier one changes."""
    pages = {}
    for newest in ("9.0.0", "10.0.0"):
        some = [*checked]
        for version in ("9.0.0", "10.0.0")[: 1 + (newest == "10.0.0")]:
            benchmark = replace(checked[0].report.benchmark, version=version)
            some.append(replace(checked[0], name=version, report=replace(checked[0].report, benchmark=benchmark)))
        boards = Board.all_of(some)
        assert [board.key.version for board in boards] == ["0.0.0", "9.0.0", "10.0.0"][: len(boards)]
        assert [board.is_newest for board in boards] == [False, *[False] * (len(boards) - 2), True]
        assert not any(row.reason for board in boards for row in board.rows)
        pages[newest] = [make_board_page(board, source="here") for board in boards]
    link = ' <a href="board_toy-one-10.0.0.html">10.0.0</a>'
    assert [page.replace(link, "") for page in pages["10.0.0"][:2]] == pages["9.0.0"]
    assert "Since version 9.0.0: no row differs, of 300 rows" in pages["10.0.0"][2]
    assert "Since version 0.0.0: no row differs" in pages["9.0.0"][1]


def test_versions_whose_rows_nobody_gave_may_be_anybodys(checked):
    """Once rows of one version were given. Planted faults seen: 9.9.9 is linked like any version; it is the newest."""
    benchmark = replace(checked[0].report.benchmark, version="9.9.9")
    made_up = replace(checked[0], name="made up", report=replace(checked[0].report, benchmark=benchmark), folder=None)
    own = {BoardKey("board_toy", "one", "0.0.0"): SimpleNamespace(title="birds")}
    true, other = Board.all_of([*(replace(each, folder=None) for each in checked), made_up], own)
    assert (true.truth, true.versions, true.is_newest) == ("birds", {"9.9.9": "not confirmed"}, True)
    assert (other.truth, other.versions, other.is_newest) == ("", {"0.0.0": ""}, False)
    assert not true.undecided and "version 9.9.9 were not, so it may be anybody's" in other.undecided
    assert ">9.9.9 (not confirmed)</a>" in make_board_page(true, source="here")


def test_a_version_that_is_not_installed_here_is_not_verified(checked):
    """Sides and words are those of the benchmark as installed. Planted fault seen: any version is."""
    about = replace(checked[0].report.benchmark, name="spawrious", config="o2o_hard", version="0.9.0")
    (board,) = Board.all_of([replace(checked[0], report=replace(checked[0].report, benchmark=about))])
    assert board.rows[0].rank is None and "version 0.9.0, but version 1.0.0 is installed here" in board.rows[0].reason


def test_what_is_not_verified_has_the_words_of_the_board(checked):
    """A report that was sent with words of its own does not rename the sides for all."""
    report = checked[0].report
    words = replace(report.benchmark.words, inside_title="buy now")
    hostile = replace(
        checked[0],
        name="hostile",
        reason="edited",
        report=replace(report, benchmark=replace(report.benchmark, words=words)),
    )
    (board,) = Board.all_of([hostile, *checked[1:]])
    assert board.benchmark.words.inside_title != "buy now"
    assert all(row.report.benchmark.words.inside_title != "buy now" for row in board.rows)


def test_words_of_a_report_that_was_only_sent_are_not_the_boards(checked):
    """A board on which nothing is verified: metric, direction, titles and sides are in nobody's words but ours."""
    report = checked[0].report
    about = replace(report.benchmark, title="buy now", homepage="javascript:1", metric_direction="lower", summary="buy")
    metrics = {name: replace(each, title="buy", direction="lower") for name, each in report.metrics.items()}
    sent = replace(checked[0], reason="edited", report=replace(report, benchmark=about, metrics=metrics))
    (board,) = Board.all_of([sent])
    assert board.benchmark.metric_direction == "higher" and board.described.title == "AUC"
    for metric in ("error_rate", "error_rate.of_one_class"):  # planted fault seen: any metric is better higher
        about = replace(report.benchmark, primary_metric=metric, metric_direction="higher")
        other = replace(sent, report=replace(report, benchmark=about))
        assert Board.all_of([other])[0].benchmark.metric_direction == "lower"
    page = make_board_page(board, source="here")
    assert "buy" not in page and "javascript" not in page


def test_models_whose_names_look_alike_are_counted_together(checked):
    """A zero-width space, full-width letters, another case: one model to who reads them."""
    names = ("Model-1", "model\u200b-1", "\uff2dodel 1", "other")
    some = [replace(each, entry=replace(each.entry, model=name)) for each, name in zip(checked, names, strict=False)]
    (board,) = Board.all_of(some)
    assert sorted(row.entries for row in board.rows) == [1, 3, 3, 3]


def test_of_many_sets_of_rows_the_smallest_are_counted_together(checked):
    """By hand: six sets are listed; of eight the five largest, and the other three as one number."""
    for sets, said in ((6, "3, 2, 1, 1, 1 and 1"), (8, "3, 2, 1, 1, 1 and 3")):
        places = [0, 0, 0, 1, 1, *range(2, sets)]
        some = [replace(checked[0], name=f"entry {k}", rows=f"rows {place}") for k, place in enumerate(places)]
        assert f"Sets of {said} entries have different rows" in Board.all_of(some)[0].undecided


@pytest.mark.parametrize(
    ("value", "low", "high", "direction", "chance", "expected"),
    [
        (0.62, 0.52, 0.71, "higher", 0.5, False),
        (0.58, 0.49, 0.67, "higher", 0.5, True),  # reaches it
        (0.40, 0.31, 0.49, "higher", 0.5, True),  # lies below
        (0.40, 0.31, 0.49, "lower", 0.5, False),
        (0.45, 0.36, 0.50, "lower", 0.5, True),
        (0.62, math.nan, math.nan, "higher", 0.5, False),  # without an interval the number itself
        (0.40, 0.31, 0.49, "higher", math.nan, False),  # nobody knows what guessing gives
        (math.nan, math.nan, math.nan, "higher", 0.5, False),
    ],
)
def test_an_entry_whose_interval_reaches_chance_is_marked(checked, value, low, high, direction, chance, expected):
    """By hand, and on the page. Planted faults seen: the number instead of its interval; the other direction."""
    report, out = checked[0].report, Estimate(value, low=low, high=high, n=99, method="", reason="none")
    about = replace(report.benchmark, chance=chance, metric_direction=direction)
    slices = tuple(
        replace(part, metrics={**part.metrics, "auc": out}) if part.role == "out" else part for part in report.slices
    )
    (board,) = Board.all_of([replace(checked[0], report=replace(report, benchmark=about, slices=slices))])
    assert board.rows[0].is_at_chance is expected
    page = make_board_page(board, source="here")
    assert ("no better than chance" in page) is expected and (
        "Chance is 0.500" in page or "Chance is 50.0" in page
    ) is not math.isnan(chance)


def test_no_entries_no_boards():
    assert Board.all_of([]) == []
