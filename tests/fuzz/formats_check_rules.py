"""Files of rules with one thing wrong: the key, value or rule is named, or the rules are the same."""

from pathlib import Path
from typing import Any

from fuzz_case import Format, Used
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


def _use(folder: Path, out: Path) -> Used:
    read = read_rules(folder / _FILE)
    return Used(numbers=[read.correction, to_json(read.rules)])


CHECK_RULES = Format(
    name="check_rules",
    make=lambda folder: (folder / _FILE).write_text(toml_text(_RULES)),
    use=_use,
    names=("rules.toml", "Rule"),
)
