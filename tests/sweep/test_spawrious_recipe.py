"""Spawrious' recipe: the batches of its methods, a tiny run of each, and its table from a sweep on the toy world."""

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from oochub.cli import main
from oochub.sweep.runs import RunListing, plan_stages
from oochub.sweep.sweep_recipe import read_recipe
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.fitting import choose_sampler
from oochub.training import train

NOT_OF_DOMAINBED = {"JTT", "LISA"}
TINY = {"model": "resnet-tiny", "image_size": 16, "per_device_train_batch_size": 8, "max_steps": 2, "seeds": [0]}
TASKS = [f"{kind}_{level}" for kind in ("o2o", "m2m") for level in ("easy", "medium", "hard")]
SWEEP = """
tasks = ["spawrious/o2o_*", "spawrious/m2m_*"]
seeds = [0, 1]
model = "resnet-tiny"
image_size = 16
select = "training_domain_validation"
[arguments]
per_device_train_batch_size = 8
sampler = "environments"
max_steps = 2
[methods.ERM]
objective = "erm"
[methods.MMD-AAE]
objective = "mmd"
"""


@pytest.mark.parametrize("variant", [None, "vit"])
def test_batches_are_those_of_each_methods_code(variant):
    """DomainBed's have equally many rows of each environment, counted over an epoch of environments of two sizes."""
    recipe = read_recipe("spawrious", variant=variant)
    runs = [run for stage in plan_stages(recipe) for run in stage]
    environment = np.repeat([0, 1], [10_000, 7_000])
    for method in {run.method for run in runs}:
        arguments = next(run.arguments for run in runs if run.method == method)
        size = arguments["per_device_train_batch_size"]
        args = RobustTrainingArguments(
            output_dir="runs", sampler=arguments["sampler"], per_device_train_batch_size=size
        )
        rows = SimpleNamespace(label=0 * environment, environment=environment)
        order = list(choose_sampler(args, rows, processes=1))
        counts = {tuple(Counter(environment[order[k : k + size]]).values()) for k in range(0, 10_000, size)}
        assert (counts == {(size // 2, size // 2)}) == (method not in NOT_OF_DOMAINBED), method
        assert len({run.arguments["sampler"] for run in runs if run.method == method}) == 1


def test_the_dry_run_shows_the_batches(capsys):
    recipe = read_recipe("spawrious")
    Console(width=100).print(RunListing.of(recipe, plan_stages(recipe)).terminal())
    lines = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ["ERM", "sampler=environments"] in lines and ["LISA", "sampler=uniform"] in lines


@pytest.mark.slow  # twelve trainings: ten seconds
def test_every_method_trains_with_its_batches(tmp_path, spawrious):
    """Two steps of each, with the first settings that the recipe draws, on the toy world."""
    recipe = read_recipe("spawrious", overrides=TINY)
    first = tuple(replace(method, settings=method.settings[:1]) for method in recipe.methods)
    (runs,) = plan_stages(replace(recipe, tuning=None, tasks=("spawrious/o2o_hard",), methods=first))
    assert len(runs) == 12
    for run in runs:
        given = {"hyperparameters": run.hyperparameters, "arguments": {**run.arguments, "num_train_epochs": 2}}
        out = tmp_path / run.method
        train(run.task, out, objective=run.objective, model=run.model, image_size=16, data_dir=str(spawrious), **given)
        made = json.loads((out / "recipe.json").read_text())
        expected = "uniform" if run.method in NOT_OF_DOMAINBED else "environments"
        assert (made["objective"]["name"], made["arguments"]["sampler"]) == (run.objective, expected)
        log = json.loads((out / "training_log.json").read_text())
        assert all(np.isfinite(epoch["loss"]) for epoch in log), run.method


@pytest.mark.campaign  # 24 small trainings: a minute
def test_a_sweep_is_the_papers_table(tmp_path, spawrious, monkeypatch, capsys):
    """Methods by six challenges and their average, in distribution beside out of it; each again from runs.parquet.

    The tiny ResNet is from scratch, so that `--reported` takes Table 4 and no other.
    """
    (tmp_path / "tiny.toml").write_text(SWEEP)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["oochub", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    run("sweep", tmp_path / "tiny.toml", "--out", tmp_path / "out", "--data-dir", spawrious, "--jobs", 2)
    sides = ("in_context", "out_of_context")
    chosen = [word for side in sides for word in ("--slice", side)]
    out = run("compare", tmp_path / "out", "--rows", "methods", *chosen, "--reported", "--csv", tmp_path / "table.csv")
    assert "Table 4 of Lynch" in out and "Table 3" not in out
    table, runs = (pd.read_csv(tmp_path / "table.csv"), pd.read_parquet(tmp_path / "out" / "runs.parquet"))
    for method, title in (("erm", "ERM"), ("mmd", "MMD-AAE")):
        averages = []
        for side in sides:
            of = table[(table["method"] == title) & (table["slice"] == side) & ~table["reported"]].set_index("config")
            assert sorted(of.index) == sorted([*TASKS, "Average"])
            seeds = [
                runs[(runs["objective"] == method) & (runs["task"] == f"spawrious/{task}")][f"{side}/accuracy"]
                for task in TASKS
            ]
            for task, numbers in zip(TASKS, seeds, strict=True):
                assert (of.loc[task, "mean"], of.loc[task, "sd"]) == pytest.approx(
                    (numbers.mean(), numbers.std(ddof=1))
                )
            averages.append(np.mean([numbers.to_numpy() for numbers in seeds], axis=0))
            assert (of.loc["Average", "mean"], of.loc["Average", "sd"]) == pytest.approx(
                (averages[-1].mean(), averages[-1].std(ddof=1))
            )
    reported = table[table["reported"] & (table["slice"] == "out_of_context")].set_index(["method", "config"])
    assert reported.loc[("mmd", "m2m_easy"), "mean"] == 0.6124
    assert not table[table["reported"] & (table["slice"] == "in_context")].size
