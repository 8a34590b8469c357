"""What the hub offers, by kind and name: the folder is the registry.

A file (or metric folder) in the right folder is found by its name, without importing it. Other packages add
theirs through entry points of the group `oochub.<kind>`, and a user adds a file (`use`); a clash of names is an error.
"""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub.errors import OochubError, unknown_name
from oochub.process.own_files import OwnFile, list_own_files, run_own_file

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint  # half the time of `import oochub`

_PACKAGES = {
    "benchmark": "builders",
    "metric": "eval_modules.metrics",
    "detector": "eval_modules.detectors",
    "objective": "trainers.objectives",
    "criterion": "builders.criteria",
    "input": "inputs",
    "output": "outputs",
    "mode": "models.modes",
    "model": "models.built_in",
    "context": "context_finding.finders",
    "probe": "probing.probes",
    "repair": "repairs.head_methods",
    "bridge": "exchange.bridges",
    "section": "sections",
    "figure": "figures",
    "command": "commands",
}
_BASES = {
    "oochub.benchmark.Benchmark": "benchmark",
    "oochub.context_finder.ContextWay": "context",
    "oochub.detector.Detector": "detector",
    "oochub.exchange.bridge.Bridge": "bridge",
    "oochub.metric.MetricShell": "metric",
    "oochub.repairs.head_method.HeadMethod": "repair",
    "oochub.section.Section": "section",
    "oochub.trainers.objective.Objective": "objective",
}
"""The kinds that a file of a user may add, by the class that its public thing is of."""
_OWN_PARTS = "For a part of your own see docs/own_parts.md."
_HELPERS_OF_BUILDERS = {"sources", "criteria", "toy_worlds"}  # folders beside the benchmarks, not benchmarks
_CORE = Path(__file__).parent
_STUDIES = _CORE / "studies"
_BESIDE = ("attention", "browsing", "probing", "reviewing")
"""The folders at the root that use the core as studies do, and have commands; the core reaches them by name alone."""
_AT_THE_TOP = ("demo",)
"""The studies of no paper: their commands have no group."""


def kinds() -> list[str]:
    """The kinds of things in the catalog.

    >>> kinds()  # doctest: +NORMALIZE_WHITESPACE
    ['benchmark', 'metric', 'detector', 'objective', 'criterion', 'input', 'output', 'mode', 'model', 'context',
    'probe', 'repair', 'bridge', 'section', 'figure', 'command']
    """
    return list(_PACKAGES)


def names(kind: str) -> list[str]:
    """The names of one kind, sorted; nothing is imported to find them.

    A command of a paper is called by two words, its group and its own name: "nooch verify".

    Args:
        kind: "benchmark", "metric", "detector", "objective", "criterion", "input", "output", "mode", "model",
            "context", "probe", "repair", "bridge", "section", "figure" or "command".

    Raises:
        OochubError: An unknown kind, or a plug-in whose name is taken.

    >>> "auc_hard" in names("metric")
    True
    """
    own = _own_folders(kind)
    plugins = _find_plugins(kind)
    clashes = sorted(set(own) & set(plugins))
    if clashes:
        where = plugins[clashes[0]].value
        raise OochubError(
            f"The plug-in {where} offers the {kind} {clashes[0]!r}, a name that oochub itself has. "
            "Rename it in the entry points of its package."
        )
    return sorted([*own, *plugins])


def module_name(kind: str, name: str) -> str:
    """The dotted name of the module that defines `name`, not imported.

    >>> module_name("metric", "ece")
    'oochub.eval_modules.metrics.ece.ece'
    """
    if name not in names(kind):
        raise unknown_name(kind, name, names(kind), f"Run `oochub list {kind}` for descriptions. {_OWN_PARTS}")
    plugin = _find_plugins(kind).get(name)
    if plugin is not None:
        return plugin.module
    place = source_file(kind, name).relative_to(_CORE).with_suffix("")
    return ".".join(("oochub", *(part for part in place.parts if part != "__init__")))


