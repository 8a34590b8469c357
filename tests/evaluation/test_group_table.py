"""Every group as a table: the numbers of the report, and of thousands those that it leaves out."""

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import oochub
from oochub.errors import OochubError
from oochub.evaluation.evaluate import make_evaluation
from oochub.evaluation.evaluation import tabulate_groups
from oochub.prediction.predictions import Predictions
from oochub.sections import group_errors
from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
from oochub.stats.proportion import wilson


def _make(groups: int, rows: int = 600, **more) -> Predictions:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, rows)
    logits = rng.normal(size=(rows, 2))
    logits[np.arange(rows), label] += 1
    given = {"group": [f"g{k:03d}" for k in rng.integers(0, groups, rows)], "challenge": _draw_sides(rng, rows)} | more
    return Predictions.from_arrays(logits=logits, label=label, class_names=["cow", "camel"], **given)


def _draw_sides(rng, rows):
    return np.where(rng.random(rows) < 0.5, "easy", "hard").tolist()


def _tabulate(rows):
    return tabulate_groups(make_evaluation([rows], EvaluationSettings(), IntervalSettings(), {}))


def test_the_rows_are_those_of_the_report():
    """Each number and end of each group on each side. Planted fault seen: metrics of the first side for both."""
    made = _make(7)
    table = _tabulate(made).to_pylist()
    rows = oochub.evaluate(made).group_rows
    assert [(row["side"], row["group"], row["n"]) for row in table] == [(row.role, row.group, row.n) for row in rows]
    for found, row in zip(table, rows, strict=True):
        for name in ("accuracy", "error_rate", "nll"):
            wanted = getattr(row, name)
            assert [found[name], found[f"{name}_low"], found[f"{name}_high"]] == [wanted.value, wanted.low, wanted.high]
        assert (found["label"], found["context"], found["trained"]) == (row.label, row.context, row.trained)


def test_groups_that_a_report_leaves_out_are_there(monkeypatch):
    """Against a count by hand. The report has 2 of each side's worst and best."""
    monkeypatch.setattr(group_errors, "_WORST", 2)
    made = _make(40)
    report, table = oochub.evaluate(made), _tabulate(made)
    assert report.groups_left_out == table.num_rows - len(report.group_rows) > 60
    right = made.logits.argmax(axis=1) == made.label
    side, group = made.column("challenge"), made.column("group")
    for row in table.to_pylist():
        mask = (group == row["group"]) & (side == {"in": "easy", "out": "hard"}[row["side"]])
        by_hand = wilson(int(right[mask].sum()), int(mask.sum()))
        assert (row["accuracy"], row["accuracy_low"], row["n"]) == (by_hand.value, by_hand.low, by_hand.n)


def test_without_groups_there_is_nothing_to_write():
    made = Predictions.from_arrays(logits=[[1.0, 0.0]] * 4, label=[0, 0, 1, 1])
    with pytest.raises(OochubError, match=r"no column group.*context="):
        _tabulate(made)


def test_the_command_writes_them(run, tmp_path):
    """Beside the report; predictions are not replaced; an error comes before anything is written."""
    file, out, groups = tmp_path / "p.parquet", tmp_path / "r.json", tmp_path / "groups.parquet"
    _make(5).save(file)
    code, said, _ = run("evaluate", file, "--out", out, "--groups", groups)
    assert code == 0 and str(groups) in said
    table = pq.read_table(groups)
    assert table.num_rows == 10 and pc.sum(table["n"]).as_py() == 600
    assert run("evaluate", file, "--out", out, "--groups", groups).code == 0  # a second run
    code, _, err = run("evaluate", file, "--groups", file)
    assert code == 2 and "not a table of groups" in err
    plain, other = tmp_path / "plain.parquet", tmp_path / "other.json"
    Predictions.from_arrays(logits=[[1.0, 0.0]] * 4, label=[0, 0, 1, 1]).save(plain)
    assert run("evaluate", plain, "--out", other, "--groups", groups).code == 2 and not other.exists()
    code, _, err = run("evaluate", file, "--task", "ce_car", "--groups", groups)
    assert code == 2 and "remove --task" in err
