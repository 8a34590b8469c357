"""The report: no code of ours reads one by string keys; those of before open; the worst rows without images."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import reports
from parsed_page import ParsedPage

import oochub
from oochub.records.schema import from_json, to_json
from oochub.records.sides import Vocabulary
from oochub.report.report import Report

ROOT = Path(__file__).parents[2]
_KEYS = re.compile(r"""\[["'](value|metrics|benchmark|gap|slices)["']\]""")
_OF_A_REPORT = re.compile(
    r"""\b\w*report\w*(?:\[\d+\])?(?:\.data)?\[["'](benchmark|model|slices|metrics|groups|calibration|mistakes|provenance)["']\]"""
)
_USERS = re.compile(r"""`report\[["']gap["']\]""")  # in a docstring: what a user writes, an Estimate


def _places(pattern, text):
    return [match[0] for match in pattern.finditer(_USERS.sub("", text))]


def test_no_code_reads_a_report_by_string_keys():
    """Planted fault seen: `report["benchmark"]["chance"]` in the verdict."""
    assert _places(_KEYS, 'report["benchmark"]["chance"]') and _places(_OF_A_REPORT, 'reports[0].data["model"]')
    folders = ("src/oochub", "figures", "studies", "trainers", "docs", "speed", "loading_scripts")
    listing = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=False)
    files = [name for name in listing.stdout.split() if name.endswith(".py")]
    if not files:
        pytest.skip("not a git checkout")
    places = []
    for name in files:
        text = (ROOT / name).read_text("utf-8")
        places += [f"{name}: {place}" for place in _places(_OF_A_REPORT, text)]
        places += [f"{name}: {place}" for place in _places(_KEYS, text) if name.startswith("src/oochub/")]
    assert len(files) > 200 and not places, places


def test_a_report_of_before_gets_the_words_of_its_declaration(tmp_path):
    """A report that says its own words keeps them; data that the hub does not know stay neutral."""
    report = reports.read(reports.spawrious_report())
    bare = replace(report, benchmark=replace(report.benchmark, words=Vocabulary()))
    loaded = Report.load(bare.save(tmp_path / "before.json"))
    assert "words" not in to_json(bare)["benchmark"]
    assert loaded.benchmark.words == oochub.get("benchmark", "spawrious").words
    own = replace(report, benchmark=replace(report.benchmark, words=Vocabulary(cause="color")))
    assert Report.load(own.save(tmp_path / "own.json")).benchmark.words == Vocabulary(cause="color")
    custom = replace(bare, benchmark=replace(bare.benchmark, name="custom"))
    assert Report.load(custom.save(tmp_path / "custom.json")).benchmark.words == Vocabulary()


def test_numbers_have_their_names_beside_a_slice_without_a_title():
    """Seen: report["gap"] was "No number in this report named 'gap'. Did you mean 'gap'?"."""
    content = reports.nooch_report()
    titles = [part["title"] for part in content["slices"] if part["role"] == "in"]
    for part in content["slices"]:
        part["title"] = "" if part["role"] == "in" else part["title"]
    report, usual = from_json(Report, content, what="r.json"), reports.read(reports.nooch_report())
    assert titles and report["gap"] == usual["gap"] and report["auc"] == usual["auc"] and "gap" in report
    assert usual[f"{titles[0]}/auc"] == report["in/auc"]


def test_the_worst_rows_without_pictures_are_shown_as_text_or_numbers():
    """Planted fault seen: "at n/a%" beside an answer that has no probability."""
    report = reports.read(reports.nooch_report())
    words = replace(report.benchmark.words, example="text")
    without = {"image": None, "attribution": None, "context": "", "challenge": None}
    text = replace(report.mistakes[0], **without, text="the <b>worst</b>\nof all " + 500 * "x")
    number = replace(
        report.mistakes[1], **without, kind="far off", label="3.2", predicted="7.9", probability=float("nan")
    )
    shown = replace(report, mistakes=(text, number), benchmark=replace(report.benchmark, words=words))
    html = shown.to_html()
    page = ParsedPage(html)
    assert "<img" not in html and "Images are left out" not in page.words
    assert "the <b>worst</b> of all xxx" in page.words and "…" in page.words
    assert 0 < page.words.count("x" * 150) and "x" * 300 not in page.words
    assert "far off: 3.2" in page.words and "said 7.9" in page.words and "said 7.9 at" not in page.words
    assert f"at {100 * text.probability:.1f}%" in page.words


def test_own_data_are_called_by_the_title_of_their_author():
    """In every form. Planted faults seen: the name of their folder; authors left out of the page."""
    report = reports.read(reports.spawrious_report())
    named = {"name": "custom", "config": "shapes", "title": "Shapes of Ada", "authors": ("Ada Byron",)}
    own = replace(report, benchmark=replace(report.benchmark, **named))
    before = reports.rendered(report)
    for form, text in reports.rendered(own).items():
        place = "spawrious/" in before[form]
        assert ("Shapes of Ada" in text or not place) and "custom/shapes" not in text, form
    assert "Ada Byron" in own.to_html()
    untitled = replace(own, benchmark=replace(own.benchmark, title="shapes"))
    assert "custom/shapes" in untitled.to_html()
