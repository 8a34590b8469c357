"""The page of all rows in real Chromium, opened from disk: filters, links, exports, keys, names that are markup."""

import json
import time

import numpy as np
import pytest
from accessibility import AXE, axe_faults, broken_pictures, faint_texts
from browsed import CLASSES, browsed_predictions, open_rows, wait_for, write_browsed
from found_rows import predictions_of, rows
from hostile_names import NAMES

from oochub.data.declaration import find_declaration
from oochub.evaluation.evaluation_rows import make_evaluation_rows
from oochub.evaluation.row_selection import RowsFile
from oochub.evaluation.selection_rule import RowRule
from oochub.prediction.predictions import Predictions

_MORE_VIEWS = ((1280, "dark"), (420, "light"), (320, "light"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_browsed(tmp_path_factory.mktemp("browsed"), browsed_predictions(240))


def _count(browser):
    return browser.evaluate("document.getElementById('count').textContent")


def _choose(browser, name, value):
    browser.evaluate(
        f"""(() => {{ const field = document.getElementById("filters").elements[{json.dumps(name)}];
        field.value = {json.dumps(value)}; field.dispatchEvent(new Event("change", {{bubbles: true}})); }})()"""
    )


def _press(browser, key, **more):
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **more)


def test_a_filter_is_a_link_that_restores_it(browser, folder):
    """The address after a filter gives the same rows; planted fault seen: a link that drops the confidence."""
    predictions = browsed_predictions(240)
    open_rows(browser, folder)
    assert _count(browser).startswith("240 of 240 rows")
    _choose(browser, "label", "dog")
    _choose(browser, "outcome", "wrong")
    _choose(browser, "low", "50")
    wrong = (predictions.label == 1) & (predictions.prediction != 1) & (predictions.summary.confidence >= 0.5)
    assert wrong.any() and _count(browser).startswith(f"{wrong.sum()} of 240")
    address, link = browser.evaluate("[location.hash, document.getElementById('link').getAttribute('href')]")
    assert address == link and "label=dog" in address
    open_rows(browser, folder, address)
    assert _count(browser).startswith(f"{wrong.sum()} of 240")
    assert browser.evaluate("document.getElementById('filters').elements.label.value") == "dog"
    shown = browser.evaluate("[...document.querySelectorAll('.card b')].map(each => each.textContent)")
    assert set(shown) == {"dog"}
    open_rows(browser, folder, "#label=zebra&context=grass")
    assert "label=zebra" in browser.evaluate("document.getElementById('state').textContent")
    assert _count(browser).startswith(f"{(predictions.column('context') == 'grass').sum()} of 240")


def test_both_ends_of_a_range_of_confidence_belong_to_it(browser, folder):
    """Ends that are the confidence of a row. Planted faults seen: either end left out."""
    confidence = browsed_predictions(240).summary.confidence
    low, high = np.sort(confidence)[[60, 180]].tolist()
    assert len({*confidence.tolist()}) == 240
    open_rows(browser, folder, f"#confidence={low!r}..{high!r}")
    assert _count(browser).startswith("121 of 240")


def test_each_field_is_a_filter_with_its_counts(browser, tmp_path):
    """Found contexts are folded away, and no other field. Planted faults seen: the fold left out; counts of no row."""
    predictions = predictions_of(rows(60))
    open_rows(browser, write_browsed(tmp_path, predictions))
    said = json.loads(
        browser.evaluate("""JSON.stringify([...document.querySelectorAll("#filters select")].map(field => [field.name,
        field.closest("details.found") !== null, [...field.options].map(option => option.textContent)]))""")
    )
    shown = {name: (is_folded, words) for name, is_folded, words in said}
    wrong = int((predictions.prediction != predictions.label).sum())
    assert set(shown["outcome"][1]) == {"all", f"right ({60 - wrong})", f"wrong ({wrong})"}
    grass = [each is not None and 0 in each for each in rows(60)["contexts"]]
    unknown = sum(each is None for each in rows(60)["contexts"])
    is_folded, words = shown["has grass"]
    assert is_folded and f"with ({sum(grass)})" in words and f"without ({60 - sum(grass) - unknown})" in words
    assert {name for name, (is_folded, _) in shown.items() if is_folded} == {n for n in shown if n.startswith("has ")}


def test_what_was_looked_at_widens_the_intervals_and_is_said(browser, folder):
    """Bonferroni over distinct selections, however often and in whatever words each was asked for."""
    open_rows(browser, folder)
    browser.evaluate("sessionStorage.clear()")
    open_rows(browser, folder)
    banner = "document.getElementById('banner').textContent"
    assert "Nothing is chosen yet" in browser.evaluate(banner)
    cell = "document.querySelector('#counted td').textContent"
    _choose(browser, "label", "dog")
    first = browser.evaluate(cell)
    assert "One selection was looked at" in browser.evaluate(banner) and "95%" in browser.evaluate(banner)
    _choose(browser, "label", "cat")
    _choose(browser, "outcome", "wrong")  # the numbers leave it out, so it is the same selection
    _choose(browser, "outcome", "")
    _choose(browser, "label", "dog")
    assert "2 selections were looked at" in browser.evaluate(banner) and "97.5%" in browser.evaluate(banner)
    assert browser.evaluate(cell) != first  # the same rows, at the level of two
    open_rows(browser, folder, "#label=dog")
    assert "2 selections" in browser.evaluate(banner)  # loaded again in one visit


def test_the_numbers_of_mistakes_are_of_the_rows_they_are_mistakes_of(browser, folder):
    """A filter by the outcome never gives an accuracy of 0 or 1."""
    open_rows(browser, folder, "#label=dog")
    whole = browser.evaluate("document.getElementById('counted').textContent")
    open_rows(browser, folder, "#label=dog&outcome=wrong")
    assert browser.evaluate("document.getElementById('counted').textContent") == whole
    assert "right or wrong" in browser.evaluate("document.getElementById('about').textContent")


def test_a_card_is_as_high_as_what_it_says(browser, folder):
    """The last line ends within its card, with less than a line below it. Planted fault seen: room for a line more."""
    open_rows(browser, folder)
    below = browser.evaluate("""[...document.querySelectorAll(".card")].map(card => card.getBoundingClientRect().bottom
        - [...card.querySelectorAll(".line")].at(-1).getBoundingClientRect().bottom)""")
    assert len(below) > 4 and all(0 <= each < 16 for each in below), below


def test_the_export_is_the_selection_as_split_and_id(browser, folder, tmp_path):
    """Through the button, as a file; the first line is the rule."""
    predictions = browsed_predictions(240)
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    open_rows(browser, folder, "#label=dog&outcome=wrong")
    browser.evaluate("document.getElementById('export').click()")
    file = tmp_path / "ids.txt"
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    said = RowsFile.read(file)
    assert (said.rule, said.data) == ("label=dog&outcome=wrong", "custom/default")
    wrong = (predictions.label == 1) & (predictions.prediction != 1)
    expected = {*zip(predictions.split[wrong], predictions.column("example_id")[wrong], strict=True)}
    assert {(line.split, line.example_id) for line in said.lines} == expected and len(said.lines) == wrong.sum()
    evaluated, _ = make_evaluation_rows(predictions, find_declaration(predictions))
    np.testing.assert_array_equal(RowRule.parse(said.rule).find_rows(evaluated), wrong)


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: browsed_predictions(240, images=False), lambda: predictions_of(rows(120))])
def test_a_link_and_a_rule_choose_the_same_rows(browser, tmp_path, make):
    """Each value of each field, as `oochub evaluate --rows` reads the rule that the page writes."""
    predictions = make()
    open_rows(browser, write_browsed(tmp_path, predictions))
    evaluated, _ = make_evaluation_rows(predictions, find_declaration(predictions))
    links = json.loads(
        browser.evaluate("JSON.stringify(oochubBrowse.links().map(link => [link, oochubBrowse.rowsOf(link)]))")
    )
    assert len(links) > 12 and {link.partition("=")[0] for link, _ in links} >= {"#split", "#outcome", "#answered"}
    for link, ids in links:
        chosen = RowRule.parse(link.removeprefix("#")).find_rows(evaluated)
        assert sorted(ids) == sorted(predictions.column("example_id")[chosen].astype(str)), link


