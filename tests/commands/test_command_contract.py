"""Contract tests over every command of the catalog: what its file says, what its help says, what it refuses."""

import sys

import pytest

import oochub
from oochub import catalog
from oochub.app import every_command
from oochub.cli import main

COMMANDS = every_command()


def check_command(name: str, module_line: str, command) -> None:
    """The rules; each failure says which one, and what to do."""
    assert module_line == f"The command `oochub {name}`.", f"{name}: its file begins with what it is, in these words"
    sentence = (command.help or "").split("\n")[0]
    assert sentence.endswith(".") and 20 < len(sentence) <= 140, f"{name}: its function needs one sentence for --help"
    for parameter in command.params:
        shown = not getattr(parameter, "hidden", False)
        assert not shown or parameter.help, f"{name}: {parameter.opts[0]} needs help=, a few words on what it means"
        own = shown and "--set" in parameter.opts
        assert not own or name == "train", f"{name}: --set is for hyperparameters alone; name the option otherwise"


@pytest.mark.parametrize("name", oochub.names("command"))
def test_a_command_keeps_its_contract(name, monkeypatch, capsys):
    check_command(name, catalog.summary("command", name), COMMANDS[name])
    for words, code in (("--help",), 0), (("--no-such-option",), 2):
        monkeypatch.setattr(sys, "argv", ["oochub", *name.split(), *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == code, f"{name} {words[0]}: exit code {code}, got {stopped.value.code}"
    captured = capsys.readouterr()
    assert COMMANDS[name].help.split()[0] in captured.out, f"{name}: --help prints its sentence"
    assert "No such option" in captured.err, f"{name}: an unknown option is said"


def test_every_command_is_covered():
    """Planted fault: a command that the command line leaves out."""
    assert set(COMMANDS) == set(oochub.names("command")) and len(COMMANDS) > 10
