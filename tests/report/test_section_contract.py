"""Contract of the sections: every form shows each of them, or names it as left out; a new one is one file."""

import csv
import html
import io
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import every_page
import numpy as np
import reports
from chosen_reports import chosen_report
from detection_reports import detection_report
from few_reports import few_report
from found_rows import found_report
from own_worlds import HARDER, own_report
from probed_report import probed_report
from rich.console import Console
from spectrum_sets import near_and_far_report

import oochub
from oochub.report.report_record import ReportRecord
from oochub.section import Section, measure_sections, sections

MAKERS = {
    "nooch": lambda: reports.read(reports.nooch_report()),
    "spawrious": lambda: reports.read(reports.spawrious_report()),
    "detection": lambda: reports.read(detection_report()),
    "found contexts": lambda: reports.read(found_report()),
    "backgrounds": lambda: reports.read(probed_report()),
    "few labels": lambda: reports.read(few_report()),
    "near and far": lambda: reports.read(near_and_far_report()),
    "chosen rows": lambda: _chosen(unseen=False),
    "tested rule": lambda: _chosen(unseen=True),
    "pictures": lambda: oochub.evaluate(_pictures(), resamples=100),
    "own contexts": lambda: own_report(HARDER, metrics=("accuracy", "worst_group")),
    "boxes": lambda: oochub.evaluate(every_page.boxes_predictions(), resamples=100),
}
FORMS = ("terminal", "markdown", "latex", "notebook", "page", "frame")
LATEX = {
    "$-$": "\u2212",
    "$<$": "<",
    "$>$": ">",
    r"\,": "\u202f",
    r"$\uparrow$": "↑",
    r"$\downarrow$": "↓",
    r"$\times$": "×",
    "--": "–",
}


def _chosen(*, unseen):
    with tempfile.TemporaryDirectory() as folder:
        return chosen_report(Path(folder), unseen=unseen)


