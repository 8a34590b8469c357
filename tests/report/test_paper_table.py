"""The compact LaTeX tables: numbers by hand, bold by the spread, label, caption and notes; names stay names."""

import re
import shutil
import statistics
import subprocess
from dataclasses import replace

import numpy as np
import pytest
import reports
from found_rows import found_report
from import_graph import ROOT

import oochub
from oochub.comparison.comparison import comparison
from oochub.errors import OochubError
from oochub.report.paper_table import PaperCell, PaperTable
from oochub.report.verdict import verdict

HOSTILE = (
    r"[2cm]50%_{x}\input{y} & $z$ #~^ <|> é ö ß",
    "中文 \ufffd ε",
    "*",
    r"\\[1em]",
    "}\\end{table}",
    "a\nb\r\x00",
)
VALUES = {"erm": (0.70, 0.72, 0.74), "group_dro": (0.80, 0.81, 0.82), "cvar": (0.77, 0.80, 0.83)}
INSIDE = {"erm": (0.90, 0.91, 0.92), "group_dro": (0.85, 0.86, 0.87), "cvar": (0.70, 0.71, 0.72)}


def made_report(method, seed, inside, outside, task="ce_car", **model):
    content = reports.nooch_report()
    content["benchmark"]["config"] = task
    content["model"] |= {"objective": method, "seeds": [seed], **model}
    for part in content["slices"]:
        part["name"] = {"in": "in_context", "out": "out_of_context"}.get(part["role"], part["name"])
        value = {"in": inside, "out": outside}.get(part["role"])
        if value is not None:
            part["metrics"]["auc"] |= {"value": value, "low": value - 0.02, "high": value + 0.02}
    gap = outside - inside
    content["gap"] |= {"value": gap, "low": gap - 0.03, "high": gap + 0.03}
    return reports.read(content)


def many_reports(tasks=("ce_car",), methods=tuple(VALUES), seeds=3):
    return [
        made_report(method, seed, INSIDE[method][seed], VALUES[method][seed], task)
        for task in tasks
        for method in methods
        for seed in range(seeds)
    ]


def grid(latex):
    """The cells of the rows of the body, as a reader sees them."""
    body = latex.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    lines = [line.removesuffix(" \\\\") for line in body.splitlines() if line.endswith("\\\\")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)&", line)] for line in lines]


def plain(cell):
    return cell.replace(r"{\scriptsize ", "").replace("$-$", "-").replace(r"$\pm$", "±").rstrip("}")


def check_form(latex, *, columns):
    """One environment, its cells as many as its columns, its braces in pairs, label, caption of two sentences."""
    kind = re.search(r"\\begin\{(table\*?)\}\[t\]", latex)[1]
    for environment in (kind, "tabular"):
        assert latex.count(rf"\begin{{{environment}}}") == latex.count(rf"\end{{{environment}}}") == 1
    assert [latex.count(rule) for rule in (r"\toprule", r"\bottomrule")] == [1, 1]
    assert re.search(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}", latex)[1] == columns
    assert {len(row) for row in grid(latex)} == {len(columns)}
    bare = re.sub(r"\\[{}]", "", latex)
    assert bare.count("{") == bare.count("}")
    assert re.search(r"\\label\{tab:[a-z0-9-]+\}", latex)
    caption = re.search(r"\\caption\{(.*)\}", latex)[1]
    assert len(re.findall(r"\.(?= [A-Z$]|$)", caption)) == 2, caption


def test_a_report_is_one_row_with_its_intervals():
    latex = made_report("erm", 0, 0.90, 0.70).to_latex()
    check_form(latex, columns="lrrr")
    assert latex == made_report("erm", 0, 0.90, 0.70).to_latex(style="compact")
    ((name, *cells),) = grid(latex)
    assert name == "runs/x"
    assert [plain(cell) for cell in cells] == ["90.0 [88.0, 92.0]", "70.0 [68.0, 72.0]", "-20.0 [-23.0, -17.0]"]
    assert "n = 1\\,972 in context and 412 out of context." in latex  # the caveats are notes below the table
    assert "Not the official NOOCH split. Partial: 2384 of 123\\,287 images." in latex.partition("bottomrule")[2]
    assert "\\label{tab:report-nooch-ce-car-auc}" in latex and "\\textbf" not in latex


def test_a_report_without_sides_has_its_slices_and_its_verdict():
    report = reports.read(found_report())
    latex = report.to_latex()
    check_form(latex, columns="lr")
    assert verdict(report).headline.rstrip(".") in latex.replace("\\", "").partition("bottomrule")[2]


