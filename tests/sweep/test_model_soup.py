"""Model soups: weights against a mean in numpy, the greedy choice against a loop over soups, what cannot be mixed."""

import json

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file

import oochub
from oochub.errors import OochubError
from oochub.sweep.measurement import measure
from oochub.sweep.model_soup import make_soup
from oochub.sweep.runs import plan_stages
from oochub.sweep.sweep import feature_sweep, sweep
from oochub.sweep.sweep_recipe import read_recipe

RECIPE = """
tasks = ["domains/pacs_sketch"]
model = "resnet-tiny"
image_size = 16
select = "training_domain_validation"
soup = "uniform"
[arguments]
num_train_epochs = 1
per_device_train_batch_size = 16
[methods.ERM]
objective = "erm"
grid = { learning_rate = [0.001, 0.003, 0.01, 0.03] }
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A raw folder with enough rows that accuracies differ, and its data."""
    from oochub.builders.toy_worlds.toy_domains import toy_domains

    folder = toy_domains(tmp_path_factory.mktemp("raw") / "domains", size=10)
    return folder, oochub.load("domains/pacs_sketch", data_dir=str(folder))


@pytest.fixture(scope="module")
def runs(world, tmp_path_factory):
    """Four runs that differ in their rate."""
    folder = tmp_path_factory.mktemp("runs")
    arguments = {"num_train_epochs": 3, "per_device_train_batch_size": 16}
    for rate in (0.001, 0.003, 0.01, 0.03):
        oochub.train(
            "domains/pacs_sketch", folder / f"{rate:g}", model="resnet-tiny", image_size=16, data_dir=str(world[0]),
            arguments={**arguments, "learning_rate": rate},
        )  # fmt: skip
    return sorted(folder.iterdir())


def accuracy_of(model, rows):
    predictions = oochub.predict(str(model), {"validation": rows}, cache=False)
    return float((predictions.prediction == predictions.label).mean())


@pytest.mark.slow
def test_a_uniform_soup_is_the_mean(world, runs, tmp_path):
    """Every weight in float64; statistics of BatchNorm are those of the training rows, not a mean of statistics."""
    train, validation = world[1]["train"], world[1]["validation"]
    make_soup(runs, tmp_path / "soup", train=train, validation=validation, kind="uniform")
    soup, states = (
        load_file(tmp_path / "soup" / "model.safetensors"),
        [load_file(run / "model.safetensors") for run in runs],
    )
    renewed = 0
    for name, values in soup.items():
        mean = np.mean([state[name].numpy().astype(np.float64) for state in states], axis=0)
        same = np.allclose(values.numpy(), mean, atol=1e-6)
        if "running_" in name:
            renewed += not same
        elif "num_batches" not in name:
            assert same, name
    assert renewed > 10
    recipe = json.loads((tmp_path / "soup" / "recipe.json").read_text())
    assert recipe["selection"]["numbers"]["accuracy"] == pytest.approx(accuracy_of(tmp_path / "soup", validation))
    assert list(recipe["soup"]["runs"]) == [run.name for run in runs] and "4 of 4 runs" in recipe["selection"]["rule"]
    assert "learning_rate" not in recipe["arguments"] and recipe["arguments"]["num_train_epochs"] == 3


@pytest.mark.slow
def test_a_greedy_soup_is_that_of_a_loop(world, runs, tmp_path):
    """The loop mixes each candidate as a uniform soup of its own, and asks `oochub.predict` for its accuracy."""
    train, validation = world[1]["train"], world[1]["validation"]
    alone = {run: accuracy_of(run, validation) for run in runs}
    order = sorted(runs, key=lambda run: alone[run], reverse=True)
    taken, best = order[:1], alone[order[0]]
    for number, run in enumerate(order[1:]):
        out = tmp_path / str(number)
        make_soup([*taken, run], out, train=train, validation=validation, kind="uniform")
        if accuracy_of(out, validation) >= best:
            taken, best = [*taken, run], accuracy_of(out, validation)
    make_soup(runs, tmp_path / "soup", train=train, validation=validation, kind="greedy")
    recipe = json.loads((tmp_path / "soup" / "recipe.json").read_text())
    assert list(recipe["soup"]["runs"]) == [run.name for run in taken] and len(set(alone.values())) > 1
    assert 1 <= len(taken) < len(runs) and accuracy_of(tmp_path / "soup", validation) == pytest.approx(best)


@pytest.mark.slow
def test_what_cannot_be_mixed(world, runs, tmp_path):
    train, validation = world[1]["train"], world[1]["validation"]
    asked = {"train": train, "validation": validation, "kind": "uniform"}
    with pytest.raises(OochubError, match="none of 1 is"):
        make_soup([tmp_path / "nowhere"], tmp_path / "soup", **asked)
    other = tmp_path / "seed1"
    oochub.train(
        "domains/pacs_sketch", other, model="resnet-tiny", image_size=16, data_dir=str(world[0]),
        arguments={"num_train_epochs": 1, "seed": 1},
    )  # fmt: skip
    with pytest.raises(OochubError, match="have other first weights"):
        make_soup([runs[0], other], tmp_path / "soup", **asked)
    assert not (tmp_path / "soup").exists()


@pytest.fixture
def recipe_of(tmp_path):
    def read(text, **overrides):
        (tmp_path / "soup.toml").write_text(text)
        return read_recipe(tmp_path / "soup.toml", overrides=overrides)

    return read


def test_a_soup_is_one_more_setting(recipe_of):
    """For each task, method and seed, after its runs; a method of one setting has none."""
    trained, mixed = plan_stages(recipe_of(RECIPE + '[methods.IRM]\nobjective = "irm"\n', seeds=[0, 1]))
    assert [(run.method, run.seed, run.setting) for run in mixed] == [
        ("ERM", seed, {"soup": "uniform"}) for seed in (0, 1)
    ]
    for run in mixed:
        assert list(run.mixes) == [each.id for each in trained if (each.method, each.seed) == ("ERM", run.seed)]
        assert run.hyperparameters == {} and "soup=uniform" in run.id
    greedy = plan_stages(recipe_of(RECIPE, soup="greedy"))[1][0]
    assert greedy.id != mixed[0].id


def test_recipes_that_are_wrong(recipe_of, tmp_path):
    with pytest.raises(OochubError, match="must be one of '', uniform, greedy, got 'greed'"):
        recipe_of(RECIPE, soup="greed")
    with pytest.raises(OochubError, match="tuning and leave_out do not go with it"):
        recipe_of(RECIPE.replace("training_domain_validation", "leave_one_environment_out") + "", leave_out=["photo"])
    with pytest.raises(OochubError, match="mixes whole networks"):
        feature_sweep(recipe_of(RECIPE), tmp_path / "out", measure=lambda runs, folder: iter(()))


@pytest.mark.slow
def test_a_sweep_with_a_soup(recipe_of, world, tmp_path):
    """From the raw folder to a row of the table with the soup's numbers."""
    from functools import partial

    result = sweep(recipe_of(RECIPE), tmp_path / "out", measure=partial(measure, data_dir=str(world[0])))
    table = pd.read_parquet(result.table)
    assert len(table) == 5 and result.failed == 0
    row = table[table["setting"] == json.dumps({"soup": "uniform"})].iloc[0]
    recipe = json.loads((tmp_path / "out" / row["path"] / "recipe.json").read_text())
    assert row["validation/accuracy"] == pytest.approx(recipe["selection"]["numbers"]["accuracy"])
    assert 0 <= row["out_of_context/accuracy"] <= 1 and len(recipe["soup"]["runs"]) == 4
