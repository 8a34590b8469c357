"""The recipes of the hub hold the papers' protocols, and a wrong recipe is refused with words before anything runs."""

import json
import math
import re
from itertools import pairwise

import pytest
from scipy import stats

from oochub.errors import OochubError
from oochub.sweep import sweep_recipe as recipe_module
from oochub.sweep.methods import read_method
from oochub.sweep.runs import Run, RunListing, plan_stages
from oochub.sweep.selection import RULES
from oochub.sweep.sweep_recipe import FOLDER, list_recipes, read_recipe

SUITE = "car bowl boat fire_hydrant airplane cow backpack cup surfboard tie sports_ball kite".split()
TABLE_8 = {  # NOOCH, Table 8, with the names of Table 3
    "ERM": ("erm", None, [None]),
    "CVaR": ("cvar", "p", [0.05, 0.1, 0.15]),
    "Focal": ("focal", "gamma", [0.2, 0.5, 0.7, 1]),
    "Reweight": ("reweight", "alpha", [0.2, 0.5, 0.7, 1]),
    "US": ("undersample", "alpha", [0.2, 0.5, 0.7, 1]),
    "Reweight (Envs)": ("reweight_environments", "alpha", [0.5, 1, 1.5, 2]),
    "US (Envs)": ("undersample_environments", "alpha", [0.2, 0.5, 0.7, 1]),
    "GDRO": ("group_dro", "adjustment", [5, 30, 60, 240]),
    "IRM": ("irm", "penalty_weight", [0.1, 1, 3, 10]),
}
SMALL = """
tasks = ["spawrious/o2o_hard", "spawrious/m2m_hard"]
model = "resnet-tiny"
select = "worst_group"
[arguments]
num_train_epochs = 1
[methods.ERM]
objective = "erm"
[methods.GDRO]
objective = "group_dro"
grid = { step_size = [0.01, 0.1], form = ["wilds", "domainbed"] }
"""


@pytest.fixture
def recipe_of(tmp_path):
    """A recipe from its text."""

    def read(text: str, **options):
        file = tmp_path / "small.toml"
        file.write_text(text)
        return read_recipe(file, **options)

    return read


def all_runs(recipe, **options) -> list[Run]:
    return [run for stage in plan_stages(recipe, **options) for run in stage]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "domainbed" else ()) for name in list_recipes()]
)
def test_recipes_of_the_hub_can_be_read_and_listed(name):
    """Every key, objective, hyperparameter and argument of every recipe and variant, checked as a user's own."""
    recipe = read_recipe(name)
    content = RunListing.of(recipe, plan_stages(recipe)).to_json()
    assert content["total"] == sum(content["per_task"].values()) > 0
    assert json.loads(json.dumps(content)) == content
    ids = [item["run"] for item in content["runs"] if item["run"]]
    assert len(set(ids)) == len(ids) and max(map(len, ids)) < 200


def test_suite_of_nooch_has_1152_runs():
    """Table 8 times 3 seeds: 96 a task, 1,152 in all; 12 x 3 x 5 x 3.2 = 576 of Appendix C.3 is a misprint."""
    content = RunListing.of(recipe := read_recipe("nooch_suite"), plan_stages(recipe)).to_json()
    assert content["per_task"] == {f"nooch/ce_{name}": 96 for name in SUITE}
    assert content["total"] == 1152
    expected = [
        (f"nooch/ce_{task}", title, objective, value, seed)
        for task in SUITE
        for title, (objective, _, values) in TABLE_8.items()
        for value in values
        for seed in range(3)
    ]
    result = [
        (item["task"], item["method"], item["objective"], next(iter(item["setting"].values()), None), item["seed"])
        for item in content["runs"]
    ]
    assert result == expected
    for item in content["runs"]:
        assert list(item["setting"]) == [name for name in (TABLE_8[item["method"]][1],) if name]
        nooch_form = {"form": "nooch"} if item["method"] in ("GDRO", "IRM") else {}
        assert item["hyperparameters"] == {**nooch_form, **item["setting"]}
        arguments = item["arguments"]
        assert (arguments["optim"], arguments["learning_rate"], arguments["momentum"]) == ("sgd", 1e-4, 0.9)
        assert (arguments["weight_decay"], arguments["per_device_train_batch_size"]) == (1e-4, 32)
        assert (
            arguments["early_stopping_patience"] == 3
            and arguments["normalize"] is False
            and arguments["augment"] == "none"
            and arguments["warmup_ratio"] == 0
        )
    assert (content["select"], recipe.image_size) == ("nooch", 321)