def test_methods_are_rows_and_bold_goes_by_the_spread():
    """By hand: out of context group_dro 81 ± 1 and cvar 80 ± 3 overlap, erm 72 ± 2 does not; in context erm is alone.

    A gap is never bold: cvar's is the smallest, and it is the worst in context.
    """
    result = comparison(many_reports())
    latex = result.to_latex()
    check_form(latex, columns="lrrr")
    rows = {name: cells for name, *cells in grid(latex)}
    assert list(rows) == ["erm", "group\\_dro", "cvar"]
    for method, cells in rows.items():
        name = method.replace("\\", "")
        gaps = [o - i for i, o in zip(INSIDE[name], VALUES[name], strict=True)]
        for cell, of in zip(cells[:2], (INSIDE[name], VALUES[name]), strict=True):
            expected = f"{100 * statistics.fmean(of):.1f} ± {100 * statistics.stdev(of):.1f}"
            assert plain(cell.replace("\\textbf{", "", 1).replace("}", "", 1 if "\\textbf" in cell else 0)) == expected
        assert plain(cells[2]).lstrip("+") == f"{100 * statistics.fmean(gaps):.1f} ± {100 * statistics.stdev(gaps):.1f}"
    bold = {(name, k) for name, cells in rows.items() for k, cell in enumerate(cells) if "\\textbf" in cell}
    assert bold == {("erm", 0), ("group\\_dro", 1), ("cvar", 1)}
    assert "Methods are compared unpaired" in latex.partition("bottomrule")[2]


def test_the_standard_deviation_of_a_gap_is_that_of_the_seeds_gaps():
    """Sides that move together have gaps that do not: 20 points for every seed. Fault: the sum of both spreads."""
    given = [made_report("erm", seed, 0.9 + 0.01 * seed, 0.7 + 0.01 * seed) for seed in range(3)]
    ((_, *cells),) = grid(comparison(given).to_latex())
    assert [plain(cell) for cell in cells] == ["91.0 ± 1.0", "71.0 ± 1.0", "-20.0 ± 0.0"]


def test_a_single_seed_has_its_interval_and_another_metric_no_interval_of_its_gap():
    given = many_reports(seeds=1, methods=("erm",))
    ((_, *cells),) = grid(comparison(given).to_latex())
    assert [plain(cell) for cell in cells] == ["90.0 [88.0, 92.0]", "70.0 [68.0, 72.0]", "-20.0 [-23.0, -17.0]"]
    ((_, inside, outside, gap),) = grid(comparison(given, metric="accuracy").to_latex())
    one, other = (given[0][f"{side}/accuracy"] for side in ("in_context", "out_of_context"))
    assert plain(gap) == f"{100 * (other - one):.1f}" and "[" in inside and "[" in outside


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_few_tasks_have_rows_and_many_their_average(count):
    tasks = [f"ce_{k}" for k in range(count)]
    latex = comparison(many_reports(tasks)).to_latex()
    check_form(latex, columns="llrrr" if 1 < count <= 4 else "lrrr")
    assert len(grid(latex)) == (3 if count in (1, 5) else 3 * (count + 1))
    assert ("mean over 5 tasks" in latex) == (count == 5)


def test_a_method_without_every_task_keeps_the_tasks_rows():
    given = many_reports([f"ce_{k}" for k in range(5)])
    latex = comparison(given[:-3]).to_latex()
    assert len(grid(latex)) == 5 * 3 - 1 + 2 and "mean over" not in latex


def test_slices_that_were_asked_for_are_the_columns():
    latex = comparison(many_reports(), slice=["hard", "all"]).to_latex()
    check_form(latex, columns="lrr")
    assert "the gap is" not in latex
    latex = comparison(many_reports(), metric="auc_hard").to_latex()  # it picks its own rows
    check_form(latex, columns="lr")


def test_other_rows_in_context_leave_that_side_out():
    """They are no error, since the rows out of context are the same. Planted fault seen: the comparison refused."""
    one, other = many_reports(seeds=1, methods=("erm", "cvar"))
    sides = tuple(replace(part, n=part.n + 1) if part.role == "in" else part for part in other.slices)
    result = comparison([one, replace(other, slices=sides)])
    check_form(result.to_latex(), columns="lr")
    assert "Out of" in result.to_latex()


def test_reported_numbers_are_rows_below_the_measured_ones():
    rows = grid(comparison(many_reports(), table="9").to_latex())
    assert [name for name, *_ in rows[:3]] == ["erm", "group\\_dro", "cvar"]
    theirs = {name: cells for name, *cells in rows[3:]}
    assert all("(reported)" in name for name in theirs)
    inside, outside, gap = theirs["group\\_dro (reported)"]
    assert (inside, plain(outside), gap) == ("--", "89.1 ± 0.6", "--")


