"""The map on the page in real Chromium: rectangles, keys, clusters, and a rule that is tested on kept-back rows."""

import json
import time

import numpy as np
import pytest
from accessibility import AXE, axe_faults, faint_texts
from browsed import open_rows, wait_for, write_browsed
from hostile_names import NAMES
from mapped import bad_places, mapped_predictions

import oochub
from oochub.browsing.page_map import make_row_map
from oochub.data.declaration import find_declaration
from oochub.evaluation.row_selection import find_half
from oochub.prediction.predictions import Predictions


@pytest.fixture(scope="module")
def rows():
    return mapped_predictions(1200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, rows):
    return write_browsed(tmp_path_factory.mktemp("mapped"), rows, row_map="pca")


def _open(browser, folder, fragment="#view=map", **view):
    open_rows(browser, folder, fragment, **view)


def _count(browser):
    return int(browser.evaluate("document.getElementById('count').textContent").split(" of ")[0].replace("\u202f", ""))


def _press(browser, key, code, **more):
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)


def _mouse(browser, kind, x, y, *, held=1):
    browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=held, clickCount=1)


def _inside(rows, left, low, right, high):
    x, y = make_row_map(rows, "pca").places.T
    return (x >= np.float32(left)) & (x <= right) & (y >= low) & (y <= high)


def test_a_dot_is_five_pixels_wide_and_three_on_a_phone(browser, tmp_path):
    """Twelve rows that lie apart: what is painted is their area. Planted fault seen: the same size everywhere."""
    grid = np.stack(np.meshgrid([0.0, 1, 2, 3], [0.0, 1, 2]), axis=-1).reshape(-1, 2)
    rows = Predictions.from_arrays(logits=np.tile([1.0, 0.0], (12, 1)), label=np.zeros(12, int), features=grid)
    folder = write_browsed(tmp_path, rows, row_map="pca")
    for width, size in ((1280, 5), (420, 3)):
        _open(browser, folder, width=width)
        painted = browser.evaluate("""(canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
            .data.filter((_, at) => at % 4 === 3).reduce((sum, alpha) => sum + alpha / 255, 0))
            (document.querySelector(".frame canvas"))""")
        assert painted == pytest.approx(12 * size**2, rel=0.1), width


def test_a_rectangle_selects_the_rows_in_it_and_is_a_link(browser, folder, rows):
    """By the pointer; the numbers are those of the rows in it, and the link gives them again."""
    _open(browser, folder)
    assert _count(browser) == 1200
    browser.evaluate("document.querySelector('.frame').scrollIntoView({block: 'start', behavior: 'instant'})")
    left, top, side = browser.evaluate(
        "(box => [box.left, box.top, box.width])(document.querySelector('.frame canvas').getBoundingClientRect())"
    )
    _mouse(browser, "mousePressed", left + 0.1 * side, top + 0.15 * side)
    _mouse(browser, "mouseMoved", left + 0.5 * side, top + 0.4 * side)
    assert browser.evaluate("document.querySelector('.brush').style.display") == "block"
    _mouse(browser, "mouseReleased", left + 0.5 * side, top + 0.4 * side, held=0)
    asked = browser.evaluate("new URLSearchParams(location.hash.slice(1)).get('map')")
    ends = [float(end) for end in asked.split(",")]
    assert np.allclose(ends, [0.085, 0.61, 0.5, 0.865], atol=0.02)
    expected = _inside(rows, *ends)
    assert _count(browser) == expected.sum() and 0 < expected.sum() < 1200
    address = browser.evaluate("location.hash")
    _open(browser, folder, address)
    assert _count(browser) == expected.sum()
    accuracy = browser.evaluate("document.querySelector('#counted td .value').textContent")
    assert accuracy == f"{100 * (rows.prediction == rows.label)[expected].mean():.1f}%"
    _open(browser, folder, "#map=0,0,2,1")
    assert "map=0,0,2,1" in browser.evaluate("document.getElementById('state').textContent") and _count(browser) == 1200


def test_keys_move_size_and_take_a_rectangle(browser, folder, rows):
    _open(browser, folder)
    browser.evaluate("document.querySelector('.frame').focus()")
    for _ in range(5):
        _press(browser, "ArrowLeft", 37)
    for _ in range(3):
        _press(browser, "ArrowUp", 38, modifiers=8)
    said = browser.evaluate("document.querySelector('.map [role=status]').textContent")
    expected = _inside(rows, 0.3, 0.4, 0.5, 0.66)
    assert said == f"{expected.sum()} rows in the rectangle."
    _press(browser, "Enter", 13, text="\r")
    assert _count(browser) == expected.sum()
    _press(browser, "Escape", 27)
    assert _count(browser) == 1200


