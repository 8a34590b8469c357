"""The tables of a report: the same numbers and words in the terminal, Markdown, LaTeX and a data frame."""

import io
import math
import re

import numpy as np
import pytest
import reports
from detection_reports import made
from rich.console import Console

import oochub
from oochub.records.document import Block, Document, NextStep
from oochub.records.report_records import Fact
from oochub.records.schema import to_json
from oochub.records.table import Table
from oochub.report import verdict as verdicts
from oochub.report.report import Report

terminal, to_frame = reports.reading(Report.to_terminal), reports.reading(Report.to_pandas)
to_markdown = reports.reading(Report.to_markdown)
to_latex = reports.reading(lambda report: report.to_latex("full"))
verdict = reports.reading(verdicts.verdict)

FACTORIES = [reports.nooch_report, reports.spawrious_report]


@pytest.fixture(params=FACTORIES, ids=["nooch", "spawrious"])
def report(request):
    return request.param()


def printed(report, width=100):
    stream = io.StringIO()
    Console(file=stream, width=width).print(terminal(report))
    return stream.getvalue()


def sides(report):
    metric = report["benchmark"]["primary_metric"]
    return [part["metrics"][metric] for part in report["slices"] if part["role"] in ("in", "out")]


def test_first_line_is_the_verdict(report):
    sentence = verdict(report).sentence
    assert printed(report).splitlines()[0].rstrip() == sentence
    rest = verdict(report).rest
    assert to_markdown(report).splitlines()[0] == f"**{verdict(report).headline}** {rest}".rstrip()


def test_both_sides_stand_beside_each_other_with_interval_gap_and_n(report):
    inside, outside = sides(report)
    low, high = (f"−{-100 * report['gap'][key]:.1f}" for key in ("low", "high"))
    values = [f"{100 * inside['value']:.1f}", f"{100 * outside['value']:.1f}", f"−{-100 * report['gap']['value']:.1f}"]
    bounds = [*(f"{100 * e['low']:.1f} to {100 * e['high']:.1f}" for e in (inside, outside)), f"{low} to {high}"]
    lines = printed(report).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Metric"))
    assert re.split(r"\s{2,}", lines[start].strip()) == ["Metric", "In context", "Out of context", "Gap, points"]
    assert re.split(r"\s{2,}", lines[start + 1].strip())[1:] == values
    assert re.split(r"\s{2,}", lines[start + 2].strip()) == bounds
    row = to_markdown(report).partition("| ---: |\n")[2].splitlines()[0]
    assert [cell.strip() for cell in row.split("|")[2:-1]] == [
        f"{v} ({b})" for v, b in zip(values, bounds, strict=True)
    ]
    assert f"{report['gap']['n_in']:,}".replace(",", "\u202f") in printed(report)


def test_matched_gap_is_one_sentence_after_the_verdict(report):
    """Its own words where the gap shrinks, where it does not, where it is undefined and where rows lack a match."""
    gap = 100 * report["gap"]["value"]
    size = "object size" if report["benchmark"]["object"] else "area"
    shrinks, grows = f"The gap is −{-gap:.1f} points, of which", f"The gap of −{-gap:.1f} points becomes"
    cases = [
        ((-0.05, -0.06, -0.04), {}, f"{shrinks} −5.0 remain at equal {size} (95% interval −6.0 to −4.0)."),
        ((0.05, None, None), {"reason": "few rows", "column": "light_of_sky"},
         f"{grows} +5.0 at equal light of sky (no interval: few rows)."),
        ((-0.9, -0.95, -0.8), {"share_out": 0.934}, f"{grows} −90.0 at equal {size} (95% interval −95.0 to −80.0). It "
         "covers the 93.4% of the out-of-context examples that have a counterpart in context."),
        ((None, None, None), {"reason": "no rows"}, f"At equal {size}, the gap could not be measured: no rows."),
    ]  # fmt: skip
    for numbers, more, sentence in cases:
        matched = reports.set_matched_gap(report, numbers, **more)
        for text in (
            printed(matched, width=300),
            to_markdown(matched),
            to_latex(matched).replace("$-$", "−").replace(r"\%", "%"),
        ):
            assert text.count(sentence) == 1
        row = to_frame(matched).set_index("slice").loc[f"gap matched on {matched['matched_gap']['column']}"]
        assert row["value"] == numbers[0] or math.isnan(row["value"])
    assert "equal" not in to_markdown(report | {"matched_gap": None})


def test_fits_a_terminal_of_80_columns(report):
    assert max(len(line) for line in printed(report, width=80).splitlines()) <= 80
    assert "…" not in printed(report, width=80)


def test_chance_directions_groups_and_notes_are_there(report):
    report["notes"] = ["partial: 76 of 123287 images"]
    for text in (printed(report), to_markdown(report)):
        assert "chance" in text
        assert "↑" in text
        assert "↓" in text
        assert "partial: 76 of 123\u202f287 images" in text
        assert all(f"{100 * row['error_rate']['value']:.1f}" in text for row in report["groups"]["rows"])
    assert "\nNote: partial: 76 of 123\u202f287 images\n\nNext steps\n" in printed(report)