def test_all_tasks_of_nooch():
    recipe = read_recipe("nooch_all_tasks")
    runs = all_runs(recipe)
    assert len(runs) == len({run.task for run in runs}) == 171 and {run.objective for run in runs} == {"erm"}
    arguments, suite = runs[0].arguments, all_runs(read_recipe("nooch_suite"), only=["ERM"])[0].arguments
    changed = {name for name in {*arguments, *suite} if arguments.get(name) != suite.get(name)}
    assert changed == {"optim", "learning_rate", "per_device_train_batch_size", "momentum"}
    assert (arguments["optim"], arguments["learning_rate"], arguments["per_device_train_batch_size"]) == (
        "adam",
        1e-3,
        16,
    )


def test_appendix_a_of_nooch():
    """Six of its seven bullets are here; logistic regression is ERM with --features."""
    recipe = read_recipe("nooch_appendix_a")
    assert recipe.tasks == read_recipe("nooch_suite").tasks
    assert recipe.arguments == read_recipe("nooch_suite").arguments
    first = [run for run in all_runs(recipe) if run.task == recipe.tasks[0] and run.seed == 0]
    assert len(first) == 1 + 2 + 3 + 2 + 2 and {run.objective for run in first} == {"erm"}
    assert sum(run.arguments.get("affine_after_blocks", False) for run in first) == 2
    columns = [run.arguments.get("auxiliary_column") for run in first]
    assert columns.count("context_area.0") == 2 and columns.count(None) == 8
    scratch = read_recipe("nooch_appendix_a", variant="scratch")
    assert {(run.method, run.pretrained) for run in all_runs(scratch)} == {("ERM", False)}


def test_nooch_by_gist_is_the_suite_again():
    """Task for task the same runs."""
    plain, gist = read_recipe("nooch_suite"), read_recipe("nooch_suite", variant="gist")
    assert [task.replace("/gist_", "/ce_") for task in gist.tasks] == list(plain.tasks)
    assert (
        gist.methods == plain.methods and gist.arguments == plain.arguments and gist.select == plain.select == "nooch"
    )
    assert len(all_runs(gist)) == 1152


def test_spawrious_tunes_on_two_challenges_and_carries_to_four():
    shared, own, final = plan_stages(recipe := read_recipe("spawrious"))
    tuned = {"spawrious/o2o_easy", "spawrious/m2m_hard"}
    assert len(shared) == 20 * 2 and {run.method for run in shared} == {"ERM"} and not shared[0].follows
    assert {run.task for run in shared} == {run.task for run in own} == tuned
    assert all(set(run.setting) == {"learning_rate", "weight_decay"} for run in shared)
    assert len({json.dumps(run.setting) for run in shared}) == 20
    assert len(own) == 11 * 10 * 2 and all(run.follows == (run.task, "ERM") for run in own)
    assert not any(set(run.setting) & {"learning_rate", "weight_decay"} for run in own)
    assert len(final) == 12 * 6 * 3 and {run.seed for run in final} == {0, 1, 2}
    for run in final:
        source = "spawrious/o2o_easy" if "o2o" in run.task else "spawrious/m2m_hard"
        assert run.follows == (source, run.method) and not run.setting
    # a final run with the tuning's seed on a tuning task is the tuning run itself
    assert RunListing.of(recipe, [shared, own, final]).total == 40 + 220 + 216 - 12 * 2
    assert recipe.select == "training_domain_validation"
    assert {(run.arguments["per_device_train_batch_size"], run.arguments["dropout"]) for run in final} == {(128, 0.1)}
    vit = read_recipe("spawrious", variant="vit")
    assert {run.arguments["per_device_train_batch_size"] for run in all_runs(vit)} == {64}
    assert [len(stage) for stage in plan_stages(vit)] == [40, 40, 54] and "vit-base" in vit.model
    scratch = read_recipe("spawrious", variant="scratch")
    assert [item.title for item in scratch.methods] == ["ERM", "GroupDRO", "MMD-AAE"]
    assert recipe.pretrained and not scratch.pretrained and scratch.model == recipe.model
    assert {run.pretrained for run in all_runs(scratch)} == {False}


