"""What was withdrawn: an entry or a benchmark keeps a line with its date and reason, and has no numbers any longer."""

import json
from dataclasses import replace

import pytest
from leaderboard_entries import draw_entries, sent_entry

from oochub.errors import OochubError
from oochub.leaderboard.board import Board
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_entry import BoardKey, Withdrawal
from oochub.leaderboard.leaderboard_pages import make_board_page, make_index_page
from oochub.leaderboard.site import Site

WHY = Withdrawal(date="2026-11-25", reason="Its training set held the test images.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["custom/birds@1.0.0"]\ndate = 2026-11-25\nreason = "wrong"\n', None),
        ('[entry]\ndate = "2026-11-25"\nreason = "wrong"\n', None),
        ('[entry]\nreason = "wrong"\n', "withdrawn.toml, line 1: the field date is missing"),
        ("[entry]\ndate = 2026-11-25\n", "withdrawn.toml, line 1: the field reason is missing"),
        ('[entry]\ndate = "today"\nreason = "wrong"\n', "a day such as"),
        ('[entry]\ndate = 2026-11-25\nreason = " "\n', "must have a text"),
        ('entry = "gone"\n', "withdrawn.toml"),
    ],
)
def test_each_withdrawal_has_a_day_and_a_reason(tmp_path, text, said):
    """By hand: a day of TOML and one in quotes are the same."""
    (tmp_path / "withdrawn.toml").write_text(text)
    if said is None:
        (found,) = Withdrawal.find_all(tmp_path).values()
        assert found == Withdrawal(date="2026-11-25", reason="wrong")
    else:
        with pytest.raises(OochubError, match=said):
            Withdrawal.find_all(tmp_path)


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    checked = CheckedEntry.of(sent_entry(tmp_path_factory.mktemp("gone") / "results"))
    return draw_entries(checked, 4)


def test_an_entry_that_was_withdrawn_keeps_a_line_and_the_others_rank_without_it(entries):
    """By hand: the ranks are those of a board on which it never stood. Planted fault seen: it still ranks."""
    (without,) = Board.all_of(entries[1:])
    (board,) = Board.all_of(entries, withdrawn={entries[0].name: WHY})
    assert [(row.name, row.rank) for row in board.rows] == [(row.name, row.rank) for row in without.rows]
    page = make_board_page(board, source="here")
    assert "withdrawn on 2026-11-25. Its training set held the test images." in page and entries[0].name in page
    assert f'href="../entries/{entries[0].name}.html"' not in page


@pytest.mark.parametrize("name", ["board_toy/one", "board_toy/one@2.0.0"])
def test_a_benchmark_that_was_withdrawn_keeps_its_page_without_numbers(entries, name):
    """A whole config, or one version of it. Planted fault seen: the other version goes too."""
    later = [
        replace(
            each,
            name=f"later {each.name}",
            report=replace(each.report, benchmark=replace(each.report.benchmark, version="2.0.0")),
        )
        for each in entries
    ]
    boards = {board.key.version: board for board in Board.all_of([*entries, *later], withdrawn={name: WHY})}
    assert [len(boards[version].rows) for version in ("0.0.0", "2.0.0")] == [0 if "@" not in name else 4, 0]
    page = make_board_page(boards["2.0.0"], source="here")
    assert "Withdrawn on 2026-11-25:" in page and page.count("withdrawn on 2026-11-25.") == 4 and "<table" not in page
    index = make_index_page([*boards.values()], [], source="here", withdrawn={name: WHY})
    assert f"<b>{name}</b>: withdrawn on 2026-11-25." in index
    assert BoardKey("board_toy", "one", "2.0.0").page in index


@pytest.mark.slow
def test_the_site_and_its_data_say_what_was_withdrawn(tmp_path, run):
    """Also of an entry whose files are gone. Planted fault seen: it is listed among those that cannot be shown."""
    folder = sent_entry(tmp_path / "results")
    other = sent_entry(tmp_path / "results", 2.0, model="other")
    (other / "report.json").unlink()
    (tmp_path / "results" / "withdrawn.toml").write_text(
        f'[{folder.name}]\ndate = 2026-11-25\nreason = "wrong"\n[{other.name}]\ndate = 2026-11-26\nreason = "moved"\n'
    )
    code, out, _ = run("leaderboard", tmp_path / "results", "--out", tmp_path / "site")
    assert code == 0 and "0 entries on 1 board, 0 verified, 2 withdrawn." in out and "Not verified" not in out
    content = json.loads((tmp_path / "site" / "leaderboard.json").read_text("utf-8"))
    assert content["withdrawn"][other.name] == {"date": "2026-11-26", "reason": "moved"}
    assert content["entries"] == [] and content["unread"] == {}
    index = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "withdrawn on 2026-11-25. wrong" in index and "withdrawn on 2026-11-26. moved" in index
    assert not list((tmp_path / "site").glob("entries/*")) and Site.write(tmp_path / "results", tmp_path / "other")
