"""Hard and easy bars: means over tasks, spreads over seeds and the intervals of reports, from made-up reports."""

import itertools
import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
import reports
from test_plots import texts

import oochub
from oochub import OochubError
from oochub.records.schema import to_json
from oochub.report import theme

mpl.use("Agg")
bars = oochub.get("figure", "hard_easy_bars")
METRICS = ("auc", "nll", "error_rate", "ece")
TITLES = {
    "auc": "AUC × 100 ↑ (higher",
    "nll": "NLL nats ↓ (lower",
    "error_rate": "Error % ↓ (lower",
    "ece": "ECE % ↓ (lower",
}


def made(method="erm", task="car", seed=0, shift=0.0):
    report = reports.nooch_report()
    report["model"] |= {"objective": method, "seeds": [seed], "id": f"runs/{method}-{task}-{seed}"}
    report["benchmark"]["config"] = f"ce_{task}"
    for part in report["slices"]:
        for number in part["metrics"].values():
            for key in ("value", "low", "high"):
                number[key] = None if number[key] is None else 0.9 * number[key] + shift
    return reports.read(report)


def number(report, role, metric, key="value"):
    part = next(part for part in report.slices if part.role == role)
    return getattr(part.metrics[metric], key) * (1 if metric == "nll" else 100)


def drawn(ax):
    """Value and bounds of every row, from above, with its marker."""
    points = [line for line in ax.lines if line.get_marker() not in ("None", "") and len(line.get_xdata())]
    spans = {tuple(line.get_ydata()): tuple(line.get_xdata()) for line in ax.lines if line.get_marker() == "None"}
    rows = sorted((float(p.get_ydata()[0]), float(p.get_xdata()[0]), p.get_marker()) for p in points)
    return [(value, *spans[y, y], marker) for y, value, marker in rows]


@pytest.mark.parametrize("metric", METRICS)
def test_one_report_a_method_has_the_intervals_of_its_report(metric):
    given = [made("erm"), made("group_dro", shift=0.02)]
    ax = bars(given, metric=metric)
    roles = ["in", "out"] + (["hard_positive", "hard_negative"] if metric in ("nll", "error_rate") else [])
    expected = [
        [number(each, role, metric, key) for key in ("value", "low", "high")] for each in given for role in roles
    ]
    np.testing.assert_allclose([row[:3] for row in drawn(ax)], expected)
    markers = {"in": theme.MARKERS["in"], "out": theme.MARKERS["out"], "hard_positive": "^", "hard_negative": "v"}
    assert [row[3] for row in drawn(ax)] == 2 * [markers[role] for role in roles]
    base = 50 if metric == "auc" else 0
    np.testing.assert_allclose(sorted(bar.get_width() + base for bar in ax.patches), sorted(row[0] for row in expected))
    least = 134 if metric in ("nll", "error_rate") else 412  # with the hard positives apart, or not
    assert ax.get_xlabel() == f"{TITLES[metric]} is better)\nnooch/ce_car; 95% interval\nn = {least} to 1\u202f972 rows"
    decimals = 3 if metric == "nll" else 1
    assert [text.get_text() for text in ax.texts] == [f"{row[0]:.{decimals}f}" for row in expected]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["erm", "group dro"]
    assert all(word in texts(ax) for word in ("in context", "out of context"))
    assert ax.get_xlim()[0] == 0 or metric == "auc"


def test_several_tasks_are_averaged():
    given = [made(task=task, shift=shift) for task, shift in (("car", 0.0), ("cow", 0.03), ("tie", 0.05))]
    ax = bars(given, metric="auc")
    for row, role in zip(drawn(ax), ("in", "out"), strict=True):
        for k, key in enumerate(("value", "low", "high")):
            assert row[k] == pytest.approx(sum(number(report, role, "auc", key) for report in given) / 3)
    assert ax.get_xlabel().endswith(
        "mean of 3 tasks (nooch/ce); mean of the tasks' 95% intervals\nn = 412 to 1\u202f972 rows"
    )


def test_several_seeds_give_the_standard_deviation_of_the_mean_over_tasks():
    """Planted fault seen: a standard deviation over tasks and seeds together; another: ddof 0."""
    shifts = dict(zip(itertools.product(("car", "cow"), (0, 1, 2)), (0.0, 0.01, 0.05, 0.02, 0.03, 0.01), strict=True))
    given = [made(m, task, seed, s) for m in ("erm", "irm") for (task, seed), s in shifts.items()]
    ax = bars(given, metric="ece")
    for row, (method, role) in zip(drawn(ax), itertools.product(("erm", "irm"), ("in", "out")), strict=True):
        of_method = [each for each in given if each.model.objective == method]
        by_seed = [
            np.mean([number(each, role, "ece") for each in of_method if each.model.seeds == (seed,)])
            for seed in (0, 1, 2)
        ]
        mean, spread = np.mean(by_seed), np.sqrt(sum((v - np.mean(by_seed)) ** 2 for v in by_seed) / 2)
        np.testing.assert_allclose(row[:3], [mean, mean - spread, mean + spread])
    assert ax.get_xlabel().endswith(
        "mean of 2 tasks (nooch/ce); ± standard deviation over 3 seeds\nn = 412 to 1\u202f972 rows"
    )


def test_undefined_is_said_and_not_zero():
    given = to_json(made())
    given["slices"][2]["metrics"]["auc"] |= {"value": None, "low": None, "high": None, "reason": "one class only"}
    ax = bars([reports.read(given), made(task="cow")])
    assert "n/a, one class only" in texts(ax) and len(ax.patches) == 1


def test_methods_without_an_objective_are_named_by_their_model():
    report = made()
    report = replace(report, model=replace(report.model, objective=None, id="openai/clip"))
    assert "openai/clip" in texts(bars([report]))


@pytest.mark.parametrize(
    ("given", "metric", "message"),
    [
        ([], "auc", "There are no reports"),
        ([made(), made()], "auc", "Two reports are for erm on nooch/ce_car with the same seeds, [0]"),
        ([made(), made(task="cow"), made("irm")], "auc", "irm, seeds [0], lacks nooch/ce_cow"),
        ([made(), made(seed=1), made(task="cow")], "auc", "erm, seeds [1], lacks nooch/ce_cow"),
        ([made(), made(seed=1), made("irm")], "auc", "the same number of seeds, got erm 2, irm 1"),
        ([made()], "auk", "Did you mean 'auc'"),
        ([made()], "auc_hard", "has no auc_hard on a slice 'in'"),
        (
            [made(), reports.read(reports.spawrious_report())],
            "nll",
            "tasks of one benchmark, got nooch/ce_car, spawrious",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(given, metric, message):
    with pytest.raises(OochubError, match=re.escape(message)):
        bars(given, metric=metric)
    assert mpl.pyplot.get_fignums() == []
