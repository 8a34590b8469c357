"""The page as a file: its policy, its links, its limits, its words, what it does with hostile or missing input."""

import base64
import hashlib
import re
from urllib.parse import urlparse

import pytest
import reports
from detection_reports import detection_report
from parsed_page import ParsedPage

from oochub import OochubError
from oochub.report import page as pages
from oochub.report import verdict as verdicts

render_page, verdict = reports.reading(pages.render_page), reports.reading(verdicts.verdict)

FACTORIES = [reports.nooch_report, reports.spawrious_report, detection_report]
ATTACK = "</style><script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>\"' onload='x' {{ 7*7 }}"


@pytest.fixture(params=FACTORIES, ids=["nooch", "spawrious", "detection"])
def report(request):
    return request.param()


def test_policy_names_the_exact_bytes_of_the_only_style(report):
    """Planted fault: a space added after the style tag changes the hash."""
    html = render_page(report)
    styles = re.findall(r"<style>(.*?)</style>", html, re.S)
    assert len(styles) == 1
    digest = base64.b64encode(hashlib.sha256(styles[0].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#39;", "'")
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert html.index("Content-Security-Policy") < html.index("<style>")
    assert len(styles[0]) <= 14_000


def test_nothing_loads_or_runs(report):
    """Planted fault: a style attribute on any mark, or an img with an https source, is found."""
    html = render_page(report)
    page = ParsedPage(html)
    assert not page.unbalanced
    assert not page.open
    names = {name for _, attrs in page.tags for name in attrs}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "object", "embed", "base", "form"}
    assert "javascript:" not in html
    assert all(source.startswith("data:image/jpeg;base64,") for source in page.attributes("src"))
    links = [attrs for tag, attrs in page.tags if tag == "a" and not attrs["href"].startswith("#")]
    allowed = {"www.flickr.com", "example.org"}
    assert all(urlparse(a["href"]).scheme == "https" and urlparse(a["href"]).hostname in allowed for a in links)
    assert all(a["rel"] == "noopener noreferrer" for a in links)
    outside = re.sub(r'href="https://[^"]*"', "", html)
    assert set(re.findall(r"https?://[^/\s<]*", outside)) <= {"https://example.org"}  # the link's own text


def test_structure(report):
    page = ParsedPage(render_page(report))
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert all(link[1:] in ids for link in page.attributes("href") if link.startswith("#"))
    assert page.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert dict(page.tags)["html"] == {"lang": "en"}
    tables = [tag for tag, _ in page.tags if tag in ("table", "caption")]
    assert tables.count("table") == tables.count("caption")
    assert all("scope" in attrs for tag, attrs in page.tags if tag == "th")
    assert all("alt" in attrs for tag, attrs in page.tags if tag == "img")
    pictures = [attrs for tag, attrs in page.tags if tag == "svg" and ("width" in attrs or "viewbox" in attrs)]
    assert all(
        attrs.get("aria-hidden") == "true" or attrs.get("role") == "img" for attrs in pictures if "x" not in attrs
    )


def test_head_says_verdict_numbers_and_notes(report):
    report["notes"] = ["not the official NOOCH split", "partial: 76 of 123287 images"]
    page = ParsedPage(render_page(report))
    answer, words = verdict(report), page.words
    head = words[: words.index("Size of the gap")]
    assert answer.headline in head
    assert answer.lead in head
    assert "not the official NOOCH split; partial: 76 of 123\u202f287 images" in head
    assert "partial: 76 of 123\u202f287 images" in words[words.index("How this was made") :]
    metric = report["benchmark"]["primary_metric"]
    for part in report["slices"]:
        if part["role"] in ("in", "out"):
            estimate = part["metrics"][metric]
            assert f"{100 * estimate['value']:.1f}" in head
            assert f"{100 * estimate['low']:.1f} to {100 * estimate['high']:.1f}" in head
    assert f"−{-100 * report['gap']['value']:.1f}" in head
    assert all(fact.answer in words for fact in answer.facts)


def test_head_says_the_matched_gap_beside_the_raw_one(report):
    """A row of the head's table and a sentence; without it the page is as before."""
    assert "at equal" not in render_page(report)
    words = ParsedPage(render_page(reports.set_matched_gap(report, (-0.071, -0.082, -0.061), share_out=0.9))).words
    head = words[: words.index("Size of the gap")]
    size = "object size" if report["benchmark"]["object"] else "area"
    assert f"gap, pointsat equal {size}−7.1−8.2 to −6.1" in head.replace("\n", "")
    assert f"−7.1 remain at equal {size} (95% interval −8.2 to −6.1). It covers the 90.0% of" in head
    undefined = reports.set_matched_gap(report, (None, None, None), reason="no rows of like values")
    words = ParsedPage(render_page(undefined)).words
    assert f"At equal {size}, the gap could not be measured: no rows of like values." in words


def test_every_number_of_the_slices_and_groups_is_printed_beside_its_interval(report):
    words = ParsedPage(render_page(report)).words
    estimates = [(e, report["metrics"][m]["unit"]) for p in report["slices"] for m, e in p["metrics"].items()]
    estimates += [(row["error_rate"], "fraction") for row in report["groups"]["rows"]]
    for estimate, unit in estimates:
        if estimate["value"] is not None:
            shown = [
                f"{100 * estimate[k]:.1f}" if unit == "fraction" else f"{estimate[k]:.3f}" for k in ("low", "high")
            ]
            assert " to ".join(shown) in words
    assert all(f"at {100 * mistake['probability']:.1f}%" in words for mistake in report["mistakes"])


def test_undefined_is_n_a_with_its_reason():
    report = reports.nooch_report()
    hard = next(part for part in report["slices"] if part["role"] == "hard_positive")
    hard["metrics"]["ece"] |= {"value": float("nan"), "low": float("nan"), "high": None, "reason": "only two answers"}
    words = ParsedPage(render_page(report)).words
    assert "n/aone class only" in words
    assert "n/aonly two answers" in words
    assert not re.search(r"\b(nan|inf|None)\b", words)


@pytest.mark.parametrize("missing", ["groups", "calibration", "mistakes"])
def test_a_section_without_data_is_left_out_with_its_link(report, missing):
    ids = {"groups": "groups", "calibration": "confidence", "mistakes": "mistakes"}
    full = render_page(report)
    report[missing] = None if missing != "mistakes" else []
    html = render_page(report)
    assert f'id="{ids[missing]}"' in full
    assert f'href="#{ids[missing]}"' in full
    assert f'"{ids[missing]}"' not in html
    assert f'"#{ids[missing]}"' not in html


def test_without_slices_of_either_side_the_page_still_says_so():
    report = reports.set_gap(reports.nooch_report(), (None,) * 3, (None,) * 3, (None,) * 3)
    report["slices"] = [part for part in report["slices"] if part["role"] == "all"]
    report["gap"] |= {"reason": "no hard examples", "n_out_smallest": 0}
    words = ParsedPage(render_page(report)).words
    assert "There are too few out-of-context examples to tell." in words
    assert "no hard examples" in words


def test_reliability_draws_bins_of_20_answers_and_more():
    """Planted fault: drawing every bin adds a mark, `> 20` drops one."""
    report = reports.nooch_report()
    for n, bin_ in zip((19, 20, 0), report["calibration"]["in"]["bins"], strict=False):
        bin_["n"] = n
    diagram = render_page(report).partition('class="plot"')[2].partition("share of answers")[0]
    many = [sum(b["n"] >= 20 for b in report["calibration"][side]["bins"]) for side in ("in", "out")]
    assert [diagram.count(f'class="{name}"><') for name in ("inn", "out")] == many
    for side in ("in", "out"):
        for bin_ in report["calibration"][side]["bins"]:
            bin_["n"] = 19
    assert "No confidence bin holds 20 answers, so no curve is drawn." in render_page(report)


def test_mistakes_in_context_are_said_to_be():
    report = reports.nooch_report()
    assert "Wrong answers out of context with the highest loss" in render_page(report)
    report["mistakes"][-1]["role"] = "in"
    html = render_page(report)
    assert "those out of context come first" in html
    assert html.partition('id="mistakes"')[2].count("in context</span>") == 1


def _attacked(report):
    report["model"] |= {"id": ATTACK, "mode": ATTACK, "revision": ATTACK}
    report["benchmark"] |= {"config": ATTACK, "homepage": f"javascript:alert(1)//{ATTACK}", "citation": ATTACK}
    report["benchmark"]["licenses"] = [{"what": ATTACK, "license": ATTACK}]
    report["benchmark"]["words"] = dict.fromkeys(report["benchmark"]["words"], ATTACK)
    for side in ("in_context", "out_of_context"):
        report["benchmark"][side] |= {"name": ATTACK, "split": ATTACK}
    if report["benchmark"]["object"]:
        report["benchmark"] |= {"object": ATTACK, "contexts": [ATTACK]}
    report["notes"] = [ATTACK]
    reports.set_matched_gap(report, (None, None, None), column=ATTACK, reason=ATTACK)
    for metric in report["metrics"].values():
        metric["title"] = ATTACK
    for part in report["slices"]:
        part |= {"title": ATTACK, "split": ATTACK}
        for estimate in part["metrics"].values():
            estimate |= {"value": None, "low": None, "high": None, "reason": ATTACK}
    for row in report["groups"]["rows"]:
        row |= {"group": f"{ATTACK}/{row['group']}", "label": ATTACK, "context": f"{row['context']}{ATTACK}"}
    for worst in report["worst_group"].values():
        worst["group"] = f"{ATTACK}/{worst['group']}"
    for mistake in report["mistakes"]:
        for key in ("example_id", "split", "label", "predicted", "context", "group", "attribution"):
            mistake[key] = ATTACK
    for row in (*report.get("detection", ()), *report.get("probes", ())):
        row |= {"detector": ATTACK + row["detector"], "id_set": ATTACK, "ood_set": ATTACK}
    for row in report.get("detection", ()):
        for estimate in row["metrics"].values():
            estimate |= {"value": None, "low": None, "high": None, "reason": ATTACK}
    origin = report["provenance"]
    origin |= {"oochub": ATTACK, "python": ATTACK, "packages": {ATTACK: ATTACK}, "command": ATTACK}
    origin["predictions"] |= {"file": ATTACK, "sha256": ATTACK, "fingerprint": ATTACK}
    origin["training"] |= {"objective": ATTACK, "selection": ATTACK, "hyperparameters": {ATTACK: ATTACK}}
    origin["when"]["created"] = origin["where"]["platform"] = ATTACK
    return report


def test_hostile_names_come_out_as_text(report):
    """Planted fault: `|safe` on any name lets its script tag in."""
    page = ParsedPage(render_page(_attacked(report)))
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "iframe", "object"})
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on") or name == "style"]
    assert all(source.startswith("data:image/jpeg;base64,") for source in page.attributes("src"))
    assert all(link.startswith("#") for link in page.attributes("href"))
    assert page.words.count("<script>alert(1)</script>") > 20
    assert "{{ 7*7 }}" in page.words
    assert not page.unbalanced


