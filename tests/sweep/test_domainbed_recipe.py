"""DomainBed's recipe: its runs and draws, trials that select alone, its tables, and one sweep from raw folder to table.

Planted faults seen: one stream of draws for all trials, a selection over all trials, the tested domain among those left
out, a standard deviation in the place of the standard error, every report of a sweep in a comparison.
"""

import json
import statistics
from math import log

import numpy as np
import pandas as pd
import pytest

import oochub
from oochub.cli import main
from oochub.errors import OochubError
from oochub.sweep.methods import read_method
from oochub.sweep.runs import Run, RunResult, plan_stages
from oochub.sweep.sweep_recipe import read_recipe
from oochub.sweep.sweep_table import SweepSummary, make_run_table, make_selection_table, make_trial_tables

DOMAINS = {"pacs": 4, "vlcs": 4, "office_home": 4, "terra_incognita": 4, "domain_net": 6}
RANGES = {  # hparams_registry.py of DomainBed b93c22a: the exponents of 10, of 2 for batches
    "learning_rate": (10, -5, -3.5),
    "weight_decay": (10, -6, -2),
    "per_device_train_batch_size": (2, 3, 5.5),
}
TOY = """
tasks = ["domains/pacs_photo", "domains/pacs_sketch", "domains/vlcs_sun09"]
model = "none"
seeds = [0, 1, 2]
trial_option = "trial_seed"
select = "training_domain_validation"
draws = 2
[default]
learning_rate = 0.5
[random]
learning_rate = { uniform = [0.0, 1.0] }
[methods.ERM]
objective = "erm"
[methods.IRM]
objective = "irm"
"""


def formula(run: Run, folder) -> RunResult:
    """Stands for a training: the rate decides validation, and the test is far from it in each trial by another way."""
    rate, trial = run.arguments["learning_rate"], run.options["trial_seed"]
    right = {"validation/accuracy": 1 - abs(rate - 0.2), "oracle_validation/accuracy": 1 - abs(rate - 0.9)}
    value = 0.5 + 0.1 * rate + 0.01 * trial**2 + 0.001 * len(run.task) - 0.005 * (run.method == "IRM")
    return RunResult(headline="accuracy", numbers=right | {"out_of_context/accuracy": value})


@pytest.fixture(scope="module")
def plan():
    (runs,) = plan_stages(read_recipe("domainbed"))
    return runs


@pytest.mark.slow  # 66,000 runs are listed
def test_its_runs_are_domainbeds(plan):
    """5 data sets, each domain left out, 9 methods, 20 settings of which the first is the default, 3 trials."""
    assert len(plan) == sum(DOMAINS.values()) * 9 * 20 * 3
    assert {run.task.rpartition("/")[2].startswith(tuple(DOMAINS)) for run in plan} == {True}
    assert all(run.options == {"trial_seed": run.seed} for run in plan)
    (held_out,) = plan_stages(read_recipe("domainbed", variant="leave_one_domain_out"))
    assert len(held_out) == sum(n * n for n in DOMAINS.values()) * 9 * 20 * 3  # all, then without each of the n - 1
    for run in held_out:
        assert run.left_out is None or not run.task.endswith("_" + run.left_out.lower().replace(" ", "_"))


@pytest.mark.slow  # like the one above
def test_its_draws_are_from_domainbeds_ranges(plan):
    own = [run for run in plan if run.task == "domains/pacs_sketch"]
    for name, (base, low, high) in RANGES.items():
        values = [run.arguments[name] / (3 if "batch" in name else 1) for run in own]
        exponents = [log(value, base) for value in values if value]
        assert low - 0.01 <= min(exponents) and max(exponents) <= high
        assert max(exponents) - min(exponents) > 0.8 * (high - low), name
    assert all(run.arguments["per_device_train_batch_size"] % 3 == 0 for run in own)
    of_net = [run for run in plan if run.task == "domains/domain_net_real"]
    batches = {run.arguments["per_device_train_batch_size"] for run in of_net}
    assert 160 in batches and all(batch % 5 == 0 and 40 <= batch <= 160 for batch in batches)
    first = [run for run in own if run.setting["learning_rate"] == 5e-5 and run.setting["weight_decay"] == 0]
    assert len(first) == 9 * 3
    settings = {trial: [r.setting for r in own if r.method == "IRM" and r.seed == trial] for trial in range(3)}
    assert settings[0][0] == settings[1][0] and settings[0][1:] != settings[1][1:]


def tabulate(folder, **overrides):
    """The toy recipe, and the table of its runs."""
    (folder / "toy.toml").write_text(TOY)
    recipe = read_recipe(folder / "toy.toml", overrides=overrides)
    (runs,) = plan_stages(recipe)
    return recipe, make_run_table(recipe, [(run, formula(run, folder)) for run in runs])


def test_each_trial_selects_alone(tmp_path):
    """Against a loop: in each task, method and trial the setting of the highest validation accuracy."""
    _, table = tabulate(tmp_path)
    assert len(table) == 3 * 2 * 3 * 3
    for _, rows in table.groupby(["task", "method", "trial"]):
        assert rows["selected"].tolist() == [k == int(np.argmax(rows["validation/accuracy"])) for k in range(3)]
    settings = [json.loads(text)["trials"] for text in make_selection_table(table)["setting"]]
    assert len(settings) == 6 and all(list(each) == ["0", "1", "2"] for each in settings)