def test_colors_are_filters_and_a_point_opens_its_row(browser, folder, rows):
    """A legend entry selects its value and gives it free again; the canvas holds its color."""
    _open(browser, folder)
    colored = """(() => { const canvas = document.querySelector(".frame canvas"), colors = new Set();
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255)
            colors.add(`${data[i]},${data[i+1]},${data[i+2]}`);
        return [...colors]; })()"""
    assert {"11,98,164", "194,65,12"} <= set(browser.evaluate(colored))  # right and wrong
    wrong = "[...document.querySelectorAll('.legend button')].find(each => each.textContent.startsWith('wrong'))"
    browser.evaluate(f"{wrong}.click()")
    assert _count(browser) == (rows.prediction != rows.label).sum()
    assert browser.evaluate(f"{wrong}.getAttribute('aria-pressed')") == "true"
    assert "11,98,164" not in browser.evaluate(colored)
    browser.evaluate(f"{wrong}.click()")
    assert _count(browser) == 1200
    x, y = make_row_map(rows, "pca").places[np.argmax(rows.summary.loss)]
    browser.evaluate("document.querySelector('.frame').scrollIntoView({block: 'start', behavior: 'instant'})")
    place = "(box => [box.left, box.top, box.width])(document.querySelector('.frame canvas').getBoundingClientRect())"
    left, top, side = browser.evaluate(place)
    at = left + 10 + float(x) * (side - 20), top + 10 + (1 - float(y)) * (side - 20)
    for kind, held in (("mousePressed", 1), ("mouseReleased", 0)):
        _mouse(browser, kind, *at, held=held)
    wait_for(browser, "document.getElementById('row').open")


def test_what_is_found_on_the_map_is_tested_on_the_half_that_was_kept_back(browser, rows, tmp_path):
    """The whole way: a cluster's rule, its ids.txt, and the report of the rule on rows that the page never showed."""
    page = write_browsed(tmp_path / "world", rows, row_map="pca", half=True)
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    _open(browser, page)
    half = find_half(rows, find_declaration(rows))
    assert _count(browser) == half.sum()
    first = "document.querySelector('.clusters tbody tr')"
    name = browser.evaluate(f"{first}.querySelector('th').firstChild.textContent").partition(": ")[2]
    planted = bad_places(rows)[name]
    browser.evaluate(f"[...{first}.querySelectorAll('button')][1].click()")
    assert _count(browser) == (planted & half).sum()
    browser.evaluate("document.getElementById('export').click()")
    file = tmp_path / "ids.txt"
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    report = oochub.evaluate(tmp_path / "world" / "predictions.parquet", rows=str(file), unseen=True, resamples=100)
    tested, right = report.chosen_rows.tested, rows.prediction == rows.label
    assert tested.n_rule == (planted & ~half).sum() and tested.n_others == (~planted & ~half).sum()
    assert tested.accuracy_rule.value == right[planted & ~half].mean() and tested.is_clear
    shown = oochub.Report.load(tmp_path / "world" / "report.json")
    assert shown.slices[0].n == 1200  # the report beside the predictions is of all rows, and the page's is not
    text = (page / "report.html").read_text("utf-8")
    assert "are shown; the others are kept back for a test" in text


@pytest.mark.skipif(not AXE.exists(), reason=f"no axe-core at {AXE}: `make test` fetches it, from PyPI")
@pytest.mark.parametrize("view", [(1280, "light"), (420, "dark")])
def test_everybody_can_read_the_map(browser, folder, view):
    """No fault by axe-core, no faint text, nothing beside the screen, nothing on the console, no request but files."""
    width, scheme = view
    _open(browser, folder, "#view=map&map=0,0,0.5,1", width=width, scheme=scheme)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_faults(browser, impacts=("minor", "moderate", "serious", "critical")) == []
    assert browser.said() == [] and browser.requests() == {"file"}
    faint, seen = faint_texts(browser)
    assert seen > 30 and faint == [], json.dumps(faint)


def test_rows_without_features_are_refused_before_anything_is_made(tmp_path):
    rows = mapped_predictions(60)
    without = rows.with_table(rows.table.drop(["features"]))
    with pytest.raises(oochub.OochubError, match="A map needs the features of each row"):
        write_browsed(tmp_path, without, row_map="tsne")
    assert not (tmp_path / "rows").exists()


@pytest.mark.slow
def test_hostile_names_are_text_on_the_map(browser, tmp_path):
    """Classes and contexts of clusters and of the legend: nothing runs, nothing is asked for."""
    rows = mapped_predictions(400)
    names = NAMES[:3]
    place = np.array(NAMES[3:6])[np.unique(rows.column("context"), return_inverse=True)[1]]
    made = oochub.Predictions.from_arrays(
        logits=rows.logits, label=rows.label, class_names=names, context=place, features=rows.features, model=NAMES[0]
    )
    page = write_browsed(tmp_path, made, row_map="pca")
    _open(browser, page)
    browser.evaluate("[...document.querySelectorAll('.clusters tbody button')][1].click()")
    seen = browser.evaluate("""({ ran: String(window.ran), rows: document.querySelectorAll('.clusters tbody tr').length,
        made: document.querySelectorAll('iframe, object, embed, img, svg, .map script').length,
        handlers: [...document.querySelectorAll('*')].filter(
            one => [...one.attributes].some(each => each.name.startsWith('on'))).length,
        text: document.documentElement.textContent })""")
    assert seen["ran"] == "undefined" and not seen["made"] and not seen["handlers"] and seen["rows"]
    assert browser.requests() == {"file"} and browser.said() == [] and "\u202e" not in seen["text"]
    assert 0 < _count(browser) < 400
