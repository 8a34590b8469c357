"""`make options`: the keywords of public functions, and their lines under Args, made of the records of settings.

An option is one field of a record. What a reader, an editor and a type checker see of a function must stand in its
source, so this file writes it there: a keyword that is missing comes after the one before it in the record, one that
no record has is taken out, and names, types, defaults and words are those of the field.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from oochub.settings.context_settings import ContextSettings, MeasurementSettings
from oochub.settings.data_settings import DataSettings
from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
from oochub.settings.hub_settings import HubSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import Settings, list_options
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.probe_settings import ProbeSettings
from oochub.settings.repair_settings import RepairSettings
from oochub.settings.report_settings import CheckSettings, ComparisonSettings
from oochub.settings.training_settings import TrainingSettings


class Keywords(NamedTuple):
    """A public function and the records that its keywords are of.

    Attributes:
        module: Where it stands.
        records: Each record, with the fields that the function takes of it; none is all.
        own: Its keywords that are no options, and those that it calls otherwise.
    """

    module: str
    records: Mapping[type[Settings], tuple[str, ...]]
    own: tuple[str, ...] = ()


FUNCTIONS: Mapping[str, Keywords] = {
    "predict": Keywords("oochub.prediction.predict", {ModelSettings: (), PredictionSettings: ()}, ("out",)),
    "audit": Keywords(
        "oochub.auditing",
        {
            DataSettings: (),
            PredictionSettings: ("splits",),
            ContextSettings: (),
            ProbeSettings: (),
            IntervalSettings: (),
        },
        ("out",),
    ),
    "repair": Keywords("oochub.repairing", {DataSettings: (), ContextSettings: (), RepairSettings: ()}, ("out",)),
    "evaluate": Keywords(
        "oochub.evaluation.evaluate",
        {EvaluationSettings: (), IntervalSettings: (), DataSettings: ("data_dir",)},
        ("loading",),
    ),
    "contexts": Keywords(
        "oochub.context_finding.context_columns",
        {
            DataSettings: ("label", "image", "config", "data_dir", "options"),
            MeasurementSettings: (),
            ContextSettings: ("choose_on",),
        },
        ("by", "out"),
    ),
    "train": Keywords("oochub.training", {TrainingSettings: (), DataSettings: ()}, ("callbacks",)),
    "load": Keywords("oochub.data.load", {DataSettings: ()}, ("split", "num_proc", "text_columns")),
    "push": Keywords("oochub.hub.push", {HubSettings: (), DataSettings: ("data_dir", "options")}, ("out",)),
    "check": Keywords("oochub.checking.check_report", {CheckSettings: ()}),
    "compare": Keywords("oochub.comparison.compare", {ComparisonSettings: ()}),
}
"""The public functions whose keywords are options."""


class _Declared(NamedTuple):
    annotation: str
    default: str
    text: str


def declared(function: Keywords) -> dict[str, _Declared]:
    """The keywords of a function that are options, as the source of their records has them."""
    found = {}
    for kind, chosen in function.records.items():
        fields = {}
        for base in kind.__mro__[:-1]:  # a record may have the options of another
            tree = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            assert isinstance(tree, ast.ClassDef)  # noqa: S101
            fields |= {node.target.id: node for node in tree.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
        for name, about in list_options(kind).items():
            if about.python and (not chosen or name in chosen):
                node = fields[name]
                assert isinstance(node.value, ast.Call)  # noqa: S101
                default = ast.unparse(node.value.args[0]) if node.value.args else ""
                found[name] = _Declared(ast.unparse(node.annotation).replace("'", '"'), default, about.text)
    return found


def rewrite(source: str, name: str, function: Keywords) -> str:
    """The source of a module with the keywords and the Args of one of its functions made anew."""
    wanted = declared(function)
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name]
    for node in reversed(nodes):  # the overloads too, the last one first: lines above it keep their numbers
        lines = source.split("\n")
        of_overload = [each.arg for each in node.args.kwonlyargs]
        if node is nodes[-1]:
            lines = _with_args(lines, node, wanted, function.own)
            lines = _with_keywords(lines, node, wanted, function.own)
        else:
            some = {each: about for each, about in wanted.items() if each in of_overload}
            lines = _with_keywords(lines, node, some, function.own)
        source = "\n".join(lines)
    return source


def _with_keywords(
    lines: list[str], node: ast.FunctionDef, wanted: Mapping[str, _Declared], own: tuple[str, ...]
) -> list[str]:
    """The lines with the keywords of a function made anew; a type that the record cannot say is the function's."""
    there: dict[str, str] = {}
    for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        annotation = ast.unparse(each.annotation).replace("'", '"') if each.annotation else "Any"
        value = "" if default is None else f" = {_same(ast.unparse(default))}"
        there[each.arg] = f"{annotation}{value}"
    made = {}
    for name, words in there.items():
        if name in own:
            made[name] = words
        elif name in wanted:
            made[name] = _keyword(wanted[name], words)
    for name in _missing(wanted, there):
        made = _placed(made, name, _keyword(wanted[name], "Any"), tuple(wanted))
    first, last = node.args.kwonlyargs[0].lineno - 1, node.args.kwonlyargs[-1].end_lineno or 0
    return [*lines[:first], *(f"    {name}: {words}," for name, words in made.items()), *lines[last:]]


