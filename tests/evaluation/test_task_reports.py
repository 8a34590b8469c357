"""Which tasks `--task every` names: those with a context, by captions too where scenes have a similarity to them."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from datasets import ClassLabel, Features, Value

from oochub.errors import OochubError
from oochub.evaluation import tasks as task_reports


def scenes(monkeypatch, *, similarity, contexts):
    """Scenes of cars, cows and cups, as the rows of nooch/all have them."""
    found = SimpleNamespace(
        similarity=similarity, alpha=0.05, names=["car", "cow", "cup"], contexts=lambda alpha: np.array(contexts)
    )
    monkeypatch.setattr(task_reports.Scenes, "of", lambda predictions, split: found)
    return task_reports._list_tasks(SimpleNamespace(split=np.array(["train", "test"])))


def test_every_task_has_a_context_and_what_its_criterion_reads(monkeypatch):
    """Fault planted: the tasks by captions where there is no similarity, and none where there is one."""
    contexts = [[False, True], [False, False], [True, True]]
    assert scenes(monkeypatch, similarity=None, contexts=contexts) == ["ce_car", "ce_cup"]
    both = scenes(monkeypatch, similarity=np.ones(2), contexts=contexts)
    assert both == ["ce_car", "ce_cup", "gist_car", "gist_cup"]
    with pytest.raises(OochubError, match="no class has a context"):
        scenes(monkeypatch, similarity=None, contexts=[[False]] * 3)


class Terminal(io.StringIO):
    """What a bar is written to where somebody looks on."""

    def isatty(self):
        return True


@pytest.mark.parametrize(("tasks", "bar"), [(["ce_car"], False), (["ce_car", "ce_cup"], True)])
def test_a_bar_counts_the_tasks_of_several(tasks, bar, monkeypatch, tmp_path):
    """One report is made under the bars of its own. Planted fault: a bar of one task."""
    saved = SimpleNamespace(save=lambda out: out)
    for name, stand_in in (
        ("open_parts", lambda parts: parts),
        ("concatenate_predictions", lambda parts: parts),
        ("task", lambda part, name: name),
        ("evaluate", lambda part: saved),
    ):
        monkeypatch.setattr(task_reports, name, stand_in)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    out = tmp_path / ("out" if bar else "out.json")
    assert list(task_reports.evaluate_tasks(["p.parquet"], tasks, out)) == tasks
    assert ("Evaluating" in terminal.getvalue()) == bar


def test_rows_of_all_tasks_become_rows_of_one():
    """By hand: the class is a number, its logit stands beside 0, and what is a number of a name becomes the name."""
    rows = pa.table({"example_id": ["a", "b"], "labels": [[1], []], "label": [7, 7], "logits": [[1.0, 2.0]] * 2})
    features = Features(
        label=ClassLabel(names=["no_car", "car"]),
        challenge=ClassLabel(names=["easy", "hard_positive"]),
        group=ClassLabel(names=["car/road", "no_car/road"]),
        cosine=Value("float32"),
    )
    columns = {
        "label": np.array([1, 0]),
        "challenge": np.array([1, 0]),
        "group": np.array(["car/road", "no_car/road"]),
        "cosine": np.array([0.5, -0.25]),
    }
    made = task_reports._replace_columns(rows, columns, features, np.array([2.0, -3.0], np.float32))
    assert made.to_pydict() == {
        "example_id": ["a", "b"],
        "label": [1, 0],
        "logits": [[0.0, 2.0], [0.0, -3.0]],
        "challenge": ["hard_positive", "easy"],
        "group": ["car/road", "no_car/road"],
        "cosine": [0.5, -0.25],
    }
    assert made.schema.field("cosine").type == pa.float32()