def get(kind: str, name: str) -> Any:
    """The thing of that kind and name: a function, a class, or a Benchmark.

    Args:
        kind: See `names`.
        name: Name of the thing, one of `names(kind)`.

    Returns:
        metric, criterion, figure, command: the function named like the file. detector, objective, input, output,
        mode, model, context, probe, repair, bridge, section: the class. benchmark: its `Benchmark` declaration.

    Raises:
        OochubError: An unknown kind or name; near names are given.

    >>> get("metric", "accuracy")(label=[0, 1], prediction=[0, 0])
    0.5
    """
    module = import_module(module_name(kind, name))
    return _find_public_object(module, kind, name)


def use(file: str | Path) -> str:
    """Adds what one Python file of yours defines to the catalog, under the file's name; the file is run.

    It may hold an objective, a metric, a detector, a context method, a head method of a repair, a section of the
    report, a bridge or a benchmark. Processes that this one starts use it too.

    Args:
        file: The path of the file, such as std_risk.py; docs/own_parts.md shows one of each kind.

    Returns:
        Its kind, one of `kinds()`.

    Raises:
        OochubError: No Python file, an error in it, none or several things in it, or a name that is taken.
    """
    own = run_own_file(file)
    kind, name = _find_kind(own), own.path.stem
    point = _make_entry_point(kind, name)
    if name in _own_folders(kind) or _find_entry_points(kind).setdefault(name, point) != point:
        raise OochubError(f"There is a {kind} named {name!r} already. Rename {own.path.name}.")
    return kind


def summary(kind: str, name: str) -> str:
    """The first line of the module's docstring: one sentence on what it is, read without importing it.

    >>> summary("objective", "erm").endswith(".")
    True
    """
    return _read_summary(source(kind, name))


def group_summary(group: str) -> str:
    """The first line of the docstring of the folder of a paper's commands.

    >>> group_summary("wilds").startswith("WILDS:")
    True
    """
    return _read_summary((_STUDIES / group / "commands" / "__init__.py").read_text("utf-8"))


def _read_summary(code: str) -> str:
    """The first line of the docstring that begins a file; the rest of the file is not parsed, which takes long."""
    import ast
    import tokenize

    tokens = tokenize.generate_tokens(StringIO(code).readline)
    first = next(token for token in tokens if token.type not in (tokenize.COMMENT, tokenize.NL))
    return str(ast.literal_eval(first.string)).strip().split("\n")[0] if first.type == tokenize.STRING else ""


def source(kind: str, name: str) -> str:
    """The text of the file that defines one thing; nothing of the hub's own is imported to read it.

    >>> "class Erm" in source("objective", "erm")
    True
    """
    import inspect

    plugin = _find_plugins(kind).get(name)
    if plugin:
        return inspect.getsource(import_module(plugin.module))
    return source_file(kind, name).read_text("utf-8")


def source_file(kind: str, name: str) -> Path:
    """The file that defines one of the hub's own things.

    >>> source_file("metric", "ece").name
    'ece.py'
    """
    stem = _own_folders(kind)[name] / name.rpartition(" ")[2]
    if kind == "metric":
        return stem / f"{name}.py"
    return stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")


def reported_files() -> dict[str, Path]:
    """The files of numbers that papers report, by the name of their benchmark.

    >>> sorted(reported_files())
    ['domains', 'imagenet_ood', 'nooch', 'spawrious', 'waterbirds', 'wilds']
    """
    return {file.stem: file for file in sorted((_STUDIES / "reported").glob("*.json"))}


def find_functions(name: str) -> dict[str, Callable[..., Any]]:
    """The functions of that name in what stands on the core, each in a file of its name.

    Args:
        name: Name of the file and of the function.

    Returns:
        The functions by the name of their folder: a study, which bears the name of its benchmark, or attention,
        probing, reviewing.

    >>> {folder: function.__module__ for folder, function in find_functions("class_audit").items()}
    {'imagenet_ood': 'oochub.studies.imagenet_ood.class_audit'}
    """
    files = [*sorted(_STUDIES.glob(f"*/{name}.py")), *(_CORE / room / f"{name}.py" for room in _BESIDE)]
    modules = {file.parent.name: file.relative_to(_CORE).with_suffix("").parts for file in files if file.is_file()}
    return {folder: getattr(import_module(".".join(("oochub", *parts))), name) for folder, parts in modules.items()}