def _same(text: str) -> str:
    return text.replace("'", '"')


def _keyword(about: _Declared, before: str) -> str:
    annotation = before.partition(" = ")[0] if about.annotation == "Any" else about.annotation
    return f"{annotation} = {_same(about.default)}" if about.default else annotation


def _missing(wanted: Mapping[str, _Declared], there: Mapping[str, object]) -> Iterator[str]:
    yield from (name for name in wanted if name not in there)


def _placed(there: Mapping[str, str], name: str, words: str, order: tuple[str, ...]) -> dict[str, str]:
    """What is there and one more, after the last of those before it in the record that are there."""
    before = [each for each in order[: order.index(name)] if each in there]
    if not before:
        return {name: words, **there}
    made = {}
    for each, value in there.items():
        made[each] = value
        if each == before[-1]:
            made[name] = words
    return made


_ENTRY = re.compile(r"        (\*{0,2}\w+): ")


def _with_args(
    lines: list[str], node: ast.FunctionDef, wanted: Mapping[str, _Declared], own: tuple[str, ...]
) -> list[str]:
    """The lines with the entries under Args made anew."""
    keywords = {each.arg for each in node.args.kwonlyargs}
    start = next(k for k in range(node.lineno - 1, len(lines)) if lines[k] == "    Args:") + 1
    end = next(k for k in range(start, len(lines)) if not lines[k].startswith("        "))
    entries: dict[str, str] = {}
    for line in lines[start:end]:
        match = _ENTRY.match(line)
        if match:
            name = match[1]
            entries[name] = line
        else:
            entries[name] += f"\n{line}"
    kept = {name: text for name, text in entries.items() if name in wanted or name in own or name not in keywords}
    made = {name: _entry(name, wanted[name].text) if name in wanted else text for name, text in kept.items()}
    for name in _missing(wanted, kept):
        made = _placed(made, name, _entry(name, wanted[name].text), tuple(wanted))
    return [*lines[:start], *made.values(), *lines[end:]]


def _entry(name: str, text: str) -> str:
    return textwrap.fill(
        f"{name}: {text}",
        width=120,
        initial_indent=" " * 8,
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )


def rewritten() -> Iterator[tuple[Path, str]]:
    """The files of public functions, each with what it should hold."""
    for name, function in FUNCTIONS.items():
        file = Path(import_module(function.module).__file__ or "")
        yield file, rewrite(file.read_text("utf-8"), name, function)


if __name__ == "__main__":
    for path, text in rewritten():
        if text != path.read_text("utf-8"):
            path.write_text(text, "utf-8")
            print(path)  # noqa: T201
    sys.exit(0)
