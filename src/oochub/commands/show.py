"""The command `oochub show`.

It prints what the hub knows of one thing.
"""

import ast
import inspect
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.commands._options import AsJson, out_console
from oochub.errors import OochubError, unknown_name
from oochub.metric import read_facts

if TYPE_CHECKING:
    from oochub.repository.verify_release import VerifiedArchive, VerifiedConfig

PANEL = "Start"


def show(
    kind: Annotated[
        str,
        typer.Argument(help="Kind of item, as in `oochub list`: benchmark, metric, ...; models; or only a name."),
    ],
    name: Annotated[
        str | None,
        typer.Argument(help="Name of the item; BENCHMARK/CONFIG, such as nooch/all; or, for models, a model_type."),
    ] = None,
    data_dir: Annotated[
        str | None,
        typer.Option(help="Benchmarks only: raw data folder; files found there are marked (default: $OOCHUB_DATA)."),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Benchmarks only: verify the raw data folder against the release (files, tables, ids, counts, "
            "checksums).",
        ),
    ] = False,
    mirror: Annotated[
        str | None,
        typer.Option(
            help="With --verify: verify the files of this Hub dataset repository (USER/NAME) by checksum instead.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show details: the files of a benchmark, the documentation of any other item, or the supported models."""
    if kind == "models":
        _show_models(name, as_json)
        return
    if name is None:
        kind, name = _find_thing(kind)

    if mirror is not None and (not verify or data_dir is not None):
        raise OochubError("--mirror is compared by --verify, without --data-dir. Pass --mirror and --verify.")
    if verify:
        _verify(kind, name, data_dir, mirror, as_json)
        return
    text = _describe(kind, name, data_dir=data_dir)
    if as_json:
        out_console.print_json(json.dumps({"kind": kind, "name": name, "text": text}))
        return
    out_console.print(text, markup=False)


def _verify(kind: str, name: str, data_dir: str | None, mirror: str | None, as_json: bool) -> None:
    """The archives by their digests, and what a build of each config would find; ends with 1 if something differs."""
    from oochub.benchmark import find_data_folder
    from oochub.data.load import get_declaration
    from oochub.repository.verify_release import verify_archives, verify_raw

    if kind != "benchmark":
        raise OochubError(f"--verify compares the raw folder of a benchmark, got a {kind}. Remove it.")
    benchmark, _, config = name.partition("/")
    declared = get_declaration(name)
    if mirror is not None:
        _verify_mirror(declared, mirror, as_json)
        return
    results, unbuilt = [], None
    try:
        results = verify_raw(benchmark, config, data_dir=data_dir)
    except OochubError as error:  # archives that nobody unpacked yet are compared all the same
        unbuilt = error
    place = find_data_folder(declared, data_dir) if unbuilt is None else Path(data_dir or "").expanduser()
    archives = verify_archives(declared.archives, place) if data_dir is not None or unbuilt is None else []
    if unbuilt is not None and all(archive.state == "not there" for archive in archives):
        raise unbuilt
    if as_json:
        rows = [{"whole": result.is_whole, **asdict(result)} for result in results]
        content = {"benchmark": benchmark, "configs": rows, "archives": list(map(asdict, archives))}
        out_console.print_json(json.dumps(content | ({"error": str(unbuilt)} if unbuilt else {})))
    else:
        _print_archives(archives)
        if unbuilt is not None:
            out_console.print(f"Cannot be built: {unbuilt}", markup=False)
        else:
            out_console.print(
                _build_table(f"{benchmark}: what a build would find, without reading images", _list_found(results))
            )
            whole = sum(result.is_whole for result in results)
            out_console.print(
                f"{whole} of {len(results)} configs whole, by the counts that the builder knows.", markup=False
            )
    if unbuilt is not None or any(archive.state == "differs" for archive in archives):
        raise typer.Exit(1)
    if not all(result.is_whole for result in results):
        raise typer.Exit(1)


def _verify_mirror(declared: Benchmark, mirror: str, as_json: bool) -> None:
    """The files of a repository on the Hub beside the published digests.

    Ends with 1 if one differs or none is there as published, with 3 if nothing can be compared.
    """
    from oochub.hub.upload import open_client
    from oochub.remote.remote_repository import RemoteRepository
    from oochub.repository.verify_release import verify_repository

    client = open_client(mirror, dry_run=True)
    repository = RemoteRepository.read(client, mirror, repo_type="dataset", revision=None)
    if not repository.is_there:
        raise OochubError(f"There is no dataset repository {mirror} on the Hub that can be read. Fix the name.")
    archives = verify_repository(declared.archives, repository)
    if as_json:
        content = {"benchmark": declared.name, "mirror": mirror, "commit": repository.commit}
        out_console.print_json(json.dumps(content | {"archives": list(map(asdict, archives))}))
    else:
        _print_archives(archives)
        size = sum(file.size for file in repository.files.values())
        about = f"{mirror} at {str(repository.commit)[:8]} has {len(repository.files):,} files, {size / 10**6:,.1f} MB"
        published = sum(archive.state == "as published" for archive in archives)
        summary = (
            f"{published} of {len(archives)} archives are there as published" if archives else "no digest is published"
        )
        out_console.print(f"{about}; {summary}. Nothing was downloaded.", markup=False)
    states = {archive.state for archive in archives}
    if states <= {"not known"}:  # also where no digest is published
        raise typer.Exit(3)
    if "differs" in states or "as published" not in states:
        raise typer.Exit(1)


def _print_archives(archives: "Sequence[VerifiedArchive]") -> None:
    if archives:
        rows = [(archive.name, archive.state, archive.said or archive.path) for archive in archives]
        out_console.print(_build_table("Archives, by size and digest", rows))


def _list_found(found: "Sequence[VerifiedConfig]") -> list[tuple[str, ...]]:
    """A line for each outcome, with all configs that it is the outcome of."""
    configs: dict[tuple[str, ...], list[str]] = {}
    for build in found:
        rows = ", ".join(f"{split} {count:,}" for split, count in build.rows.items())
        problem = build.error or "; ".join(build.notes) or "nothing is missing"
        configs.setdefault((rows or "cannot be built", problem), []).append(build.config)
    return [(_list_names(names, ""), *outcome) for outcome, names in configs.items()]


def _find_thing(name: str) -> tuple[str, str]:
    """The one thing of that name, with its kind."""
    if name in catalog.kinds():
        raise OochubError(f"Pass the name of a {name}: oochub show {name} NAME. Run `oochub list {name}` to list them.")
    plain = name.partition("/")[0]  # of nooch/all
    kinds = [kind for kind in catalog.kinds() if (plain if kind == "benchmark" else name) in catalog.names(kind)]
    if not kinds:
        known_names = [name_known for kind in catalog.kinds() for name_known in catalog.names(kind)]
        raise unknown_name(
            "thing or kind of thing", name, [*catalog.kinds(), *known_names], ("`oochub list` shows everything.")
        )
    if len(kinds) > 1:
        several = ", ".join(f"oochub show {kind} {name}" for kind in kinds)
        raise OochubError(f"{len(kinds)} items are named {name}. Add the kind: {several}.")
    return kinds[0], name


def _show_models(name: str | None, as_json: bool) -> None:
    """The modes, a line each; what each serves by model_type of transformers; what is not served, and why."""
    from oochub.models.supported_models import list_supported_models

    models = list_supported_models()
    modes = {mode: catalog.summary("mode", mode) for mode in catalog.names("mode")}
    if name is not None:
        names = [model.model_type for model in models]
        models = [model for model in models if model.model_type == name]
        if not models:
            raise unknown_name("model_type of images in the installed transformers", name, names)
    if as_json:
        types = [{"model_type": m.model_type, "modes": list(m.modes), "reason": m.reason} for m in models]
        out_console.print_json(json.dumps({"modes": modes, "models": types}))
        return
    out_console.print(_build_table("How a model answers (--mode)", list(modes.items())))
    served = [model for model in models if model.modes]
    by_modes = _group((", ".join(model.modes), model.model_type) for model in served)
    if served:
        out_console.print(_build_table(f"\nServed, by the model_type of a config.json ({len(served)})", by_modes))
    partly = _group((model.reason, model.model_type) for model in served if model.reason)
    if partly:
        out_console.print(_build_table("\nOf these, not by every mode", partly))
    not_served = _group((model.reason, model.model_type) for model in models if not model.modes)
    if not_served:
        count = len(models) - len(served)
        out_console.print(_build_table(f"\nNot served ({count})", not_served))


def _group(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What is said of types, with all types that it is said of; the most said first."""
    types: dict[str, list[str]] = {}
    for text, model_type in pairs:
        types.setdefault(text, []).append(model_type)
    return [(text, ", ".join(types[text])) for text in sorted(types, key=lambda said: (-len(types[said]), said))]


def _build_table(title: str, rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, show_header=False, pad_edge=False)
    for row in rows:
        table.add_row(*map(escape, row))
    return table


_SHOWN = 12


def _describe(kind: str, name: str, *, data_dir: str | None = None) -> str:
    """The text on one thing of the catalog, or on one config of a benchmark, "nooch/all".

    Args:
        kind: "benchmark", "metric", ...
        name: Name of the thing.
        data_dir: For a benchmark only: the folder whose files are marked as found or missing. None takes
            $OOCHUB_DATA/<benchmark> if it exists.

    Raises:
        OochubError: An unknown kind, name or config, or a folder that is not there.

    >>> "lower is better" in _describe("metric", "ece")
    True
    """
    if kind == "benchmark":
        return _describe_benchmark(*name.partition("/")[::2], data_dir)
    if data_dir is not None:
        raise OochubError(f"Only benchmarks have raw files, got a folder for a {kind}. Remove the folder.")
    catalog.module_name(kind, name)  # an unknown name is an error
    if kind in ("objective", "detector", "mode", "model"):
        return "\n".join(_describe_class(kind, name))
    thing = catalog.get(kind, name)
    parts = [f"{name}{inspect.signature(thing)}", "", inspect.getdoc(thing) or ""]
    facts = read_facts(thing) if kind == "metric" else None
    if facts:
        top = "no upper bound" if facts.maximum is None else f"{facts.maximum:g}"
        better = "no direction" if facts.direction == "none" else f"{facts.direction} is better"
        parts += ["", f"{facts.title}: {facts.unit}, {facts.minimum:g} to {top}, {better}."]
    return "\n".join(parts)


def _describe_class(kind: str, name: str) -> list[str]:
    """Arguments and docstrings of a class, read from its source: an objective would import torch."""
    source = catalog.source(kind, name)
    file = ast.parse(source)
    public = next(node for node in file.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    docstrings = [ast.get_docstring(node) or "" for node in (file, public)]
    return [f"{name}({_read_arguments(source, public.name)})", "", docstrings[0], "", docstrings[1]]


def _read_arguments(source: str, name: str) -> str:
    """What a class of some source takes, as it is written there, or where its base is written."""
    statements = ast.parse(source).body
    node = next(node for node in statements if isinstance(node, ast.ClassDef) and node.name == name)
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            head = " ".join(" ".join(source.splitlines()[method.lineno - 1 : method.body[0].lineno - 1]).split())
            return re.sub(r"^def __init__\( ?self,? ?|,? ?\) -> None:$", "", head)
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and (names := bases & {alias.name for alias in statement.names}):
            spec = find_spec(statement.module or "")
            return _read_arguments(Path(spec.origin).read_text("utf-8"), names.pop()) if spec and spec.origin else ""
    return ""


def _describe_benchmark(name: str, config: str, data_dir: str | None) -> str:
    from datasets import get_dataset_config_names

    from oochub.data.load import get_builder_class

    declared: Benchmark = catalog.get("benchmark", name)
    configs = get_dataset_config_names(name)
    if config and config not in configs:
        raise unknown_name(f"config of {name}", config, configs)
    raw_folder = _find_raw_folder(name, data_dir)
    shown = [declared.of(config)] if config else declared.data_sets
    options = (
        (inspect.getdoc(get_builder_class(name).BUILDER_CONFIG_CLASS) or "").partition("Attributes:\n")[2].rstrip()
    )
    chosen = f', "{config or configs[0]}"' if len(configs) > 1 else ""
    place = f"Folder expected (data_dir=, --data-dir, or $OOCHUB_DATA/{name})"
    if len(shown) == 1:
        listed = config or _list_names(configs, name)
        lines = [_head(shown[0]), "", *_list_facts(shown[0], listed), "", place, shown[0].tree(raw_folder)]
    else:
        lines = [_head(declared), "", f"home            {declared.homepage}"]
        lines += [f"datasets       {', '.join(next(iter(data_set.configs)) for data_set in shown)}"]
        if others := len(configs) - len(shown):
            lines += [f"                and {others} more configs: other splits of these"]
        for data_set in shown:
            facts = _list_facts(data_set, ", ".join(data_set.configs))
            lines += ["", f"== {_head(data_set)}", "", *facts, "", place, _own_tree(data_set, raw_folder)]
    lines += [
        *(["", "Options (load_dataset(..., key=value), --option key=value)", options] if options else []),
        "",
        f'load_dataset("{name}"{chosen}, data_dir=...)',
        "",
        (shown[0] if config else declared).citation,
    ]
    return "\n".join(lines)


def _own_tree(data_set: Benchmark, found: Path | None) -> str:
    """The tree of one data set of a collection: `found` may be the folder of another, with files of the same names."""
    if found is not None and data_set.missing(found):
        data_set = replace(data_set, raw_files=tuple(replace(raw, also="") for raw in data_set.raw_files))
    return data_set.tree(found)


def _head(shown: Benchmark) -> str:
    return f"{shown.title} {shown.version}: {shown.summary}"


def _list_configs(configs: Sequence[str]) -> str:
    """The names of configs, of many the first."""
    return ", ".join(configs if len(configs) <= 30 else [*configs[:4], f"... ({len(configs)} in all)"])


def _list_facts(shown: Benchmark, configs: str) -> list[str]:
    """What a declaration says of its rows, and of where its raw files are from."""
    differing = [f"  {_list_configs(alike)}\n      {words}" for words, alike in shown.differences.items()]
    licenses = {"images": shown.images_license, "labels": shown.annotations_license}
    if len(set(licenses.values())) == 1:
        licenses = {"license": shown.images_license}
    return [
        f"configs         {configs}",
        f"in context      {shown.in_context.name} ({shown.in_context.description})",
        f"out of context  {shown.out_of_context.name} ({shown.out_of_context.description})",
        *(f"detection       {spectrum.description}" for spectrum in shown.spectra),
        *([f"pairs           both sides show the same things, by {shown.pair}"] if shown.pair else []),
        f"input           {shown.input}",
        f"output          {shown.output}",
        f"metrics         {', '.join(shown.metrics)}; headline {shown.primary_metric}",
        *(f"{what:<15} {license}" for what, license in licenses.items()),
        f"home            {shown.homepage}",
        *(["", "Where configs differ", *differing] if differing else []),
        "",
        "Raw files",
        *_list_raw_files(shown),
    ]


def _find_raw_folder(name: str, data_dir: str | None) -> Path | None:
    """The folder whose files are marked; None where none is named and $OOCHUB_DATA has none."""
    if data_dir is None:
        folder = Path(os.environ.get("OOCHUB_DATA", "")) / name
        return folder if "OOCHUB_DATA" in os.environ and folder.is_dir() else None
    folder = Path(data_dir).expanduser()
    if not folder.is_dir():
        raise OochubError(f"Folder not found: {folder}. Pass the raw data folder of {name}, or omit it.")
    return folder


def _list_names(names: Sequence[str], benchmark: str) -> str:
    if len(names) <= _SHOWN:
        return ", ".join(names)
    more = f", ... (`oochub list {benchmark}` has all {len(names)})" if benchmark else f", ... ({len(names)} configs)"
    return ", ".join(names[:_SHOWN]) + more


def _list_raw_files(benchmark: Benchmark) -> Iterator[str]:
    """The paths that each download holds, where it is from, how large it is, and its license."""
    for (url, size, license), names in benchmark.downloads.items():
        yield from (f"  {', '.join(names)}", f"      from {url}", f"      {size}; license: {license}")
    if benchmark.archives:
        yield from ("", "Archives whose digest is published")
    for archive in benchmark.archives:
        yield f"  {archive.name}"
        yield from (f"      {archive.size:,} bytes, {archive.digest}", f"      by {archive.source}")
    if benchmark.mirrors:
        yield from ("", "Repositories on the Hub")
    yield from (f"  {mirror.name}: {mirror.holds}" for mirror in benchmark.mirrors)