def test_wilds_has_its_baselines_with_the_numbers_of_its_code():
    recipe = read_recipe("wilds")
    assert not recipe.missing_benchmarks
    runs = all_runs(recipe)
    assert {run.method for run in runs} == {"ERM", "CORAL", "IRM", "GroupDRO"} and recipe.select == "ood_validation"
    camelyon = [run for run in runs if run.task == "wilds/camelyon17" and run.method == "CORAL"]
    assert {run.seed for run in camelyon} == set(range(10))
    assert camelyon[0].hyperparameters["penalty_weight"] == 0.1 and camelyon[0].arguments["optim"] == "sgd"
    decays = {(run.task, run.arguments["lr_scheduler_type"], run.arguments.get("lr_decay")) for run in runs}
    falling = {task for task, kind, decay in decays if (kind, decay) == ("exponential", 0.96)}
    assert falling == {"wilds/fmow", *(f"wilds/poverty_fold_{fold}" for fold in "abcde")}
    assert not any(kind == "exponential" for task, kind, _ in decays if task not in falling)
    poverty = [run for run in runs if run.task == "wilds/poverty_fold_c"]
    assert {(run.seed, run.pretrained, run.model) for run in poverty} == {(0, False, "resnet18")}
    wheat = {run.method for run in runs if run.task == "wilds/globalwheat"}
    assert wheat == {"ERM", "GroupDRO"}  # the other two have no form for boxes


def test_methods_of_a_task_are_those_that_its_table_names(recipe_of):
    runs = all_runs(recipe_of(SMALL + "[per_task.'spawrious/m2m_hard']\nmethods = ['GDRO']\n"))
    assert {run.method for run in runs if run.task == "spawrious/m2m_hard"} == {"GDRO"}
    assert len({run.method for run in runs}) > 1
    with pytest.raises(OochubError, match="No method in per_task of spawrious/m2m_hard named 'DRO'"):
        recipe_of(SMALL + "[per_task.'spawrious/m2m_hard']\nmethods = ['DRO']\n")


def test_a_grid_is_every_combination_in_order(recipe_of):
    runs = all_runs(recipe_of(SMALL + "[per_task.'spawrious/m2m_hard']\nseeds = [3, 4]\n"))
    expected = [{}] + [{"step_size": s, "form": f} for s in (0.01, 0.1) for f in ("wilds", "domainbed")]
    hard = [run for run in runs if run.task == "spawrious/o2o_hard"]
    assert [run.setting for run in hard] == expected and {run.seed for run in hard} == {0}
    assert [(r.setting, r.seed) for r in runs if r not in hard] == [(s, n) for s in expected for n in (3, 4)]


def test_draws_are_seeded_and_follow_their_distribution():
    """Kolmogorov-Smirnov against scipy; the draws of a name depend on nothing but the seed, the method and the name."""
    random = {
        "learning_rate": {"loguniform": [1e-5, 1e-3]},
        "warmup_ratio": {"uniform": [0.2, 0.8]},
        "anneal_steps": {"whole_loguniform": [1, 10_000]},
        "penalty_weight": {"choice": [1, 10, 100]},
    }
    drawn = read_method("IRM", {"objective": "irm", "random": random, "draws": 2000}).settings
    of = {name: [setting[name] for setting in drawn] for name in random}
    assert stats.kstest(of["learning_rate"], stats.loguniform(1e-5, 1e-3).cdf).pvalue > 0.01
    assert stats.kstest(of["warmup_ratio"], stats.uniform(0.2, 0.6).cdf).pvalue > 0.01
    assert all(isinstance(value, int) and 1 <= value < 10_000 for value in of["anneal_steps"])
    assert abs(sum(value < 100 for value in of["anneal_steps"]) / 2000 - 0.5) < 0.05
    assert all(abs(of["penalty_weight"].count(value) / 2000 - 1 / 3) < 0.05 for value in (1, 10, 100))
    assert abs(stats.pearsonr([math.log(x) for x in of["learning_rate"]], of["warmup_ratio"]).statistic) < 0.1
    fewer = {"objective": "irm", "random": {"warmup_ratio": random["warmup_ratio"]}, "draws": 5}
    assert [s["warmup_ratio"] for s in read_method("IRM", fewer).settings] == of["warmup_ratio"][:5]
    assert [s["warmup_ratio"] for s in read_method("IRM", fewer, draw_seed=1).settings] != of["warmup_ratio"][:5]


def test_ids_are_stable_and_differ_with_anything():
    run = Run(task="nooch/ce_car", method="GDRO", objective="group_dro", seed=0, setting={}, fixed={}, model="m")
    from dataclasses import replace

    changes = [
        {"task": "nooch/ce_cow"},
        {"seed": 1},
        {"setting": {"adjustment": 5}},
        {"setting": {"adjustment": 30}},
        {"fixed": {"form": "nooch"}},
        {"fixed": {"learning_rate": 0.1}},
        {"model": "n"},
        {"pretrained": False},
        {"image_size": 32},
        {"environments": "group"},
        {"options": {"contexts": ["road"]}},
        {"left_out": "env_1"},
    ]
    ids = [run.id, *(replace(run, **change).id for change in changes)]
    assert len(set(ids)) == len(ids)
    # where a value comes from does not matter: a carried setting is the run that was tuned
    assert (
        replace(run, setting={"adjustment": 5}).id.rpartition("-")[2]
        == (replace(run, fixed={"adjustment": 5}).id.rpartition("-")[2])
    )
    assert replace(run, stage="tuning").id == run.id


