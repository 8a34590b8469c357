"""docs/papers.md: what it names is there, each command parses, and every table and figure of the papers has a row."""

import json
import re
import shlex
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from oochub import catalog
from oochub.app import every_command
from oochub.commands._drawing import Plot, Sources
from oochub.studies.imagenet_ood.plan import TABLES
from oochub.sweep.sweep_recipe import list_recipes

ROOT = Path(__file__).parents[2]
DOCS, RECIPES = ROOT / "docs", ROOT / "src" / "oochub" / "sweep" / "recipes"
PAPERS = {
    "NOOCH": ("nooch_with_appendix.txt", "nooch"),
    "ImageNet-OOD": ("imagenet_ood.txt", "imagenet_ood"),
    "WILDS": ("wilds.txt", "wilds"),
    "Spawrious": ("spawrious.txt", "spawrious"),
}
COLUMNS = {"ce", "class_audit", "class_name", "id_test", "id_val", "ood_validation", "per_task", "test"}
"""Words in backticks that the catalog does not hold: a table, a function, columns, splits, a rule and a key."""
NO_COMMAND = ("no experiment", "not built", "config", "the same", "recipe", "objectives", "the grids", "the arguments")
PAGE_TEXT = (DOCS / "papers.md").read_text("utf-8")
KINDS = ("metric", "detector", "objective", "criterion")


@cache
def _rows() -> dict[str, list[tuple[str, str]]]:
    """The rows of each paper: what is in it, and the answer."""
    parts = re.split(r"^## ", (DOCS / "papers.md").read_text("utf-8"), flags=re.M)[1:]
    tables = {}
    for part in parts:
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
        assert all(len(row) == 2 for row in cells), part[:20]
        tables[part.split("\n")[0]] = [(row[0].strip(), row[1].strip()) for row in cells[1:]]
    return tables


def _words(text: str) -> list[str]:
    """What stands in backticks, outside fences."""
    return re.findall(r"`([^`\n]+)`", text)


def _commands() -> list[str]:
    return [word for word in _words((DOCS / "papers.md").read_text("utf-8")) if word.startswith("oochub ")]


def _numbers(cell: str, kind: str) -> list[int]:
    """The numbers of tables or figures in a cell: "Figures 4 to 7" is four of them, "Tables 6 and 7" two."""
    found: list[int] = []
    for first, word, second in re.findall(rf"\b{kind}s? (\d+)(?: (to|and) (\d+))?", cell):
        last = int(second or first)
        found += range(int(first), last + 1) if word == "to" else dict.fromkeys((int(first), last))
    return found


def parse(line: str) -> tuple[str, dict[str, list[str]], list[str]]:
    """The name of a command, its options with their values as typed, and its arguments.

    Raises:
        AssertionError: No such command; what is given does not fit its options or its arguments.
    """
    words, known = shlex.split(line)[1:], every_command()
    name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
    assert name in known, f"{line}: no command {name}"
    command = known[name]
    try:
        context = command.context_class(command, help_option_names=["-h", "--help"])  # the first is kept in the command
        given = command.make_parser(context).parse_args(words[len(name.split()) :])[0]
    except Exception as error:  # of the click that comes with typer
        raise AssertionError(f"{line}: {error}") from None
    typed = {parameter.name: _as_list(given.get(parameter.name)) for parameter in command.params}
    for parameter in command.params:
        is_bare = "--dry-run" in words or len(words) == len(name.split())
        assert typed[parameter.name] or not parameter.required or is_bare, f"{line}: needs {parameter.name}"
        annotation = parameter.type_descriptor.annotation
        choices = get_args(annotation) if get_origin(annotation) is Literal else typed[parameter.name]
        assert {*typed[parameter.name]} <= {*choices}, f"{line}: {parameter.name} is one of {choices}"
    parts: dict[str, dict[str, list[str]]] = {"option": {}, "argument": {}}
    for parameter in command.params:
        if typed[parameter.name]:
            parts[parameter.param_type_name][parameter.opts[-1]] = typed[parameter.name]
    return name, parts["option"], [word for each in parts["argument"].values() for word in each]


def _as_list(value: Any) -> list[str]:
    several = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return [str(each) for each in several]


