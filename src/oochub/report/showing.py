"""What `oochub show` prints of one thing."""

import inspect
import sys
from collections.abc import Iterator, Sequence

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import unknown_name
from oochub.metric import facts_of

_SHOWN = 12


def describe(kind: str, name: str) -> str:
    """The text on one thing of the catalogue, or on one config of a benchmark, "nooch/all".

    Raises:
        OochubError: An unknown kind, name or config.

    >>> "lower is better" in describe("metric", "ece")
    True
    """
    if kind == "benchmark":
        return _benchmark(*name.partition("/")[::2])
    thing = catalog.get(kind, name)
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


def _benchmark(name: str, config: str) -> str:
    from datasets import get_dataset_config_names

    from oochub.data.load import config_class

    declared: Benchmark = catalog.get("benchmark", name)
    configs = get_dataset_config_names(name)
    if config and config not in configs:
        raise unknown_name(f"config of {name}", config, configs)
    shown = declared.of(config)
    options = (inspect.getdoc(config_class(name)) or "").partition("Attributes:\n")[2].rstrip()
    differing = [] if config else list(_differing(declared))
    chosen = f', "{config or configs[0]}"' if len(configs) > 1 else ""
    lines = [
        f"{shown.title} {shown.version}: {shown.summary}",
        "",
        f"configs         {config or _listed(configs)}",
        f"in context      {shown.in_context.name} ({shown.in_context.description})",
        f"out of context  {shown.out_of_context.name} ({shown.out_of_context.description})",
        f"output          {shown.output}",
        f"metrics         {', '.join(shown.metrics)}; headline {shown.primary_metric}",
        f"images          {shown.images_license}",
        f"labels          {shown.annotations_license}",
        f"home            {shown.homepage}",
        *(["", "Where configs differ", *differing] if differing else []),
        "",
        "Raw files",
        *_raw_files(shown),
        "",
        f"Folder expected (data_dir=, --data-dir, or $OOCHUB_DATA/{name})",
        shown.tree(),
        *(["", "Options (load_dataset(..., key=value), --option key=value)", options] if options else []),
        "",
        f'load_dataset("{name}"{chosen}, data_dir=...)',
        "",
        shown.citation,
    ]
    return "\n".join(lines)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > _SHOWN else "")


def _differing(declared: Benchmark) -> Iterator[str]:
    """What differs, on a line for each config whose kind of output, headline or sides are its own."""
    for config, own in declared.configs.items():
        parts = [
            (f"output {own.output}", own.output == declared.output),
            (f"headline {own.primary_metric}", own.primary_metric == declared.primary_metric),
            (f"in context {own.in_context.description}", own.in_context == declared.in_context),
            (f"out of context {own.out_of_context.description}", own.out_of_context == declared.out_of_context),
        ]
        if different := [text for text, same in parts if not same]:
            yield f"  {config:<13} {'; '.join(different)}"


def _raw_files(benchmark: Benchmark) -> Iterator[str]:
    """The paths that each download holds, where it is from, how large it is, and its licence."""
    paths: dict[tuple[str, str, str], list[str]] = {}
    for raw in benchmark.raw_files:
        paths.setdefault((raw.url, raw.size, raw.license), []).append(raw.path)
    for (url, size, license), names in paths.items():
        yield from (f"  {', '.join(names)}", f"      from {url}", f"      {size}; licence: {license}")
