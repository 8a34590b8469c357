"""Sentences that users read are plain: the patterns of CONTRIBUTING's style section that can be found by rule.

Counted in each area of text. An area that is not clean yet has a number in `LEFT`, which may only fall. Seen to fail on
a sentence that begins with "Of " in the README, on a telegram below Args, and on an option whose help says "picture".
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
import typer
from import_graph import ROOT, nodes_of, trees

from oochub.app import app

BEGIN = r"(?:^|(?<=[.!?] )|(?<=\| )|(?<=\*\* ))"
RULES = {
    "begins with Of": rf"{BEGIN}Of (?!course\b)",
    "begins with Where": rf"{BEGIN}Where (?![^.?!\n]*\?)",
    "of before": r"\bof before\b",
    "at most so many": r"\b(?:at most|up to|in) so many\b",
    "whoever": r"\b[Ww]hoever\b",
    "picture": r"\b[Pp]ictures?\b",
    "otherwise than": r"\bcalled otherwise\b|\botherwise than\b",
    "without being told": r"\bwithout being told\b",
    "telegram of a run": r"\b(?:it goes on|run again, it|goes on where|fitted anew|computed anew)\b",
    "own data as an order": r"\bOwn data: ",
    "default after a semicolon": r"; default (?!is\b)|; repeatable",
    "leave it out": r"\b[Ll]eave (?:it|them|one of them) out\b",
    "fetch again": r"\b[Ff]etch (?:it|them|both|the files?) again\b",
    "is no file": r"\bis no (?:ONNX|JSON|Parquet|ZIP|zip|plain|regular) |\bbytes do not fit\b",
    "data set": r"\b[Dd]ata sets?\b",
    "labelled": r"\b(?:un)?labelled\b",
    "a row an image": r"\ba (?:row|line|file|page|column|process|part|table|point) an? (?!few\b|time\b|day\b)\w",
}
"""What is looked for in each sentence, by name; CONTRIBUTING.md says what to write instead."""
TELEGRAM = re.compile(r"^\s+\*{0,2}(\w+)(?: \([^)]*\))?: (?:Of (?!course\b)[^.]*\.?$)")
"""A line below Args that says no more than what a thing belongs to: "seed: Of the bootstrap."."""
GENERATED = ("docs/intervals.md", "docs/levels.md", "docs/effect.md", "docs/results.md", "docs/scale.md")
CODE = re.compile(r"(?ms)^```.*?^```|``.+?``|`[^`\n]+(?:\n[^`\n]+)*`|\]\([^)]*\)|<[^>]*>")
NAMES = re.compile(r"(?m)^ *(?:>>>|\.\.\.) .*$|^ +\*{0,2}\w+(?=: )")
"""What is code in a docstring without quotes: examples, and the names of arguments and attributes."""
LEFT = {
    ("docstrings", "picture"): 5,
    ("docstrings", "default after a semicolon"): 2,
    ("docstrings", "fetch again"): 2,
    ("docstrings", "is no file"): 1,
    ("docstrings", "labelled"): 7,
    ("docstrings", "data set"): 113,
    ("docstrings", "leave it out"): 3,
    ("docstrings", "telegram of a run"): 7,
    ("first lines of docstrings", "data set"): 105,
    ("first lines of docstrings", "is no file"): 1,
    ("first lines of docstrings", "labelled"): 10,
    ("first lines of docstrings", "telegram of a run"): 4,
    ("generated pages", "data set"): 14,
    ("changelog", "data set"): 11,
    ("changelog", "telegram of a run"): 1,
    ("messages", "data set"): 2,
    ("messages", "fetch again"): 3,
    ("messages", "leave it out"): 7,
}
"""What is left in each area, by rule: lower a number when you have rewritten sentences, never raise one."""


def find_faults(text: str) -> Counter[str]:
    """How often each rule finds something in a text; quoted code and link targets are left out."""
    plain = re.sub(r"(?<!\n)\n(?! *(?:\n|[-|#*]|\d+\. ))", " ", CODE.sub("`", re.sub(r"(?m)^#+ .*$", "", text)))
    lines = [re.sub(r"^\s*(?:[-*|]+|\d+\.) ", "", line).lstrip() for line in plain.split("\n")]
    return Counter({name: len(re.findall(rule, "\n".join(lines), re.MULTILINE)) for name, rule in RULES.items()})


def _guides() -> Iterator[str]:
    for file in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        if file.relative_to(ROOT).as_posix() not in GENERATED:
            text = file.read_text("utf-8")
            yield re.sub(r"(?ms)^\| instead of \| write \|\n.*?\n\n", "", text)  # the pairs quote what is looked for


def _files(*names: str) -> Iterator[str]:
    for name in names:
        for file in sorted(ROOT.glob(name)):
            yield file.read_text("utf-8")


def _helps(command=None) -> Iterator[str]:
    command = command or typer.main.get_command(app)
    yield command.help or ""
    for parameter in command.params:
        yield getattr(parameter, "help", None) or ""
    for part in getattr(command, "commands", {}).values():
        yield from _helps(part)


@cache
def _docstrings() -> list[str]:
    nodes = (node for tree in trees().values() for node in nodes_of(tree))
    return [
        ast.get_docstring(node) or "" for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]


def _messages() -> Iterator[str]:
    for tree in trees().values():
        for node in nodes_of(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "OochubError":
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


AREAS = {
    "guides": _guides,
    "generated pages": lambda: _files(*GENERATED, "dataset_cards/*.md", "eval_modules/metrics/*/README.md"),
    "changelog": lambda: _files("CHANGELOG.md"),
    "help": _helps,
    "first lines of docstrings": lambda: (text.split("\n")[0] for text in _docstrings()),
    "docstrings": lambda: ("\n".join(text.split("\n")[1:]) for text in _docstrings()),
    "messages": _messages,
}


@cache
def texts_of(area: str) -> list[str]:
    return list(AREAS[area]())


@cache
def count_faults(area: str) -> Counter[str]:
    """The faults of an area by rule, and its telegrams below Args."""
    found = Counter()
    for text in texts_of(area):
        found += find_faults(NAMES.sub("`", text) if area == "docstrings" else text)
        if area == "docstrings":
            found["telegram"] += sum(bool(TELEGRAM.match(line)) for line in text.split("\n"))
    return found


@pytest.mark.parametrize("area", AREAS)
def test_sentences_are_plain(area):
    worse = {
        rule: f"{count}, at most {LEFT.get((area, rule), 0)}"
        for rule, count in count_faults(area).items()
        if count > LEFT.get((area, rule), 0)
    }
    assert not worse, f"{area}: {worse}. CONTRIBUTING.md, section Sentences, says what to write instead."


def test_every_area_has_text():
    assert all(sum(map(len, texts_of(area))) > 1000 for area in AREAS)


@pytest.mark.parametrize(
    ("fault", "plain"),
    [
        ("Rows come first. Of a stream the first 200.", "For a stream, the first 200 rows. A share of course."),
        ("Where a model\nhas no head, a probe is trained.", "If a model has no head. Where does it go?"),
        ("- Takes predictions of before.", "- Reuses cached predictions. Checked before use."),
        ("Keeps at most so many rows.", "Keeps at most 20 rows."),
        ("Whoever has the images joins them.", "Anyone who has the images joins them."),
        ("A picture of a dog.", "An image of a dog; `toy/pictures`, [x](pictures.png)."),
        ("Classes that are called otherwise.", "Classes with other names; otherwise none."),
        ("500 without being told.", "By default 500."),
        ("A file with a row an image.", "A file with one row per image, a row a few times."),
        ("If it was stopped, it goes on.", "Run the same command again to resume."),
        ("Own data: label column.", "Custom data: label column."),
        ("Label column; default label.", "Label column (default: label)."),
        ("--margin is for --suggest. Leave it out.", "--margin requires --suggest. Leave out broken rows."),
        ("The file is broken. Fetch it again.", "The file is broken. Download it again."),
        ("net.onnx is no ONNX file.", "net.onnx is not a valid ONNX file."),
        ("A data set of two classes.", "A dataset of two classes."),
        ("Contexts that nobody labelled.", "Unlabeled contexts."),
    ],
)
def test_a_planted_fault_is_found_and_its_plain_form_is_not(fault, plain):
    assert sum(find_faults(fault).values()) == 1, find_faults(fault)
    assert not sum(find_faults(plain).values()), find_faults(plain)


def test_names_and_examples_are_code_and_what_is_said_of_them_is_not():
    said = "Args:\n    pictures: A picture of each.\n\n>>> pictures(2)\n"
    assert find_faults(NAMES.sub("`", said))["picture"] == 1


def test_a_telegram_is_found():
    assert TELEGRAM.match("        split: Of its rows.")
    assert TELEGRAM.match("        seed: Of the bootstrap.")
    assert not TELEGRAM.match("        seed: Random seed for the bootstrap.")
