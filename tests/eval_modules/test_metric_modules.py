"""A metric's folder as a module of `evaluate`, and its README."""

import contextlib
import doctest
import re
import subprocess
import sys
from importlib import import_module
from typing import Any

import evaluate
import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset
from metric_subjects import CASES, FOLDER, NAMES, same, subject

import oochub
from oochub.dataset_cards.metric_card import metric_card
from oochub.errors import OochubError
from oochub.metric import MetricShell, read_paragraph


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_evaluate_loads_the_folder(name: str, kind: str) -> None:
    """evaluate.load gives the function's numbers, in one call and in batches, and keeps no rows of an error."""
    metric, shell = subject(name, kind), evaluate.load(str(FOLDER / name))
    assert isinstance(shell, evaluate.Metric) and shell.name == name
    assert shell.info.citation == shell.citation == read_paragraph(shell.description, "Source") != ""
    columns = metric.columns(50, 0)
    expected = metric(columns)
    same(shell.compute(**columns), expected)
    for rows in np.array_split(np.arange(50), 4):
        shell.add_batch(**{array: column[rows] for array, column in columns.items()})
    same(shell.compute(), expected)
    for i in range(50):
        shell.add(**{array: column[i] for array, column in columns.items()})
    same(shell.compute(), expected)
    shell.add_batch(**{array: column[:2] for array, column in columns.items()})
    with pytest.raises(OochubError):
        shell.compute(**{array: column[:0] for array, column in columns.items()})
    assert len(shell) == 0
    same(shell.compute(**columns), expected)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_types_that_evaluate_shows_hold_the_arrays(name: str, kind: str) -> None:
    """One of the alternatives in `features` stores each array and gives it back."""
    columns = {array: _listed(column) for array, column in subject(name, kind).columns(50, 0).items()}
    features = evaluate.load(str(FOLDER / name)).info.features
    kept = []
    for each in features if isinstance(features, list) else [features]:
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            stored = Dataset.from_dict(columns, features=each).with_format("numpy")[:]
            kept.append({array: _listed(column) for array, column in stored.items()})
    texts = [str({array: each[array] for array in columns}) for each in kept]  # nan is not equal to itself
    assert (
        str({array: column if array != "group" else list(map(str, column)) for array, column in columns.items()})
        in texts
    )


def _listed(values):
    """Arrays and tuples of any depth as lists."""
    if isinstance(values, np.ndarray | list | tuple):
        return [_listed(value) for value in values]
    return values.item() if isinstance(values, np.generic) else values