def paired(better=1.5, hard=True):
    rng = np.random.default_rng(0)
    label = np.arange(600) % 2
    challenge = np.where(np.arange(600) % 3 == 0, "hard", "easy")

    def model(inside, outside):
        size = np.where(challenge == "easy", inside, outside)[:, None]
        logits = np.eye(2)[label] * size + rng.normal(size=(600, 2))
        columns = {"challenge": challenge} if hard else {}
        return oochub.Predictions.from_arrays(logits=logits, label=label, **columns)

    return oochub.compare(model(3, 0.5), model(3.2, better))


def test_two_models_are_rows_and_bold_goes_by_the_paired_test():
    result = paired()
    latex = result.to_latex()
    check_form(latex, columns="lrrr")
    a, b, change = grid(latex)
    clear = [result.slice(name).numbers[result.main_metric].is_clear for name in ("easy", "hard")]
    assert clear == [False, True]
    assert ["\\textbf" in cell for cell in a[1:]] == [True, False, False]
    assert ["\\textbf" in cell for cell in b[1:]] == [True, True, False]
    number = result.slice("hard").numbers[result.main_metric]
    low, high = (f"{100 * end:+.1f}" for end in (number.difference.low, number.difference.high))
    assert plain(change[2]) == f"{100 * number.difference:+.1f} [{low}, {high}]"
    check_form(paired(hard=False).to_latex(), columns="lr")
    assert paired().to_latex("full").count(r"\begin{table}") >= 1


def test_every_form_refuses_another_style():
    for made in (made_report("erm", 0, 0.9, 0.7), comparison(many_reports()), paired()):
        with pytest.raises(OochubError, match="No style of LaTeX tables named"):
            made.to_latex(style="wide")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_a_name(name):
    """In each place of a table, and in the reports that make one; no command of it is left."""
    row = (name, PaperCell("81.1", "± 0.5", True), PaperCell("n/a"))
    table = PaperTable(caption=f"{name}. B.", label=(name,), heads=("Model", name, "b"), rows=(row,), notes=(name,))
    texts = [table.to_latex(), made_report(name, 0, 0.9, 0.7, id=name).to_latex()]
    texts.append(comparison([made_report(each, 0, 0.9, 0.7) for each in (name, "erm")]).to_latex())
    for latex in texts:
        assert not re.search(r"(?<!\\)\\input", latex.replace("\\textbackslash{}", "")), latex
        assert latex.count(r"\end{table") == latex.count(r"\begin{table") == 1
        bare = re.sub(r"\\[{}]", "", latex)
        assert bare.count("{") == bare.count("}")
        assert not any(line.startswith(("[", "*")) for line in latex.splitlines())
        assert not re.search("[\x00-\x08\x0b-\x1f]", latex)


def compile_latex(folder, *tables, columns="twocolumn"):
    """The log of pdflatex, which stops at the first error."""
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        pytest.skip("pdflatex is not installed (Debian: texlive-latex-recommended)")
    lines = [rf"\documentclass[{columns}]{{article}}", r"\usepackage{booktabs}", r"\begin{document}", *tables]
    (folder / "paper.tex").write_text("\n".join([*lines, "Text.", r"\end{document}", ""]), "utf-8")
    command = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    made = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    log = made.stdout.decode("utf-8", "replace")
    assert made.returncode == 0, log[-2000:]
    return log


PAPERS = sorted((ROOT / "docs" / "latex").glob("*.tex"))


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.stem)
def test_the_papers_of_the_docs_compile(paper, tmp_path):
    """Without an error, a box that is too wide, or a reference that leads nowhere."""
    text = paper.read_text("utf-8")
    tables = text.partition("\\begin{document}")[2].partition("\\end{document}")[0]
    for _ in range(2):
        log = compile_latex(tmp_path, tables)
    assert "Overfull" not in log and "undefined" not in log
    assert set(re.findall(r"\\ref\{(.*?)\}", text)) == set(re.findall(r"\\label\{(.*?)\}", text)) != set()
    assert len(PAPERS) == 3


def test_a_compact_table_is_no_wider_than_its_column(tmp_path):
    given = [
        made_report("erm", 0, 0.9, 0.7).to_latex(),
        comparison(many_reports()).to_latex(),
        comparison(many_reports(["ce_car", "ce_bowl"])).to_latex(),
        comparison(many_reports(seeds=1)).to_latex(),
        paired().to_latex(),
    ]
    assert "Overfull" not in compile_latex(tmp_path, *given)
