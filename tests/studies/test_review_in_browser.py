"""The review page in a real browser: silent, asks for nothing, keeps marks, and saves a file that the command takes."""

import time

import pytest
from test_review import some_data, two_sets

from oochub.reviewing.decisions import Decision, read_decisions
from oochub.reviewing.rater_scores import score_raters
from oochub.studies.imagenet_ood.keep_list import keep_list
from oochub.studies.imagenet_ood.review import QUESTION, pairs_page, review_queue
from oochub.studies.spawrious.cleanliness.cleanliness_pages import ALLOWED, cleanliness_pages
from oochub.studies.spawrious.cleanliness.cleanliness_sample import SampledImage

STATES = "[...document.querySelectorAll('#cards > li')].map(card => [card.dataset.id, card.dataset.state])"
SHOWN = "[...document.querySelectorAll('#cards > li')].filter(card => card.offsetParent).map(card => card.dataset.id)"


@pytest.fixture
def pair(browser, tmp_path):
    """Opens the page of the five images with some decisions made before; the browser is the first of two."""
    ood, known, ood_data, known_data = two_sets()
    path = tmp_path / "review.html"

    def opened(decisions=None, *, width=1280, scheme="light"):
        page = pairs_page(review_queue(ood, known), (ood, ood_data), (known, known_data), decisions=decisions)
        path.write_text(page, "utf-8")
        _wait_for_marks(browser, tmp_path)
        browser.show(path, width=width, scheme=scheme)
        return ood

    browser.events.clear()
    browser.show(_blank(tmp_path), width=1280)
    browser.evaluate("localStorage.clear(); true")
    yield browser, opened
    assert browser.said() == []
    assert browser.requests() <= {"file", "data", "blob"}


def _blank(folder):
    path = folder / "blank.html"
    path.write_text("<!doctype html><title>x</title>")
    return path


def _wait_for_marks(seen, folder):
    """Until another page sees what this one stored: each has a process of its own, and storage is told between them."""
    stored = "JSON.stringify({...localStorage})"
    wanted, deadline = seen.evaluate(stored), time.monotonic() + 60
    seen.show(_blank(folder), width=1280)
    while seen.evaluate(stored) != wanted:
        assert time.monotonic() < deadline, "no other page sees the marks"


def _press(seen, example, what):
    seen.evaluate(f"""document.querySelector('li[data-id="{example}"] [data-do={what}]').click(); true""")


def _key(seen, key):
    for kind in ("keyDown", "keyUp"):
        seen.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 and kind == "keyDown" else "")


def _saved(seen, folder, name="decisions.csv"):
    seen.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    seen.evaluate("document.getElementById('save').click(); true")
    file, deadline = folder / name, time.monotonic() + 60
    while not file.exists() or not file.stat().st_size:
        assert time.monotonic() < deadline, "nothing was downloaded in 20 s"
        time.sleep(0.05)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (420, "dark"), (320, "light")])
def test_page_renders_in_silence_and_fits(pair, width, scheme):
    """Planted fault seen: a `style` attribute on a card makes the console speak."""
    seen, opened = pair
    opened(width=width, scheme=scheme)
    assert seen.evaluate("document.documentElement.scrollWidth") <= width
    ground = "rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 21, 26)"
    assert seen.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    images = seen.evaluate("[...document.images].map(one => [one.complete, one.naturalWidth, one.clientWidth > 60])")
    assert len(images) == 10 and all(item == [True, 40, True] for item in images if item[0])
    assert seen.evaluate("document.getElementById('lost').hidden")
    assert seen.evaluate("document.getElementById('count').value") == "0 of 5 decided: 0 kept, 0 dropped"


@pytest.mark.slow
def test_marks_stay_and_are_taken_back(pair):
    seen, opened = pair
    opened()
    _press(seen, "n03158885_4", "drop")
    _press(seen, "n02666943_0", "keep")
    _press(seen, "n02666943_1", "keep")
    _press(seen, "n02666943_1", "keep")  # taken back
    expected = {name: "open" for name in ("n02666943_1", "n03158885_2", "n03158885_3")}
    expected |= {"n03158885_4": "drop", "n02666943_0": "keep"}
    assert dict(seen.evaluate(STATES)) == expected
    assert seen.evaluate("document.getElementById('count').value") == "2 of 5 decided: 1 kept, 1 dropped"
    deadline = time.monotonic() + 60  # a busy browser tells a new page late what another page stored
    opened()  # loaded again
    while dict(seen.evaluate(STATES)) != expected:
        assert time.monotonic() < deadline, "the page does not show the marks when it is loaded again"
        opened()
    pressed = (
        "[...document.querySelectorAll('[aria-pressed=true]')].map(b => [b.closest('li').dataset.id, b.dataset.do])"
    )
    assert sorted(seen.evaluate(pressed)) == [["n02666943_0", "keep"], ["n03158885_4", "drop"]]
    for choice, names in (("drop", ["n03158885_4"]), ("keep", ["n02666943_0"])):
        seen.evaluate(f"document.getElementById('show').value = '{choice}'")
        seen.evaluate("document.getElementById('show').dispatchEvent(new Event('change'))")
        assert seen.evaluate(SHOWN) == names