def test_its_tables_by_hand(tmp_path):
    """The mean and the standard error over trials of each task; an average is one of each trial first."""
    recipe, table = tabulate(tmp_path)
    taken = table[table["selected"]]
    numbers = {key: rows["out_of_context/accuracy"].tolist() for key, rows in taken.groupby(["task", "method"])}
    pacs, averages = make_trial_tables(table)
    assert (pacs.heads, averages.heads) == (
        ("Method", "pacs_photo", "pacs_sketch", "Average"),
        ("Method", "PACS", "VLCS", "Average"),
    )

    def cell(values):
        return f"{100 * statistics.fmean(values):.1f} ({100 * statistics.stdev(values) / 3**0.5:.1f})"

    for k, method in enumerate(("ERM", "IRM")):
        photo, sketch, sun = (
            numbers[f"domains/{task}", method] for task in ("pacs_photo", "pacs_sketch", "vlcs_sun09")
        )
        both = [(a + b) / 2 for a, b in zip(photo, sketch, strict=True)]
        assert pacs.rows[k] == (method, cell(photo), cell(sketch), cell(both))
        whole = [(a + b) / 2 for a, b in zip(both, sun, strict=True)]
        assert averages.rows[k] == (method, cell(both), cell(sun), cell(whole))
    page = SweepSummary(recipe=recipe, runs=table, track="fine-tuning").to_markdown()
    assert "with the standard error in brackets" in page and f"| ERM | {pacs.rows[0][1]} |" in page


def test_the_oracle_takes_the_tested_domain(tmp_path):
    recipe, table = tabulate(tmp_path, select="test_domain_validation")
    for _, rows in table.groupby(["task", "method", "trial"]):
        assert (
            rows.loc[rows["selected"], "oracle_validation/accuracy"].item() == rows["oracle_validation/accuracy"].max()
        )
    page = SweepSummary(recipe=recipe, runs=table, track="fine-tuning").to_markdown()
    assert "**Oracle: selected on the tested domain." in page


WRONG = {
    "trial_option": ("trial_option = 'trials'", "trials"),
    "default": ("[methods.X]\nobjective = 'erm'\ndefault = { dropout = 0.5 }", "must have the names that are drawn"),
    "leave_out": ("leave_out = ['*']\nselect = 'leave_one_environment_out'", "spawrious/o2o_hard declares none"),
    "tuning": (
        "[per_task.'spawrious/o2o_hard'.default]\ndropout = 0.1\n[tuning.carry]\n'spawrious/o2o_hard' = []",
        "tuning carries settings to other tasks",
    ),
    "times": ("draws = 1\n[random]\ndropout = { uniform = [0.0, 0.1], times = 0 }", "must be one distribution"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong(name, tmp_path):
    change, said = WRONG[name]
    file = tmp_path / "wrong.toml"
    file.write_text(f"tasks = ['spawrious/o2o_hard']\nmodel = 'none'\n{change}\n[methods.ERM]\nobjective = 'erm'\n")
    with pytest.raises(OochubError, match=said):
        read_recipe(file)


def test_times_multiplies_what_is_drawn():
    table = {"objective": "erm", "draws": 50}
    name = "per_device_train_batch_size"
    once, thrice = (
        read_method("ERM", table | {"random": {name: {"whole_loguniform": [8, 45.25]} | extra}}).settings
        for extra in ({}, {"times": 3})
    )
    assert [3 * setting[name] for setting in once] == [setting[name] for setting in thrice]


@pytest.mark.slow  # twelve trainings: half a minute
def test_from_raw_folder_to_table(tmp_path, raw, capsys, monkeypatch):
    """Two domains of the toy PACS in two trials, two settings of two methods, and its reports side by side."""
    asked = "--only ERM --only CORAL --only domains/pacs_sketch --only domains/pacs_photo --override seeds=0,1"
    tiny = "draws=1 model=resnet-tiny pretrained=false image_size=16 max_steps=2 num_train_epochs=1".split()
    words = [*asked.split(), *(word for pair in tiny for word in ("--override", pair))]
    out = tmp_path / "sweep"
    typed = ["sweep", "domainbed", "--data-dir", str(raw("domains")), "--out", str(out), "--jobs", "2", *words]
    monkeypatch.setattr("sys.argv", ["oochub", *typed])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    printed = capsys.readouterr().out
    assert "PACS, accuracy" in printed and "Average" in printed
    table = pd.read_parquet(out / "runs.parquet")
    assert len(table) == 2 * 2 * 2 * 2 and table["selected"].sum() == 8 and (table["status"] == "finished").all()
    comparison = oochub.compare(out, rows="methods", table="training_domain")
    taken = table[table["selected"]]
    cells = {(row, column.method): cell for (row, column), cell in comparison.tables[0].cells.items()
             if not column.reported}  # fmt: skip
    for (task, method), rows in taken.groupby(["task", "method"]):
        cell = cells[task.removeprefix("domains/"), method]
        assert (cell.mean, cell.seeds) == (pytest.approx(rows["out_of_context/accuracy"].mean()), 2)
    assert "(reported)" in comparison.to_markdown() and "standard error over three trials" in comparison.to_markdown()
