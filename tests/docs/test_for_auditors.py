"""The page for auditors: each number that it names is read from the report of its example, each command is one."""

import re
from pathlib import Path

import numpy as np
import pytest
from guide_fences import fences

from oochub.app import every_command

PAGE = Path(__file__).parents[2] / "docs/for_auditors.md"


@pytest.fixture(scope="module")
def report():
    """The report of the page's only example."""
    (fence,) = (fence for fence in fences(PAGE) if fence.language == "python")
    scope = {"print": lambda text: None}
    exec(compile(fence.code, str(PAGE), "exec"), scope)  # noqa: S102  our own page
    return scope["report"]


def test_every_number_that_is_named_is_there(report):
    """Planted faults seen: `report["worst_group/accuracy"]`, which is in no report; a field of another name."""
    named = sorted(set(re.findall(r"`(report(?!\.json)[\[.][^`]+)`", PAGE.read_text("utf-8"))))
    assert len(named) > 25 and 'report["gap"]' in named
    for words in named:
        value = eval(words, {"report": report})  # noqa: S307  our own page
        if words.endswith('"]'):
            assert np.isfinite([value, value.low, value.high]).all() and value.n, words


def test_every_command_and_option_that_is_named_is_one():
    """Planted fault seen: an option that `check` does not have."""
    text, commands = PAGE.read_text("utf-8"), every_command()
    named = re.findall(r"`oochub (\w+)([^`]*)`", text)
    assert {name for name, _ in named} >= {"evaluate", "compare", "check", "contexts"}
    for name, rest in named:
        options = {option for each in commands[name].params for option in each.opts}
        assert set(re.findall(r"--[\w-]+", rest)) <= options, (name, rest)


def test_it_claims_no_conformity():
    """And names each point of the Annex. Planted fault seen: a table without point 5."""
    text = PAGE.read_text("utf-8")
    assert "**This page claims no conformity.**" in text
    assert not re.search(r"\b(complies|compliant|conforms|certif\w+|meets the requirements)\b", text)
    table = text.partition("## Annex IV of the AI Act")[2].partition("\n## ")[0]
    points = re.findall(r"^\| (\d)(?:, (\d))?", table, flags=re.M)
    assert {int(point) for pair in points for point in pair if point} == set(range(1, 10))
