"""The fenced blocks of a guide: what runs, and what says above itself why it does not."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from killed_command import ended

_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+?) -->\n)?(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^ *```$",
    flags=re.S | re.M,
)


class Fence(NamedTuple):
    """A block of a guide.

    Attributes:
        language: "" where the fence names none.
        code: What stands in it.
        reason: Why it is not run, "" where it is; of the comment `<!-- not run: why -->` right above it.
        section: The heading of the second level that it stands under, "" before the first.
    """

    language: str
    code: str
    reason: str
    section: str


def fences(guide: Path) -> list[Fence]:
    """Every fenced block of a Markdown file, in order."""
    text = guide.read_text("utf-8")
    found = []
    for match in _FENCE.finditer(text):
        headings = re.findall(r"^## (.+)$", text[: match.start()], flags=re.M)
        section = headings[-1] if headings else ""
        found.append(Fence(match["language"], match["code"], match["reason"] or "", section))
    assert 2 * len(found) == len(re.findall(r"^ *```", text, flags=re.M)), f"{guide}: a fence is not closed"
    return found


def make_small(code: str) -> str:
    """The same code in worlds of fewer images, with trainings of one epoch and one division of a repair's rows."""
    code = re.sub(r"(--num-train-epochs |num_train_epochs\"?\s?[=:] )\d+", r"\g<1>1", code)
    code = re.sub(r"(oochub repair \S+ \S+)", r"\1 --draws 1", code)
    code = re.sub(r"oochub example toy(?! --size)", "oochub example toy --size 100", code)
    return code.replace('size="medium"', "size=12")


def run_commands(code: str, *, folder: Path, scratch: Path) -> str:
    """Runs every command of a block, in a process that need not import torch; returns "", as nothing is caught."""
    for line in code.replace("\\\n", " ").splitlines():
        if line.startswith("oochub "):
            end = ended(shlex.split(line, comments=True)[1:], folder / "cache", scratch, folder=folder)
            assert end.code == 0, (line, end.message[-2000:])
    return ""
