"""Metrics together by `evaluate.combine`: own names and others' names, compared with plain numpy."""

import inspect
from typing import Any

import evaluate
import numpy as np
import pytest
from metric_subjects import FOLDER, NAMES, same, subject

from oochub.errors import OochubError
from oochub.metric import _DEPTHS, _OPTIONS, _TYPES

ROWS = 60


def _columns() -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name in ("worst_group", "auc_hard", "auroc_failure", "ece"):
        columns |= subject(name, "classes").columns(ROWS, 5)
    return columns | {"probability": columns["probability"][:, 1]}


def _auc(positive: np.ndarray, negative: np.ndarray) -> float:
    ahead = positive[:, None] - negative[None]
    return float(((ahead > 0) + 0.5 * (ahead == 0)).mean())


def _expected(columns: dict[str, Any], *, score: np.ndarray, prediction: np.ndarray) -> dict[str, float]:
    """Each number by its definition, in plain numpy."""
    label, p, group = columns["label"], columns["probability"], columns["group"]
    hard, ood, correct = columns["challenge"] != "easy", columns["is_ood"], columns["correct"]
    confidence, right = np.maximum(p, 1 - p), (p > 0.5) == label
    bins = [(confidence > i / 15) & (confidence <= (i + 1) / 15) for i in range(15)]
    loss = -np.log(np.maximum(np.where(label == 1, p, 1 - p), np.finfo(np.float64).tiny))
    return {
        "auc": _auc(score[label == 1], score[label == 0]),
        "auc_hard": _auc(score[hard & (label == 1)], score[hard & (label == 0)]),
        "ece": sum(abs(right[b].mean() - confidence[b].mean()) * b.mean() for b in bins if b.any()),
        "accuracy": min((prediction == label)[group == g].mean() for g in np.unique(group)),
        "nll": max(loss[group == g].mean() for g in np.unique(group)),
        "auroc_new_class": _auc(score[~ood], score[ood]),
        "auroc_failure": _auc(score[~ood & correct], score[ood | ~correct]),
    }


@pytest.mark.parametrize(
    "names", [("auc_hard", "worst_group", "ece"), ("auc", "auc_hard", "ece"), ("auroc_new_class", "auroc_failure")]
)
@pytest.mark.parametrize("theirs", [False, True])
def test_together_as_alone(names: tuple[str, ...], theirs: bool) -> None:
    """`compute`, `add_batch` and `add` give what each metric gives alone, by own names or `predictions`."""
    columns = _columns()
    prediction, score = columns["prediction"], columns["score"]
    if theirs:
        score, prediction = columns["probability"], (columns["probability"] > 0.5).astype(int)
        columns["references"] = columns.pop("label") if names[0] != "auroc_new_class" else columns.pop("is_ood")
        columns["predictions"] = columns["probability"]
        columns = {name: columns[name] for name in columns if name not in ("prediction", "score", "probability")}
    needed = {each for name in names for each in subject(name, "classes").arrays} | {"predictions", "references"}
    columns = {name: column for name, column in columns.items() if name in needed}
    of_all = _columns()
    expected = _expected(of_all, score=score, prediction=prediction)
    wanted = {name: value for name, value in expected.items() if name in (*names, "accuracy", "nll")}
    module = evaluate.combine([evaluate.load(str(FOLDER / name)) for name in names])
    whole = module.compute(**columns)
    for rows in np.array_split(np.arange(ROWS), 3):
        module.add_batch(**{name: column[rows] for name, column in columns.items()})
    batches = module.compute()
    singular = {"predictions": "prediction", "references": "reference"} if theirs else {}
    for i in range(ROWS):
        module.add(**{singular.get(name, name): column[i] for name, column in columns.items()})
    for result in (whole, batches, module.compute()):
        given = {name: value for name, value in result.items() if name in wanted}
        same(given, {name: wanted[name] for name in given})
        assert {*names} - {"worst_group"} <= {*given} and ("worst_group" not in names or "nll" in given)


def test_worst_group_by_probabilities() -> None:
    """Without classes they are those of the largest probability, of two columns as of one."""
    columns, module = _columns(), evaluate.load(str(FOLDER / "worst_group"))
    p = columns["probability"]
    of_two = np.stack([1 - p, p], axis=1)
    label, group = columns["label"], columns["group"]
    expected = module.compute(label=label, prediction=of_two.argmax(1), probability=p, group=group)
    for probability in (p, of_two):
        same(module.compute(label=label, probability=probability, group=group), expected)
        same(module.compute(references=label, predictions=probability, group=group), expected)
    assert module.compute(label=[0], probability=[0.5], group=["a"])["accuracy"] == 1.0
    with pytest.raises(OochubError, match="needs prediction or probability, got neither"):
        module.compute(label=[0, 1], group=["a", "b"])


def test_names_of_no_metric_are_refused() -> None:
    """In `combine` as alone; alone, a name that only another metric takes is refused, too."""
    accuracy = evaluate.load(str(FOLDER / "accuracy"))
    module = evaluate.combine([accuracy])
    given = {"label": [0, 1], "prediction": [0, 1]}
    assert module.compute(**given, bins=10, group=["a", "b"]) == {"accuracy": 1.0}
    for call in (module.compute, module.add_batch):
        with pytest.raises(OochubError, match=r"takes label, prediction, got grup\."):
            call(**given, grup=["a", "b"])
    with pytest.raises(OochubError, match=r"takes label, prediction, got group\."):
        accuracy.compute(**given, group=["a", "b"])


def test_the_names_of_the_hub_are_those_of_its_metrics() -> None:
    """Fault planted: a list without `tpr`."""
    taken = {each for name in NAMES for each in inspect.signature(subject(name).function).parameters}
    assert taken == {*_TYPES, *_DEPTHS, *_OPTIONS}
