"""Where the errors go, in words: each sentence once, said only where the interval carries it, in every form."""

import math
import re
from dataclasses import replace

import pytest
import reports
from parsed_page import ParsedPage

from oochub.records.finding_records import ONE_PLACE
from oochub.report.report import Report
from oochub.sections.where_errors_go import _list_confusion_rows, _write_finding
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import wilson


@pytest.fixture
def report():
    return reports.read(reports.spawrious_report())


def told(report, hits, n, *, even=1 / 3, of_answers=0.35, **more):
    """The report with such a share."""
    share = more.pop("share", None) or wilson(hits, n)
    errors = replace(report.errors, share=share, chance=even, chance_of_answers=of_answers, **({"n_errors": n} | more))
    return replace(report, errors=errors)


@pytest.mark.parametrize(
    ("hits", "n", "of_answers", "headline"),
    [
        (80, 100, 0.35, "Errors go to a class that has the same background in training more often than by chance."),
        (80, 100, 0.75, "It is not clear whether errors follow the background."),  # its answers explain it
        (40, 100, 0.35, "It is not clear whether errors follow the background."),
        (5, 100, 0.35, "Errors go to a class that has the same background in training less often than by chance."),
        (5, 100, 0.05, "It is not clear whether errors follow the background."),
        (3, 3, 0.35, "Errors go to a class that has the same background in training more often than by chance."),
        (2, 3, 0.35, "It is not clear whether errors follow the background."),
    ],
)
def test_more_or_fewer_is_said_where_the_interval_leaves_both_chances(report, hits, n, of_answers, headline):
    """Planted faults seen: the value compared, not its interval; the first chance alone."""
    assert _write_finding(told(report, hits, n, of_answers=of_answers)).headline == headline


def test_the_numbers_are_in_the_sentence(report):
    finding = _write_finding(told(report, 80, 100, n_errors=120))
    assert finding.rest == (
        "80 of 100 errors do: 80.0% (95% interval 71.1 to 86.7). By chance it would be 33.3% (spread evenly over "
        "the other classes) or 35.0% (as often as each is answered). 20 more errors are left out: their "
        "background belongs to no other class, or to every other class."
    )
    without = told(report, 80, 100, share=Estimate(0.8, n=100, method="bootstrap", reason="one cluster only"))
    assert "It is not clear whether errors follow the background. 80 of 100 go to" in _write_finding(without).text
    assert "80.0% (no interval: one cluster only)" in _write_finding(without).rest
    usual = replace(report, errors=replace(report.errors, source="usual"))
    assert "a class whose usual background it is" in _write_finding(usual).text


def test_the_matrix_on_the_page_is_the_confusion_of_each_context(report):
    """Planted fault seen: rows divided by all rows of the context, where it holds two classes."""
    classes, rows = _list_confusion_rows(report)
    assert classes == list(reports.BREEDS) and len(rows) == 4
    for row in rows:
        breed = classes[row.label]
        here = next(each for each in report.errors.contexts if each.context == reports.UNSEEN[breed])
        assert row.title == f"{breed} on {here.context}" and row.n == 200 and sum(row.shares) == pytest.approx(1)
        assert [name for name, is_own in zip(classes, row.is_trained, strict=True) if is_own] == list(here.classes)
        for cell in here.confusion:
            assert row.shares[classes.index(cell.predicted)] == cell.n / 200
    html = report.to_html()
    section = ParsedPage(html[html.index('<section id="errors">') : html.index('<section id="confidence">')]).words
    assert all(f"{100 * share:.1f}" in section for row in rows for share in row.shares)
    first, second = report.errors.contexts[:2]
    both = replace(first, n=400, confusion=first.confusion + second.confusion)
    shared = replace(report, errors=replace(report.errors, contexts=(both,)))
    assert [(row.n, sum(row.shares)) for row in _list_confusion_rows(shared)[1]] == [(200, pytest.approx(1))] * 2


@pytest.mark.parametrize("n_errors, reason", [(5, ONE_PLACE), (0, "no errors")])
def test_a_section_that_has_nothing_to_say_is_left_out(report, n_errors, reason):
    share = Estimate(math.nan, n=0, method="none", reason=reason)
    nothing = told(report, 0, 0, share=share, even=math.nan, of_answers=math.nan, n_errors=n_errors)
    assert _write_finding(nothing) is None
    for form, text in reports.rendered(nothing).items():
        assert "Where the errors go" not in text and (form == "frame" or reason not in text), form


def test_what_is_undefined_is_said_once_and_old_reports_say_nothing(report, tmp_path):
    share = Estimate(math.nan, n=0, method="none", reason="no error in a context of some of the other classes")
    undefined = told(report, 0, 0, share=share, even=math.nan, of_answers=math.nan, n_errors=5)
    sentence = "It cannot be determined where the errors go: no error in a context of some of the other classes."
    forms = reports.rendered(undefined)
    forms["page"] = ParsedPage(forms["page"]).words
    assert all(sentence in " ".join(forms[name].split()) for name in ("terminal", "markdown", "page"))
    assert "Errors to it" not in forms["terminal"] + forms["markdown"]
    assert not any(re.search(r"\bnan\b", forms[name]) for name in ("terminal", "markdown", "page"))
    content = reports.spawrious_report()
    del content["errors"]
    before = reports.read(content)
    assert before.errors is None and _write_finding(before) is None
    assert not any("Where the errors go" in form for form in reports.rendered(before).values())
    assert Report.load(report.save(tmp_path / "r.json")).errors == report.errors


def test_many_classes_draw_no_matrix_and_the_page_stays_small(report):
    """300 contexts of 80 classes: the first 20 are listed, the rest is counted."""
    one = report.errors.contexts[0]
    contexts = tuple(replace(one, context=f"place {k}") for k in range(300))
    page = replace(report, errors=replace(report.errors, contexts=contexts)).to_html()
    assert "place 19" in page and "place 20" not in page and "280 more are in report.json" in page
    assert 'class="heat"' not in page[page.index('<section id="errors">') : page.index('<section id="confidence">')]
