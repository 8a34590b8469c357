"""Laws that every metric keeps: each folder of eval_modules/metrics is found and tested without being named here.

Each law was seen to fail on a planted fault; `test_laws_catch_planted_faults` repeats that.
"""

import doctest
import inspect
import math
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import oochub.eval_modules.metrics
from oochub.errors import OochubError
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.estimation import Estimate, estimate

FOLDER = Path(next(iter(oochub.eval_modules.metrics.__path__)))
NAMES = sorted(found.name for found in pkgutil.iter_modules([str(FOLDER)]) if not found.name.startswith("_"))
Columns = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """A metric under test: its function, and what its file says beside it."""

    name: str
    function: Callable[..., Any]
    facts: MetricFacts
    state: Callable[..., Any]
    arrays: tuple[str, ...]
    interval: Callable[[Columns], Any]

    def __call__(self, columns: Columns) -> dict[str, Any]:
        result = self.function(**columns)
        return result if isinstance(result, dict) else {self.name: result}


def subject(name: str) -> Subject:
    module = import_module(f"oochub.eval_modules.metrics.{name}.{name}")
    function = getattr(module, name)
    shells = [one for one in vars(module).values() if inspect.isclass(one) and issubclass(one, evaluate.Metric)]
    assert len(shells) == 1, f"{name}.py defines one evaluate.Metric, got {shells}"
    state = shells[0].state
    arrays = tuple(one for one in inspect.signature(state.update).parameters if one != "self")
    return Subject(name, function, module.FACTS, state, arrays, lambda columns: estimate(function, columns))


