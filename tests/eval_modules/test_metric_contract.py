"""The contract of every metric: each folder of eval_modules/metrics is found and tested without being named here.

Each rule was seen to fail on a planted fault.
"""

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from metric_subjects import CASES, FOLDER, NAMES, Columns, Subject, same, subject

from oochub.errors import OochubError
from oochub.metric import MetricFacts
from oochub.stats.estimate import Estimate


def numbers(metric: Subject, result: dict[str, Any]) -> list[tuple[float, MetricFacts]]:
    facts = metric.facts.keys or {metric.name: metric.facts}
    return [(result[key], facts[key]) for key in facts if key in result]


def rule_order(metric: Subject) -> None:
    """The order of the rows does not matter."""
    for seed in range(2):
        columns = metric.columns(60, seed)
        order = np.random.default_rng(seed).permutation(60)
        same(metric(columns), metric({name: column[order] for name, column in columns.items()}))


def rule_bounds(metric: Subject) -> None:
    """Every number lies within the bounds that FACTS gives."""
    for n, seed in [(2, 0), (3, 1), (10, 2), (200, 3)]:
        for value, facts in numbers(metric, metric(metric.columns(n, seed))):
            above = facts.maximum is not None and value > facts.maximum
            assert not (value < facts.minimum or above), f"{facts.title} is {value}"


def rule_nan(metric: Subject) -> None:
    """NaN in any array is an OochubError, but for one of several labels, of which it says that nobody knows."""
    for name in metric.arrays:
        columns = metric.columns(20, 0)
        if columns[name].dtype.kind == "O":  # ragged: a number of one row
            row = next(row for row, values in enumerate(columns[name]) if len(values))
            columns[name][row] = columns[name][row] * np.nan
            with pytest.raises(OochubError, match="finite"):
                metric(columns)
        elif columns[name].dtype.kind not in "US" and (metric.kind, name) != ("labels", "label"):
            columns[name] = columns[name].astype(float)
            columns[name].reshape(20, -1)[7, 0] = np.nan
            with pytest.raises(OochubError):
                metric(columns)


def rule_empty(metric: Subject) -> None:
    """No rows are an OochubError, of the function and of the state."""
    with pytest.raises(OochubError):
        metric({name: column[:0] for name, column in metric.columns(4, 0).items()})
    with pytest.raises(OochubError):
        metric.state().compute()


def rule_lengths(metric: Subject) -> None:
    """Arrays of different lengths are an OochubError."""
    for name in metric.arrays:
        columns = metric.columns(20, 0)
        columns[name] = columns[name][:-1]
        with pytest.raises(OochubError):
            metric(columns)


def of_one_truth(metric: Subject) -> Iterator[Columns]:
    """Columns whose rows are all of one class, or have equal labels."""
    columns = metric.columns(40, 0)
    if "true_boxes" in columns:
        yield columns | {"true_boxes": np.array([(), *columns["true_boxes"]], object)[[0] * 40]}
        return
    if metric.kind != "classes":
        for value in (0.0, 1.0):
            yield columns | {"label": np.full_like(columns["label"], value)}
        return
    truth = columns["label"] if "label" in columns else np.where(columns["is_ood"], 2, columns.get("correct", 0))
    for rows in (truth == value for value in np.unique(truth)):
        yield {name: column[rows] for name, column in columns.items()}


def rule_one_class(metric: Subject) -> None:
    """What ranks or correlates has no value where all rows are alike; what averages rows keeps within its bounds."""
    for columns in of_one_truth(metric):
        try:
            results = numbers(metric, metric(columns))
        except OochubError:
            continue
        for value, facts in results:
            undefined = metric.facts.ranking or facts.unit == "correlation"
            assert math.isnan(value) if undefined else value >= facts.minimum


