"""The imports of the project as a graph, read from its files without importing them."""

import ast
import gc
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUGIN_FOLDERS = (
    "attention",
    "browsing",
    "builders",
    "dataset_cards",
    "eval_modules",
    "figures",
    "loading_scripts",
    "probing",
    "reviewing",
    "studies",
    "trainers",
)
"""The folders at the root, each a subpackage of `oochub` by a link."""

Graph = Mapping[str, set[str]]


def files() -> list[Path]:
    """Every Python file of the project, once: neither tests nor what the links of `src/oochub` lead to."""
    core = (p for p in (ROOT / "src" / "oochub").rglob("*.py") if p.relative_to(ROOT).parts[2] not in PLUGIN_FOLDERS)
    return sorted([*core, *(p for folder in PLUGIN_FOLDERS for p in (ROOT / folder).rglob("*.py"))])


def module_of(file: Path) -> str:
    """The dotted name under `oochub`; a folder's `__init__.py` is the folder."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else ("oochub", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree: ast.AST, *, types: bool = True) -> set[str]:
    """All that a file imports, inside functions too; with `types` also what only the type checker reads."""
    names: set[str] = set()
    for node in _statements(tree, types=types):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def trees() -> Mapping[str, ast.Module]:
    """The syntax of each module of the project, read once; tests that plant faults do so in a copy."""
    was_enabled = gc.isenabled()
    gc.disable()  # millions of nodes that stay: looking for garbage among them takes three times as long as reading
    try:
        return {module_of(file): ast.parse(file.read_text("utf-8")) for file in files()}
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


@cache
def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """All that `ast.walk` gives of a tree, walked once."""
    return list(ast.walk(tree))


@cache
def import_graph(*, types: bool = True) -> Graph:
    """Each module of the project with those of the project that it imports, read once; see `imported_names`."""
    known = trees()
    return {module: _modules(imported_names(tree, types=types), known) - {module} for module, tree in known.items()}


@cache
def code_lines() -> Mapping[str, int]:
    """How many lines of each module hold code: neither blank, nor a comment, nor part of a docstring."""
    return {module_of(file): count_code(file.read_text("utf-8"), trees()[module_of(file)]) for file in files()}


def count_code(text: str, tree: ast.Module) -> int:
    r"""The lines of a file, which has this syntax, that hold code.

    >>> text = "'What it is.'\n\nx = 1  # one\n# nothing"
    >>> count_code(text, ast.parse(text))
    1
    """
    said = {
        line
        for node in nodes_of(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and number not in said for number, line in lines)


def reach(module: str) -> set[str]:
    """A module with all that it imports, and what these import, as far as it runs."""
    graph, reached, waiting = import_graph(types=False), set(), [module]
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += graph[at]
    return reached


def circles(graph: Graph) -> list[list[str]]:
    """Each set of modules that import each other in a circle, sorted (Tarjan 1972, SIAM J. Comput. 1:146-160)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in graph[module]:
            if other not in order:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == order[module]:
            members = [stack.pop()]
            while members[-1] != module:
                members.append(stack.pop())
            if len(members) > 1:
                result.append(sorted(members))

    for module in graph:
        if module not in order:
            visit(module)
    return result


def _statements(tree: ast.AST, *, types: bool) -> Iterator[ast.AST]:
    """All statements, with `types` also those under `if TYPE_CHECKING`; expressions hold none."""
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            if isinstance(node, ast.expr) or (is_for_types and not types):
                continue
            yield node
            waiting.append(node)


def _modules(names: Iterable[str], known: Mapping[str, object]) -> set[str]:
    """The modules that the names are, or are defined in."""
    modules = {name if name in known else name.rpartition(".")[0] for name in names}
    return {name for name in modules if name in known}
