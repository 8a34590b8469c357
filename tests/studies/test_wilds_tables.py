"""Tables 1 and 2 of WILDS from planted reports, by hand; the paper's numbers against its text; constant predictors."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import reports
from numpy.testing import assert_allclose

import oochub
from oochub import Predictions, catalog
from oochub.comparison.comparison import comparison
from oochub.comparison.comparison_table import Column
from oochub.comparison.methods_over_seeds import AVERAGE
from oochub.errors import OochubError
from oochub.studies.wilds.best_constant import best_constant
from oochub.studies.wilds.result_tables import result_tables


def report(config, inside, outside, *, seed=0, method="erm", metric="accuracy", title=""):
    """A report of a config of WILDS with these numbers on its two sides."""
    content = reports.spawrious_report()
    content["metrics"][metric], content["gap"]["metric"] = content["metrics"]["accuracy"], metric
    content["benchmark"] |= {"name": "wilds", "config": config, "title": title or config, "primary_metric": metric}
    content["model"] |= {"objective": method, "seeds": [seed]}
    for part in content["slices"]:
        if part["role"] in ("in", "out"):
            part["name"] = {"in": "in_context", "out": "out_of_context"}[part["role"]]
            value = inside if part["role"] == "in" else outside
            part["metrics"][metric] = {**part["metrics"]["accuracy"], "value": value}
    return reports.read(content)


def folds(**values):
    made = [report(f"poverty_fold_{k}", 0.9, v, metric="pearson", title="PovertyMap") for k, v in values.items()]
    return made


def test_numbers_in_and_out_of_distribution_are_those_of_the_papers_kind():
    """Camelyon17 by one report, FMoW by models of two configs. Planted and seen: FMoW's own number in context."""
    of_seeds = [report("camelyon17", 0.8 + seed / 10, 0.5 + seed / 10, seed=seed) for seed in range(3)]
    fmow = [report("fmow", 0.9, 0.4), report("fmow_mixed-to-test", 0.95, 0.6)]
    dro = [report("fmow", 0.9, 0.45, method="group_dro")]
    first, second = result_tables([*of_seeds, *fmow, *dro])
    rows = {row[0]: row[3:] for row in first.table.rows}
    assert list(rows) == [
        "iwildcam", "camelyon17", "rxrx1", "ogb_molpcba", "globalwheat", "civilcomments", "fmow", "poverty", "amazon",
        "py150",
    ]  # fmt: skip
    assert rows["camelyon17"] == ("fixed-train", "90.0 (10.0)", "60.0 (10.0)", "93.2 (5.2)", "70.3 (6.4)")
    assert rows["fmow"] == ("fixed-test", "60.0", "40.0", "48.6 (0.9)", "32.3 (1.3)")
    assert rows["rxrx1"][1:3] == ("", "")
    methods = {row[0]: row[1:] for row in second.table.rows}
    assert methods["fmow"] == ("40.0", "", "", "45.0", "32.3 (1.3)", "31.7 (1.2)", "30.0 (1.4)", "30.8 (0.8)")
    assert methods["globalwheat"][4:] == ("49.2 (1.5)", "", "", "46.1 (1.6)")
    assert "camelyon17: 3 of 10 replicates; fmow: 1 of 3 replicates" in first.below[1]


def test_wrong_reports_are_said():
    with pytest.raises(OochubError, match="no reports"):
        result_tables([])
    with pytest.raises(OochubError, match="Two reports are on erm on fmow with seed 0"):
        result_tables([report("fmow", 0.9, 0.4), report("fmow", 0.9, 0.5)])
    with pytest.raises(OochubError, match="Report 1 is on spawrious"):
        result_tables([reports.read(reports.spawrious_report())])


@pytest.fixture
def shell(run):
    """Runs `oochub wilds tables`: its exit code, and what it printed."""

    def call(*words):
        code, printed, error = run("wilds", "tables", *words)
        return code, printed + error

    return call