def test_ids_are_found_by_a_part_of_them(browser, folder):
    """In any case; the sort stays."""
    open_rows(browser, folder, "#ids=IMG_0001&sort=lowest+loss")
    wait_for(browser, "document.getElementById('count').textContent.startsWith('10 of')")
    ids = browser.evaluate("[...document.querySelectorAll('.card .mono')].map(each => each.textContent)")
    predictions = browsed_predictions(240)
    order = np.argsort(predictions.summary.loss[10:20]) + 10
    assert ids == [f"img_{row:05}" for row in order]


def test_keys_move_among_the_cards_and_open_one(browser, folder):
    """Arrows, ends and Enter; the focus stays on a card that is far down."""
    open_rows(browser, folder)
    browser.evaluate("document.querySelector('.card[tabindex=\"0\"]').focus()")
    at = "document.activeElement.closest('.card')?.getAttribute('aria-posinset')"
    _press(browser, "ArrowRight", windowsVirtualKeyCode=39)
    assert browser.evaluate(at) == "2"
    _press(browser, "End", windowsVirtualKeyCode=35)
    assert browser.evaluate(at) == "240"
    card = "(box => box.top >= 0 && box.bottom <= innerHeight)(document.activeElement.getBoundingClientRect())"
    assert browser.evaluate(card)
    assert browser.evaluate("document.querySelectorAll('.card').length") < 80  # those in sight alone
    _press(browser, "Enter", windowsVirtualKeyCode=13, text="\r")
    assert browser.evaluate("document.getElementById('row').open")
    predictions = browsed_predictions(240)
    least = predictions.column("example_id")[np.argmin(predictions.summary.loss)]
    assert browser.evaluate("document.getElementById('row-title').textContent") == least
    _press(browser, "Escape", windowsVirtualKeyCode=27)
    assert not browser.evaluate("document.getElementById('row').open")


