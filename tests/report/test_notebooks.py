"""Reports, predictions and comparisons in a notebook: a frame in which nothing runs, of the right height and theme."""

import html
import re
import subprocess
import sys
from importlib.util import find_spec

import every_page
import numpy as np
import pytest
import reports
from hostile_names import NAMES
from parsed_page import ParsedPage

import oochub
from oochub.prediction.predictions import Predictions
from oochub.report.self_contained_page import frame_page

EVIL = "'\"></iframe><script>window.ran = 1</script><img src=x onerror=window.ran=1>"


def hostile():
    content = reports.nooch_report()
    content["model"]["id"], content["notes"] = EVIL, [EVIL, *NAMES]
    return reports.read(content)


def predictions(**more):
    label = np.arange(60) % 3
    said = np.where(np.arange(60) % 4 > 0, label, (label + 1) % 3)
    given = {
        "class_names": ["cow", EVIL, "camel"],
        "model": EVIL,
        "example_id": [f"row {k}" for k in range(60)],
        "thumbnail": [every_page._picture(k) if k % 2 else None for k in range(60)],
    }
    return Predictions.from_arrays(
        logits=np.eye(3)[said] * (1 + np.arange(60)[:, None] / 60), label=label, **given | more
    )


def test_a_report_is_its_page_in_a_frame_from_which_no_name_breaks_out():
    report = hostile()
    shown = ParsedPage(report._repr_html_())
    frames = [attributes for tag, attributes in shown.tags if tag == "iframe"]
    assert len(frames) == 1 and not shown.unbalanced
    assert {tag for tag, _ in shown.tags} <= {
        "div",
        "style",
        "iframe",
        "details",
        "summary",
        *"table thead tbody tr th td".split(),
    }
    assert set(frames[0]) == {"sandbox", "title", "onload", "srcdoc"} and "allow-scripts" not in frames[0]["sandbox"]
    inside = frames[0]["srcdoc"].replace(' target="_blank"', "")
    assert inside == report.to_html()
    assert EVIL in shown.words


def test_a_page_that_cannot_be_made_leaves_the_tables():
    content = reports.spawrious_report()
    content["mistakes"][0]["image"] = "bm90IGEgSlBFRw=="
    shown = reports.read(content)._repr_html_()
    assert "<iframe" not in shown and "<table" in shown


def test_the_most_wrong_predictions_are_rows_with_images():
    """By hand: the wrong rows are every fourth; with larger logits a wrong answer costs more. Planted: all rows."""
    shown = ParsedPage(predictions(thumbnail=None)._repr_html_())
    ids = re.findall(r"row \d+", shown.words)
    assert ids == [f"row {k}" for k in (56, 52, 48, 44, 40, 36)]
    shown = ParsedPage(
        predictions(thumbnail=[every_page._picture(k) if k in (4, 5, 8) else None for k in range(60)])._repr_html_()
    )
    ids, pictures = re.findall(r"row \d+", shown.words), [attributes for tag, attributes in shown.tags if tag == "img"]
    assert ids[:3] == ["row 8", "row 4", "row 56"] and len(pictures) == 2
    assert all(re.fullmatch(r"data:image/jpeg;base64,[\w+/=]+", each["src"]) for each in pictures)
    assert EVIL[:50] in shown.words and not {tag for tag, _ in shown.tags} & {"script", "iframe"}


def test_other_answers_show_their_first_rows():
    made = Predictions.from_arrays(value=[0.4, -1.0], label=[0.5, -2.0])
    assert "The first rows" in made._repr_html_()
    right = Predictions.from_arrays(logits=np.eye(2), label=[0, 1])
    assert "wrong" not in right._repr_html_()


def _strip_mark(page):
    """The page without the comment at its end that says whose it is."""
    text, _, comment = page.read_text("utf-8").rpartition("\n<!-- Written by oochub, SHA-256 of the rest ")
    assert comment.endswith(" -->\n") and len(comment) == 32 + len(" -->\n")
    return text