def test_columns_keep_their_decimals(report):
    """Values of a Markdown column all have one decimal, NLL three. Planted fault: `:g` for `:.1f`."""
    table = to_markdown(report).partition("| Slice |")[2].partition("\n\n")[0].splitlines()
    heads = ["Slice", *(cell.strip() for cell in table[0].split("|")[:-1])]
    for i, head in enumerate(heads):
        cells = [line.split("|")[i + 1].strip().partition("<br>")[0] for line in table[2:]]
        decimals = {len(cell.partition(".")[2]) for cell in cells if re.fullmatch(r"[\d.]+", cell)}
        if head not in ("Slice", "n"):
            assert decimals == {3 if "NLL" in head else 1}, head


def test_names_cannot_break_a_table():
    report = reports.nooch_report()
    report["benchmark"]["object"] = "a|b<i>_*`[x](https://evil.example)\n[bold red]"
    markdown = to_markdown(report)
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in markdown.splitlines() if line.startswith("|")}
    assert widths == {4, 5, 6, 9}  # three, four, five and eight columns
    assert "<i>" not in markdown
    assert "](https" not in markdown.replace("\\]", "")
    assert "[bold red]" in printed(report)
    latex = to_latex(reports.nooch_report() | {"model": {**report["model"], "id": r"50%_{x}\input{y} & $z$ #~^"}})
    assert r"50\%\_\{x\}\textbackslash{}input\{y\} \& \$z\$ \#\textasciitilde{}\textasciicircum{}" in latex


def test_latex_is_balanced_booktabs_tables(report):
    """The slices first, with the verdict; then the sides, the groups, and what the sections find."""
    text = to_latex(report)
    *tables, last = re.split(r"(?<=\\end\{table\}\n)\n?", text)
    assert len(tables) >= 4 and re.fullmatch(r"(% Not shown here: [^\n]*\n)?", last), last
    for latex in tables:
        assert [latex.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
        columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", latex)[1]
        body = latex.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(columns)}
        bare = re.sub(r"\\[{}]", "", latex)
        assert bare.count("{") == bare.count("}")
        assert not re.search("[↑↓×−–\u202f]", latex)
        for environment in ("table", "tabular"):
            assert latex.count(rf"\begin{{{environment}}}") == latex.count(rf"\end{{{environment}}}") == 1
    assert verdict(report).headline in tables[0]


def test_frame_holds_every_number_at_full_precision(report):
    frame = to_frame(report)
    assert list(frame.columns) == ["slice", "metric", "value", "low", "high", "n", "method", "reason"]
    assert not frame.duplicated(["slice", "metric"]).any()
    cells = frame.set_index(["slice", "metric"])
    for part in report["slices"]:
        for metric, estimate in part["metrics"].items():
            row = cells.loc[part["name"], metric]
            for key in ("value", "low", "high"):
                expected = math.nan if estimate[key] is None else estimate[key]
                assert row[key] == expected or (math.isnan(row[key]) and math.isnan(expected))
            assert row["n"] == estimate["n"]
    assert cells.loc["gap", report["gap"]["metric"]]["low"] == report["gap"]["low"]
    first = report["groups"]["rows"][0]
    assert cells.loc[f"group {first['split']}:{first['group']}", "nll"]["value"] == first["nll"]["value"]
    total = sum(len(part["metrics"]) for part in report["slices"]) + 1 + 3 * len(report["groups"]["rows"])
    if "errors" in report:
        total += 1 + len(report["errors"]["contexts"])
    total += 2 * len(report["calibration"] or {})
    assert len(frame) == total
    assert frame["value"].dtype == np.float64


def test_a_report_without_sides_shows_its_slices_in_a_terminal():
    """Also where the confidence has a table. Planted fault seen: that table taken for the one of both sides."""
    sets = [made("imagenet_1k", 60), made("imagenet_ood", 40, ood=True)]
    text = printed(to_json(oochub.evaluate(sets, detectors=["msp"], resamples=100)))
    assert "All examples" in text.split("Confidence")[0] and "mean confidence" in text
    assert "slices" not in text.rpartition("Not shown here")[2]


@pytest.mark.parametrize("form", ["to_terminal", "to_markdown", "to_latex", "to_notebook"])
def test_no_text_of_a_document_redraws_what_is_around_it(form):
    """Controls and bidi signs become U+FFFD wherever a text stands. Planted fault seen: texts that are not cleaned."""
    bad = "a\u202eb\x1b[2Jc\x00"
    table = Table(title=bad, heads=("Head", bad), rows=((bad, f"1\n{bad}"),), footnotes=(bad,), sentences=(bad,))
    block = Block(title=bad, sentences=(bad,), table=table, steps=(NextStep(bad, bad),), below=(bad,), name=bad)
    facts = (Fact(bad, bad, bad), Fact(bad, bad, bad))
    document = Document(
        headline=bad, rest=bad, sentences=(bad,), facts=facts, blocks=(block,), caveats=(bad,), notes=(bad,)
    )
    shown = getattr(document, form)()
    if form == "to_terminal":
        stream = io.StringIO()
        Console(file=stream, width=300, color_system=None).print(shown)
        shown = stream.getvalue()
    assert "\ufffd" in shown and not set(shown) & {"\u202e", "\x1b", "\x00"}