def test_long_names_are_cut_and_control_characters_shown(report):
    report["model"]["id"] = "a" * 100 + "b" * 100
    report["notes"] = ["left\u202eright\x1b[31m\x00\ud800 end"]
    words = ParsedPage(render_page(report)).words
    assert "a" * 60 + "…" + "b" * 59 in words
    assert "a" * 61 not in words
    assert "left\ufffdright\ufffd[31m\ufffd\ufffd end" in words


def test_sizes(report):
    assert len(render_page(report, images=False).encode()) < 120_000
    assert len(render_page(report).encode()) < 600_000


def test_pages_beyond_the_limit_are_refused():
    report = reports.nooch_report()
    report["slices"] += [report["slices"][0] | {"name": str(i), "role": "split"} for i in range(400)]
    with pytest.raises(OochubError, match=r"at most 300 kB without and 600 kB with images .* 405 slices"):
        render_page(report)


def test_pictures_beyond_the_budget_are_left_out_and_said():
    """240 kB in all: two images of 90 kB fit, a third does not, a small one after it does."""
    report = reports.nooch_report()
    small = base64.b64decode(report["mistakes"][3]["image"])
    large = base64.b64encode(small + bytes(90_000)).decode()
    for mistake in report["mistakes"][:3]:
        mistake["image"] = large
    html = render_page(report)
    assert html.count(large) == 2
    assert html.count("image left out: the page is full") == 1
    assert html.count("<img") == 11
    bare = render_page(report, images=False)
    assert "<img" not in bare
    assert "Images are left out." in bare
    assert report["mistakes"][0]["example_id"] in bare