def test_only_keeps_what_is_followed():
    recipe = read_recipe("spawrious")
    shared, own, final = plan_stages(recipe, only=["spawrious/o2o_hard", "jtt"])
    assert {(run.task, run.method) for run in final} == {("spawrious/o2o_hard", "JTT")}
    assert {(run.task, run.method) for run in own} == {("spawrious/o2o_easy", "JTT")}
    assert {(run.task, run.method) for run in shared} == {("spawrious/o2o_easy", "ERM")}
    with pytest.raises(OochubError, match="Did you mean 'spawrious/o2o_hard'"):
        plan_stages(recipe, only=["spawrious/o2o_hrd"])


def test_leaving_environments_out_adds_their_runs(recipe_of):
    text = SMALL.replace('"worst_group"', '"leave_one_environment_out"\nleave_out = ["env_1", "env_2"]')
    runs = all_runs(recipe_of(text))
    assert len(runs) == 2 * 5 * (1 + 2)
    assert [run.left_out for run in runs[:3]] == [None, "env_1", "env_2"]
    assert len({run.id for run in runs}) == len(runs)


def test_a_method_has_environments_of_its_own(recipe_of):
    """Over the task's, which are over the recipe's; the run of another column is another run, and says so."""
    text = 'environments = "environment"\n' + SMALL.replace('"group_dro"', '"group_dro"\nenvironments = "group"')
    text += "[per_task.'spawrious/m2m_hard']\nenvironments = 'background'\n"
    recipe = recipe_of(text)
    result = {(run.task.partition("/")[2], run.method): run.environments for run in all_runs(recipe)}
    assert result == {
        ("o2o_hard", "ERM"): "environment",
        ("m2m_hard", "ERM"): "background",
        ("o2o_hard", "GDRO"): "group",
        ("m2m_hard", "GDRO"): "group",
    }
    plain = {(run.task, run.method, str(run.setting)): run.id for run in all_runs(recipe_of(SMALL))}
    assert all(run.id != plain[run.task, run.method, str(run.setting)] for run in all_runs(recipe))
    records = RunListing.of(recipe, plan_stages(recipe)).to_json()["runs"]
    assert [record["environments"] for record in records] == [run.environments for run in all_runs(recipe)]
    with pytest.raises(OochubError, match="GDRO itself sets environments"):
        recipe_of(text, overrides={"environments": "label"})
    with pytest.raises(OochubError, match="environments in the method GDRO must be text"):
        recipe_of(text.replace('environments = "group"', "environments = 3"))


