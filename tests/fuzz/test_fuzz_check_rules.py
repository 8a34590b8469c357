"""Files of rules with one thing wrong: the key, value or rule is named, or the rules are the same."""

import copy
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz_case import CHANGED, REFUSED, SAFE, Case, Format, Used
from mutations import place_cases, text_cases
from toml_text import toml_text

from oochub.checking.rules import read_rules
from oochub.records.schema import to_json

_FILE = "rules.toml"
_RULES: dict[str, Any] = {
    "correction": "holm",
    "rule": [
        {"metric": "accuracy", "slice": "out_of_context", "at_least": 0.7},
        {"metric": "error_rate", "group": "dog/*", "at_most": 0.4},
        {"metric": "nll", "at_most_worse": 0.02},
    ],
}
_WRONG: dict[str, Any] = {
    "a text": "abc",
    "an empty text": "",
    "a number": 7,
    "a fraction": 0.5,
    "negative": -1,
    "huge": 10**18,
    "infinite": float("inf"),
    "not a number": float("nan"),
    "true": True,
    "a list": [],
    "a list of texts": ["abc"],
    "a table": {},
    "an expression": "1 - 0.3",
    "a long text": "a" * 100_000,
}


def _use(folder: Path, out: Path) -> Used:
    read = read_rules(folder / _FILE)
    return Used(numbers=[read.correction, to_json(read.rules)])


CHECK_RULES = Format(
    name="check_rules",
    make=lambda folder: (folder / _FILE).write_text(toml_text(_RULES)),
    use=_use,
    names=("rules.toml", "Rule"),
)


def _writing(rules: dict[str, Any]) -> Callable[[Path], object]:
    return lambda folder: (folder / _FILE).write_text(toml_text(rules))


def _changed() -> Iterator[tuple[str, dict[str, Any], frozenset[str]]]:
    """What is done and where, the rules that it gives, and what may come of it."""
    for word, value in _WRONG.items():
        for key in _RULES:
            yield f"{key} {word}", _RULES | {key: value}, frozenset({REFUSED})
        for number, rule in enumerate(_RULES["rule"]):
            for key in rule:
                rules = copy.deepcopy(_RULES)
                rules["rule"][number][key] = value
                is_text = isinstance(value, str) and value and key in ("metric", "slice", "group")
                is_limit = key.startswith("at_") and type(value) in (int, float) and abs(value) < 1e300
                allowed = SAFE | {CHANGED} if is_text or (is_limit and not (value < 0 and "worse" in key)) else None
                yield f"rule {number} {key} {word}", rules, allowed or frozenset({REFUSED})
    for number, rule in enumerate(_RULES["rule"]):
        for key in rule:
            for word, other in (("deleted", ()), ("renamed", ((f"{key}_", rule[key]),))):
                rules = copy.deepcopy(_RULES)
                rest = {name: each for name, each in rule.items() if name != key}
                rules["rule"][number] = rest | dict(other)
                is_place = word == "deleted" and key in ("slice", "group")
                yield f"rule {number} {key} {word}", rules, SAFE | {CHANGED} if is_place else frozenset({REFUSED})


CASES = [
    *text_cases(_FILE, blank=frozenset({REFUSED}), bom=SAFE),
    *place_cases(_FILE),
    *(Case(name=name, mutate=_writing(rules), expect=expect) for name, rules, expect in _changed()),
    *(
        Case(name=name, mutate=lambda folder, text=text: (folder / _FILE).write_text(text))
        for name, text in {
            "an include": 'include = "other.toml"\n' + toml_text(_RULES),
            "two million bytes": "#" * 2_000_000,
            "deep": "rule = " + "[" * 100_000,
            "a rule of rules": "[[rule]]\n[[rule.rule]]\nmetric = 'nll'\nat_most = 1\n",
            "dates": "[[rule]]\nmetric = 'nll'\nat_most = 2026-01-01\n",
        }.items()
    ),
]


def test_the_writer_of_these_rules():
    assert tomllib.loads(toml_text(_RULES)) == _RULES


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_check_rules(campaign, case):
    campaign.run(CHECK_RULES, case)
