"""README and quickstart as a stranger uses them: each part in an empty folder, its blocks in order, and nothing else.

Planted faults seen: a command that needs the folder of another part; an option that is not there; a file of a TOML
block under another name than the command's; Python that needs a name of another part.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
from guide_fences import Fence, fences, make_small, run_commands
from killed_command import short_folder

ROOT = Path(__file__).parents[1]
PARTS = {
    **{
        f"README.md: {section}": [fence for fence in part if not fence.reason and fence.language != "text"]
        for section, part in groupby(fences(ROOT / "README.md"), lambda fence: fence.section)
    },
    "docs/quickstart.md": [
        fence for fence in fences(ROOT / "docs" / "quickstart.md") if not fence.reason and fence.language != "text"
    ],
}
RUN = {name: part for name, part in PARTS.items() if part}


def _parts():
    """Python that trains nothing is an everyday test; the others are with the slow ones.

    The quickstart repeats the README's commands with images of one's own, and is a campaign.
    """
    for name, part in RUN.items():
        slow = any(fence.language == "bash" or "oochub.train(" in fence.code for fence in part)
        of_readme = pytest.mark.slow if slow else ()
        yield pytest.param(name, marks=of_readme if name.startswith("README") else pytest.mark.campaign)


def follow(
    part: list[Fence], folder: Path, *, name: str, run: Callable[[str], str], rewrite: Callable[[str], str] = str
) -> str:
    """Does what stands there: saves TOML by the name in its first line, runs commands and Python.

    Code is rewritten before it runs. Returns what the commands printed.
    """
    namespace: dict[str, object] = {}
    printed = ""
    for fence in part:
        code = rewrite(fence.code)
        if fence.language == "toml":
            target = re.match(r"# (\w+\.toml)\n", code)
            assert target, f"{name}: a file begins with a comment that says its name"
            (folder / target[1]).write_text(code, "utf-8")
        elif fence.language == "python":
            exec(compile(code, name, "exec"), namespace)  # noqa: S102  the README is ours
        else:
            printed += run(code)
    return printed


def run_by_shell(code: str) -> str:
    """Runs lines as they stand; returns what they print."""
    folder = Path.cwd()
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "OOCHUB_CACHE": str(folder.parent / "cache"),
    }
    command = ["bash", "-euo", "pipefail", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (code, done.stderr[-2000:])
    return done.stdout


@pytest.mark.parametrize("name", _parts())
def test_a_stranger_can_follow(name, tmp_path, monkeypatch):
    """In small worlds and short trainings; as it stands, the longest part is a campaign."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with short_folder() as scratch:
        follow(
            RUN[name], folder, name=name, run=partial(run_commands, folder=folder, scratch=scratch), rewrite=make_small
        )


@pytest.mark.campaign  # two trainings of 14 epochs: 400 seconds of processor time
def test_the_number_for_a_paper_shows_the_finding_that_is_printed(tmp_path, monkeypatch):
    """The model relies on context, and GroupDRO does better out of context; numbers differ from machine to machine."""
    name, folder = "README.md: A number for a paper", tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    printed = follow(RUN[name], folder, name=name, run=run_by_shell)
    assert "This model relies on context." in printed, printed
    assert "B does better than A out of context." in printed, printed


def test_each_purpose_has_a_part_that_runs():
    """A number for a paper, an audit, a benchmark, and the first result: commands each; and Python by itself."""
    with_commands = [name for name, part in RUN.items() if any(fence.language == "bash" for fence in part)]
    commands = {name.removeprefix("README.md: ") for name in with_commands}
    purposes = {"The known truth: drawn worlds", "A number for a paper", "Audit your model", "Publish a benchmark"}
    assert purposes <= commands, commands
    assert len(RUN) > len(with_commands)