def test_keys(pair):
    """Right to the first pair; drop goes on to the next open one; C drops the class of this and of three others."""
    seen, opened = pair
    opened()
    order = [name for name, _ in seen.evaluate(STATES)]
    for key in ("ArrowRight", "d"):
        _key(seen, key)
    assert seen.evaluate("document.activeElement.dataset.id") == order[1]
    for key in ("k", "c"):
        _key(seen, key)
    states = dict(seen.evaluate(STATES))
    assert (states[order[0]], states[order[1]]) == ("drop", "keep")
    dropped_class = order[2].partition("_")[0]
    assert all(state == "drop" for name, state in states.items() if name.startswith(dropped_class) and name != order[1])
    _key(seen, "ArrowLeft")


def test_the_saved_file_is_what_the_command_takes(pair, tmp_path):
    seen, opened = pair
    ood = opened({("image", "elsewhere"): Decision("image", "elsewhere", "drop", "2026-01-31T12:00:00.000Z")})
    _press(seen, "n02666943_0", "class")
    _press(seen, "n02666943_1", "keep")
    result = dict(read_decisions(_saved(seen, tmp_path), allowed=QUESTION.allowed))
    assert {key: item.decision for key, item in result.items()} == {
        ("image", "elsewhere"): "drop", ("class", "n02666943"): "drop", ("image", "n02666943_1"): "keep",
    }  # fmt: skip
    del result["image", "elsewhere"]
    kept = [name.partition("/")[2].removesuffix(".JPEG") for name in keep_list(ood, result)]
    dropped = [name for name, state in seen.evaluate(STATES) if state == "drop"]
    assert dropped == ["n02666943_0"] and sorted([*kept, *dropped]) == sorted(ood.column("example_id"))


@pytest.mark.slow
def test_earlier_decisions_are_shown_and_the_later_holds(pair):
    """In a browser that never saw the page; then beside a mark in the browser that is later, or earlier."""
    seen, opened = pair

    def decisions(at):
        return {("image", "n03158885_4"): Decision("image", "n03158885_4", "drop", at)}

    opened(decisions("2026-01-31T12:00:00.000Z"))
    assert dict(seen.evaluate(STATES))["n03158885_4"] == "drop"
    _press(seen, "n03158885_4", "keep")
    opened(decisions("2026-01-31T12:00:00.000Z"))
    assert dict(seen.evaluate(STATES))["n03158885_4"] == "keep"
    opened(decisions("2999-01-01T00:00:00.000Z"))
    assert dict(seen.evaluate(STATES))["n03158885_4"] == "drop"


@pytest.mark.slow
def test_a_browser_that_stores_nothing_says_so(pair):
    seen, opened = pair
    opened()
    seen.evaluate("Storage.prototype.setItem = () => { throw new Error('full') }; true")
    _press(seen, "n03158885_4", "drop")
    assert not seen.evaluate("document.getElementById('lost').hidden")
    assert dict(seen.evaluate(STATES))["n03158885_4"] == "drop"
    assert seen.evaluate("localStorage.length") == 0


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (420, "dark")])
def test_raters_answer_on_pages_of_their_own(pair, tmp_path, width, scheme):
    """Two pages in one browser keep their marks apart; what they save is scored: 2 of 3 answers, 1 image left."""
    seen, _ = pair
    ids = [f"0/dirt/corgi/{k}" for k in range(4)]
    sample = [
        SampledImage(page=k // 2 + 1, example_id=each, breed="corgi", background="dirt") for k, each in enumerate(ids)
    ]
    cleanliness_pages(tmp_path / "check", sample, {"test": some_data(ids, ["red", "green", "blue", "white"])})
    seen.show(tmp_path / "check" / "rater_1.html", width=width, scheme=scheme)
    assert seen.evaluate("document.documentElement.scrollWidth") <= width
    assert "a corgi in the dirt location" in seen.evaluate("document.getElementById('cards').textContent")
    for key in ("ArrowRight", "r", "w"):
        _key(seen, key)
    assert seen.evaluate(STATES) == [[ids[0], "right"], [ids[1], "wrong"]]
    assert seen.evaluate("document.getElementById('count').value") == "2 of 2 decided: 1 right, 1 wrong"
    seen.evaluate("document.getElementById('show').value = 'wrong'")
    seen.evaluate("document.getElementById('show').dispatchEvent(new Event('change'))")
    assert seen.evaluate(SHOWN) == [ids[1]]
    files = {"one": read_decisions(_saved(seen, tmp_path, "rater_1.csv"), allowed=ALLOWED)}
    seen.show(tmp_path / "check" / "rater_2.html", width=width, scheme=scheme)
    assert dict(seen.evaluate(STATES)) == dict.fromkeys(ids[2:], "open")
    _press(seen, ids[2], "right")
    files["two"] = read_decisions(_saved(seen, tmp_path, "rater_2.csv"), allowed=ALLOWED)
    scores = score_raters(files, [ids[:2], ids[2:]])
    assert (scores.images, scores.images.n, scores.unanswered) == (pytest.approx(2 / 3), 3, 1)
    assert scores.wrong == (ids[1],) and len(scores.raters) == 2
