"""Every wrong value of a recipe is said with words, and nothing large is expanded before its size is said."""

import copy
import json
import tomllib
from time import perf_counter

import pytest

from oochub.errors import OochubError
from oochub.sweep.runs import plan_stages
from oochub.sweep.sweep_recipe import read_recipe

RECIPE = """
tasks = ["spawrious/o2o_hard", "spawrious/m2m_hard"]
model = "resnet-tiny"
seeds = [0, 1]
image_size = 32
head = "mlp"
draw_seed = 1
[options]
variant = "paper"
[arguments]
num_train_epochs = 1
[methods.ERM]
objective = "erm"
fixed = { weight_decay = 0.1 }
[methods.GDRO]
objective = "group_dro"
grid = { step_size = [0.01, 0.1], form = ["wilds", "domainbed"] }
[methods.Focal]
objective = "focal"
draws = 2
random = { gamma = { uniform = [0, 1] } }
[per_task."spawrious/o2o_hard"]
seeds = [3]
arguments = { num_train_epochs = 2 }
fixed = { ERM = { momentum = 0.1 } }
[tuning]
seeds = [0]
shared = "ERM"
carry = { "spawrious/o2o_hard" = ["spawrious/m2m_hard"] }
[variants.short]
methods = ["ERM"]
"""
WRONG = (-1, float("nan"), True, "²", 10**30, [[]], {"x": 1})

MANY = list(range(1, 3000))


def _toml(value) -> str:
    """A value of TOML, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("NaN", "nan")


def _places(content, place=()):
    yield place
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, each in pairs:
        yield from _places(each, (*place, key))


def _changed(content, place, value):
    changed = inner = copy.deepcopy(content)
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


@pytest.fixture
def read(tmp_path):
    """Reads a recipe from its text or bytes."""

    def call(text: str | bytes, **options):
        file = tmp_path / "own.toml"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_recipe(file, **options)

    return call


def test_the_recipe_itself_is_right(read):
    assert sum(map(len, plan_stages(read(RECIPE)))) > 5 and read(RECIPE, variant="short").name == "own/short"


@pytest.mark.slow
def test_each_value_of_each_place_is_taken_or_said(read):
    """Planted faults: `check_table` of methods, of tuning.carry, and the range of draw_seed left out, each in turn."""
    content, said = tomllib.loads(RECIPE), 0
    for place in list(_places(content))[1:]:
        for value in WRONG:
            text = "\n".join(f"{key} = {_toml(each)}" for key, each in _changed(content, place, value).items())
            try:
                read(text, variant="short" if "variants" in place else None, overrides={"num_train_epochs": 1})
            except OochubError as error:
                said += 1
                assert len(str(error)) < 1500, str(error)[:200]
    assert said > 250


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("step_size = [0.01, 0.1], form", f"step_size = {MANY}, adjustment = {MANY}, form",
         r"The grid of the method GDRO gives 17,988,002 settings, and at most 10,000 are allowed"),
        ("draws = 2", "draws = 100000000000", "`draws` of the method Focal gives 100,000,000,000 settings"),
        ("seeds = [0, 1]", f"seeds = {list(range(20_000))}", r"has 280,000 runs \(2 tasks, 20,000 seeds\)"),
        ("image_size = 32", "image_size = 0", "image_size in the recipe own must be a whole number in"),
        ("image_size = 32", f"image_size = {'9' * 5000}", "is not TOML"),
        ("uniform = [0, 1]", "uniform = [0, inf]", "low < high"),
    ],
)  # fmt: skip
def test_limits_are_said_before_work(read, before, after, message):
    """The issue's grid of 2,999 x 2,999 hung. Planted faults: each limit left out, then the first three hang."""
    began = perf_counter()
    with pytest.raises(OochubError, match=message):
        read(RECIPE.replace(before, after, 1))
    assert perf_counter() - began < 60  # a hang, not a slow machine


def test_an_unknown_objective_is_said_with_its_method(read):
    """Seen: "No objective named '0'", and nothing of where."""
    with pytest.raises(OochubError, match=r"^The method GDRO: No objective named 'group_drop'. Did you mean"):
        read(RECIPE.replace("group_dro", "group_drop"))


def test_bytes_that_are_no_text_are_said(read):
    with pytest.raises(OochubError, match=r"own\.toml is not UTF-8 text"):
        read(RECIPE.encode("utf-16"))
    with pytest.raises(OochubError, match=r"own\.toml is not UTF-8 text \(line 2\)"):
        read(b'# a\nabout = "\xff"')


@pytest.mark.parametrize("key", ["seeds", "tasks", "leave_out", "image_size", "model", "learning_rate"])
@pytest.mark.parametrize("value", ["²", -1, True, [1, "a"], "../../x"])
def test_each_override_is_taken_or_said(read, key, value):
    """`--override seeds=²` ended in a traceback. Planted fault: int() of what isdigit() lets pass."""
    try:
        read(RECIPE, overrides={key: value})
    except OochubError as error:
        assert key.rstrip("s") in str(error) or "carry" in str(error)