@pytest.mark.parametrize("image", ["not base64!", base64.b64encode(b"<svg onload=x>").decode(), "/9j/ü"])
def test_a_picture_that_is_no_jpeg_is_refused(image):
    report = reports.nooch_report()
    report["mistakes"][0]["image"] = image
    with pytest.raises(OochubError, match=r"must be a base64 JPEG, but is not.*without images"):
        render_page(report)


def test_hollow_marks_only_where_the_question_is_open():
    cases = {(-0.139, -0.147, -0.131): False, (-0.021, -0.044, 0.002): True, (0.05, 0.03, 0.07): False}
    for gap, hollow in cases.items():
        report = reports.set_gap(reports.nooch_report(), (0.95, 0.94, 0.96), gap, (0.95 + gap[0], 0.8, 0.99))
        head = render_page(report).partition('class="hero"')[2].partition("</svg>\n")[0]
        assert ("hollow" in head) == hollow


def test_a_model_of_which_only_the_id_is_known(report):
    """Predictions that someone wrote with another tool; seen before it was mended: KeyError."""
    bare = {**report, "model": {k: v for k, v in report["model"].items() if k not in ("mode", "revision")}}
    assert "<b>" in render_page(bare) and "(head) on" in render_page(report) and "(head) on" not in render_page(bare)