@cache
def _own_folders(kind: str) -> dict[str, Path]:
    """The folder of each of the hub's own things, by name; studies and what stands beside them have own commands."""
    if kind not in _PACKAGES:
        raise unknown_name("kind of thing", kind, _PACKAGES)
    folders = [_CORE.joinpath(*_PACKAGES[kind].split("."))]
    if kind == "command":
        folders += [*(_CORE / room / "commands" for room in _BESIDE), *sorted(_STUDIES.glob("*/commands"))]
    files: dict[str, Path] = {}
    for folder in folders:
        is_group = folder.parent.parent == _STUDIES and folder.parent.name not in _AT_THE_TOP
        group = f"{folder.parent.name} " if is_group else ""
        for module in pkgutil.iter_modules([str(folder)]):
            # A metric is a folder, so that evaluate.load finds it; the files beside are shared code.
            is_shared_code = kind == "metric" and not module.ispkg
            is_helper = kind == "benchmark" and module.name in _HELPERS_OF_BUILDERS
            if module.name.startswith("_") or is_shared_code or is_helper:
                continue
            name = group + module.name
            if name in files:
                raise OochubError(f"Two files offer the {kind} {name!r}: in {files[name]} and in {folder}. Rename one.")
            files[name] = folder
    return files


def _find_plugins(kind: str) -> "dict[str, EntryPoint]":
    """What packages and files of the user add, by name."""
    for file in list_own_files():
        use(file)
    return _find_entry_points(kind)


def _make_entry_point(kind: str, module: str) -> "EntryPoint":
    from importlib.metadata import EntryPoint

    return EntryPoint(name=module, value=module, group=f"oochub.{kind}")


def _find_kind(own: OwnFile) -> str:
    """The kind of the one public thing of a file."""
    module = own.module
    public = [value for key, value in vars(module).items() if not key.startswith("_")]
    types = [value for value in public if isinstance(value, type) and value.__module__ == module.__name__]
    classes = [ancestor for value in types for ancestor in value.__mro__] + [type(value) for value in public]
    names_of_classes = [f"{cls.__module__}.{cls.__qualname__}" for cls in classes]
    kinds_of = {_BASES[name] for name in names_of_classes if name in _BASES}
    if len(kinds_of) != 1:
        allowed = ", ".join(base.rpartition(".")[2] for base in _BASES)
        got = ", ".join(sorted(kinds_of)) or "none"
        raise OochubError(
            f"{own.path.name} must define one part, got {got}. Allowed: a class of {allowed}. See docs/own_parts.md."
        )
    return kinds_of.pop()


@cache
def _read_entry_points() -> Any:
    """What all packages offer; their files are read once in a process."""
    from importlib.metadata import entry_points

    return entry_points()


@cache
def _find_entry_points(kind: str) -> "dict[str, EntryPoint]":
    points: dict[str, EntryPoint] = {}
    for point in _read_entry_points().select(group=f"oochub.{kind}"):
        if point.name in points:
            raise OochubError(
                f"Two plug-ins offer the {kind} {point.name!r}: {points[point.name].value} and {point.value}. "
                "Uninstall one of their packages, or ask its author to rename it."
            )
        points[point.name] = point
    return points


def _find_public_object(module: Any, kind: str, name: str) -> Any:
    if kind == "benchmark":
        from oochub.benchmark import Benchmark

        candidates: list[Any] = [
            value for key, value in vars(module).items() if isinstance(value, Benchmark) and not key.startswith("_")
        ]
    elif kind not in ("metric", "criterion", "figure", "command"):
        candidates = [
            value
            for key, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__ and not key.startswith("_")
        ]
    else:
        own = name.rpartition(" ")[2]  # of a command of a group
        candidates = [value for key, value in vars(module).items() if key.rstrip("_") == own and callable(value)]
    if len(candidates) != 1:
        raise OochubError(
            f"{module.__name__} must define exactly one public {kind}, found {len(candidates)}. "
            "CONTRIBUTING.md shows the form of such a file."
        )
    return candidates[0]