def _pictures():
    label = np.arange(60) % 3
    return oochub.Predictions.from_arrays(
        logits=np.eye(3)[(np.arange(60) * 7 // 5) % 3],
        label=label,
        challenge=np.where(np.arange(60) % 2, "hard", "easy"),
        thumbnail=[every_page._picture(seed) for seed in range(60)],
    )


def forms_of(report):
    """The report in each form, as a reader sees its text."""
    stream = io.StringIO()
    Console(file=stream, width=10_000).print(report.to_terminal())
    latex = report.to_latex("full")
    for written, read in LATEX.items():
        latex = latex.replace(written, read)
    frame = report.to_pandas()
    left_out = f"Not shown here: {', '.join(frame.attrs['left_out'])}."
    return {
        "terminal": stream.getvalue(),
        "markdown": html.unescape(report.to_markdown()).replace("\\", ""),
        "latex": latex.replace("\\", ""),
        "notebook": read_aloud(report._repr_html_()),
        "page": read_aloud(report.to_html()),
        "frame": frame[["slice", "metric"]].to_csv(index=False, quoting=csv.QUOTE_NONE, escapechar="\\") + left_out,
    }


def read_aloud(page):
    """The text of HTML."""
    return html.unescape(re.sub("<[^>]*>", "", page))


def marks_of(section, report, form):
    """What must stand in a form that shows the section: its sentences and the cells of its tables, or its numbers."""
    if form == "frame":
        return [bare(f"{number.slice},{number.metric}") for number in section.numbers(report)]
    marks = []
    for passage in section.passages(report):
        rows = passage.table.rows if passage.table else ()
        if form == "page":  # its tables have other words and columns, and 20 groups at most
            marks += [*passage.said, *(cell for cell in rows[0][1:] if re.match(r"[\d.]+\n", cell))] if rows else []
        else:
            marks += [passage.title, *passage.said, *passage.below, *(cell for row in rows for cell in row)]
        marks += [text for step in passage.steps for text in step]
    marks += [section.title] if form == "page" and not section.is_beside_verdict else []
    return [bare(mark.partition("\n")[0]) for mark in marks if mark]


def bare(text):
    """The text without white space."""
    return "".join(text.split())


def is_left_out(section, text):
    """Whether the line of what is left out names the section."""
    named = re.search(r"Notshownhere:([^.(]*)", text)
    return named is not None and bare(section.title).lower() in named[1].lower()


def silent(report, seen=None):
    """The sections that a form neither shows nor names; those that it shows are counted in `seen`."""
    found = []
    for form, text in forms_of(report).items():
        text = bare(text)
        for section in (each for each in sections() if each.has(report)):
            marks = marks_of(section, report, form)
            is_shown = bool(marks) and all(mark in text for mark in marks)
            if not is_shown and not is_left_out(section, text):
                found.append((form, section.name, [mark for mark in marks if mark not in text][:3]))
            if seen is not None and is_shown:
                seen[form, section.name] += 1
    return found


def test_each_form_shows_each_section_or_names_it():
    """A form that drops a section is seen: that was planted."""
    seen, having = Counter(), set()
    for name, make in MAKERS.items():
        report = make()
        assert not silent(report, seen), name
        having |= {section.name for section in sections() if section.has(report)}
    assert having == set(oochub.names("section")), "a section is in none of these reports"
    shown = {form: {name for of, name in seen if of == form} for form in FORMS}
    pictures = {"worst_mistakes"}
    assert shown["page"] == having
    assert all(shown[form] == having - pictures for form in ("markdown", "notebook"))
    assert all(shown[form] == having - pictures - {"what_next"} for form in ("latex", "frame")), "no paper, no numbers"
    assert shown["terminal"] >= having - pictures - {"every_slice"}


SECTION = '''"""How bright the images are that the model gets wrong."""

from dataclasses import dataclass

from oochub.records.table import Table
from oochub.section import ChartRow, NamedNumber, Passage, Section
from oochub.stats.estimate import Estimate


@dataclass(frozen=True)
class _Brightness:
    wrong: Estimate
    right: Estimate


class Brightness(Section):
    """Shows its own record."""

    title, anchor, place, record = "Brightness", "brightness", 75, _Brightness

    def measure(self, evaluation):
        n = int(evaluation.sides["in"].sum())
        ends = [dict(low=value - 0.1, high=value + 0.1, n=n, method="t") for value in (0.2, 0.6)]
        return _Brightness(Estimate(0.2, **ends[0]), Estimate(0.6, **ends[1]))

    def passages(self, report):
        found = self.found(report)
        if found:
            said = "Images that it gets wrong are darker." if found.wrong.high < found.right.low else ""
            rows = (("wrong", f"{100 * found.wrong:.1f}"), ("right", f"{100 * found.right:.1f}"))
            yield Passage(title="Light & <dark>", sentences=(said,), table=Table(heads=("Rows", "Mean %"), rows=rows))

    def numbers(self, report):
        found = self.found(report)
        if found:
            yield NamedNumber("brightness wrong", "mean", found.wrong, "brightness/wrong")

    def chart(self, report):
        found = self.found(report)
        return [ChartRow("wrong", found.wrong, None, 9), ChartRow("right", found.right, None, 9)] if found else []
'''
SESSION = """
import io
import numpy as np
import oochub
from rich.console import Console
made = oochub.Predictions.from_arrays(logits=np.eye(2)[[0, 1] * 20], label=[0, 0] * 20, challenge=["easy"] * 40)
report = oochub.evaluate(made, resamples=100)
again = oochub.Report.load(report.save("report.json"))
assert repr(again["brightness/wrong"]) == repr(report["brightness/wrong"]) == "0.200 [0.100, 0.300] n=40"
stream = io.StringIO()
Console(file=stream, width=200).print(again.to_terminal())
texts = [stream.getvalue(), again.to_markdown(), again.to_latex("full"), again._repr_html_(), again.to_html()]
assert all("Images that it gets wrong are darker." in text for text in texts), texts
assert all("20.0" in text and "60.0" in text for text in texts)
page = texts[-1]
assert '<a href="#brightness">Brightness</a>' in page
assert '<section id="brightness"><h2>Light &amp; &lt;dark&gt;' in page
assert page.count('class="bar b-plain"') == 2
assert page.index('id="confidence"') < page.index('id="brightness"') < page.index('id="reproduce"')
assert "brightness wrong" in set(again.to_pandas()["slice"])
print("shown", oochub.catalog.summary("section", "brightness"))
"""


def test_each_field_of_a_report_is_measured_by_one_section():
    """What is no section's says what was evaluated. Fault planted: `errors` also a field of the groups."""
    owned = [name for section in sections() for name in section.fields]
    of_all = {"schema_version", "benchmark", "model", "notes", "findings", "provenance"}
    assert sorted([*owned, *of_all]) == sorted(each.name for each in fields(ReportRecord))
    assert not [section.name for section in sections() if section.fields and section.record]


def test_a_section_measures_the_predictions_alone_if_it_names_them(monkeypatch):
    """Sections of packages from before there was an Evaluation. Fault planted: the Evaluation handed to all."""

    class Count(Section):
        def measure(self, predictions):
            return len(predictions)

    class Fields(Section):
        fields = ("notes",)

        def measure(self, evaluation):
            return {"notes": (str(evaluation.predictions),)}

    monkeypatch.setattr("oochub.section.sections", lambda: (Count(), Fields(), Section()))
    measured = measure_sections(SimpleNamespace(predictions=[1, 2]))
    assert measured == {"notes": ("[1, 2]",), "findings": {"test_section_contract": 2}}


def test_a_new_finding_is_one_file(tmp_path):
    """A package with one file and its entry point: measured, stored, read again and shown in every form."""
    (tmp_path / "brightness.py").write_text(SECTION)
    info = tmp_path / "brightness-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brightness\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[oochub.section]\nbrightness = brightness\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{SESSION}"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout == "shown How bright the images are that the model gets wrong.\n"
