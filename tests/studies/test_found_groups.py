"""Robust training on found groups: the rates of wrong groups, the runs, and what docs/results.md says of them.

Rates are computed a second time over all permutations, intervals by a loop in float64.
"""

import json
import re
from itertools import permutations
from pathlib import Path

import found_groups_runs
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from found_groups_runs import METHODS, SEEDS, TABLE, label_alone, render, rows_of, wrong_groups
from found_groups_section import found_groups_section
from scipy import stats

DOCS = Path(__file__).parents[2] / "docs"
SAME = {  # on Spawrious o2o_hard, in docs/results/runs.parquet
    "ERM": "ERM",
    "JTT": "JTT",
    "GroupDRO, true groups": "GroupDRO, by group",
    "Reweight, true groups": "Reweight, by group",
}


@pytest.fixture(scope="module")
def stored():
    return pq.read_table(TABLE)


@pytest.fixture(scope="module")
def runs(stored):
    return stored.to_pandas()


@pytest.fixture(scope="module")
def about(stored):
    return json.loads(stored.schema.metadata[b"oochub"])


def by_permutations(true, found):
    """Both rates: every way to give each true group a found one, or none; and the commonest of each found group."""
    names, others = sorted(set(true)), sorted(set(found))
    others += [None] * len(names)
    right = max(
        sum((t, f) in set(zip(names, chosen, strict=True)) for t, f in zip(true, found, strict=True))
        for chosen in set(permutations(others, len(names)))
    )
    groups = [[t for t, f in zip(true, found, strict=True) if f == other] for other in set(found)]
    common = sum(max(group.count(name) for name in names) for group in groups)
    return 1 - right / len(true), 1 - common / len(true)


@pytest.mark.parametrize("seed", range(12))
def test_rates_of_wrong_groups_over_all_permutations(seed):
    rng = np.random.default_rng(seed)
    true, found = rng.integers(0, 3, 40), rng.integers(0, 2 + seed % 3, 40)
    found = np.where(rng.random(40) < 0.6, true % (2 + seed % 3), found)
    rates = wrong_groups(true, found)
    assert rates == pytest.approx(by_permutations(true.tolist(), found.tolist()))
    assert rates.matched >= rates.mixed


def test_rates_of_wrong_groups_by_hand():
    true = np.array(["dog/grass"] * 6 + ["dog/sand"] * 2 + ["cat/sand"] * 4)
    assert wrong_groups(true, true) == (0, 0)
    assert wrong_groups(true, np.repeat([5, 7, 9, 1], [3, 3, 2, 4])) == (pytest.approx(3 / 12), 0)  # one cut in two
    assert wrong_groups(true, np.repeat(["dog", "cat"], [8, 4])) == pytest.approx((2 / 12, 2 / 12))


def test_the_runs_are_whole(runs, about):
    assert set(runs["task"]) == set(found_groups_runs.EPOCHS) == set(about["label_alone"])
    for task, of_task in runs.groupby("task"):
        assert set(of_task["method"]) == set(METHODS)
        for title, rows in of_task.groupby("method"):
            assert sorted(rows["seed"]) == list(SEEDS), (task, title)
            of = METHODS[title]
            assert set(rows["objective"]) == {of.objective} and set(rows["groups"]) == {of.groups}
            assert json.loads(rows["settings"].iloc[0]) == of.fixed
            if of.groups == "found":
                assert (rows["wrong_groups"] >= rows["mixed_groups"]).all() and (rows["k"] >= 2).all()
                assert of.k is None or set(rows["k"]) == {of.k}
            else:
                assert rows["wrong_groups"].isna().all() and set(rows["k"]) == {0}


def test_what_was_run_before_has_the_same_numbers(runs):
    """Runs of the same settings and seeds, made at another time by the sweep of docs/results/toy_spawrious.toml."""
    before = pd.read_parquet(DOCS / "results" / "runs.parquet")
    for title, other in SAME.items():
        here = runs[(runs["task"] == "spawrious/o2o_hard") & (runs["method"] == title)].set_index("seed")
        there = before[(before["task"] == "spawrious/o2o_hard") & (before["method"] == other)].set_index("seed")
        assert here["average"].to_dict() == pytest.approx(there["out_of_context"].to_dict())


