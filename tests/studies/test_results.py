"""docs/results.md says what docs/results/runs.parquet holds, and both show what the objectives' issue asks for.

The numbers and verdicts of the page are computed here a second time, by other means: a loop over the runs in float64,
Student's t by scipy's `interval`, and the page read as text.
"""

import json
import re
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import results_page as results
import results_runs
from scipy import stats

import oochub
from oochub import catalog
from oochub.sweep.measurement import measure
from oochub.sweep.runs import plan_stages
from oochub.sweep.sweep import sweep
from oochub.sweep.sweep_recipe import read_recipe

DOCS = Path(__file__).parents[2] / "docs"
TABLE = DOCS / "results" / "runs.parquet"
WORLDS = {"nooch/ce_car": "NOOCH ce_car", "spawrious/o2o_hard": "Spawrious o2o_hard"}
MORE_WORLDS = {**WORLDS, "spawrious/m2m_hard": "Spawrious m2m_hard"}
LABEL_BASED = ["ERM", "CVaR", "Focal", "Reweight", "Undersample"]
APART = ["Reweight (environments)", "Undersample (environments)", "GroupDRO"]
BY_ENVIRONMENT = [*APART, "GroupDRO (NOOCH's form)", "IRM"]


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return pd.read_parquet(TABLE)


@pytest.fixture(scope="module")
def about() -> dict:
    return json.loads(pq.read_schema(TABLE).metadata[b"oochub"])


@pytest.fixture(scope="module")
def text() -> str:
    return (DOCS / "results.md").read_text("utf-8")


def ends(runs: pd.DataFrame, task: str, method: str, side: str) -> tuple[float, float, float]:
    """Mean, low and high of a method, by the rule that the page states."""
    values, below, above = [], [], []
    for _, row in runs[(runs["task"] == task) & (runs["method"] == method)].iterrows():
        values.append(row[side])
        below.append(row[f"{side}.low"])
        above.append(row[f"{side}.high"])
    mean = sum(values) / len(values)
    spread = stats.sem(values)
    seeds = mean - stats.t.interval(0.95, len(values) - 1, loc=mean, scale=spread)[0] if spread else 0.0
    low = mean - np.sqrt(seeds**2 + (mean - np.mean(below)) ** 2)
    high = mean + np.sqrt(seeds**2 + (np.mean(above) - mean) ** 2)
    return mean, max(low, -1.0 if side == "gap" else 0.0), min(high, 1.0)


def rows_on_page(text: str, task: str) -> dict[str, list[str]]:
    """The cells of a world's table by method."""
    section = text[text.index(f"\n## {MORE_WORLDS[task]}") :].split("\n## ")[1]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line[:1] == "|"]
    return {row[0].strip("*"): row[1:] for row in cells[2:]}


def in_numbers(cell: str) -> list[float]:
    return [float(number.replace("−", "-")) for number in re.findall(r"[−+]?\d+\.\d", cell)]


def check_numbers(text: str, runs: pd.DataFrame) -> None:
    """Every number and verdict of the page follows from the runs."""
    tasks = list(dict.fromkeys(runs["task"]))
    assert set(WORLDS) <= set(tasks) <= set(MORE_WORLDS)
    for task in tasks:
        rows = rows_on_page(text, task)
        assert set(rows) == set(runs.loc[runs["task"] == task, "method"])
        _, erm_low, erm_high = ends(runs, task, "ERM", "out_of_context")
        values = runs[runs["task"] == task].pivot(index="method", columns="seed", values="out_of_context")
        for method, (_, _, *sides, ahead, verdict) in rows.items():
            count = sum(values.loc[method, seed] > values.loc["ERM", seed] for seed in values.columns)
            assert ahead == ("–" if method == "ERM" else f"{count} of {len(values.columns)}"), (task, method)
            for side, cell in zip(("in_context", "out_of_context", "gap"), sides, strict=True):
                exact = 100 * np.array(ends(runs, task, method, side))
                assert np.abs(np.array(in_numbers(cell)) - exact).max() <= 0.0501, (task, method, side)
            _, low, high = ends(runs, task, method, "out_of_context")
            expected = "beats ERM" if low > erm_high else "worse" if high < erm_low else "no difference shown"
            assert verdict == ("–" if method == "ERM" else expected), (task, method)


def check_words(text: str, runs: pd.DataFrame) -> None:
    """The lists below each table name every method once, where its verdict puts it."""
    for task in dict.fromkeys(runs["task"]):
        section = text[text.index(f"\n## {MORE_WORLDS[task]}") :].split("\n## ")[1]
        lists = dict(re.findall(r"^- (Helped|Did not help|Hurt)[^:]*: (.*)\.$", section, re.MULTILINE))
        verdicts = {"Helped": "beats ERM", "Did not help": "no difference shown", "Hurt": "worse"}
        for words, verdict in verdicts.items():
            named = [title for title, row in rows_on_page(text, task).items() if row[-1] == verdict]
            assert lists[words] == ("; ".join(named) or "none"), (task, words)


def check_findings(runs: pd.DataFrame) -> None:
    """What the issue asks the runs to show."""
    for task in dict.fromkeys(runs["task"]):
        erm_high = ends(runs, task, "ERM", "out_of_context")[2]
        of_task = runs[runs["task"] == task].drop_duplicates("method")
        beating = {m for m in of_task["method"] if ends(runs, task, m, "out_of_context")[1] > erm_high}
        oracle = set(of_task.loc[of_task["given"] == "label x context", "method"])
        if task in WORLDS:
            assert oracle & beating, f"{task}: no method that is given the groups beats ERM"
        assert not beating or oracle & beating, f"{task}: only methods without the groups beat ERM: {beating}"
    hard = {method: ends(runs, "nooch/ce_car", method, "out_of_context") for method in LABEL_BASED + BY_ENVIRONMENT}
    for other in LABEL_BASED:
        assert all(hard[method][0] > hard[other][0] for method in BY_ENVIRONMENT), other
        assert all(hard[method][1] > hard[other][2] for method in APART), other