@pytest.mark.slow
@pytest.mark.parametrize(
    "before", ["", "import types\nsys.modules['evaluate'] = types.ModuleType('evaluate')\n"], ids=["plain", "script"]
)
def test_a_metric_is_imported_without_evaluate(before: str) -> None:
    """Function, facts and state need numpy and scipy alone, also where a script of the user's is named `evaluate`."""
    code = (
        f"import sys\nfrom importlib import import_module\n{before}"
        "heavy = ('datasets', 'torch', 'transformers', 'pandas', 'pyarrow', 'sklearn', 'evaluate.module')\n"
        f"for name in {NAMES!r}:\n"
        "    file = import_module(f'oochub.eval_modules.metrics.{name}.{name}')\n"
        "    assert file.FACTS and callable(getattr(file, name))\n"
        "    assert not (imported := [module for module in heavy if module in sys.modules]), (name, imported)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
def test_evaluate_loads_what_was_imported_before_it() -> None:
    """`evaluate.load` and `evaluate.combine` work where the metrics' functions came first; the class alone says how."""
    code = (
        "import oochub\nfrom oochub.eval_modules.metrics.error_rate.error_rate import ErrorRate\n"
        "try:\n    ErrorRate()\nexcept oochub.OochubError as error:\n    print(error)\n"
        f"import evaluate\nshells = [evaluate.load({str(FOLDER)!r} + '/' + n) for n in ('accuracy', 'error_rate')]\n"
        "print(evaluate.combine(shells).compute(references=[0, 1, 1, 1], predictions=[0, 1, 1, 0]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    message, _, numbers = run.stdout.strip().rpartition("\n")
    assert "ErrorRate was imported without `evaluate`" in message and "evaluate.load(FOLDER)" in message, run.stderr
    assert numbers == "{'accuracy': 0.75, 'error_rate': 0.25}"


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_names_of_evaluate_in_combine(name: str, kind: str) -> None:
    """`predictions` and `references` stand for the metric's own arrays: whole, in batches, and beside another metric.

    Planted faults seen: features by the metric's names, which `combine` cannot find; no truth but `label`.
    """
    metric = subject(name, kind)
    columns = metric.columns(40, 3)
    truth = next(each for each in ("label", "is_ood", "true_boxes") if each in columns)
    compared = next(each for each in ("prediction", "score", "probability", "boxes") if each in columns)
    expected = metric(columns)
    theirs = {{truth: "references", compared: "predictions"}.get(each, each): columns[each] for each in columns}
    same(evaluate.load(str(FOLDER / name)).compute(**theirs), expected)
    both = evaluate.combine({which: evaluate.load(str(FOLDER / name)) for which in ("one", "two")})
    whole = both.compute(**theirs)
    for rows in (slice(25), slice(25, 40)):
        both.add_batch(**{each: column[rows] for each, column in theirs.items()})
    for result in (whole, both.compute()):
        assert set(result) == {f"{which}_{key}" for which in ("one", "two") for key in expected}
        for which in ("one", "two"):
            same({key: result[f"{which}_{key}"] for key in expected}, expected)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_metric_s_own_name_wins(name: str, kind: str) -> None:
    """Beside `score` and its like, `predictions` are another metric's; so are `references` beside `is_ood`."""
    metric, shell = subject(name, kind), evaluate.load(str(FOLDER / name))
    columns = metric.columns(40, 3)
    truth = next(each for each in ("label", "is_ood", "true_boxes") if each in columns)
    compared = next(each for each in ("prediction", "score", "probability", "boxes") if each in columns)
    expected = metric(columns)
    others = {"predictions": columns[compared][::-1], "references": columns[truth][:: 1 if truth == "label" else -1]}
    for given in (others | columns, columns | others):
        same(shell.compute(**given), expected)
        one = evaluate.combine([shell])
        same(one.compute(**given), expected)
        for module in (shell, one):
            for rows in (slice(25), slice(25, 40)):
                module.add_batch(**{each: column[rows] for each, column in given.items()})
            same(module.compute(), expected)
            singular = {"predictions": "prediction", "references": "reference"} if module is one else {}
            for i in range(40):
                row = {each: column[i] for each, column in given.items()}
                module.add(**{singular[each]: row.pop(each) for each in singular} | row)
            same(module.compute(), expected)
    if truth == "label":
        with pytest.raises(OochubError, match=r"label and references differ.*Pass one of them"):
            shell.compute(**columns, references=columns[truth][::-1])


def test_a_batch_without_an_array_says_which() -> None:
    """Fault planted: no array counted as needed is a TypeError of Python."""
    shell = evaluate.load(str(FOLDER / "accuracy"))
    with pytest.raises(OochubError, match=r"accuracy also needs prediction, got label\."):
        shell.add_batch(references=[0, 1], predictions=None)


def test_a_class_of_a_plug_in_may_name_evaluate_itself() -> None:
    """Fault planted: a base that is added a second time is a TypeError of Python ("duplicate base class")."""

    class Own(MetricShell, evaluate.Metric):
        state = subject("accuracy").state

    assert Own.__mro__.count(evaluate.Metric) == 1
    assert Own.__bases__ == (MetricShell, evaluate.Metric)


def test_readme_of_a_file_that_lacks_parts_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault planted: without the check it is a KeyError: 'Raises'."""
    module = import_module("oochub.eval_modules.metrics.auc.auc")
    monkeypatch.setattr(module, "__doc__", "AUC: a number.")
    monkeypatch.setattr(module.auc, "__doc__", "A number.\n\nArgs:\n    label: 0 or 1.\n\nReturns:\n    It.\n")
    with pytest.raises(OochubError, match=r'lacks a paragraph "Interval: \.\.\.".*; a section "Raises:".*; an example'):
        metric_card("auc")


@pytest.mark.parametrize("name", NAMES)
def test_readme_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every python block of a metric's README runs in one namespace and prints what it says."""
    text = (FOLDER / name / "README.md").read_text("utf-8")
    assert re.match(r"---\n(.*\n)*?title: \S.*\n", text), f"{name}/README.md needs front matter with a title"
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks, f"{name}/README.md shows no code"
    monkeypatch.chdir(FOLDER.resolve().parents[1])
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, f"{name}/README.md", None, 0)
    assert examples.examples, f"{name}/README.md has code without a prompt"
    report: list[str] = []
    failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=report.append).failed
    assert failed == 0, "".join(report)


def test_an_array_that_the_hub_does_not_know_is_an_error():
    class State:
        def update(self, *, weight: Any) -> None:
            """Takes what no metric takes."""

    class Odd(MetricShell):
        state = State

    with pytest.raises(oochub.OochubError, match=r"Arrays of a metric may be label, .*State takes weight\. Name it"):
        Odd()
