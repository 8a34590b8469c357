"""What each option of each command refuses: numbers out of range, nan, empty texts, options without key or value."""

import sys
from typing import get_type_hints

import pytest

import oochub
from oochub import catalog
from oochub.app import every_command
from oochub.cli import main
from oochub.commands._options import with_options

COMMANDS = every_command()
KINDS = {name: get_type_hints(with_options(catalog.get("command", name), name)) for name in COMMANDS}
NUMBERS = [
    (name, parameter.opts[0], kind)
    for name, command in COMMANDS.items()
    for parameter in command.params
    for kind in (int, float)
    if KINDS[name].get(parameter.name) in (kind, kind | None)
]
PAIRS = [
    (name, parameter.opts[0])
    for name, command in COMMANDS.items()
    for parameter in command.params
    if parameter.multiple and "key=value" in (parameter.help or "")
]
SUFFIXES = {"evaluate": ".json", "saliency": ".png", "nooch suite": ".csv"}  # of what a command writes


def required(name: str, but: str = "") -> list[str]:
    """Words for all that a command must be given, none of which is there."""
    words = []
    for parameter in COMMANDS[name].params:
        if parameter.required and but not in parameter.opts:
            file = f"nowhere{SUFFIXES.get(name, '.parquet')}"
            given = file if parameter.name not in ("benchmark", "source") else "spawrious/o2o_easy"
            words += [given] if parameter.param_type_name == "argument" else [parameter.opts[0], given]
    return words


@pytest.fixture
def refused(monkeypatch, capsys, tmp_path):
    """Runs a command that must be refused; returns what it said on one line."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["oochub", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        error = capsys.readouterr().err
        assert stopped.value.code == 2, f"{words}: exit {stopped.value.code}, {error}"
        assert not list(tmp_path.iterdir()), f"{words} wrote something"
        return " ".join(error.replace("│", " ").split())

    return call


@pytest.mark.parametrize(("name", "option", "kind"), NUMBERS)
def test_a_number_has_a_range(refused, name, option, kind):
    """Planted fault: --num-proc without its least value, and the check of finite numbers left out."""
    value = "nan" if kind is float else "-1"
    error = refused(*name.split(), *required(name), option, value)
    assert option in error and ("greater than or equal" in error or "finite number" in error)


def test_numbers_are_covered():
    """That the tests above have something to try."""
    assert len(NUMBERS) > 20 and len(PAIRS) > 8


@pytest.mark.parametrize("typed", ["key", "=value", "key=", "key=1,,2", "alpha=nan", "alpha=-inf", "alpha=1e999"])
def test_a_pair_is_key_and_value(refused, typed):
    """Planted faults: a key without a value taken as text, and infinity as a number."""
    error = refused("build", *required("build"), "--option", typed)
    assert "--option" in error and typed.partition("=")[2] in error


@pytest.mark.parametrize(("name", "option"), PAIRS)
def test_a_key_is_given_once(refused, name, option):
    """Planted fault: the later value taken silently; an option of a command that is not checked at once."""
    assert f"{option} gives key twice" in refused(*name.split(), *required(name), option, "key=1", option, "key=2")


@pytest.mark.parametrize(("option", "allowed"), [("--style", "'compact', 'full'"), ("--map", "'pca', 'tsne'")])
def test_a_choice_is_refused_in_plain_words(refused, option, allowed):
    """Planted fault seen: "Value error, " before the words, as pydantic begins them."""
    assert f"Invalid value for '{option}': 'none' is not one of {allowed}." in refused("report", "r", option, "none")


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--split", ""), ("--split=",), ("--option", "")])
def test_an_empty_text_is_refused(refused, words):
    """As an unset variable of the shell leaves it."""
    error = refused("predict", "runs/x", "spawrious/o2o_easy", "--out", "p.parquet", *words)
    assert f"Empty value {'in' if len(words) == 1 else 'after'} {words[0]}" in error


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("step_size=abc", "step_size must be a finite number, 0 or larger, got 'abc'"),
        ("step_size=true", "step_size must be a finite number, 0 or larger, got True"),
        ("step_size=1,2", "step_size must be a finite number, 0 or larger, got [1, 2]"),
        ("form=3", "form must be one of nooch, wilds, domainbed or none, got 3"),
        ("stepsize=1", "No hyperparameter of group_dro named 'stepsize'. Did you mean 'step_size'?"),
    ],
)
def test_a_hyperparameter_has_its_type(refused, value, wanted):
    """The issue's `--set step_size=abc` ended with: '<=' not supported between 'int' and 'str'."""
    words = ("train", "spawrious/o2o_easy", "--out", "run", "--objective", "group_dro", "--set", value)
    assert wanted in refused(*words)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            ("--criterion", "threshold", "--value", "year", "--parameter", "at=abc"),
            "at must be a finite number, got 'abc'",
        ),
        (("--criterion", "threshold", "--at", "inf"), "--at must be a finite number, got inf"),
        (("--criterion", "gist", "--tau", "0.5,nan"), "--tau must be a finite number or a text, got 'nan'"),
        (("--criterion", "gist", "--tau", "a"), "--tau must be a number, or two separated by a comma, got 'a'"),
        (("--criterion", "gist", "--parameter", "hard_positives=1.5"), "hard_positives must be a whole number or none"),
    ],
)
def test_a_parameter_of_a_criterion_has_its_type(refused, words, wanted):
    """Before the data are looked for."""
    assert wanted in refused("challenge", "nowhere.csv", "--out", "c", *words)


def test_python_refuses_the_same_numbers(tmp_path):
    """Planted faults: batch_size 0 taken as the default, num_proc 0 given to `datasets`."""
    from oochub.loading_scripts.build_repository import build_parquet

    with pytest.raises(oochub.OochubError, match="batch_size must be a whole number, 1 or larger, got 0"):
        oochub.predict("runs/x", None, batch_size=0)
    with pytest.raises(oochub.OochubError, match="num_proc must be a whole number, 1 or larger, got 0"):
        build_parquet("spawrious/o2o_easy", tmp_path / "out", num_proc=0)