def ends(rows, name):
    """Mean, low and high by the rule of docs/results.md."""
    values = rows[name].tolist()
    mean = sum(values) / len(values)
    spread = stats.sem(values)
    seeds = mean - stats.t.interval(0.95, len(values) - 1, loc=mean, scale=spread)[0] if spread else 0.0
    low = mean - np.sqrt(seeds**2 + (mean - np.mean(rows[f"{name}.low"])) ** 2)
    high = mean + np.sqrt(seeds**2 + (np.mean(rows[f"{name}.high"]) - mean) ** 2)
    return mean, max(low, 0.0), min(high, 1.0)


def check(text, runs):
    """Every number and verdict of the section follows from the runs."""
    tables = [part for part in text.split("\n\n") if part.startswith("| method")]
    assert len(tables) == runs["task"].nunique()
    for table, task in zip(tables, dict.fromkeys(runs["task"]), strict=True):
        cells = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
        assert [row[0] for row in cells] == list(METHODS)
        of_task = runs[runs["task"] == task]
        erm = of_task[of_task["method"] == "ERM"]
        _, erm_low, erm_high = ends(erm, "worst_group")
        for title, k, wrong, mixed, worst, average, ahead, verdict in cells:
            rows = of_task[of_task["method"] == title]
            for name, cell in (("worst_group", worst), ("average", average)):
                written = [float(number) for number in re.findall(r"\d+\.\d", cell)]
                assert np.abs(np.array(written) - 100 * np.array(ends(rows, name))).max() <= 0.0501, (task, title)
            if METHODS[title].groups == "found":
                assert [int(each) for each in k.split(",")] == rows["k"].tolist()
                for name, cell in (("wrong_groups", wrong), ("mixed_groups", mixed)):
                    assert [float(each) / 100 for each in cell.split(",")] == pytest.approx(
                        rows[name].tolist(), abs=6e-4
                    )
            _, low, high = ends(rows, "worst_group")
            expected = "beats ERM" if low > erm_high else "worse" if high < erm_low else "no difference shown"
            count = sum(a > b for a, b in zip(rows["worst_group"], erm["worst_group"], strict=True))
            assert (ahead, verdict) == (("–", "–") if title == "ERM" else (f"{count} of 3", expected))


def test_numbers_and_verdicts(runs, about):
    check(found_groups_section(runs, about), runs)


def test_the_words_name_what_the_table_shows(runs, about):
    for task, paragraph in zip(
        dict.fromkeys(runs["task"]),
        re.findall(r"^\*\*.*", found_groups_section(runs, about), re.MULTILINE),
        strict=True,
    ):
        share = about["label_alone"][task]
        rows = runs[runs["task"] == task].groupby("method", sort=False)["mixed_groups"]
        named = paragraph.partition("any seed: ")[2].partition(". Beat")[0]
        expected = [title for title, values in rows if METHODS[title].groups == "found" and min(values) > share - 1e-9]
        assert named == (", ".join(expected) or "none") and f"{100 * share:.1f}%" in paragraph


@pytest.mark.slow
def test_the_study_gives_these_columns(tmp_path, runs):
    """Every method on a tiny world, two steps each, through the code that made the table; half a minute."""
    task = "waterbirds"
    raw = render(tmp_path / "worlds", waterbirds=20, spawrious=10)[task]
    rows = list(rows_of(task, raw, tmp_path, 0, arguments={"max_steps": 2}))
    table = pd.DataFrame.from_records(rows)
    assert list(table.columns) == list(runs.columns) and table.dtypes.equals(runs.dtypes)
    assert table["method"].tolist() == list(METHODS)
    recipes = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "runs").glob("*/recipe.json")]
    environments = [recipe["data"]["environment_column"] for recipe in recipes]
    assert sorted(environments) == ["environment"] * 2 + ["group"] * 2 + ["label/contexts"] * 4
    for recipe in recipes:
        found = recipe["data"]["found_environments"]
        assert (found is not None) == (recipe["data"]["environment_column"] == "label/contexts")
    assert label_alone(task, raw) == pytest.approx(4 / 80)  # 3 land birds and 1 water bird stand before the other place
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").rglob("*")}
    again = list(rows_of(task, raw, tmp_path, 0, arguments={"max_steps": 2}))
    assert json.dumps(again) == json.dumps(rows)  # nan among them
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").rglob("*")}