@pytest.mark.parametrize("line", _commands())
def test_each_command_parses(line, tmp_path, monkeypatch):
    """With the click parameters of the command, the drawing of figures and the recipes themselves."""
    monkeypatch.chdir(tmp_path)
    name, options, arguments = parse(line)
    for kind in KINDS:
        for value in options.get(f"--{kind}", []):
            word = value.partition(":")[0].partition(".")[0]
            assert word in catalog.names(kind), f"{line}: no {kind} {value}"
    if name == "sweep" and arguments != ["RECIPE"]:
        recipe = tomllib.loads((RECIPES / f"{arguments[0]}.toml").read_text("utf-8"))
        assert {*options.get("--variant", [])} <= {*recipe.get("variants", {})}, line
        assert {*options.get("--only", [])} <= {*recipe["methods"], *recipe["tasks"]}, line
    if name == "imagenet_ood detect":
        assert {*options.get("--table", [])} <= {*TABLES}, line
    for one in (argument for argument in arguments if re.fullmatch(r"[a-z_]\w*/\S+", argument)):
        assert _is_config(one), f"{line}: no config {one}"
    for plot in options.get("--plot", []):
        given = Sources(
            names=arguments,
            detectors=options.get("--detector", []),
            reference=next(iter(options.get("--reference", [])), None),
            embeddings=options.get("--embedding", []),
        )
        assert ":than=" not in plot or plot.startswith("gallery:")
        Plot.parse(re.sub(r":than=[^:=]+", "", plot), given)  # the file need not exist here


def _is_config(name: str) -> bool:
    benchmark, _, config = name.partition("/")
    return benchmark in catalog.names("benchmark") and config in _configs(benchmark)


@cache
def _configs(benchmark: str) -> set[str]:
    from datasets import get_dataset_config_names

    return set(get_dataset_config_names(benchmark))


def test_each_name_in_backticks_exists():
    """A thing of the catalog, a recipe, a config, or one of COLUMNS, each of which is used."""
    words = set(_words((DOCS / "papers.md").read_text("utf-8")))
    known = {name for kind in catalog.kinds() for name in catalog.names(kind)} | set(list_recipes())
    plain = {word for word in words if re.fullmatch(r"\w+", word) and word.islower()}
    assert plain - known == COLUMNS
    configs = {word for word in words if re.fullmatch(r"[a-z]\w*/\S+", word)}
    assert len(configs) > 20 and [word for word in configs if not _is_config(word)] == []


def test_what_is_said_not_to_be_here_is_not_here():
    """Fault seen before the mend: MetaShift and NICO, which are `metashift` and `domains/nico_plus_plus`."""
    clauses = re.findall(r"([^;.|`]*)\b(?:is|are) not(?: here| built in|(?= \|$))", PAGE_TEXT, flags=re.M)
    absent = {word for clause in clauses for word in re.findall(r"[A-Z][\w+-]{3,}", clause)}
    here = [name for benchmark in catalog.names("benchmark") for name in (benchmark, *_configs(benchmark))]
    plain = {re.sub(r"\W|_", "", name).lower() for name in here}
    assert {"ColorMNIST"} <= absent
    assert [word for word in absent if any(name.startswith(word.lower()) for name in plain)] == []


def test_each_row_has_an_answer():
    """A command, or in words what makes it or why nothing does."""
    rows = [row for table in _rows().values() for row in table]
    assert len(rows) > 90
    for item, answer in rows:
        assert item and ("`" in answer or any(words in answer for words in NO_COMMAND)), item


def test_tables_and_figures_are_counted_from_one_and_stand_once():
    """Without the papers: no number is left out below the last one."""
    assert list(_rows()) == list(PAPERS)
    for paper, rows in _rows().items():
        for kind in ("Table", "Figure"):
            counted = Counter(number for item, _ in rows for number in _numbers(item, kind))
            doubled = {n for n, times in counted.items() if times > 1} - {3 if kind == "Figure" else 0}
            assert set(counted) == set(range(1, max(counted) + 1)) and not doubled, (paper, kind, counted)


def test_every_table_and_figure_of_the_papers_has_a_row(real_data):
    """Numbers of captions in the texts, and the tables that were typed in from the papers."""
    folder = real_data.parent / "papers"
    if not folder.is_dir():
        pytest.skip(f"the texts of the papers are not at {folder}")
    typed = json.loads((folder / "tables.json").read_text("utf-8"))
    for paper, (file, key) in PAPERS.items():
        text = (folder / file).read_text("utf-8")
        tables = {int(n) for name in typed[key] for n in re.findall(r"\d+", name.partition("table")[2].split("_")[0])}
        for kind, more in (("Table", tables), ("Figure", set())):
            wanted = {int(number) for number in re.findall(rf"{kind} (\d+)[:.] ", text)} | more
            listed = {number for item, _ in _rows()[paper] for number in _numbers(item, kind)}
            assert wanted and wanted <= listed, (paper, kind, wanted - listed)


def test_each_link_leads_to_a_heading():
    """Anchors as the site makes them: lower case, no punctuation, dashes for blanks."""
    links = re.findall(r"\]\(([\w.]+\.md)(?:#([\w-]+))?\)", (DOCS / "papers.md").read_text("utf-8"))
    assert len(links) >= 8
    for file, anchor in links:
        headings = re.findall(r"^#+ (.+)$", (DOCS / file).read_text("utf-8"), flags=re.M)
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, (file, anchor)