def rule_deterministic(metric: Subject) -> None:
    """The same arrays give the same number, and stay as they were."""
    columns = metric.columns(100, 0)
    before = copy.deepcopy(columns)
    same(metric(columns), metric(columns), tolerance=0)
    for name, column in columns.items():
        rows = zip(column, before[name], strict=True) if column.dtype.kind == "O" else [(column, before[name])]
        for now, then in rows:
            np.testing.assert_array_equal(now, then, err_msg=f"{metric.name} changed {name}")


def rule_rescaling(metric: Subject) -> None:
    """Where FACTS says ranking, an increasing change of the scores changes nothing."""
    if not metric.facts.ranking:
        return
    for seed in range(2):
        columns = metric.columns(200, seed)
        for rescale in (lambda s: 2 * s - 5, np.exp, lambda s: s**3, lambda s: s.astype(np.float32)):
            same(metric(columns), metric(columns | {"score": rescale(columns["score"])}), tolerance=0)


def rule_unit(metric: Subject) -> None:
    """Of numbers on another scale, what is in units of the label follows them, and nothing else does."""
    if metric.kind != "number":
        return
    columns = metric.columns(200, 0)
    larger = columns | {name: 4 * columns[name] for name in ("label", "prediction")}
    for (value, facts), (scaled, _) in zip(*(numbers(metric, metric(each)) for each in (columns, larger)), strict=True):
        power = {"label": 1, "label squared": 2}.get(facts.unit, 0)
        assert scaled == pytest.approx(4**power * value, rel=1e-12), f"{facts.title} in {facts.unit}"


def rule_state(metric: Subject) -> None:
    """States of any parts of the rows, merged in any order, give the number of all rows."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        columns = metric.columns(300, seed)
        cuts = np.sort(rng.choice(np.arange(1, 300), 6, replace=False))
        states = []
        for rows in np.split(np.arange(300), cuts):
            states.append(metric.state())
            half = len(rows) // 2
            for part in (rows[:half], rows[half:]):
                if len(part):
                    states[-1].update(**{name: column[part] for name, column in columns.items()})
        total = metric.state()
        for i in rng.permutation(len(states)):
            total.merge(states[i])
        merged = total.compute()
        same(metric(columns), merged if isinstance(merged, dict) else {metric.name: merged})


def rule_interval(metric: Subject) -> None:
    """The interval holds the value, has a width, and says its rows and its method."""
    columns = metric.columns(300, 0)
    intervals = metric.interval(columns)
    result = metric(columns)
    for key, interval in (intervals if isinstance(intervals, dict) else {metric.name: intervals}).items():
        assert isinstance(interval, Estimate)
        assert interval.value == pytest.approx(result[key], rel=1e-12)
        assert interval.low <= interval.value <= interval.high, f"{key}: {interval}"
        assert interval.low < interval.high, f"{key} has an interval without width: {interval}"
        assert 0 < interval.n <= 300 and interval.method


RULES = [
    rule_order,
    rule_bounds,
    rule_nan,
    rule_empty,
    rule_lengths,
    rule_one_class,
    rule_deterministic,
    rule_rescaling,
    rule_unit,
    rule_state,
    rule_interval,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_rule(name: str, kind: str, rule: Callable[[Subject], None]) -> None:
    try:
        rule(subject(name, kind))
    except (Exception, pytest.fail.Exception) as failure:
        file = f"eval_modules/metrics/{name}/{name}.py"
        pytest.fail(f"{file} breaks a rule of every metric of {kind}: {inspect.getdoc(rule)}\n{failure!r}")


def test_some_metrics_are_covered(capsys: pytest.CaptureFixture[str]) -> None:
    """Fault planted: another FOLDER, in which no metric is found, made it fail."""
    assert len(NAMES) >= 1
    for name in NAMES:
        assert (FOLDER / name / f"{name}.py").is_file(), f"{name} has no {name}.py"
    with capsys.disabled():
        print(f"\ncontract of metrics: {len(RULES)} rules x {len(CASES)} metrics and kinds of output")  # noqa: T201
