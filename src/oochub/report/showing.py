"""What `oochub show` prints of one thing."""

import inspect
import sys

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.data.load import config_class
from oochub.metric import facts_of


def describe(kind: str, name: str) -> str:
    """The text on one thing of the catalogue.

    >>> "lower is better" in describe("metric", "ece")
    True
    """
    thing = catalog.get(kind, name)
    if isinstance(thing, Benchmark):
        return _benchmark(thing)
    parts = [f"{name}{inspect.signature(thing)}", "", inspect.getdoc(thing) or ""]
    facts = facts_of(thing) if kind == "metric" else None
    if facts:
        top = "no upper bound" if facts.maximum is None else f"{facts.maximum:g}"
        better = "no direction" if facts.direction == "none" else f"{facts.direction} is better"
        parts += ["", f"{facts.title}: {facts.unit}, {facts.minimum:g} to {top}, {better}."]
    elif kind in ("objective", "detector"):
        module = inspect.getdoc(sys.modules[thing.__module__]) or ""
        parts[2:2] = [module, ""]
    return "\n".join(parts)


def _benchmark(benchmark: Benchmark) -> str:
    from datasets import get_dataset_config_names

    configs = get_dataset_config_names(benchmark.name)
    shown = ", ".join(configs[:12]) + (f", ... ({len(configs)} in all)" if len(configs) > 12 else "")
    files: dict[tuple[str, str, str], list[str]] = {}
    for raw in benchmark.raw_files:
        files.setdefault((raw.url, raw.size, raw.license), []).append(raw.path)
    lines = [
        f"{benchmark.title} {benchmark.version}: {benchmark.summary}",
        "",
        f"configs         {shown}",
        f"in context      {benchmark.in_context.name} ({benchmark.in_context.split})",
        f"out of context  {benchmark.out_of_context.name} ({benchmark.out_of_context.split})",
        f"metrics         {', '.join(benchmark.metrics)}; headline {benchmark.primary_metric}",
        f"images          {benchmark.images_license}",
        f"labels          {benchmark.annotations_license}",
        f"home            {benchmark.homepage}",
        "",
        "Raw files",
    ]
    for (url, size, license), paths in files.items():
        lines += [f"  {', '.join(paths)}", f"      from {url}", f"      {size}; licence: {license}"]
    lines += ["", "Folder expected (data_dir=, --data-dir, or $OOCHUB_DATA/" + benchmark.name + ")", benchmark.tree()]
    options = (inspect.getdoc(config_class(benchmark.name)) or "").partition("Attributes:\n")[2]
    lines += ["", "Options (load_dataset(..., key=value), --option key=value)", options.rstrip()] if options else []
    lines += ["", f'load_dataset("{benchmark.name}", "{configs[0]}", data_dir=...)', "", benchmark.citation]
    return "\n".join(lines)