def test_overrides_win_over_the_recipe_and_its_single_tasks(recipe_of):
    text = SMALL + "[per_task.'spawrious/m2m_hard']\nseeds = [3]\narguments = { learning_rate = 1.0 }\n"
    changed = {"learning_rate": 0.5, "seeds": ["7", "8"], "model": "other", "num_train_epochs": 2}
    runs = all_runs(recipe_of(text, overrides=changed))
    assert {(r.arguments["learning_rate"], r.arguments["num_train_epochs"], r.model) for r in runs} == {
        (0.5, 2, "other")
    }
    assert {run.seed for run in runs if run.task == "spawrious/m2m_hard"} == {7, 8}
    text += "fixed.GDRO = { weight_decay = 0.5 }\n"  # of one method on one task
    assert {run.arguments.get("weight_decay") for run in all_runs(recipe_of(text))} == {None, 0.5}
    changed = all_runs(recipe_of(text, overrides={"weight_decay": 0.1}))
    assert {run.arguments["weight_decay"] for run in changed} == {0.1}
    with pytest.raises(OochubError, match="The method GDRO itself sets learning_rate"):
        recipe_of(SMALL.replace("step_size =", "learning_rate ="), overrides={"learning_rate": 1.0})
    with pytest.raises(OochubError, match="Did you mean 'learning_rate'"):
        recipe_of(SMALL, overrides={"learing_rate": 1.0})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("select", "slect", "Did you mean 'select'"),
        ('"worst_group"', '"worst_grup"', "Did you mean 'worst_group'"),
        ('"worst_group"', '"leave_one_environment_out"', "leave_out"),
        ("num_train_epochs = 1", "num_train_epoch = 1", "Did you mean 'num_train_epochs'"),
        ("num_train_epochs = 1", "seed = 1", "No training argument named 'seed'"),
        ('"group_dro"', '"gruop_dro"', "Did you mean 'group_dro'"),
        ('objective = "group_dro"', 'objektive = "group_dro"', "Did you mean 'objective'"),
        ("step_size", "stepsize", "Did you mean 'step_size'"),
        ("[0.01, 0.1]", "[0.01, -0.1]", "step_size must be"),
        ("[0.01, 0.1]", "0.01", "needs a list of values of step_size"),
        ("grid =", "draws = 3\ngrid =", "needs `random` and `draws`"),
        ("grid =", "fixed = { form = 'wilds' }\ngrid =", "both fixes and sweeps form"),
        ("grid = {", "draws = 3\nrandom = { step_size = { loguniform = [0, 1] } }\n#", "both above 0"),
        ("grid = {", "draws = 3\nrandom = { step_size = { normal = [0, 1] } }\n#", "No key in random of step_size"),
        ("grid = {", "draws = 3\nrandom = { step_size = { uniform = [1, 1] } }\n#", "low < high"),
        ("spawrious/o2o_hard", "spawrious/o2o_hrd", "Did you mean 'o2o_hard'"),
        ('model = "resnet-tiny"', "", "has no model"),
        ('model = "resnet-tiny"', 'model = "m"\nseeds = [0, 0]', "seeds of the recipe small must be different"),
        ('model = "resnet-tiny"', 'model = "m"\noptions = { varant = 1 }', "Did you mean 'variant'"),
        ("[methods.ERM]", "[per_task.'spawrious/m2m_esy']\n[methods.ERM]", "No task of per_task named"),
        ("[methods.ERM]", "[per_task.'spawrious/m2m_hard'.fixed.GRDO]\n[methods.ERM]", "Did you mean 'GDRO'"),
        ("[methods.ERM]", "[tuning.carry]\n'spawrious/o2o_hard' = []\n[methods.ERM]", "must hold each task once"),
        ("[methods.ERM]", "[tuning]\nshared = 'EMR'\n[methods.ERM]", "Did you mean 'ERM'"),
    ],
)
def test_wrong_recipes_are_refused_with_words(recipe_of, old, new, message):
    assert old in SMALL
    with pytest.raises(OochubError, match=message):
        recipe_of(SMALL.replace(old, new, 1))


@pytest.mark.parametrize("task", ["../../x", "spawrious/../x", "/etc/x", "a/b/c", "", ".", "x/.y", "a\\\\b", "~/x"])
def test_a_task_that_would_leave_the_folder_is_refused(recipe_of, task):
    """A benchmark that this version does not have is listed, so any name was taken. Fault planted: no check."""
    with pytest.raises(OochubError, match="A task of a recipe is written benchmark/config, got"):
        recipe_of(SMALL.replace("spawrious/m2m_hard", task, 1))


def test_a_task_that_is_no_text_is_refused(recipe_of):
    with pytest.raises(OochubError, match="A task of a recipe is written benchmark/config, got 3"):
        recipe_of(SMALL.replace('"spawrious/m2m_hard"', "3", 1))


def test_wrong_names_of_recipes_and_variants(recipe_of, tmp_path):
    with pytest.raises(OochubError, match="Did you mean 'nooch_suite'"):
        read_recipe("nooch_siute")
    with pytest.raises(OochubError, match=r"^(?!.*TOML).*there is no such file"):
        read_recipe(tmp_path / "none.toml")
    with pytest.raises(OochubError, match="Did you mean 'scratch'"):
        read_recipe("spawrious", variant="scrtch")
    with pytest.raises(OochubError, match="No key in the variant big"):
        recipe_of(SMALL + "[variants.big]\nper_task = {}\n", variant="big")
    with pytest.raises(OochubError, match="No method in the variant big"):
        recipe_of(SMALL + "[variants.big]\nmethods = ['IRM']\n", variant="big")


def test_recipes_lie_in_the_package():
    assert all(first < second for first, second in pairwise(list_recipes()))
    assert {"nooch_all_tasks", "nooch_suite", "spawrious", "wilds"} <= set(list_recipes())


def test_the_readme_shows_a_recipe_that_can_be_read(recipe_of):
    """And names every selection rule and every key."""
    text = (FOLDER / "README.md").read_text("utf-8")
    block = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    recipe = recipe_of(block[1])
    assert [len(method.settings) for method in recipe.methods] == [20, 2] and len(all_runs(recipe)) == 66
    for name in (*RULES, *recipe_module._KEYS, *recipe_module._TASK_KEYS, *recipe_module._TUNING_KEYS):
        assert re.search(rf"\b{name}\b", text) or name == "source", name
