"""The pages of the reference of Python: one for each public name, written by mkdocstrings from its docstring."""

import ast
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import oochub
from oochub import catalog

_SOURCE = Path(oochub.__file__).parent
_KINDS: Mapping[str, str] = {
    "benchmark": "Benchmarks",
    "metric": "Metrics",
    "detector": "Detectors",
    "objective": "Objectives",
    "criterion": "Criteria",
    "context": "Ways to find contexts",
    "probe": "Probes",
    "repair": "Ways to repair",
    "section": "Sections of a report",
    "input": "Kinds of input",
    "output": "Kinds of output",
    "mode": "Modes of a model",
    "model": "Built-in models",
    "figure": "Figures",
    "bridge": "Bridges",
}
_TO_SUBCLASS = (
    "benchmark.Benchmark",
    "benchmark.RawFile",
    "builder.BenchmarkBuilder",
    "builder.BenchmarkConfig",
    "records.build_record.BuildFacts",
    "metric.MetricFacts",
    "metric.MetricShell",
    "detector.Detector",
    "trainers.objective.Objective",
    "input.Input",
    "output.Output",
    "models.mode.Mode",
    "models.built_in_model.BuiltInModel",
    "context_finder.ContextWay",
    "context_finding.image_model.ModelWay",
    "repairs.head_method.HeadMethod",
    "exchange.bridge.Bridge",
    "section.Section",
    "section.Passage",
    "section.NamedNumber",
    "section.ChartRow",
    "section.OnPage",
    "records.table.Table",
)
_RETURNED = (
    "stats.estimate.Estimate",
    "stats.estimate.Sampling",
    "hub.upload.Pushed",
    "checking.check.Check",
    "checking.rules.RuleOutcome",
    "trainers.robust_trainer.TrainResult",
)
_INTERVALS = (
    "stats.bootstrap.bootstrap",
    "stats.proportion.clopper_pearson",
    "stats.delong.delong",
    "stats.delong.delong_covariance",
    "stats.estimation.difference",
    "stats.estimation.estimate",
    "stats.estimation.gap",
    "stats.mean_interval.mean_estimate",
    "stats.delong.paired_delong",
    "stats.bootstrap.draw_replicates",
    "stats.proportion.wilson",
    "stats.group_intervals.worst_group_interval",
)
_CATALOG = ("kinds", "names", "get", "summary", "source", "module_name")

_LAST = "---\nsearch:\n  boost: 0.5\n---\n\n"  # the search shows guides before it


class ApiPage(NamedTuple):
    """A page of the reference.

    Attributes:
        chapter: The heading of the navigation that it stands under.
        title: Its name there.
        path: Its Markdown file, from the top of the site.
        identifier: The dotted name that mkdocstrings looks up.
        whole_file: Whether it is a module, which holds one public thing and says what it is.
    """

    chapter: str
    title: str
    path: str
    identifier: str
    whole_file: bool = False

    def text(self) -> str:
        """The Markdown of the page."""
        if not self.whole_file:
            return f"{_LAST}::: {self.identifier}\n"
        options = "    options:\n      show_root_heading: false\n      heading_level: 2\n"
        return f"{_LAST}# {self.title}\n\n::: {self.identifier}\n{options}\n{self._card()}"

    def summary(self) -> str:
        """The first line of the docstring, read without importing the module."""
        module, _, name = self.identifier.rpartition(".")
        return _first_line(self.identifier, "") if self.whole_file else _first_line(module, name)

    def _card(self) -> str:
        """Of a benchmark, what its card on the Hub says: its rows, raw files, licenses and citation."""
        card = _SOURCE / "dataset_cards" / f"{self.title}.md"
        if self.chapter != _KINDS["benchmark"]:
            return ""
        return "## The card\n\n" + card.read_text("utf-8").split("\n---\n")[1].partition("\n# ")[2].partition("\n")[2]


def api_pages() -> list[ApiPage]:
    """Every page of the reference of Python, in the order of its navigation.

    `oochub` itself, the hub's own things of each kind of the catalog, the toy worlds, what another package subclasses
    or declares to add its own, estimates and their intervals, what functions return, and the catalog.
    """
    names = {name: name for name in oochub.__all__}
    for name in names:
        if name != name.lower() and name.lower() in names:  # a function and its record; some disks do not tell R from r
            names[name] = f"{name}_record"
    pages = [
        ApiPage("oochub", f"oochub.{name}", f"api/oochub/{file}.md", f"oochub.{name}") for name, file in names.items()
    ]
    for kind, chapter in _KINDS.items():
        for name in catalog.names(kind):
            module = catalog.module_name(kind, name)
            if module.startswith("oochub."):  # not what another package on this machine adds
                pages.append(ApiPage(chapter, name, f"api/{kind}/{name}.md", module, whole_file=True))
    for file in sorted((_SOURCE / "builders" / "toy_worlds").glob("[!_]*.py")):
        name = f"oochub.builders.toy_worlds.{file.stem}"
        pages.append(ApiPage("Toy worlds", file.stem, f"api/toy_worlds/{file.stem}.md", name, whole_file=True))
    several = {
        "To add your own": _TO_SUBCLASS,
        "What is returned": _RETURNED,
        "Intervals": _INTERVALS,
        "Catalog": [f"catalog.{name}" for name in _CATALOG],
    }
    for chapter, identifiers in several.items():
        folder = chapter.lower().replace(" ", "_")
        for identifier in identifiers:
            title = identifier.rpartition(".")[2]
            pages.append(ApiPage(chapter, title, f"api/{folder}/{title}.md", f"oochub.{identifier}"))
    return pages


def _first_line(module: str, name: str) -> str:
    """What a module, or the function or class of that name in it or imported by it, says first."""
    spec = find_spec(module)
    tree = ast.parse(Path(spec.origin if spec and spec.origin else "").read_text("utf-8"))
    if not name:
        return (ast.get_docstring(tree) or "").split("\n")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name and ast.get_docstring(node):
            return (ast.get_docstring(node) or "").split("\n")[0]  # of overloads the one that says something
        if isinstance(node, ast.ImportFrom) and name in [one.name for one in node.names]:
            return _first_line(node.module or "", name)
    raise ValueError(f"{module} neither defines nor imports {name}.")
