"""A check of found contexts: which rows are asked for, what several raters said, what the repository then says."""

import base64
import io
import re
import sys

import datasets
import numpy as np
import pytest
from PIL import Image

import oochub
from oochub.cli import main
from oochub.context_finding.context_columns import contexts
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord, ContextCheck
from oochub.reviewing.context_page import context_page, store_answers

GRAY = {"train": (20, 200, 21, 210, 22, 220), "test": (10, 205, 11, 215, 12, 225)}


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Dark and bright images in both splits, whose rows have the same ids: r0 of train is not r0 of test."""
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    for split, grays in GRAY.items():
        for number, gray in enumerate(grays):
            file = tmp_path / "pictures" / split / "ab"[number % 2] / f"r{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (gray,) * 3).save(file)
    contexts(str(tmp_path / "pictures"), by="properties", out=tmp_path / "found")
    return tmp_path / "found"


def answer(path, **answers):
    """A file as the page saves it; `has_0` is row r0 of test that is said to be dark."""
    lines = [f"image,dark/{key.replace('_', '/test/r')},{said},2026-01-31T12:00:00Z" for key, said in answers.items()]
    path.write_text("\n".join(["scope,id,decision,at", *lines, ""]))
    return path


def record(folder):
    return BuildRecord.of(oochub.load(folder)["test"].info).facts.found_contexts


@pytest.mark.slow
def test_page_asks_for_both_halves_of_rows_on_which_nothing_was_chosen(found, tmp_path):
    dark = {f"dark/has/test/r{row}" for row in (0, 2, 4)}
    bright = {f"dark/lacks/test/r{row}" for row in (1, 3, 5)}
    for count in (2, 4, 12):
        page = context_page(oochub.load(found), rows=count)
        ids = [card for card in _cards(page) if card.startswith("dark/")]
        asked = min(count // 2, 3)
        assert len(ids) == 2 * asked and len(set(ids) & dark) == len(set(ids) & bright) == asked
    for card in ids:
        shown = np.asarray(Image.open(_first_picture(page, card)))
        assert abs(shown.mean() - GRAY["test"][int(card[-1])]) < 2  # not that of train, which is darker or brighter
    assert _cards(context_page(oochub.load(found), rows=12)) == _cards(page)


@pytest.mark.slow
def test_counts_by_hand_of_two_raters(found, tmp_path):
    """r0: wrong by one, right by the other: a tie is wrong. r2: right by both. r1, r3: wrong. r4, r5: open."""
    before = oochub.load(found)
    one = answer(tmp_path / "ann.csv", has_0="wrong", has_2="right", lacks_1="wrong", lacks_3="wrong", has_4="open")
    other = answer(tmp_path / "bob.csv", has_0="right", has_2="right")
    other.write_text(other.read_text().replace("12:00", "13:00"))
    stored = store_answers(found, [one, other])
    expected = {"dark": ContextCheck(wrong_with=1, checked_with=2, wrong_without=2, checked_without=2)}
    assert stored.checks == expected and record(found).checks == expected
    assert [(rater.name, rater.answered) for rater in record(found).raters] == [("ann", 4), ("bob", 2)]
    after = oochub.load(found)
    for split, part in before.items():
        assert part.features == after[split].features
        raw = (each[split].cast_column("image", datasets.Image(decode=False))[:] for each in (before, after))
        assert next(raw) == next(raw)
    assert "reviewed by people on rows of 1" in (found / "README.md").read_text()
    assert store_answers(found, [other]).checks["dark"].checked_without == 0  # the answers before are replaced


@pytest.mark.slow
def test_the_page_comes_with_the_contexts(found, tmp_path, monkeypatch, capsys):
    """Beside them as from their folder, and the next command is said, which takes the answers."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["oochub", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, capsys.readouterr()

    words = (
        "contexts",
        tmp_path / "pictures",
        "--contexts",
        "properties",
        "--out",
        tmp_path / "again",
        "--check",
        "--rows",
        4,
    )
    code, said = run(*words)
    assert not code and f"oochub contexts {tmp_path / 'again'} --checked contexts.csv" in said.out
    run("contexts", found, "--rows", 4, "--page", tmp_path / "page.html")
    assert (tmp_path / "again_check.html").read_text() == (tmp_path / "page.html").read_text()
    assert run("contexts", found, "--check", "--rows", 4)[0] == 0
    assert (tmp_path / "found_check.html").read_text() == (tmp_path / "page.html").read_text()
    saved = answer(tmp_path / "ann.csv", has_0="wrong", has_2="right")
    code, said = run("contexts", found, "--checked", saved)
    assert not code and "1 of 2" in said.out and [rater.name for rater in record(found).raters] == ["ann"]
    for more in (("--check",), ("--contexts", "properties"), ("--out", tmp_path / "third")):
        code, said = run("contexts", found, "--checked", saved, *more)
        assert code == 2 and "remove --check" in said.err
    code, said = run("contexts", found, "--out", tmp_path / "third")
    assert code == 2 and "--contexts properties" in said.err
    code, said = run("contexts", found, "--contexts", "properties")
    assert code == 2 and "pass --out FOLDER" in said.err
    (tmp_path / "again_check.html").write_text("mine")
    code, said = run(*words)
    assert code == 2 and "is not a page" in said.err and (tmp_path / "again_check.html").read_text() == "mine"


@pytest.mark.slow
def test_refusals(found, tmp_path):
    files = sorted((found / "data").iterdir())
    for answers, said in (
        ({"lacks_0": "right"}, "on no page, first dark/lacks/test/r0"),  # it is said to have it
        ({"has_9": "right"}, "on no page, first dark/has/test/r9"),
        ({"has_0": "open"}, "hold no answers"),
    ):
        with pytest.raises(OochubError, match=said):
            store_answers(found, [answer(tmp_path / "ann.csv", **answers)])
    of_train = tmp_path / "train.csv"
    of_train.write_text("scope,id,decision,at\nimage,dark/has/train/r0,right,2026-01-31T12:00:00Z\n")
    with pytest.raises(OochubError, match="on no page, first dark/has/train/r0"):  # something was chosen on it
        store_answers(found, [of_train])
    with pytest.raises(OochubError, match="There is no"):
        store_answers(tmp_path / "nothing", [tmp_path / "ann.csv"])
    with pytest.raises(OochubError, match="at least 2 rows"):
        context_page(oochub.load(found), rows=1)
    with pytest.raises(OochubError, match="no contexts that oochub found"):
        context_page(oochub.load(tmp_path / "pictures"), rows=2)
    assert record(found).checks is None and sorted((found / "data").iterdir()) == files


def _cards(page):
    return list(dict.fromkeys(re.findall(r'"([^"]+/(?:has|lacks)/[^"]+)"', page)))


def _first_picture(page, card):
    start = page.index("base64,", page.index(f'"{card}"')) + len("base64,")
    return io.BytesIO(base64.b64decode(page[start : page.index('"', start)]))