@pytest.mark.skipif(not AXE.exists(), reason=f"no axe-core at {AXE}: `make test` fetches it, from PyPI")
@pytest.mark.parametrize(
    "view", [(1280, "light"), (420, "dark"), *(pytest.param(view, marks=pytest.mark.slow) for view in _MORE_VIEWS)]
)
def test_everybody_can_read_the_page(browser, folder, view):
    """No fault by axe-core, no faint text, nothing beside the screen, nothing on the console, no request but files."""
    width, scheme = view
    open_rows(browser, folder, "#label=dog", width=width, scheme=scheme)
    browser.evaluate("document.getElementById('filtering').open = true")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_faults(browser, impacts=("minor", "moderate", "serious", "critical")) == []
    assert broken_pictures(browser) == 0 and browser.said() == [] and browser.requests() == {"file"}
    faint, seen = faint_texts(browser)
    assert seen > 30 and faint == []


def test_the_policy_allows_the_folder_alone(browser, folder):
    """An inline script, a style attribute and another server are refused by the page itself."""
    open_rows(browser, folder)
    browser.evaluate(
        """(() => { const script = document.createElement("script"); script.textContent = "window.ran = 1";
        document.body.append(script); const far = document.createElement("img"); far.src = "http://evil.example/a";
        document.body.append(far); document.body.setAttribute("style", "opacity:0.5"); })()"""
    )
    time.sleep(0.2)
    assert browser.evaluate("window.ran === undefined && getComputedStyle(document.body).opacity === '1'")
    assert sum("Content Security Policy" in json.dumps(event) for event in browser.said()) >= 3