def test_show_writes_the_page_and_says_where_it_is(tmp_path, monkeypatch, capsys):
    """Without a display the path is printed; with one the browser gets it. Planted fault seen: no text without one."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    report = reports.read(reports.nooch_report())
    file = oochub.show(report, tmp_path / "page.html")
    assert _strip_mark(file) == report.to_html() and str(file) in capsys.readouterr().out
    monkeypatch.setenv("DISPLAY", ":0")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    file = oochub.show(oochub.compare(report))
    assert opened == [file.as_uri()] and not capsys.readouterr().out
    report.save(tmp_path / "report.json")
    assert _strip_mark(oochub.show(tmp_path / "report.json", tmp_path / "again.html")) == report.to_html()
    with pytest.raises(oochub.OochubError, match="show takes a report"):
        oochub.show("nooch" if False else 3)
    with pytest.raises(oochub.OochubError, match="Report not found"):
        oochub.show(tmp_path / "nowhere.json")


SEEN = """(() => {
    const frame = document.querySelector('iframe'), page = frame.contentDocument
    return {
        ran: String(window.ran), height: frame.clientHeight, content: page.body.getBoundingClientRect().height,
        dark: getComputedStyle(page.body).backgroundColor, width: document.documentElement.scrollWidth,
        scripts: page.querySelectorAll('script').length,
    }
})()"""


def look(browser):
    """The frame once its height fits, in the color scheme of the system, which an emulated one would hide."""
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    two_frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    browser.evaluate(two_frames, wait=True)
    return browser.evaluate(SEEN)


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize(
    ("body", "dark"),
    [
        ('<body data-jp-theme-light="false">', True),
        ('<body data-jp-theme-light="true">', False),
        ('<body class="vscode-dark">', True),
        ("<body>", False),
    ],
)
def test_the_frame_is_as_high_as_its_page_and_as_dark_as_the_notebook(browser, tmp_path, body, dark, width):
    """JupyterLab and VS Code as they mark their bodies, on a light system."""
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{body}{hostile()._repr_html_()}", "utf-8")
    browser.events.clear()
    browser.show(file, width=width)
    seen = look(browser)
    assert seen["ran"] == "undefined" and not seen["scripts"]
    assert 1000 < seen["content"] <= seen["height"] <= seen["content"] + 1
    assert (sum(map(int, re.findall(r"\d+", seen["dark"])[:3])) < 200) == dark
    assert seen["width"] <= width
    assert browser.requests() <= {"file", "data", "about"}


CELLS = """
import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
book = nbformat.v4.new_notebook()
book.cells = [nbformat.v4.new_code_cell(text) for text in (
    "import oochub\\nreport = oochub.Report.load('report.json')",
    "report",
    "oochub.compare(report)",
)]
NotebookClient(book, kernel_name="python3", timeout=120).execute()
page, _ = HTMLExporter(theme="dark").from_notebook_node(book)
open("book.html", "w", encoding="utf-8").write(page)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("nbconvert", "ipykernel")),
    reason="nbconvert or ipykernel is not installed: `make test` installs both",
)
def test_a_real_kernel_shows_the_page(browser, tmp_path):
    """A notebook run by a kernel and made a page by nbconvert: the frame is there, dark, and as high as the page."""
    hostile().save(tmp_path / "report.json")
    done = subprocess.run([sys.executable, "-c", CELLS], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    browser.show(tmp_path / "book.html", width=1280)
    seen = look(browser)
    assert seen["ran"] == "undefined" and seen["content"] <= seen["height"] <= seen["content"] + 1
    assert sum(map(int, re.findall(r"\d+", seen["dark"])[:3])) < 200


def test_the_frame_escapes_whatever_page_it_gets():
    shown = ParsedPage(frame_page(EVIL, title=EVIL, tables=""))
    assert [attributes["srcdoc"] for tag, attributes in shown.tags if tag == "iframe"] == [EVIL]
    assert html.escape(EVIL) in frame_page("", title=EVIL, tables="")
