"""The LaTeX table of a sweep: its selected settings, mean and spread over seeds by hand, the rule and failures."""

import re

import pandas as pd
import pytest

from oochub.errors import OochubError
from oochub.sweep.runs import RunResult, plan_stages
from oochub.sweep.sweep_recipe import read_recipe
from oochub.sweep.sweep_table import SweepSummary, make_run_table

RECIPE = """
about = "A sweep whose runs are a formula."
tasks = {tasks}
model = "none"
seeds = [0, 1, 2]
select = "{rule}"
[methods.ERM_1]
objective = "erm"
grid = {{ learning_rate = [0.1, 0.2] }}
[methods.GDRO]
objective = "group_dro"
"""
OUTSIDE = {"ERM_1": (0.50, 0.52, 0.54), "GDRO": (0.60, 0.70, 0.80)}
INSIDE = {"ERM_1": (0.90, 0.92, 0.94), "GDRO": (0.80, 0.81, 0.82)}


def made_sweep(folder, tasks=("spawrious/o2o_easy",), rule="validation_loss", *, fails=(), lacks=()):
    """The recipe and the table of its runs: the rate 0.2 is better, and 10 points lower out of context."""
    file = folder / "dogs.toml"
    file.write_text(RECIPE.format(tasks=list(map(str, tasks)), rule=rule).replace("'", '"'))
    recipe = read_recipe(file)
    results = []
    for stage in plan_stages(recipe):
        for run in stage(pd.DataFrame()) if callable(stage) else stage:
            if run.method in fails:
                results.append((run, RunResult.failure("boom")))
                continue
            is_better = run.arguments.get("learning_rate", 0.2) == 0.2
            numbers = {"validation/nll": 0.1 if is_better else 0.5}
            for side, values in (("in_context", INSIDE), ("out_of_context", OUTSIDE)):
                if side not in lacks:
                    value = values[run.method][run.seed] - (0 if is_better else 0.3)
                    numbers |= {f"{side}/accuracy": value, f"{side}/accuracy.low": value - 0.1}
                    numbers[f"{side}/accuracy.high"] = value + 0.1
            results.append((run, RunResult(headline="accuracy", numbers=numbers)))
    return make_run_table(recipe, results), recipe


def write_latex(table, recipe, *style):
    return SweepSummary(recipe=recipe, runs=table, track="fine-tuning").to_latex(*style)


def rows_of(latex):
    body = latex.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    return [line.removesuffix(" \\\\").split(" & ") for line in body.splitlines() if line.endswith("\\\\")]


def plain(cell):
    return (
        re.sub(r"\\textbf\{([^}]*)\}", r"\1", cell)
        .replace(r"{\scriptsize $\pm$ ", "± ")
        .replace("$-$", "-")
        .rstrip("}")
    )


def test_methods_are_rows_of_the_selected_setting(tmp_path):
    """By hand: ERM 92 ± 2 in, 52 ± 2 out, each seed's gap −40; GDRO 81 ± 1, 70 ± 10, gaps −20, −11 and −2."""
    latex = write_latex(*made_sweep(tmp_path))
    assert [[row[0], *map(plain, row[1:])] for row in rows_of(latex)] == [
        ["ERM\\_1", "92.0 ± 2.0", "52.0 ± 2.0", "-40.0 ± 0.0"],
        ["GDRO", "81.0 ± 1.0", "70.0 ± 10.0", "-11.0 ± 9.0"],
    ]
    assert ["\\textbf" in cell for cell in rows_of(latex)[0]] == [False, True, False, False]
    assert "Method & In context & context & Gap \\\\" in latex  # the head "Out of context" is broken
    assert "\\label{tab:sweep-dogs-accuracy}" in latex and "on spawrious/o2o\\_easy." in latex
    assert (
        "Settings are selected by validation\\_loss: the lowest mean cross entropy" in latex.partition("bottomrule")[2]
    )


def test_tasks_have_rows_and_what_failed_is_a_note(tmp_path):
    table, recipe = made_sweep(tmp_path, ("spawrious/o2o_easy", "spawrious/o2o_hard"), "oracle", fails=["GDRO"])
    latex = write_latex(table, recipe)
    assert [row[:2] for row in rows_of(latex)] == [
        ["spawrious/o2o\\_easy", "ERM\\_1"],
        ["spawrious/o2o\\_hard", "ERM\\_1"],
        ["Average", "ERM\\_1"],
    ]
    notes = latex.partition("bottomrule")[2]
    assert "Oracle: selected on the test split." in notes and "Runs that failed: 6." in notes
    assert "Nothing was selected for GDRO on spawrious/o2o\\_hard" in notes


def test_a_side_without_numbers_is_no_column(tmp_path):
    latex = write_latex(*made_sweep(tmp_path, lacks=["in_context"]))
    assert {len(row) for row in rows_of(latex)} == {2} and "Gap" not in latex


def test_the_full_table_has_the_settings(tmp_path):
    table, recipe = made_sweep(tmp_path)
    latex = write_latex(table, recipe, "full")
    assert "learning\\_rate=0.2 & accuracy & 92.0 (2.0) & 52.0 (2.0) & 3 \\\\" in latex
    with pytest.raises(OochubError, match="No style of LaTeX tables named"):
        write_latex(table, recipe, "wide")


def test_nothing_selected_is_a_comment(tmp_path):
    latex = write_latex(*made_sweep(tmp_path, fails=["ERM_1", "GDRO"]))
    assert latex.startswith("% Nothing was selected.") and latex.count("\n") == 1
