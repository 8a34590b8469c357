"""The site in a real browser with a dead resolver: sorted, filtered, opened; it is silent and asks for nothing."""

import json
import time
from dataclasses import replace
from urllib.parse import unquote

import numpy as np
import pytest
from leaderboard_entries import draw_entries, sent_entry

from oochub.leaderboard.board import Board
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_pages import make_board_page
from oochub.leaderboard.site import Site

HOSTILE = '<img src="https://evil.example/x.png" onerror=alert(1)>'
SENT = (
    (1.0, {"model": "low", "selection": "hard", "supervision": "groups"}),
    (1.4, {"model": HOSTILE}),
    (1.8, {"model": "oracle", "selection": "oracle"}),
    (2.2, {"model": "high", "selection": "hard"}),
    (2.6, {"model": "edited"}),
    (1.6, {"model": "\u05e9\u05dc\u05d5\u05dd", "selection": "none", "supervision": "none"}),
    (1.5, {"model": "aNameWithoutAnyPlaceToBreakIt" * 8, "who": "aNameWithoutAnyPlaceToBreakIt" * 8}),
    (2.0, {"model": "standard one", "track": "standard"}),
)
SHOWN = """[...document.querySelectorAll("#open tr.row")].filter(row => !row.hidden).map(row =>
    [row.querySelector("th a").textContent, row.cells[0].textContent])"""
BARS = """[...document.querySelectorAll("#open tr.row:not([hidden]) .pl rect")].map(bar =>
    [Number(bar.getAttribute("x")), Number(bar.getAttribute("width"))])"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    sent = {said["model"]: sent_entry(folder / "results", skill, **said) for skill, said in SENT}
    file = sent["edited"] / "report.json"
    content = json.loads(file.read_text())
    content["gap"]["value"] += 0.01
    file.write_text(json.dumps(content))
    return Site.write(folder / "results", folder / "site").folder


@pytest.fixture
def board(browser, site):
    """Shows the board, with what stands behind its #."""
    browser.events.clear()

    def show(after="", width=1280):
        browser.show(site / "index.html", width=width)
        browser.call("Page.navigate", url=(site / "boards" / "board_toy-one.html").as_uri() + after)
        _wait(browser, "document.readyState == 'complete' && location.pathname.includes('boards')")

    show()
    return show


def _wait(browser, expression):
    deadline = time.monotonic() + 60
    while True:
        try:
            if browser.evaluate(expression):
                return
        except AssertionError as error:  # the page went while it was asked
            if "navigated" not in str(error):
                raise
        assert time.monotonic() < deadline, expression


def _choose(browser, name, value):
    part = "checked" if isinstance(value, bool) else "value"
    browser.evaluate(
        f"(() => {{ const field = document.getElementById('filters').elements['{name}'];"
        f"field.{part} = {json.dumps(value)}; field.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
    )


def _sort(browser, key):
    browser.evaluate(f"document.querySelector('#open button[data-k={key}]').click()")
    return [name for name, _ in browser.evaluate(SHOWN)]


def test_a_board_is_sorted_filtered_and_ranked_as_counted(browser, tmp_path):
    """24 entries by hand: two rules, three that are not verified, one without a number of its worst group."""
    drawn = draw_entries(CheckedEntry.of(sent_entry(tmp_path / "results", 1.5)), 24)
    made = []
    for k, each in enumerate(drawn):
        rule = "hard" if k % 3 else "in_domain"
        report = replace(each.report, worst_group=None) if k == 7 else each.report
        reason = "edited" if k % 10 == 1 else ""
        made.append(replace(each, entry=replace(each.entry, selection=rule), report=report, reason=reason))
    (board,) = Board.all_of(made)
    page = tmp_path / "board.html"
    page.write_text(make_board_page(board, source="a test"), "utf-8")
    browser.show(page, width=1280)
    rows = {row.entry.model: row for row in board.rows}
    start = browser.evaluate(SHOWN)
    assert [name for name, _ in start] == list(rows)
    numbers = {
        "o": lambda row: float(row.report.headline("out")),
        "i": lambda row: float(row.report.headline("in")),
        "w": lambda row: float(row.worst_group) if row.worst_group is not None else None,
    }
    for key, number in numbers.items():
        for _ in range(2):
            names = _sort(browser, key)
            values = [number(rows[name]) for name in names]
            head = f"document.querySelector('#open button[data-k={key}]').closest('th').getAttribute('aria-sort')"
            is_up = browser.evaluate(head) == "ascending"
            known = [value for value in values if value is not None]
            assert known == sorted(known, reverse=not is_up) and None not in values[: len(known)], (key, is_up)
    browser.show(page, width=1280)
    cases = {
        "rule=hard": lambda row: row.entry.selection == "hard",
        "verified": lambda row: not row.reason,
        "q=MODEL 1": lambda row: "model 1" in row.entry.model,
        "rule=hard&verified&q=2": lambda row: (
            row.entry.selection == "hard" and not row.reason and "2" in row.entry.model
        ),
        "": lambda row: True,
    }
    for link, holds in cases.items():
        asked = dict(part.partition("=")[::2] for part in link.split("&"))
        for name in ("rule", "q"):
            _choose(browser, name, asked.get(name, ""))
        _choose(browser, "ver", "verified" in asked)
        shown = dict(browser.evaluate(SHOWN))
        assert list(shown) == [name for name, row in rows.items() if holds(row)]
        ranked, places = {rows[name].name for name in shown if rows[name].rank is not None}, []
        for name, said in shown.items():
            if rows[name].rank is None:
                assert said == "\u2013"
                continue
            best = 1 + len(rows[name].behind & ranked)
            worst = len(ranked) - sum(rows[name].name in rows[other].behind for other in shown)
            assert said == (str(best) if best == worst else f"{best}\u2013{worst}"), (link, name)
            places.append((100 * (best - 1) / len(ranked), 100 * (worst - best + 1) / len(ranked)))
        assert np.allclose(browser.evaluate(BARS), places), link
        assert browser.evaluate("document.getElementById('status').textContent") == f"{len(shown)} of 24 entries"
        tiers = browser.evaluate("[...document.querySelectorAll('#open tr.tier a')].map(link => link.textContent)")
        assert tiers == _find_tiers([rows[name] for name in shown if rows[name].rank is not None])
        said = unquote(browser.evaluate("location.hash")).removeprefix("#")
        assert set(said.split("&")) == set(link.split("&"))
    browser.show(tmp_path / "board.html", width=1280)
    browser.evaluate("location.hash = '#rule=hard&verified&sort=i-'")
    browser.call("Page.reload")
    _wait(browser, "document.readyState == 'complete' && document.querySelector('#filters').rule.value == 'hard'")
    shown = [name for name, _ in browser.evaluate(SHOWN)]
    own = [row for row in board.rows if row.entry.selection == "hard" and not row.reason]
    assert shown == [row.entry.model for row in sorted(own, key=lambda row: -float(row.report.headline("in")))]


