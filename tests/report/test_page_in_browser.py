"""The page in a real browser with a dead resolver: it renders, says nothing on the console and asks for nothing."""

import numpy as np
import pytest
import reports
from detection_reports import detection_report
from found_rows import found_report, seven_contexts
from probed_report import probed_report

from oochub.records.build_record import ContextCheck
from oochub.report import page

render_page = reports.reading(page.render_page)


def _long_names(report):
    long = "aNameWithoutAnyPlaceToBreakIt" * 8
    report["model"]["id"] = report["benchmark"]["config"] = long
    report["notes"] = [long]
    reports.set_matched_gap(report, (-0.05, -0.06, -0.04), column=long, share_out=0.9)
    for row in (report.get("groups") or {"rows": ()})["rows"]:
        row |= {"label": row["label"] + long, "context": row["context"] + long}
    for mistake in report["mistakes"]:
        mistake |= {"example_id": long, "label": long, "context": long, "attribution": f"https://{long}.org/x"}
    for part in report["slices"]:
        part["title"] = long
    for finding in (report.get("contexts") or {"contexts": ()})["contexts"]:
        finding |= {"name": long, "words": long}
        for each in (*finding["classes"], *finding["rows_usual"], *finding["rows_against"]):
            each |= {"label": each["label"] + long}
        for row in (*finding["rows_usual"], *finding["rows_against"]):
            row |= {"example_id": long, "predicted": long, "attribution": f"https://{long}.org/x"}
    for row in (*report.get("detection", ()), *report.get("probes", ())):
        row |= {"detector": row["detector"] + long, "id_set": long, "ood_set": long}
    return report


def _without_intervals(content):
    """The content of a report in which one cluster holds the rows of every number."""
    if isinstance(content, dict):
        content = {key: _without_intervals(each) for key, each in content.items()}
        if {"value", "low", "high"} <= content.keys():
            why = "one cluster only: nothing is known about differences between clusters"
            content |= {"low": None, "high": None, "reason": why}
        return content
    return [_without_intervals(each) for each in content] if isinstance(content, list) else content


_PAGES = {
    "nooch": reports.nooch_report,
    "spawrious": reports.spawrious_report,
    "detection": detection_report,
    "found": found_report,
}
_EVERYDAY = (("nooch", False), ("detection", True))


@pytest.mark.parametrize(
    ("factory", "long"),
    [
        pytest.param(
            factory,
            long,
            id=f"{'long-names' if long else 'plain'}-{name}",
            marks=() if (name, long) in _EVERYDAY else pytest.mark.slow,
        )
        for long in (False, True)
        for name, factory in _PAGES.items()
    ],
)
def test_page_renders_in_silence_and_fits(browser, tmp_path, factory, long):
    """Planted faults: `style="x"` on a cell makes the console speak; `.nw` on a name makes a phone scroll sideways."""
    browser.events.clear()
    path = tmp_path / "report.html"
    path.write_text(render_page(_long_names(factory()) if long else factory()), encoding="utf-8")
    for width, scheme in ((1280, "light"), (420, "dark"), (320, "light")):
        browser.show(path, width=width, scheme=scheme)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        ground = [255, 255, 255] if scheme == "light" else [17, 21, 26]
        assert (
            browser.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({', '.join(map(str, ground))})"
        )
    picture = browser.screenshot()
    assert picture.shape[0] > 1000
    assert 0.02 < np.mean(np.any(picture != [255, 255, 255], axis=2)) < 0.9
    if factory is found_report:  # without a pair of sides, the second color is in a chart alone, which phones hide
        browser.show(path, width=1280, scheme="light")
        picture = browser.screenshot()
    assert all(np.all(picture == color, axis=2).any() for color in ((15, 82, 150), (217, 95, 14)))
    assert browser.said() == []
    assert browser.requests() <= {"file", "data"}


def _every_section():
    """A report with all sections that a page can have."""
    report = {**detection_report(), **reports.spawrious_report()}
    report |= {key: detection_report()[key] for key in ("detection", "probes")}
    return report | {key: probed_report()[key] for key in ("contexts", "background")}


def test_a_reason_in_place_of_an_interval_is_wrapped_in_its_cell(browser, tmp_path):
    """Planted fault: without `white-space:normal` for such a reason, a cell of numbers keeps it on one line."""
    path = tmp_path / "report.html"
    path.write_text(render_page(_without_intervals(_every_section())), encoding="utf-8")
    for width in (1280, 420):
        browser.show(path, width=width, scheme="light")
        assert "one cluster only" in browser.evaluate("document.body.innerText")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        own = "[...document.querySelectorAll('.why')].map(each => each.scrollWidth - each.clientWidth)"
        assert max(browser.evaluate(own)) <= 0


_SEEN = """
Object.fromEntries(["tbody tr", ".strip", "details"].map(each =>
    [each, [...document.querySelectorAll("#contexts " + each)].filter(one => one.checkVisibility()).length]))
"""


@pytest.mark.slow
def test_found_contexts_fit_a_screen(browser, tmp_path):
    """Seven contexts, images of five, checks of each: 800 pixels high until a reader unfolds all; paper has all."""
    check = ContextCheck(wrong_with=1, checked_with=20, wrong_without=0, checked_without=20)
    report = seven_contexts(checks={"grass": check, "sand": check})
    path = tmp_path / "report.html"
    path.write_text(render_page(report), encoding="utf-8")
    browser.show(path, width=1280, scheme="light")
    height = "document.querySelector('#contexts').getBoundingClientRect().height"
    assert browser.evaluate(height) <= 800
    assert browser.evaluate(_SEEN) == {"tbody tr": 3, ".strip": 2, "details": 1}
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(_SEEN) == {"tbody tr": 7, ".strip": 5, "details": 0}
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.evaluate("document.querySelector('#contexts summary').click()")
    assert browser.evaluate(_SEEN) == {"tbody tr": 7, ".strip": 5, "details": 1}
    path.write_text(render_page(found_report()), encoding="utf-8")
    browser.show(path, width=1280, scheme="light")
    assert browser.evaluate(_SEEN) == {"tbody tr": 2, ".strip": 2, "details": 0}


@pytest.mark.slow
def test_head_labels_never_meet(browser, tmp_path):
    """Wherever the two marks stand, their labels overlap neither each other nor the edge of a narrow phone.

    Boxes hold the space above and below the letters, hence 5 px. Planted fault: no push apart at (0.75, 0.74).
    """
    pairs = [(0.52, 0.5), (0.5, 0.52), (0.999, 0.99), (0.99, 0.5), (0.75, 0.74), (0.6, 0.95), (0.8, 0.2), (0.97, 0.71)]
    script = """[...document.querySelectorAll(".hero svg text.big, .hero svg text[dx]")].map(text => {
        const box = text.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom]})"""
    for inside, out in pairs:
        gap = (out - inside, out - inside - 0.05, out - inside + 0.05)
        report = reports.set_gap(reports.nooch_report(), (inside, inside, inside), gap, (out, out, out))
        path = tmp_path / "head.html"
        path.write_text(render_page(report, images=False), encoding="utf-8")
        browser.show(path, width=320)
        boxes = browser.evaluate(script)
        assert len(boxes) == 4
        assert all(left >= 0 and right <= 320 for left, right, _, _ in boxes), (inside, out, boxes)
        for i, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[i + 1 :]:
                apart = right <= other[0] or other[1] <= left or bottom <= other[2] + 5 or other[3] <= top + 5
                assert apart, (inside, out, boxes)
