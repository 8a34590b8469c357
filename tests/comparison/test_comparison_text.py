"""Tables of text in the shapes of papers: slices side by side, tasks or methods as rows, in every form alike."""

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
import reports
from parsed_page import ParsedPage
from test_comparison import report, shown

import oochub
from oochub.comparison.comparison import comparison
from oochub.stats.estimate import Estimate

TASKS = ("o2o_easy", "o2o_medium", "o2o_hard", "m2m_easy", "m2m_medium", "m2m_hard")
METHODS = ("erm", "group_dro", "mmd")
SIDES = ("in_context", "out_of_context")


@pytest.fixture(scope="module")
def values():
    """Accuracy by (slice, task, method), one a seed."""
    rng = np.random.default_rng(0)
    return {(s, t, m): rng.uniform(0.3, 0.9, 3) for s in SIDES for t in TASKS for m in METHODS}


@pytest.fixture(scope="module")
def given(values):
    base = report(metric="accuracy", factory=reports.spawrious_report)
    names = {"in": "in_context", "out": "out_of_context"}

    def side(part, task, method, seed):
        if part.role not in names:
            return part
        number, value = part.metrics["accuracy"], values[names[part.role], task, method][seed]
        estimate = Estimate(value, low=value - 0.02, high=value + 0.02, n=number.n, method=number.method)
        return replace(part, metrics={**part.metrics, "accuracy": estimate})

    def of(task, method, seed):
        return replace(
            base,
            benchmark=replace(base.benchmark, config=task),
            model=replace(base.model, objective=method, seeds=(seed,)),
            slices=tuple(side(part, task, method, seed) for part in base.slices),
        )

    return [of(task, method, seed) for task in sorted(TASKS) for method in METHODS for seed in range(3)]


def cell(of_seeds):
    return f"{100 * np.mean(of_seeds):.1f} ({100 * np.std(of_seeds, ddof=1):.1f})"


def grid(markdown):
    """The table of a Markdown text as lists of cells, without bold and escapes."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    cells = [[re.sub(r"[*\\]", "", cell).strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [cells[0], *cells[2:]]


def test_methods_by_six_challenges_and_their_average(given, values):
    """The shape of Spawrious' Table 3: a row a method, mean and sd over seeds, the average last; by numpy alone.

    The files of a sweep come by name, "m2m_easy" first. Planted faults seen: another cell bold, the files' order.
    """
    result = comparison(given, rows="methods")
    head, *body = grid(result.to_markdown())
    assert head == ["Method", *TASKS, "Average"]
    for method, row in zip(METHODS, body, strict=True):
        of = [values["out_of_context", task, method] for task in TASKS]
        assert row == [method, *map(cell, of), cell(np.mean(of, axis=0))]
    best = {task: max(METHODS, key=lambda m, t=task: values["out_of_context", t, m].mean()) for task in TASKS}
    bold = [line for line in result.to_markdown().splitlines() if line.startswith("| ")][2:]
    for k, task in enumerate(TASKS, 2):
        line = bold[METHODS.index(best[task])]
        assert line.split("|")[k].strip().startswith("**")
    assert "the best in the column" in result.to_markdown()
    assert comparison(given).to_csv() == result.to_csv()


def test_slices_stand_side_by_side_in_every_form(given, values):
    """In distribution beside out of it, a column each. Planted fault seen: the first slice's numbers in both."""
    result = comparison(given, slice=SIDES)
    assert [(table.metric, table.slice) for table in result.tables] == [("accuracy", side) for side in SIDES]
    head, *body = grid(result.to_markdown())
    assert head == ["Task", *(f"{m} {words}" for m in METHODS for words in ("in context", "out of context"))]
    for task, row in zip(TASKS, body[:6], strict=True):
        assert row == [task, *(cell(values[side, task, m]) for m in METHODS for side in SIDES)]
    page = ParsedPage(result.to_html()).words
    latex, terminal = result.to_latex("full"), shown(result, 160)
    for of_seeds in values.values():
        assert all(cell(of_seeds) in text for text in (page, latex, terminal))
    assert "in context (" in terminal and ") and out of context (" in " ".join(terminal.split())
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert len(rows) == 2 * 7 * 3 and {row["slice"] for row in rows} == set(SIDES)
    heads, *lines = grid(comparison(given, slice=SIDES, rows="methods").to_markdown())
    assert heads[1:3] == ["o2o_easy in context", "o2o_easy out of context"]
    assert lines[0][1:3] == [cell(values[side, "o2o_easy", "erm"]) for side in SIDES]


def test_one_slice_by_another_of_its_names_is_one_column(given):
    one, twice = (comparison(given, slice=slices) for slices in ("out_of_context", ["out_of_context"] * 2))
    assert twice.to_markdown() == one.to_markdown() == comparison(given).to_markdown()


def test_the_papers_numbers_stand_where_it_has_them(given):
    """None is printed in distribution; out of it Table 4 has three methods, below the measured ones. Both are said."""
    result = comparison(given, slice=SIDES, rows="methods", table="4")
    head, *body = grid(result.to_markdown())
    assert [row[0] for row in body] == [*METHODS, *(f"{method} (reported)" for method in METHODS)]
    theirs = dict(zip(head, body[3], strict=True))
    assert theirs["o2o_easy out of context"] == "45.8 (1.3)" and theirs["o2o_easy in context"] == ""
    assert theirs["Average out of context"] == "42.0"
    assert "Table 4 of Lynch" in result.to_markdown() and "report no such" not in result.to_markdown()
    assert result.to_latex("full").count(r"\midrule") == 2
    head, *_ = grid(comparison(given, slice=SIDES, table="4").to_markdown())
    assert head[-3:] == [f"{method} (reported) out of context" for method in METHODS]
    latex = comparison(given, slice=SIDES, table="4").to_latex("full")
    assert r"\multicolumn{6}{c}{measured} & \multicolumn{3}{c}{reported}" in latex and "(reported)" not in latex
    assert (
        "Task & erm & erm & group\\_dro & group\\_dro & mmd & mmd & erm & group\\_dro & mmd \\\\\n & in context"
        in latex
    )
    assert "A reported average is computed from the cells" in result.to_markdown()
    assert "report no such numbers" in comparison(given, slice="in_context", table="4").to_markdown()


def test_rows_are_tasks_or_methods(given):
    with pytest.raises(oochub.OochubError, match=r"No kind of rows named 'method'\. Did you mean 'methods'"):
        comparison(given, rows="method")
