"""The same row and seed elsewhere: what docs/results.md and the README say of docs/results/repeats.parquet.

The numbers are read off the page and computed here again, by loops over the rows.
"""

import json
import os
import re
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import repeated_runs
from repeated_runs import METHODS, PLACES, TABLE, RunPlace, row_of, runs_again
from repeats_section import repeats_section, steps_sentence
from results_runs import TABLE as RUNS

DOCS = Path(__file__).parents[2] / "docs"
WORLDS = {"nooch/ce_car": "NOOCH ce_car", "spawrious/o2o_hard": "Spawrious o2o_hard"}
HEADS = {
    "1 thread": RunPlace(1, "all", 1),
    "1 thread, again": RunPlace(1, "all", 2),
    "2 threads": RunPlace(2, "all", 1),
    "1 thread, AVX2": RunPlace(1, "AVX2", 1),
    "2 threads, AVX2": RunPlace(2, "AVX2", 1),
}


@pytest.fixture(scope="module")
def repeats() -> pd.DataFrame:
    return pd.read_parquet(TABLE)


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return pd.read_parquet(RUNS)


@pytest.fixture(scope="module")
def about() -> dict:
    return json.loads(pq.read_schema(TABLE).metadata[b"oochub"])


@pytest.fixture(scope="module")
def text() -> str:
    page = (DOCS / "results.md").read_text("utf-8")
    return page[page.index("## The same seed elsewhere") :].split("\n## ")[0]


def out_of(repeats: pd.DataFrame, task: str, method: str, place: RunPlace) -> float | None:
    """The number of the one run at a place; None where there is none."""
    found = [
        row["out_of_context"]
        for _, row in repeats.iterrows()
        if (row["task"], row["method"], row["threads"], row["instructions"], row["time"]) == (task, method, *place)
    ]
    assert len(found) <= 1, (task, method, place)
    return found[0] if found else None


def check_section(text: str, repeats: pd.DataFrame, runs: pd.DataFrame) -> None:
    """Every number of the section follows from the runs."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    head, *rows = lines
    assert set(head[2:-2]) == set(HEADS) and head[-2:] == ["range", "range of seeds 0, 1, 2"]
    assert [row[:2] for row in rows] == [
        [WORLDS[task], method] for task, methods in METHODS.items() for method in methods if method != "JTT"
    ]
    same = 0
    for world, method, *cells in rows:
        task = next(name for name, title in WORLDS.items() if title == world)
        values = [out_of(repeats, task, method, HEADS[name]) for name in head[2:-2]]
        seeds = [row["out_of_context"] for _, row in runs.iterrows() if (row["task"], row["method"]) == (task, method)]
        known = [value for value in values if value is not None]
        expected = [*values, max(known) - min(known), max(seeds) - min(seeds)]
        assert len(seeds) == 3 and len(known) >= 4 and len(cells) == len(expected)
        for cell, value in zip(cells, expected, strict=True):
            fits = cell == "–" if value is None else abs(float(cell) - 100 * value) <= 0.0501
            assert fits, (world, method, cell, value)
        same += values[head.index("1 thread") - 2] == values[head.index("1 thread, again") - 2]
    assert f"({same} of {len(rows)})" in text


def test_the_numbers_of_the_section(text, repeats, runs):
    check_section(text, repeats, runs)


def test_again_is_counted_where_it_is_the_same(repeats, runs, about):
    """Planted: the second time gives another number."""
    changed, count = repeats.copy(), sum(len(set(methods) - {"JTT"}) for methods in METHODS.values())
    changed.loc[changed.index[changed["time"] == 2][0], "out_of_context"] += 1e-9
    before, after = (re.search(r"\((\d) of (\d)\)", repeats_section(each, runs, about)) for each in (repeats, changed))
    assert before and after and int(before[1]) - int(after[1]) == 1 and int(before[2]) == int(after[2]) == count


def test_jtt_trains_longer(repeats):
    """The steps that the page names are those of the runs, and more than ERM's."""
    steps = {(row["task"], row["method"]): int(row["steps"]) for _, row in repeats.iterrows()}
    sentence = steps_sentence(repeats)
    assert sentence in (DOCS / "results.md").read_text("utf-8")
    tasks = [task for task, methods in METHODS.items() if "JTT" in methods]
    assert tasks
    for task, world in ((task, WORLDS[task]) for task in tasks):
        assert steps[task, "JTT"] > steps[task, "ERM"]
        assert f"on {world} {steps[task, 'JTT']:,} steps against ERM's {steps[task, 'ERM']:,}" in sentence


def test_readme_names_numbers_that_runs_gave(repeats):
    """The sentence of the README on one row and one seed."""
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    said = re.search(r"ERM on the toy of NOOCH, seed 0, gave ([\d., and]+?) out of context with", readme)
    assert said
    named = sorted(float(number) for number in re.findall(r"\d+\.\d", said[1]))
    places = [place for place in PLACES if place.time == 1]
    assert named == sorted(round(100 * out_of(repeats, "nooch/ce_car", "ERM", place), 1) for place in places)


def test_the_runs_are_those_of_the_page(repeats, runs):
    """The first place, one thread and every instruction, gives the numbers of docs/results/runs.parquet."""
    assert {(run.task, run.method) for run in runs_again()} == {
        (task, method) for task, methods in METHODS.items() for method in methods
    }
    for run in runs_again():
        first = out_of(repeats, run.task, run.method, PLACES[0])
        of_table = runs[(runs["task"] == run.task) & (runs["method"] == run.method) & (runs["seed"] == run.seed)]
        assert of_table["out_of_context"].tolist() == pytest.approx([first], abs=1e-9)


@pytest.mark.campaign  # two processes are begun
def test_a_run_is_done_at_its_place(tmp_path, monkeypatch):
    """A process of its own gets threads and instructions; a finished run is read; the environment is as before."""
    run, before = runs_again()[0], dict(os.environ)
    monkeypatch.setattr(repeated_runs, "_measure_run", _told)
    row = row_of(run, RunPlace(2, "AVX2", 1), tmp_path, tmp_path)
    assert row["told"] == ["2", "avx2", "AVX2", 2] and (row["threads"], row["instructions"]) == (2, "AVX2")
    assert dict(os.environ) == before
    assert row_of(run, RunPlace(1, "all", 1), tmp_path, tmp_path)["told"] == ["1", None, None, 1]
    monkeypatch.setattr(repeated_runs, "_measure_run", None)
    assert row_of(run, RunPlace(2, "AVX2", 1), tmp_path, tmp_path) == row


def _told(run, folder, raw, threads):
    names = ("OMP_NUM_THREADS", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")
    return {"told": [*(os.environ.get(name) for name in names), threads]}