@pytest.mark.slow
def test_each_page_is_silent_and_fits(browser, site):
    """Planted fault seen: a style attribute on a row. A wide table scrolls in its place, the page never does."""
    for page in sorted(site.rglob("*.html")):
        browser.events.clear()
        for width, scheme in ((1280, "light"), (420, "dark"), (320, "light")):
            browser.show(page, width=width, scheme=scheme)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, (page.name, width)
        assert browser.said() == [] and browser.requests() <= {"file", "data"}, page.name


@pytest.mark.slow
def test_the_address_keeps_the_choice(browser, board):
    """A choice that is none, and text that is no address, stop nothing. Planted fault seen: without the `try`."""
    board("#rule=hard&verified&sort=i-")
    assert {name for name, _ in browser.evaluate(SHOWN)} == {"high", "low"}
    assert browser.evaluate("document.querySelector('#open th[aria-sort] button').dataset.k") == "i"
    board("#rule=%ZZ&sup=nope&sort=__proto__&q=%3Cimg&verified=0")
    assert [name for name, _ in browser.evaluate(SHOWN)] == [HOSTILE]
    assert browser.said() == []


@pytest.mark.slow
def test_a_phone_sorts_too(browser, board):
    """The heads are not shown there. Planted fault seen: the choice not shown either."""
    board(width=420)
    assert browser.evaluate("getComputedStyle(document.querySelector('.sortm')).display") == "grid"
    assert browser.evaluate("getComputedStyle(document.querySelector('.board thead')).display") == "none"
    _choose(browser, "sort", "m")
    assert browser.evaluate(SHOWN)[0][0] == HOSTILE


@pytest.mark.slow
def test_without_scripts_everything_is_there(browser, site):
    """In the order of the numbers out of context, without a form that would do nothing."""
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.show(site / "boards" / "board_toy-one.html", width=1280)
        assert browser.evaluate("document.getElementById('filters').hidden") is True
        values = browser.evaluate("[...document.querySelectorAll('#open tr.row')].map(row => Number(row.dataset.o))")
        assert len(values) == 7 and values == sorted(values, reverse=True)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.slow
def test_the_index_leads_to_the_boards(browser, site):
    browser.show(site / "index.html", width=1280)
    _choose(browser, "b", "board_toy")
    assert browser.evaluate("document.getElementById('status').textContent") == "1 of 1 boards"
    browser.evaluate("document.querySelector('tr.row a').click()")
    _wait(browser, "document.readyState == 'complete' && location.pathname.includes('boards')")


@pytest.mark.slow
def test_a_line_separates_tiers(browser, tmp_path):
    """Where every entry above is clearly better than every one below; only in the order of the numbers."""
    entry = CheckedEntry.of(sent_entry(tmp_path / "results", 1.5))
    every, page = draw_entries(entry, 40), tmp_path / "board.html"
    few = [each for each in every if not 0.75 < float(each.report.headline("out")) < 0.9]
    tiers = "[...document.querySelectorAll('#open tr.tier a')].map(link => link.textContent)"
    found = []
    boards = [board for entries in (every, few) for board in Board.all_of(entries)]
    *rows, last = boards[-1].rows  # the last is not clearly behind the first: the tests of some pair are not in line
    odd = replace(last, behind=last.behind - {rows[0].name})
    for board in (*boards, replace(boards[-1], tracks={"open": (*rows, odd)})):
        page.write_text(make_board_page(board, source="a test"), "utf-8")
        browser.call("Emulation.setScriptExecutionDisabled", value=True)
        browser.show(page, width=1280)
        assert browser.evaluate(tiers) == _find_tiers(board.rows)
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
        browser.show(page, width=1280)
        for word in ("1", "2", "3", "5", "9", ""):
            _choose(browser, "q", word)
            found.append(_find_tiers([row for row in board.rows if word in row.entry.model]))
            assert browser.evaluate(tiers) == found[-1], word
    assert any(found) and not all(found)
    _sort(browser, "m")
    assert browser.evaluate(tiers) == []


def _find_tiers(rows):
    """Planted faults seen: only the next row looked at; lines in any order of the rows."""
    cuts = range(1, len(rows))
    return [
        rows[cut].entry.model
        for cut in cuts
        if all(above.name in below.behind for above in rows[:cut] for below in rows[cut:])
    ]
