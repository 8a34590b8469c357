"""What `--help` shows: panels, a line a command, what fits on a screen; `--help-all` has the rest; names of before."""

import re
import subprocess
import sys

import pytest

from oochub import catalog
from oochub.app import _OLD_NAMES, PANELS, every_command
from oochub.commands._options import is_more

COMMANDS = every_command()
GROUPS = tuple(sorted({name.partition(" ")[0] for name in catalog.names("command") if " " in name}))


@pytest.fixture
def run(run, monkeypatch):
    """Runs a command line of 120 columns: exit code, what it prints, and the error."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 120)
    return run


def panels_of(text: str) -> dict[str, list[str]]:
    """The lines of each panel of a help text, by its title."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.split("\n"):
        if title := re.match(r"╭─ (.+?) ─", line):
            lines = found.setdefault(title[1], [])
        elif line.startswith("│"):
            lines.append(line.strip("│ "))
    return found


def options_of(text: str) -> set[str]:
    """The options that a help text has a row for."""
    return {word for line in text.split("\n") for word in re.findall(r"^│ \*?\s{0,5}(--[\w-]+)", line)}


def check_top(text: str) -> None:
    """The rules of `oochub --help`; each failure says which one."""
    assert text.count("\n") <= 52, "oochub --help fits in 52 lines"
    panels = panels_of(text)
    shown = [panel for panel in PANELS if panel in panels]
    assert list(panels) == ["Options", *shown, "Papers"] and len(shown) == 5, "five panels, and that of the papers"
    assert [line.split()[0] for line in panels["Papers"]] == list(GROUPS), "a group for each paper"
    names = [line.split()[0] for panel in shown for line in panels[panel]]
    assert sorted(names) == [name for name in catalog.names("command") if " " not in name], "exactly a line a command"
    for panel in shown:
        order = [name for name in PANELS[panel] if name in names]
        assert [line.split()[0] for line in panels[panel]][: len(order)] == order, f"the order of {panel}"
    assert all(line.endswith(".") or line.endswith("nooch") for panel in shown for line in panels[panel])


def test_the_commands_fit_on_a_screen(run):
    code, text, _ = run("--help")
    assert code == 0
    check_top(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\n", "\n\n", "fits in 52 lines"),
        ("╭─ Train ─", "╭─ Start ─", "five panels"),
        ("│ wilds  ", "│ wild   ", "a group for each paper"),
        ("│ audit  ", "│ audits ", "exactly a line a command"),
        ("│ list   ", "│        ", "exactly a line a command"),
    ],
)
def test_a_fault_of_the_top_is_seen(run, old, new, message):
    """Planted faults, one a rule: a longer text, a panel less, another name, a line that is broken in two."""
    text = run("--help")[1]
    assert old in text
    with pytest.raises((AssertionError, IndexError), match=message):
        check_top(text.replace(old, new))


def test_audit_fits_in_60_lines(run):
    """Planted fault: every option shown, as by --help-all."""
    assert run("audit", "--help")[1].count("\n") <= 60 < run("audit", "--help-all")[1].count("\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_all_shows_every_option(run, name):
    """And --help those that are needed. Planted faults: an option hidden for good; one of `More` that stays."""
    command = COMMANDS[name]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    every = {each.opts[0] for each in options}
    more = {each.opts[0] for each in options if is_more(each.rich_help_panel)}
    assert not any(each.required and each.opts[0] in more for each in options), "what must be given is shown"
    code, short, _ = run(*name.split(), "--help")
    assert code == 0 and options_of(short) == every - more | {"--help"}
    assert short.count("\n") <= (60 if name in ("audit", "repair") else 48)
    assert ("More options: --help-all" in short) == bool(more) == ("--help-all" in every)
    if more:
        code, full, _ = run(*name.split(), "--help-all")
        assert code == 0 and options_of(full) == every | {"--help"}
        assert "More options" not in full


@pytest.mark.parametrize("old", _OLD_NAMES)
def test_a_name_of_before_answers_with_the_new_one(run, old):
    """In one line, whatever follows it. Planted faults: one left out of the list; one whose new name there is not."""
    for more in ((), ("--help",), ("nooch", "--out", "x")):
        words = (*old.split(), *more)
        code, out, error = run(*words)
        assert code == 2 and not out and error == f"Error: `oochub {old}` is now `oochub {_OLD_NAMES[old]}`.\n"
    new = _OLD_NAMES[old].split()
    assert " ".join(new[:2]) in COMMANDS or new[0] in COMMANDS
    assert old not in COMMANDS


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("comppose", "`oochub spawrious compose`"),
        ("audti", "`oochub audit`"),
        ("nooch verfy", "`oochub nooch verify`"),
        ("wilds compose", "`oochub spawrious compose`"),
        ("nooh", "`oochub nooch`"),
        ("check_context", "`oochub contexts"),
    ],
)
def test_a_mistyped_name_is_answered_with_near_ones(run, typed, near):
    """Also of commands inside groups. Planted fault: near names of the top alone."""
    code, out, error = run(*typed.split())
    assert code == 2 and not out and error.count("\n") == 1
    assert f"No such command: `oochub {typed}`. Did you mean " in error and near in error


def test_a_name_like_no_other_has_no_near_ones(run):
    code, _, error = run("zzzzzz")
    assert code == 2 and error == "Error: No such command: `oochub zzzzzz`. Run `oochub --help` to list all commands.\n"


def test_help_is_light():
    """It imports nothing that takes long. Planted fault: `import datasets` at the head of a command of a paper."""
    code = "import sys\nsys.argv[1:] = ['wilds', '--help']\nfrom oochub.cli import main\ntry: main()\n"
    code += "except SystemExit: print(*(name for name in ('torch', 'datasets', 'pandas') if name in sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "tables" in said and said.splitlines()[-1] == ""


def test_a_command_imports_its_own_file_alone():
    """Also nothing that takes long. Planted fault: `_CommandFiles` makes each command when it is made itself."""
    code = (
        "import sys\nsys.argv[1:] = ['list', 'metric']\nfrom oochub.cli import main\ntry: main()\nexcept SystemExit: "
    )
    code += "print(*(name for name in sys.modules if '.commands.' in name or name == 'numpy'))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "auc_hard" in said
    own = [name for name in said.splitlines()[-1].split() if "._" not in name]
    assert own == ["oochub.commands.list"]