def test_the_command_writes_both_tables(shell, tmp_path):
    """From a folder of reports, such as a sweep's. Faults planted: the sides exchanged in the numbers; ddof 0."""
    for seed in range(3):
        folder = tmp_path / "runs" / f"seed{seed}"
        folder.mkdir(parents=True)
        report("fmow", 0.9, 0.4 + seed / 10, seed=seed).save(folder / "report.json")
        report("fmow_mixed-to-test", 0.9, 0.7 + seed / 10, seed=seed).save(folder / "mixed.json")
    outs = {name: tmp_path / f"tables.{name}" for name in ("html", "markdown", "csv", "latex")}
    suffixes = {"markdown": "md", "latex": "tex"}
    outs = {name: path.with_suffix(f".{suffixes.get(name, name)}") for name, path in outs.items()}
    code, printed = shell(tmp_path / "runs", *(word for name, path in outs.items() for word in (f"--{name}", path)))
    assert code == 0 and "fixed-test" in printed and "80.0 (10.0)" in printed
    numbers = pd.read_csv(outs["csv"]).set_index(["table", "data_set", "method", "side"])
    for side, mean, paper in (("in", 0.8, 0.486), ("out", 0.5, 0.323)):
        row = numbers.loc[1, "fmow", "erm", side]
        assert (row["mean"], row["sd"], row["replicates"], row["reported"]) == pytest.approx((mean, 0.1, 3, paper))
    assert len(numbers) == 10 * 2 + 10 * 4 and numbers["mean"].notna().sum() == 3
    for name, needle in (("html", "Table 2"), ("markdown", "| fmow | accuracy |"), ("latex", "80.0 (10.0)")):
        assert needle in outs[name].read_text()


def test_missing_replicates_stop_the_command(shell, tmp_path):
    """With --partial they are noted. Fault planted: more replicates than the paper's stop it too."""
    for seed in range(4):
        report("iwildcam", 0.9, 0.4, seed=seed, metric="f1_macro").save(tmp_path / f"{seed}.json")
    assert shell(tmp_path)[0] == 0
    report("camelyon17", 0.9, 0.4).save(tmp_path / "camelyon.json")
    code, printed = shell(tmp_path, "--markdown", tmp_path / "tables.md")
    assert code == 2 and "camelyon17: 1 of 10 replicates" in printed and "--partial" in printed
    assert "iwildcam" not in printed and not (tmp_path / "tables.md").exists()
    code, printed = shell(tmp_path, "--partial")
    assert code == 0 and "camelyon17: 1 of 10 replicates" in printed


