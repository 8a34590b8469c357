"""What limits a number, the `reason` of its Estimate, stands beside it in every form of a report.

Every number of a report gets an interval and a reason of its own. Wherever a form prints that interval, its reason
must follow: in the same brackets, or by a mark whose line stands below.
"""

import copy
import html
import io
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import reports
from detection_reports import detection_report
from found_rows import found_report
from probed_report import probed_report
from rich.console import Console

import oochub
import oochub.evaluation.evaluate as evaluation
from oochub.comparison import compare as comparing
from oochub.records.schema import to_json
from oochub.records.table import MARKS, PLAIN
from oochub.report.footnotes import Footnotes
from oochub.stats.estimate import Estimate

FIELDS = {"value", "low", "high", "n", "method", "reason"}
ENDS = re.compile(r"[+\u2212]?\d+\.\d+ to [+\u2212]?\d+\.\d+")


def checked_report():
    """A report with found contexts that people checked."""
    report = found_report()
    for each in report["contexts"]["contexts"]:
        check = {"checked_with": 50, "wrong_with": 5, "checked_without": 50, "wrong_without": 5}
        bounds = {"value": -0.2, "low": -0.4, "high": -0.1, "n": 300, "method": "m", "reason": None}
        each |= {"check": check, "bounds": bounds, "shrinkage": dict(bounds), "worst_case": dict(bounds)}
    return report


MAKERS = {
    "sides": reports.nooch_report,
    "groups and errors": reports.spawrious_report,
    "detectors": detection_report,
    "backgrounds": probed_report,
    "contexts checked by people": checked_report,
}


def estimates_of(content):
    """Every Estimate of a report's content, in order."""
    if isinstance(content, dict):
        if content.keys() >= FIELDS:
            yield content
        else:
            for value in content.values():
                yield from estimates_of(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from estimates_of(value)


def word(number):
    """A word of its own for each number, without a digit."""
    return "limit " + "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")


def planted(content):
    """The content with an interval and a reason of its own for each number, and by interval the reasons."""
    content = copy.deepcopy(content)
    wanted: dict[str, set[str]] = {}
    for number, each in enumerate(estimates_of(content)):
        low, high = 0.1 + number / 1000 % 0.4, 0.6 + number // 400 / 1000
        each |= {"value": 0.55, "low": low, "high": high, "reason": word(number)}
        for text in (f"{100 * low:.1f} to {100 * high:.1f}", f"{low:.3f} to {high:.3f}"):
            wanted.setdefault(text, set()).add(word(number))
    return content, wanted


def forms(report):
    """Each form as plain text; a mark of LaTeX is the character that it stands for."""
    stream = io.StringIO()
    Console(file=stream, width=10_000).print(report.to_terminal())
    latex = report.to_latex("full")
    for mark, letter in zip(MARKS, PLAIN, strict=True):
        latex = latex.replace(rf"\textsuperscript{{{letter}}}", mark)
    return {
        "terminal": stream.getvalue(),
        "markdown": report.to_markdown().replace("&lt;", "<").replace("\\", ""),
        "latex": latex.replace("$-$", "\u2212"),
        "page": read_aloud(re.sub(r"<(style|svg).*?</\1>", "", report.to_html(), flags=re.S)),
        "notebook": read_aloud(report._repr_html_()),
    }


def read_aloud(page):
    """The text of HTML, a line a fragment."""
    return html.unescape(re.sub("<[^>]*>", "\n", page))


def missing(text, wanted):
    """The planted intervals of a text whose reason does not follow, and those whose reason does."""
    left_out, found = [], set()
    for match in ENDS.finditer(text):
        bare = re.sub("[+\u2212]", "", match[0])
        if bare not in wanted:
            continue
        behind = text[match.end() :]
        marks = re.match(f"[{MARKS}]+", behind)
        lines = [re.search(f"(?m)(?<![\\w.]){marks[0]} (limit [a-j]+)\\.", behind)] if marks else []
        inside = re.match(r"[^()]*?; (limit [a-j]+)", behind) or re.match(r" \((limit [a-j]+)\)", behind)
        said = {line[1] for line in [*lines, inside] if line}
        if said & wanted[bare]:
            found.add(bare)
        else:
            left_out.append(f"{match[0]}{behind[:60]!r} says {said or 'nothing'}, not {wanted[bare]}")
    return left_out, found


@pytest.mark.parametrize("name", MAKERS)
def test_wherever_an_interval_is_printed_its_reason_follows(name):
    """Planted faults seen: `mark` gives "", the page's `said` prints nothing, a terminal's table has no footnotes."""
    content, wanted = planted(MAKERS[name]())
    seen = {}
    for form, text in forms(reports.read(content)).items():
        left_out, found = missing(text, wanted)
        assert not left_out, f"{form}: {left_out[:5]}"
        seen[form] = len(found)
    least = {"terminal": 10, "markdown": 10, "latex": 4, "page": 10, "notebook": 5}
    assert all(seen[form] >= least[form] for form in least), seen