def _hostile(names, n=240):
    """Predictions with names wherever a user can put one."""
    label, images = np.arange(n) % len(names), browsed_predictions(n).table.column("thumbnail")
    return Predictions.from_arrays(
        logits=np.random.default_rng(0).normal(size=(n, len(names))),
        label=label,
        class_names=list(names),
        challenge=np.where(np.arange(n) % 3 == 0, "hard", "easy"),
        context=np.array(names)[(label + 1) % len(names)],
        group=[f"{names[k]}/{names[(k + 1) % len(names)]}" for k in label],
        example_id=[f"{names[k % len(names)]}{k}" for k in range(n)],
        split=["test" if k % 2 else names[0] for k in range(n)],
        text=[names[(k + 3) % len(names)] for k in range(n)],
        thumbnail=[row.as_py() for row in images],
        source_url=["javascript:window.ran=20"] * n,
        license=[names[k % len(names)] for k in range(n)],
        model=names[0],
    )


def _look_for_markup(browser, folder, fragments):
    """Opens the page at each link, and a row; returns its text after what no name may do was not found."""
    text = ""
    for fragment in fragments:
        open_rows(browser, folder, fragment, width=420)
        browser.evaluate("document.querySelector('.card')?.click()")
        time.sleep(0.2)
        seen = browser.evaluate("""({
            ran: String(window.ran), text: document.documentElement.textContent, wide: document.body.scrollWidth,
            made: document.querySelectorAll('iframe, object, embed, base, meta[http-equiv=refresh], img, svg').length,
            handlers: [...document.querySelectorAll('*')].filter(
                one => [...one.attributes].some(a => a.name.startsWith('on'))).length,
            links: [...document.querySelectorAll('[href], [src], [action]')].map(
                one => one.getAttribute('href') || one.getAttribute('src') || one.getAttribute('action')),
        })""")
        assert seen["ran"] == "undefined" and not seen["made"] and not seen["handlers"] and seen["wide"] <= 420
        assert all(link.startswith(("#", "page/", "data/", "report.html")) for link in seen["links"]), seen["links"]
        assert browser.requests() == {"file"} and "\u202e" not in seen["text"] and browser.said() == []
        text += seen["text"]
    return text


@pytest.mark.slow
def test_hostile_names_are_text_on_the_page(browser, tmp_path):
    """Names, ids, texts, the model, and links: nothing runs or is asked for. Planted fault seen: innerHTML in cards."""
    folder = write_browsed(tmp_path, _hostile(NAMES))
    some = ("<script>window.ran=1</script>", "'\"><svg onload=window.ran=3>")
    text = _look_for_markup(
        browser, folder, ["", *(f"#label={name}&ids={name}&view={name}&sort={name}" for name in some)]
    )
    assert "window.ran" in text


@pytest.mark.slow
def test_long_names_fit_the_page(browser, tmp_path):
    """Names of 900 letters without a place to break."""
    _look_for_markup(browser, write_browsed(tmp_path, _hostile(["x" * 900, "<b>" + "y" * 900, "z"])), ["", "#ids=xxx"])


@pytest.mark.slow
def test_the_ids_of_a_hostile_selection_are_lines_that_can_be_read(browser, tmp_path):
    """An id with a line break or a tab is left out and said; one that begins as a comment is not one."""
    predictions = browsed_predictions(6, images=False, example_id=["#a", "b\nc", "d\te", "  f ", "g,h", "ü"])
    folder = write_browsed(tmp_path / "made", predictions)
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    open_rows(browser, folder)
    browser.evaluate("document.getElementById('export').click()")
    wait_for(browser, "true")
    deadline = time.monotonic() + 60
    while not (tmp_path / "ids.txt").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    lines = (tmp_path / "ids.txt").read_text("utf-8").split("\n")
    assert [line for line in lines if line.startswith("#")][-1].startswith("# left out: 2 rows")
    ids = {line.split("\t")[1] for line in lines if line and not line.startswith("#")}
    assert ids == {"#a", "  f ", "g,h", "ü"} and len(CLASSES) == 3