def random_columns(arrays: tuple[str, ...], n: int, seed: int) -> Columns:
    """Columns that agree with each other; scores in eighths, so that there are ties."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    probability = rng.integers(0, 65, n) / 64
    sign = np.where(label == 1, "hard_positive", "hard_negative")
    made: Columns = {
        "label": label,
        "prediction": rng.integers(0, 2, n),
        "score": np.round(rng.normal(label, 1.5, n) * 8) / 8,
        "probability": np.stack([1 - probability, probability], axis=1),
        "group": rng.integers(0, 4, n),
        "challenge": np.where(rng.random(n) < 0.3, "easy", sign),
        "is_ood": label.astype(bool),
        "correct": rng.random(n) < 0.7,
    }
    unknown = sorted(set(arrays) - set(made))
    assert not unknown, f"random_columns makes no {unknown}: teach it, for a law needs columns"
    return {name: made[name] for name in arrays}


def same(first: dict[str, Any], second: dict[str, Any], tolerance: float = 1e-12) -> None:
    assert list(first) == list(second)
    for key, value in first.items():
        if isinstance(value, float):
            assert second[key] == pytest.approx(value, rel=tolerance, abs=tolerance, nan_ok=True), key
        else:
            assert second[key] == value, key


def numbers(metric: Subject, result: dict[str, Any]) -> list[tuple[float, MetricFacts]]:
    facts = metric.facts.keys or {metric.name: metric.facts}
    return [(result[key], facts[key]) for key in facts if key in result]


def law_order(metric: Subject) -> None:
    for seed in range(5):
        columns = random_columns(metric.arrays, 60, seed)
        order = np.random.default_rng(seed).permutation(60)
        same(metric(columns), metric({name: column[order] for name, column in columns.items()}))


def law_bounds(metric: Subject) -> None:
    for n, seed in [(2, 0), (3, 1), (10, 2), (200, 3), (5000, 4)]:
        for value, facts in numbers(metric, metric(random_columns(metric.arrays, n, seed))):
            above = facts.maximum is not None and value > facts.maximum
            assert not (value < facts.minimum or above), f"{facts.title} is {value}"


def law_nan(metric: Subject) -> None:
    for name in metric.arrays:
        columns = random_columns(metric.arrays, 20, 0)
        if columns[name].dtype.kind not in "US":
            columns[name] = columns[name].astype(float)
            columns[name].reshape(20, -1)[7, 0] = np.nan
            with pytest.raises(OochubError):
                metric(columns)


def law_empty(metric: Subject) -> None:
    with pytest.raises(OochubError):
        metric({name: column[:0] for name, column in random_columns(metric.arrays, 4, 0).items()})
    with pytest.raises(OochubError):
        metric.state().compute()


def law_lengths(metric: Subject) -> None:
    for name in metric.arrays:
        columns = random_columns(metric.arrays, 20, 0)
        columns[name] = columns[name][:-1]
        with pytest.raises(OochubError):
            metric(columns)


def law_one_class(metric: Subject) -> None:
    """What ranks two classes has no value on one; what averages rows keeps within its bounds."""
    columns = random_columns(metric.arrays, 40, 0)
    truth = columns["label"] if "label" in columns else np.where(columns["is_ood"], 2, columns.get("correct", 0))
    for kept in (truth == one for one in np.unique(truth)):
        try:
            found = numbers(metric, metric({name: column[kept] for name, column in columns.items()}))
        except OochubError:
            continue
        for value, facts in found:
            assert math.isnan(value) if metric.facts.ranking else value >= facts.minimum


def law_deterministic(metric: Subject) -> None:
    columns = random_columns(metric.arrays, 100, 0)
    before = {name: column.copy() for name, column in columns.items()}
    same(metric(columns), metric(columns), tolerance=0)
    for name, column in columns.items():
        np.testing.assert_array_equal(column, before[name], err_msg=f"{metric.name} changed {name}")


def law_rescaling(metric: Subject) -> None:
    if not metric.facts.ranking:
        return
    for seed in range(5):
        columns = random_columns(metric.arrays, 200, seed)
        for rescale in (lambda s: 2 * s - 5, np.exp, lambda s: s**3, lambda s: s.astype(np.float32)):
            same(metric(columns), metric(columns | {"score": rescale(columns["score"])}), tolerance=0)


def law_state(metric: Subject) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        columns = random_columns(metric.arrays, 300, seed)
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
        found = total.compute()
        same(metric(columns), found if isinstance(found, dict) else {metric.name: found})


def law_interval(metric: Subject) -> None:
    columns = random_columns(metric.arrays, 300, 0)
    found = metric.interval(columns)
    result = metric(columns)
    for key, one in (found if isinstance(found, dict) else {metric.name: found}).items():
        assert isinstance(one, Estimate)
        assert one.value == pytest.approx(result[key], rel=1e-12)
        assert one.low <= one.value <= one.high, f"{key}: {one}"
        assert one.low < one.high, f"{key} has an interval without width: {one}"
        assert 0 < one.n <= 300 and one.method


LAWS = [
    law_order,
    law_bounds,
    law_nan,
    law_empty,
    law_lengths,
    law_one_class,
    law_deterministic,
    law_rescaling,
    law_state,
    law_interval,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_law(name: str, law: Callable[[Subject], None]) -> None:
    law(subject(name))


def test_some_metrics_are_covered(capsys: pytest.CaptureFixture[str]) -> None:
    """Fault planted: another FOLDER, in which no metric is found, made it fail."""
    assert len(NAMES) >= 1
    for name in NAMES:
        assert (FOLDER / name / f"{name}.py").is_file(), f"{name} has no {name}.py"
    with capsys.disabled():
        print(f"\nlaws of metrics: {len(LAWS)} laws x {len(NAMES)} metrics")  # noqa: T201


@pytest.mark.parametrize("name", NAMES)
def test_evaluate_loads_the_folder(name: str) -> None:
    """evaluate.load gives the function's numbers, in one call and in batches, and keeps no rows of an error.

    Faults planted: `compute` without its `finally` left two rows behind; a shell whose state was that of the
    error rate gave another number.
    """
    metric, shell = subject(name), evaluate.load(str(FOLDER / name))
    columns = random_columns(metric.arrays, 50, 0)
    expected = metric(columns)
    same(shell.compute(**columns), expected)
    for rows in np.array_split(np.arange(50), 4):
        shell.add_batch(**{one: column[rows] for one, column in columns.items()})
    same(shell.compute(), expected)
    for i in range(50):
        shell.add(**{one: column[i] for one, column in columns.items()})
    same(shell.compute(), expected)
    shell.add_batch(**{one: column[:2] for one, column in columns.items()})
    with pytest.raises(OochubError):
        shell.compute(**{one: column[:0] for one, column in columns.items()})
    assert len(shell) == 0
    same(shell.compute(**columns), expected)


@pytest.mark.parametrize("name", NAMES)
def test_readme_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every python block of a metric's README runs and prints what it says.

    Faults planted: a wrong digit in a printed result; a README without its title line.
    """
    text = (FOLDER / name / "README.md").read_text("utf-8")
    assert re.match(r"---\n(.*\n)*?title: \S.*\n", text), f"{name}/README.md needs front matter with a title"
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks, f"{name}/README.md shows no code"
    monkeypatch.chdir(FOLDER.resolve().parents[1])
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, f"{name}/README.md", None, 0)
    assert parsed.examples, f"{name}/README.md has code without a prompt"
    report: list[str] = []
    failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed, out=report.append).failed
    assert failed == 0, "".join(report)