@pytest.mark.parametrize("name", MAKERS)
def test_a_number_without_an_interval_says_why(name):
    """Every reason that one form of tables shows, all that show the table do."""
    content = copy.deepcopy(MAKERS[name]())
    for number, each in enumerate(estimates_of(content)):
        each |= {"low": None, "high": None, "reason": word(number)}
    report = reports.read(content)
    texts = forms(report)
    shown = {(part["split"], part["n"], part.get("examples") or part["name"]): part for part in content["slices"]}
    for part in shown.values():
        for metric, each in part["metrics"].items():
            where = [form for form, text in texts.items() if each["reason"] in text]
            assert {"page", "latex", "notebook", "markdown"} <= set(where), (part["name"], metric, where)
    if content["gap"]["n_out"]:
        assert all(content["gap"]["reason"] in texts[form] for form in ("page", "terminal", "markdown"))


@pytest.mark.parametrize("name", MAKERS)
def test_the_numbers_at_full_precision_have_their_reason(name):
    content, _ = planted(MAKERS[name]())
    report = reports.read(content)
    frame = report.to_pandas()
    assert len(frame) and frame["reason"].str.startswith("limit").all()
    assert to_json(report) == to_json(reports.read(to_json(report)))
    stored, given = (sorted(each["reason"] for each in estimates_of(of)) for of in (to_json(report), content))
    assert stored == given


def few(*, clusters, n=40, seed=0):
    """Predictions of few rows, in clusters where `clusters` is given."""
    rng = np.random.default_rng(seed)
    label, side = np.arange(n) % 3, np.random.default_rng(0).random(n) < 0.5
    return oochub.Predictions.from_arrays(
        logits=rng.normal(size=(n, 3)) + 2 * np.eye(3)[label],
        label=label,
        class_names=["a", "b", "c"],
        challenge=np.where(side, "easy", "hard"),
        group=[f"{'abc'[k]}/{'xy'[j % 2]}" for j, k in enumerate(label)],
        user=[f"u{k % max(clusters, 1)}" for k in range(n)],
    )


def in_clusters(find_declaration, part):
    return replace(find_declaration(part), cluster="user")


def declared_in_clusters(monkeypatch):
    """Own data are declared to have the clusters of the column `user`."""
    for module in (evaluation, comparing):
        monkeypatch.setattr(module, "find_declaration", partial(in_clusters, module.find_declaration))


def check_said(text, reasons, form):
    """Each reason stands in the text in its words, or in words with the range of their numbers."""
    for reason in {part for each in reasons for part in each.split("; ")}:
        pattern = re.sub(r"\\?\d+", r"\\d+( to \\d+)?", re.escape(reason).replace("\\ ", " "))
        assert re.search(pattern, text), (form, reason)


@pytest.mark.parametrize("clusters", [0, 5])
def test_few_rows_and_few_clusters_are_said_in_every_form(monkeypatch, clusters):
    """Of a report as it comes."""
    if clusters:
        declared_in_clusters(monkeypatch)
    report = oochub.evaluate(few(clusters=clusters), resamples=100)
    reasons = {each.reason for part in report.slices for each in part.metrics.values() if each.reason}
    assert reasons, "the rows are too many to be limited"
    for form, text in forms(report).items():
        check_said(text, reasons, form)
    assert (report.gap.estimate.reason or "") in repr(report)


@pytest.mark.parametrize("clusters", [0, 5])
def test_a_comparison_of_few_rows_says_so_in_every_form(monkeypatch, clusters):
    if clusters:
        declared_in_clusters(monkeypatch)
    report = comparing._compare_predictions(few(clusters=clusters), few(clusters=clusters, seed=1), resamples=100)
    shown = [number for part in report.slices for number in part.numbers.values()]
    reasons = {each.reason for number in shown for each in (number.first, number.second, number.difference)} - {None}
    assert reasons, "the rows are too many to be limited"
    texts = {"markdown": report.to_markdown(), "latex": report.to_latex("full"), "page": read_aloud(report.to_html())}
    for form, text in texts.items():
        check_said(text.replace("\\", ""), reasons, form)
    frame = report.to_pandas()
    said = {reason for name in ("reason", "first_reason", "second_reason") for reason in frame[name].dropna()}
    assert reasons <= said


def test_reasons_that_differ_in_a_number_share_a_mark():
    notes = Footnotes()
    for n in (7, 12, 9):
        notes.mark(Estimate(0.5, low=0, high=1, n=n, method="", reason=f"only {n} rows; 3 of 8 groups have no value"))
    assert notes.lines == ("\u1d43 only 7 to 12 rows.", "\u1d47 3 of 8 groups have no value.")