@pytest.mark.slow
def test_the_page_is_what_the_script_makes_of_the_runs(tmp_path, runs):
    results.main(table=TABLE, out=tmp_path / "results.md", picture=tmp_path / "results.png")
    assert (tmp_path / "results.md").read_bytes() == (DOCS / "results.md").read_bytes()
    assert (tmp_path / "results.png").stat().st_size > 10_000 and (DOCS / "figures" / "results.png").is_file()


@pytest.mark.slow
def test_numbers_and_verdicts(runs, text):
    check_numbers(text, runs)
    check_words(text, runs)


def test_what_the_issue_asks_for(runs):
    check_findings(runs)


def test_the_runs_are_whole(runs, about):
    """Twenty objectives on both worlds, three seeds each, numbers with n; what is not there is named."""
    assert not runs.isna().any().any()
    for task in WORLDS:
        of_task = runs[runs["task"] == task]
        missing = {method for of, method in about["not_run"] if of == task}
        assert missing or set(of_task["objective"]) == set(catalog.names("objective"))
    for _, rows in runs.groupby(["task", "method"]):
        assert sorted(rows["seed"]) == [0, 1, 2] and rows["settings"].nunique() == 1
    for task, rows in runs.groupby("task"):
        assert rows["out_of_context.n"].nunique() == rows["in_context.n"].nunique() == 1, task
    assert not [column for column in runs.columns if runs[column].astype(str).str.contains(r"/\w+/").any()]


@pytest.mark.slow
def test_what_each_method_is_given_is_that_of_the_recipes(runs):
    """Environments, groups and settings of the table, read off the TOML files."""
    raw = {name: tomllib.loads(file.read_text("utf-8")) for name, file in results_runs.RECIPES.items()}
    for row in runs.drop_duplicates(["task", "method"]).to_dict("records"):
        recipe = raw[row["task"].partition("/")[0]]
        listed = recipe["methods"][row["method"]]
        different = recipe.get("per_task", {}).get(row["task"], {}).get("fixed", {}).get(row["method"], {})
        assert (
            json.loads(row["settings"]) == listed.get("fixed", {}) | different
            and row["objective"] == listed["objective"]
        )
        needs = catalog.get("objective", row["objective"]).needs_environments
        groups = row["task"] == "nooch/ce_car" or listed.get("environments") == "group"
        assert row["given"] == (("label x context" if groups else "environments") if needs else "labels"), row["method"]
    for file in results_runs.RECIPES.values():
        for run in (run for stage in plan_stages(read_recipe(file)) for run in stage):
            same = runs[(runs["task"] == run.task) & (runs["method"] == run.method)]
            assert set(same["given"]) <= {results_runs.given_to(run)}, run.id


@pytest.mark.campaign
def test_the_recipes_give_these_columns(tmp_path, runs, about):
    """Two steps of four runs on tiny worlds, through the code that made the table. Half a minute."""
    worlds = results_runs.render(tmp_path / "worlds", nooch=240, spawrious=10)
    tables = []
    for name, only in (("nooch", ["ERM"]), ("spawrious", ["spawrious/o2o_hard", "GroupDRO, by group"])):
        overrides = {"max_steps": 2, "seeds": [0, 1], "image_size": 24}
        recipe = read_recipe(results_runs.RECIPES[name], overrides=overrides)
        result = sweep(recipe, tmp_path / name, measure=partial(measure, data_dir=str(worlds[name])), only=only)
        assert (result.runs, result.failed) == (2, 0)
        tables.append(results_runs.rows_of(recipe, tmp_path / name))
        for row, path in zip(tables[-1].to_dict("records"), pd.read_parquet(result.table)["path"], strict=True):
            report = oochub.Report.load(tmp_path / name / path / "report.json")
            outside = report[f"out_of_context/{row['metric']}"]
            assert (row["out_of_context.low"], row["out_of_context.n"]) == (pytest.approx(outside.low), outside.n)
            assert row["gap"] == pytest.approx(float(report["gap"]))
            trained_by = json.loads((tmp_path / name / path / "recipe.json").read_text())["data"]["environments"]
            assert any("/" in environment for environment in trained_by) == (
                row["given"] != "labels" or name == "nooch"
            )
    results_runs.write(tables, [("nooch/ce_car", "ERM"), ("nooch/ce_car", "CVaR")], tmp_path / "runs.parquet")
    table = pd.read_parquet(tmp_path / "runs.parquet")
    assert list(table.columns) == list(runs.columns) and table.dtypes.equals(runs.dtypes)
    metadata = json.loads(pq.read_schema(tmp_path / "runs.parquet").metadata[b"oochub"])
    assert metadata["not_run"] == [["nooch/ce_car", "CVaR"]] and set(metadata) == set(about)
    assert table["given"].tolist() == ["labels"] * 2 + ["label x context"] * 2
    same = runs[(runs["task"] == "spawrious/o2o_hard") & (runs["method"] == "GroupDRO, by group")]
    assert table["settings"].iloc[-1] == same["settings"].iloc[0]