class _BatchMeanState:
    """Planted fault: the mean of the AUCs of the batches."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def update(self, *, label: Any, score: Any) -> None:
        if 0 < sum(label) < len(label):
            self.values.append(float(roc_auc_score(label, score)))

    def merge(self, other: "_BatchMeanState") -> None:
        self.values += other.values

    def compute(self) -> float:
        return float(np.mean(self.values))


def _sorting_in_place(label: Any, score: Any) -> float:
    score.sort()
    return 0.5


def _nan_as_zero(label: Any, score: Any) -> float:
    return float(_AUC(np.nan_to_num(label) > 0, np.nan_to_num(score)))


def _cut_to_the_shorter(label: Any, score: Any) -> float:
    n = min(len(label), len(score))
    return float(_AUC(label[:n], score[:n]))


def _made(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low=low, high=high, n=300, method="planted")


_AUC = import_module("oochub.eval_modules.metrics.auc.auc").auc
_GENERATOR = np.random.default_rng(0)
FAULTS: list[tuple[Callable[[Subject], None], str, dict[str, Any]]] = [
    (law_order, "the first row alone", {"function": lambda label, score: float(score[0])}),
    (law_bounds, "twice the AUC", {"function": lambda label, score: 2 * _AUC(label, score)}),
    (law_nan, "nan read as 0", {"function": _nan_as_zero}),
    (law_empty, "0 for no rows", {"function": lambda label, score: 0.0}),
    (law_lengths, "cut to the shorter", {"function": _cut_to_the_shorter}),
    (law_one_class, "one half for one class", {"function": lambda label, score: 0.5}),
    (law_deterministic, "random", {"function": lambda label, score: float(_GENERATOR.random())}),
    (law_deterministic, "sorts the caller's array", {"function": _sorting_in_place}),
    (law_rescaling, "a mean of scores", {"function": lambda label, score: float(np.mean(score[label == 1]))}),
    (law_state, "mean of the batches' AUCs", {"state": _BatchMeanState}),
    (law_interval, "of other rows", {"interval": lambda columns: _made(0.5, 0.4, 0.6)}),
    (law_interval, "no width", {"interval": lambda columns: _made(*[_AUC(**columns)] * 3)}),
]  # fmt: skip


@pytest.mark.parametrize(("law", "fault", "planted"), FAULTS, ids=[f"{law.__name__}-{f}" for law, f, _ in FAULTS])
def test_laws_catch_planted_faults(law: Callable[[Subject], None], fault: str, planted: dict[str, Any]) -> None:
    sound = subject("auc")
    law(sound)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        law(replace(sound, **planted))


def test_every_law_has_a_planted_fault() -> None:
    assert {law for law, _, _ in FAULTS} == set(LAWS)


def test_an_array_that_the_hub_does_not_know_is_an_error():
    class State:
        def update(self, *, weight: Any) -> None:
            """Takes what no metric takes."""

    class Odd(MetricShell, evaluate.Metric):
        state = State

    with pytest.raises(oochub.OochubError, match=r"Arrays of a metric are label, .*State takes weight\. Name it"):
        Odd()