@pytest.mark.parametrize("words", [["nowhere"], ["empty"], ["a.parquet", "b.parquet"]])
def test_no_reports_are_said(words, shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert shell(*words)[0] == 2


def test_five_folds_are_replicates_of_one_data_set():
    """By hand: mean .46, deviations .15 (ddof 1). Planted and seen: ddof 0; folds as tasks of their own."""
    values = {"a": 0.3, "b": 0.4, "c": 0.4, "d": 0.5, "e": 0.7}
    compared = comparison(folds(**values))
    cell = compared.tables[0].cells[AVERAGE, Column("erm")]
    assert (cell.mean, cell.sd, cell.seeds) == pytest.approx((0.46, np.sqrt(0.092 / 4), 5))
    assert "Average: the mean over the folds, with their standard deviation (ddof 1)." in compared.to_markdown()


def test_data_sets_with_headlines_of_their_own_stand_in_tables_of_their_own():
    """Planted and seen: one table for all, which has no number for PovertyMap's metric and averages over both."""
    compared = comparison([report("fmow", 0.9, 0.4), *folds(a=0.5)])
    assert [(table.metric, table.rows) for table in compared.tables] == [
        ("accuracy", ("fmow",)),
        ("pearson", ("poverty_fold_a",)),
    ]
    page = compared.to_html()
    assert page.count("<h3>") >= 2 and "wilds/poverty_fold_a" in page.replace("<wbr>", "")


def test_printed_numbers_are_those_of_the_papers_text(real_data):
    """Means and deviations of Tables 1 and 2, number by number; they are printed times 100, but for PovertyMap."""
    text = real_data.parent / "papers" / "wilds.txt"
    if not text.is_file():
        pytest.skip(f"the paper's text is not at {text}")
    lines = text.read_text("utf-8").splitlines()
    tables = json.loads(catalog.reported_files()["wilds"].read_text("utf-8"))["tables"]

    def cells(key):
        table = tables[key]
        of = next(iter(table.get("average", table["rows"]).values()))
        return [tuple(round(v if "poverty" in key else 100 * v, 2) for v in cell) for cell in of]

    def pairs(printed):
        return [tuple(map(float, pair)) for pair in re.findall(r"(\d+\.\d+) \((\d+\.\d+)\)", printed)]

    names = [key.split()[1] for key in tables if key.endswith(" in")]
    start = next(k for k, line in enumerate(lines) if line.startswith("IWILDCAM2020-WILDS CAMELYON17-WILDS"))
    first = pairs(" ".join(lines[start : start + 10]))
    assert [cells(f"1 {name} {side}")[0] for side in ("in", "out") for name in names] == first
    start = next(k for k, line in enumerate(lines) if line == "Dataset Setting ERM CORAL IRM Group DRO")
    for name, line in zip(names, lines[start + 1 :], strict=False):
        assert cells(f"2 {name}") == pairs(line), line


def test_best_constants_by_hand():
    """Planted and seen: the best of the groups for the worst."""
    declared = oochub.get("benchmark", "wilds")
    logits, names = np.eye(3)[[0, 1, 2, 0, 1]], ["a", "b", "c"]
    rows = Predictions.from_arrays(logits=logits, label=[0, 0, 0, 1, 2], class_names=names)
    assert best_constant(rows, declared.of("rxrx1")) == pytest.approx(0.6)
    f1 = best_constant(rows, declared.of("iwildcam"))
    assert_allclose(f1, (2 * 0.6 * 1 / 1.6) / 3)  # precision 3/5, recall 1 of one class in three
    regions = ["Asia", "Asia", "Africa", "Africa", "Africa"]
    grouped = Predictions.from_arrays(
        logits=logits, label=[0, 0, 0, 1, 1], class_names=names, region=regions, group=regions
    )
    assert best_constant(grouped, declared.of("fmow")) == pytest.approx(1 / 3)  # of class a: all of Asia, 1/3 of Africa
    with pytest.raises(OochubError, match="no constant predictor for masks"):
        from dataclasses import replace

        best_constant(rows, replace(declared.of("rxrx1"), output="masks"))


def test_best_constants_of_graphs_boxes_and_tokens_by_hand():
    """Planted and seen: no box as the only constant of boxes; tokens of every kind; rows of both splits."""
    declared = oochub.get("benchmark", "wilds")
    # Of labels equal scores find each label as often as it is there: 1 of 2, and 3 of 4, where it is known.
    labels = [[1, 1], [0, 1], [np.nan, 1], [np.nan, 0], [1, 1]]
    rows = Predictions.from_arrays(
        logits=np.zeros((5, 2)), labels=labels, class_names=["a", "b"], kind="labels", split=["test"] * 4 + ["val"]
    )
    assert best_constant(rows, declared.of("ogb_molpcba")) == pytest.approx((1 / 2 + 3 / 4) / 2)

    # Session x: twice the box [0, 0, 8, 8]; session y: nothing, and a box elsewhere. Without a box (0 + 1 / 2) / 2;
    # with the first everywhere (1 + 0) / 2, and any further one costs more than it gives.
    one, other = [0.0, 0.0, 8.0, 8.0], [20.0, 20.0, 30.0, 30.0]
    boxes = {"boxes": [[one], [one], [], [other]], "detected_boxes": [[]] * 4, "scores": [[]] * 4}
    wheat = Predictions.from_arrays(**boxes, class_names=["head"], group=["x", "x", "y", "y"], split="test")
    assert best_constant(wheat, declared.of("globalwheat")) == pytest.approx(1 / 2)
    bare = {name: values[2:] for name, values in boxes.items()}
    empty = Predictions.from_arrays(**bare, class_names=["head"], group=["y", "y"], split="test")
    assert best_constant(empty, declared.of("globalwheat")) == pytest.approx(1 / 2)

    # Of the tokens that are classes (0) or methods (1), 7 is two of five; 9 is more often there, as punctuation (2).
    tokens = [[7, 9, 9], [8, 7, 9], [6, 5, -100], [4, 4, 4]]
    kinds = [[0, 2, 2], [1, 0, 2], [0, 1, -1], [0, 0, 0]]
    code = Predictions.from_arrays(
        tokens=tokens, predicted_tokens=[[0] * 3] * 4, kinds=kinds, split=["test"] * 3 + ["id_test"]
    )
    assert best_constant(code, declared.of("py150")) == pytest.approx(2 / 5)
