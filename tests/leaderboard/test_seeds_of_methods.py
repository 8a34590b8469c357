"""Entries of a sweep are seeds of methods: methods have places, tested over seeds and images, runs have none."""

import json
from dataclasses import replace

import numpy as np
import pytest
from drawn_sweep import draw_sweep
from leaderboard_entries import draw_entries, sent_entry
from sklearn.metrics import roc_auc_score

from oochub.comparison.methods_over_seeds import SeededRuns, join_seeds, place_methods
from oochub.errors import OochubError
from oochub.hub.leaderboard_repository import push_entry
from oochub.leaderboard.board import Board
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_pages import make_board_page, make_index_page
from oochub.leaderboard.site import Site
from oochub.prediction.predictions import Predictions
from oochub.stats.seeded_difference import GROUPS, SeededNumbers

SAID = {"track": "open", "selection": "in_domain", "supervision": "labels", "date": "2026-11-22"}
HARD = ["hard_positive", "hard_negative"]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    return draw_sweep(tmp_path_factory.mktemp("sweep"), {"ERM": 1.0, "GDRO": 1.6}, seeds=3)


@pytest.mark.slow
def test_a_sweep_enters_as_methods_that_are_tested_over_seeds_and_images(swept, tmp_path, run):
    """The means are scikit-learn's AUCs of hard rows; the test is that of `oochub compare` on the files of the sweep.

    Planted faults seen: each run has a rank; images are no part of the test; the runs of both methods are one.
    """
    folder = swept.table.parent
    words = [word for name, value in SAID.items() for word in ("--entry", f"{name}={value}")]
    code, _, err = run("push", folder, "--leaderboard", tmp_path / "results", *words)
    assert code == 0, err
    sent_entry(tmp_path / "results", model="alone")
    site = Site.write(tmp_path / "results", tmp_path / "site")
    board = next(board for board in site.boards if board.benchmark.name == "nooch")
    assert len(board.rows) == 6 and not any(row.reason or row.rank for row in board.rows)
    found = board.methods["open"]
    methods, means = {}, {}
    for name in ("ERM", "GDRO"):
        files = sorted((folder / "runs").glob(f"*-{name.lower()}-*/predictions.parquet"))
        aucs = []
        for file in files:
            made = Predictions.load(file)
            rows = np.isin(made.column("challenge"), HARD) & (made.split == "test")
            aucs.append(roc_auc_score(made.label[rows], made.logits[rows, 1] - made.logits[rows, 0]))
        runs = SeededRuns()
        methods[name] = join_seeds([runs.measure(file, "auc", "out_of_context", auc)
                                    for file, auc in zip(files, aucs, strict=True)])  # fmt: skip
        means[name] = np.mean(aucs)
    assert found.means == pytest.approx(means)
    expected = place_methods(methods, direction="higher")
    assert (found.places, found.seeds) == (expected.places, 3)
    assert found.pairs[0].p_value == pytest.approx(expected.pairs[0].p_value, rel=1e-9)
    page = make_board_page(board, source="here")
    assert "Methods over seeds, out of context" in page and "seed 2 of GDRO" in page and "3 seeds say little" in page
    content = json.loads((site.folder / "leaderboard.json").read_text("utf-8"))
    told = {each["method"]: (each["rank_from"], each["rank_to"]) for each in content["methods"]}
    assert told == {name: (place.best, place.worst) for name, place in expected.places.items()}
    assert "mean of 3 seeds" in make_index_page([board], [], source="here")
    again = Site.write(tmp_path / "results", tmp_path / "again")
    assert next(each for each in again.boards if each.methods).methods["open"] == found  # from the cache


def _send_seeds(checked, seeds, **said):
    """Entries with these seeds of a method, drawn numbers beside each, and what makes them methods."""
    made = []
    for seed, each in zip(seeds, draw_entries(checked, len(seeds)), strict=True):
        value = float(each.report.headline("out"))
        report = replace(each.report, model=replace(each.report.model, seeds=(seed,)))
        made.append(
            replace(
                each,
                report=report,
                entry=replace(each.entry, **{"method": "ERM", **said}),
                name=f"{said} {seed} {len(made)}",
            )
        )
        numbers = SeededNumbers(np.array([value]), np.full((1, GROUPS), value), 100)
        object.__setattr__(made[-1], "measure_seed", lambda own=None, numbers=numbers: numbers)
    return made


def test_what_makes_entries_seeds_of_one_method(tmp_path):
    """By hand: one sender, one rule, other seeds. Planted faults seen: any sender's; a seed counts twice."""
    checked = CheckedEntry.of(sent_entry(tmp_path / "results"))
    (board,) = Board.all_of(_send_seeds(checked, [0, 1, 2]))
    assert {*board.methods["open"].places.values()} == {(1, 1)} and board.methods["open"].seeds == 3
    (board,) = Board.all_of(_send_seeds(checked, [0, 1, 1]))
    assert board.methods["open"].seeds == 2 and all(row.seed_of == "ERM" for row in board.rows)
    (board,) = Board.all_of(_send_seeds(checked, [0, 0, 0]))
    assert not board.methods and all(row.rank for row in board.rows)
    both = [*_send_seeds(checked, [0, 1], who="anna"), *_send_seeds(checked, [0, 1], who="ben")]
    (board,) = Board.all_of(both)
    assert sorted(board.methods["open"].places) == ["ERM (anna)", "ERM (ben)"]


@pytest.mark.slow
def test_a_sweep_that_was_selected_on_the_test_says_so(swept, tmp_path):
    """Planted fault seen: it enters as selected on validation rows."""
    folder = swept.table.parent
    with pytest.raises(OochubError, match="model of a run of a sweep is the recipe's"):
        push_entry(folder, str(tmp_path / "results"), model="mine", **SAID)
    (other,) = [draw_sweep(tmp_path, {"ERM": 1.0}, seeds=2)]
    import pandas as pd

    table = pd.read_parquet(other.table).assign(rule="oracle")
    table.to_parquet(other.table)
    with pytest.raises(OochubError, match=r"selected by oracle, on test groups\. Pass selection=oracle"):
        push_entry(other.table.parent, str(tmp_path / "results"), **SAID)
