"""Boards: which entries are of the same rows, which have a rank, and that two tracks are never ranked together."""

import math
from dataclasses import replace

import numpy as np
import pytest
from leaderboard_entries import made_predictions, sent_entry

from oochub.leaderboard.board import Board
from oochub.leaderboard.checked_entry import CheckedEntry

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


def _by_model(board):
    return {row.entry.model: row for row in board.rows}


def test_ranks_are_of_a_track_and_count_no_oracle(checked):
    """Planted faults seen: ranks over both tracks; an oracle that counts."""
    (board,) = Board.all_of(checked)
    rows = _by_model(board)
    assert [row.entry.model for row in board.tracks["standard"]] == ["s"] and rows["s"].rank == (1, 1)
    assert rows["c"].rank is None and not rows["c"].reason
    ranked = [row for row in board.tracks["open"] if row.rank is not None]
    assert len(ranked) == 6
    for row in ranked:
        out = row.report.headline("out")
        others = [other.report.headline("out") for other in ranked]
        assert row.rank == (1 + sum(o.low > out.high for o in others), 6 - sum(o.high < out.low for o in others))
    values = [float(row.report.headline("out")) for row in board.tracks["open"]]
    assert values == sorted(values, reverse=True)
    assert rows["a"].entries == rows["A"].entries == 2 and rows["b"].entries == 1


def test_the_line_is_through_ranked_entries_and_says_of_others_too(checked):
    """By hand: least squares of probits through the six ranked entries of the open track (Miller et al. 2021)."""
    from scipy.stats import norm

    (board,) = Board.all_of(checked)
    ranked = [row for row in board.tracks["open"] if row.rank is not None]

    def place(row, side):
        estimate = row.report.headline(side)
        return norm.ppf(min(max(float(estimate), 0.5 / estimate.n), 1 - 0.5 / estimate.n))

    slope, intercept = np.polyfit([place(row, "in") for row in ranked], [place(row, "out") for row in ranked], 1)
    for row in board.tracks["open"]:
        expected = float(row.report.headline("out")) - norm.cdf(slope * place(row, "in") + intercept)
        assert row.off_the_line == pytest.approx(expected, abs=1e-9), row.entry.model
    assert math.isnan(board.tracks["standard"][0].off_the_line)


def _other_rows(checked, tmp_path, model):
    made = made_predictions(2.0, seed=3, rows=299)
    return CheckedEntry.of(sent_entry(tmp_path / "other", predictions=made, model=model, date="2026-01-01"))


def test_entries_of_other_rows_are_not_verified(checked, tmp_path):
    """The rows of most hold, though another was sent first. Planted fault seen: those of the first sent."""
    other = _other_rows(checked, tmp_path, "other")
    assert not other.reason
    (board,) = Board.all_of([*checked, other])
    rows = _by_model(board)
    assert rows["other"].reason == "its predictions are of other rows than those of most entries"
    assert rows["other"].rank is None and all(not row.reason for name, row in rows.items() if name != "other")


def test_moved_rows_between_the_sides_are_other_rows(checked, tmp_path):
    """Ids and labels alike, but the rows that the model got wrong are called easy."""
    made = made_predictions(1.0, seed=100)
    challenge = np.array(made.rows.column("challenge").to_pylist())
    wrong = made.prediction != made.label
    moved = made_predictions(1.0, seed=100, challenge=np.where(wrong, "easy", challenge))
    cheat = CheckedEntry.of(sent_entry(tmp_path / "moved", predictions=moved, model="moved"))
    assert not cheat.reason
    (board,) = Board.all_of([*checked, cheat])
    assert "other rows" in _by_model(board)["moved"].reason


def test_another_version_is_not_verified(checked):
    """Where the benchmark is not installed, the version of most verified entries holds."""
    benchmark = replace(checked[0].report.benchmark, version="9.0.0")
    old = replace(checked[0], name="old", report=replace(checked[0].report, benchmark=benchmark))
    (board,) = Board.all_of([*checked, old])
    (row,) = [row for row in board.rows if row.name == "old"]
    assert row.reason == "its predictions are of version 9.0.0, the board is of 0.0.0"


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


def test_no_entries_no_boards():
    assert Board.all_of([]) == []
