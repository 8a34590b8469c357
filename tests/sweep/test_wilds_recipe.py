"""The recipe wilds: each of its methods takes a step of its optimizer on the toy folder of each data set."""

import json
import math
from typing import Any

import pytest

import oochub
from oochub.sweep.runs import plan_stages
from oochub.sweep.sweep_recipe import read_recipe

MODELS = {
    "ogb_molpcba": "gin-virtual",
    "globalwheat": "yolos-tiny",
    "civilcomments": "distilbert-tiny",
    "amazon": "distilbert-tiny",
    "py150": "gpt2-tiny",
    "poverty_fold_a": "resnet-tiny",
}
"""Of other rows than images with a class: a small network in place of the recipe's, which come from the Hub."""


def runs():
    """The first seed of each method on each data set, of PovertyMap's folds the first."""
    made = {}
    for stage in plan_stages(read_recipe("wilds")):
        for run in stage:
            if not run.task.endswith(("_b", "_c", "_d", "_e")):
                made.setdefault((run.task, run.method), run)
    return made


RUNS = runs()


def test_every_data_set_has_wilds_methods():
    """Table 2 of WILDS: all four, on GlobalWheat two. Fault planted: IRM on GlobalWheat."""
    names = {task.rpartition("/")[2] for task, _ in RUNS}
    assert len(names) == 10 and len(RUNS) == 38
    assert [method for task, method in RUNS if task == "wilds/globalwheat"] == ["ERM", "GroupDRO"]


def _marks(task: str, method: str) -> Any:
    """CivilComments every day; each other data set by one method, by turns, and Py150 by those that tokens stopped."""
    tasks = list(dict.fromkeys(task for task, _ in RUNS))
    methods = [each for its, each in RUNS if its == task]
    in_turn = method == methods[tasks.index(task) % len(methods)]
    if "civil" in task:
        return ()
    by_tokens = task.endswith("py150") and method in ("CORAL", "IRM")
    few = (in_turn and "poverty" not in task) or by_tokens  # PovertyMap's model takes the longest
    return pytest.mark.slow if few else pytest.mark.campaign


@pytest.mark.slow
@pytest.mark.parametrize(("task", "method"), [pytest.param(*key, marks=_marks(*key)) for key in RUNS])
def test_each_takes_a_step(task, method, raw, tmp_path):
    """With the recipe's settings, batches and metric of selection; only model, images' size and steps are others."""
    name = task.rpartition("/")[2]
    small = {"model": MODELS.get(name, "resnet-tiny"), "pretrained": False, "max_steps": 1, "num_train_epochs": 1}
    if name not in MODELS or name == "globalwheat":
        small["image_size"] = 32
    (stage,) = plan_stages(read_recipe("wilds", overrides=small), only=[task, method])
    run, arguments = stage[0], dict(stage[0].arguments)
    if arguments.get("environments_per_batch", 0) > 8:  # of RxRx1: its toy has 8 experiments
        arguments["environments_per_batch"] = 8
    result = oochub.train(
        task,
        tmp_path / "run",
        objective=run.objective,
        hyperparameters=run.hyperparameters,
        model=run.model,
        environments=run.environments,
        arguments=arguments,
        image_size=run.image_size,
        pretrained=run.pretrained,
        data_dir=str(raw(task)),
    )
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert result["global_step"] == 1 and recipe["objective"]["hyperparameters"].items() >= run.hyperparameters.items()
    chosen = RUNS[task, method].arguments["metric_for_best_model"]
    assert recipe["selection"]["metric"] == chosen and recipe["selection"]["greater_is_better"]
    assert math.isfinite(recipe["selection"]["numbers"]["loss"]) and chosen in recipe["selection"]["numbers"]
