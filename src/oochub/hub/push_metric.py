"""Puts a metric up as a Space, from which `evaluate` loads it.

`_flatten_module` makes one file of a metric: its module, and of every module that it is built on the parts that it
needs.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from oochub import catalog
from oochub.dataset_cards.metric_card import metric_card
from oochub.errors import OochubError
from oochub.hub.upload import Pushed, upload
from oochub.metric import MetricShell
from oochub.report.self_contained_page import self_contained_page
from oochub.storage.files import make_scratch_folder


def push_metric(name: str, to: str, **options: Any) -> Pushed:
    """Makes a Space that holds a metric as a module of `evaluate`: `evaluate.load("user/auc_hard")` works anywhere.

    The module is one flattened file, `<name>.py`: the metric's own, with what it needs of oochub copied into it
    (`_flatten_module`), so that it needs `evaluate` and NumPy, some metrics SciPy too, which `evaluate` asks for
    by name where it is missing, and no oochub. A requirements.txt with a pinned oochub would have needed all of torch
    and transformers for one number. Beside it stand the card, and the card as a page that the Space shows: it is a
    static one, which runs nothing.

    Args:
        name: Name of the metric.
        to: The Space, user/<name>: `evaluate` finds the file, and the file the metric, by the Space's name.
        options: Options of `oochub.hub.upload.upload`: private, revision, pull_request, dry_run, overwrite.

    Raises:
        OochubError: An unknown metric, a Space of another name, a metric that cannot be one file; as
            `oochub.hub.upload.upload`.
    """
    texts = _make_space(name, to)
    with make_scratch_folder() as folder:
        for file, text in texts.items():
            (folder / file).write_text(text, "utf-8")
        return upload(
            folder,
            to,
            repo_type="space",
            message=f"{name} of oochub {version('oochub')}",
            space_sdk="static",
            known_by=f"{name}.py",
            **options,
        )


def _make_space(name: str, to: str) -> dict[str, str]:
    """The files of the Space, by name."""
    metric = catalog.get("metric", name)
    if to.rpartition("/")[2] != name:
        raise OochubError(
            f"The Space of the metric {name} must have the same name, user/{name}, got {to!r}: `evaluate` looks for "
            "a file with the Space's name."
        )
    module = sys.modules[metric.__module__]
    shells = [
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, MetricShell) and value.__module__ == module.__name__
    ]
    if len(shells) != 1:
        raise OochubError(f"{module.__name__} defines {len(shells)} classes of MetricShell: a Space needs one.")
    readme = metric_card(name, space=to)
    return {
        f"{name}.py": _flatten_module(module.__name__, (name, "FACTS", *shells)),
        "README.md": readme,
        "index.html": _render_page(readme, name),
    }


def _render_page(readme: str, name: str) -> str:
    """The text of the README as a page."""
    _, _, text = readme.removeprefix("---\n").partition("---\n")
    return self_contained_page(
        "metric.html.jinja",
        advice="Shorten the docstrings of its file.",
        title=name,
        text=Markup(MarkdownIt("commonmark", {"html": False}).render(text)),  # noqa: S704
        version=version("oochub"),
    )


_FUTURE = "from __future__ import annotations"  # of one module, it leaves the annotations of all unread
_LEFT_OUT = (
    "interval",
    "row_numbers",
)  # of FACTS: how a report finds intervals, half of the code, which `evaluate` does not read


def _flatten_module(module: str, names: tuple[str, ...]) -> str:
    """The text of one file that defines these names of a module and imports nothing of oochub.

    The definitions stand as they are written, each after what it needs; of two of the same name the one that is not
    asked for gets its module's name in front. Imports stand at the head, one per line, as `evaluate` reads them.

    Args:
        module: Such as "oochub.eval_modules.metrics.auc.auc".
        names: What the file is for: they keep their names, and stand last.

    Raises:
        OochubError: A name that the module does not have, or an import of a whole module of the package.

    >>> text = _flatten_module("oochub.eval_modules.metrics.accuracy.accuracy", ("accuracy",))
    >>> text.startswith('"' * 3 + "Accuracy"), "class OochubError(ValueError):" in text, "import oochub" in text
    (True, True, False)
    """
    flattening = _Flattening(packages={"oochub", module.partition(".")[0]})
    for name in names:
        flattening.names[module, name] = name
    for name in names:
        flattening.take(module, name)
    source = flattening.source(module)
    docstring = _change_lines(source, source.tree.body[0], {}) if ast.get_docstring(source.tree) else '""""""'
    imports = sorted(flattening.imports, key=lambda line: (line != _FUTURE, line.startswith("from"), line))
    return "\n\n\n".join([docstring + "\n\n" + "\n".join(imports), *flattening.parts]) + "\n"


@dataclass(frozen=True)
class _Source:
    """A module's text, and where each name of its top level comes from."""

    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines in UTF-8, in which `ast` counts columns."""
        return self.text.encode().splitlines(keepends=True)

    @cached_property
    def statements(self) -> dict[str, ast.stmt]:
        """What defines a name, or imports it."""
        return {name: statement for statement in self.tree.body for name in _list_defined_names(statement)}


def _list_defined_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))


@dataclass(frozen=True)
class _Flattening:
    """What has been taken so far: the names that definitions got, the imports, and the texts of the definitions."""

    packages: set[str]
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    parts: list[str] = field(default_factory=list)
    _sources: dict[str, _Source] = field(default_factory=dict)
    _taken: set[tuple[str, ast.stmt]] = field(default_factory=set)

    def source(self, module: str) -> _Source:
        if module not in self._sources:
            self._sources[module] = _Source(inspect.getsource(import_module(module)))
            if _FUTURE in self._sources[module].text.splitlines():
                self.imports.add(_FUTURE)
        return self._sources[module]

    def take(self, module: str, name: str) -> str:
        """Takes what defines a name, after all that it needs, and returns what it is called in the file."""
        statement = self.source(module).statements.get(name)
        if statement is None:
            raise OochubError(
                f"{module} has no {name}, which its Space needs. CONTRIBUTING.md says what a metric's file must hold."
            )
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return self._import_name(module, name, statement)
        taken = set(self.names.values())
        called = name if name not in taken else f"_{module.rpartition('.')[2]}_{name.strip('_')}"
        called = self.names.setdefault((module, name), called)
        if (module, statement) not in self._taken:
            self._taken.add((module, statement))
            self.parts.append(self._copy_statement(module, statement))
        return called

    def _import_name(self, module: str, name: str, statement: ast.Import | ast.ImportFrom) -> str:
        alias = next(
            alias_named
            for alias_named in statement.names
            if name in (alias_named.asname, alias_named.name.partition(".")[0])
        )
        renamed = f" as {alias.asname}" if alias.asname else ""
        if isinstance(statement, ast.ImportFrom) and str(statement.module).partition(".")[0] in self.packages:
            return self.take(str(statement.module), alias.name)
        if isinstance(statement, ast.ImportFrom):
            self.imports.add(f"from {statement.module} import {alias.name}{renamed}")
        elif alias.name.partition(".")[0] in self.packages:
            raise OochubError(f"{module} imports {alias.name} as a whole: import the names that it needs.")
        else:
            self.imports.add(f"import {alias.name}{renamed}")
        return name

    def _copy_statement(self, module: str, statement: ast.stmt) -> str:
        """The lines of a statement, with the names that its needs got."""
        source, changes = self.source(module), dict[tuple[int, int, int, int], str]()
        left_out = [
            node.value for node in ast.walk(statement) if isinstance(node, ast.keyword) and node.arg in _LEFT_OUT
        ]
        left_out = left_out if "FACTS" in _list_defined_names(statement) else []
        inside = {node for value in left_out for node in ast.walk(value)}
        changes |= {_find_span(value): "None" for value in left_out}
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in source.statements and node not in inside:
                changes[_find_span(node)] = self.take(module, node.id)
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and (module, statement.name) in self.names:
            text = _change_lines(source, statement, changes)
            return text.replace(statement.name, self.names[module, statement.name], 1)
        return _change_lines(source, statement, changes)


def _find_span(node: ast.expr) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _change_lines(source: _Source, statement: ast.stmt, changes: dict[tuple[int, int, int, int], str]) -> str:
    """The lines of a statement and of its decorators, comments included, with some places changed."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    lines = source.lines[first - 1 : statement.end_lineno]
    for (line, start, last, end), text in sorted(changes.items(), reverse=True):
        before, after = lines[line - first][:start], lines[last - first][end:]
        lines[line - first : last - first + 1] = [before + text.encode() + after]
    return b"".join(lines).decode().rstrip()
