"""The command `oochub build`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from oochub.commands._options import MORE, AsJson, Source, out_console, print_result, shown, writes
from oochub.errors import OochubError
from oochub.process.ranks import Ranks
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import CSV, DECLARATION, REPOSITORY

PANEL = "Data"


def build(
    source: Source,
    data: Annotated[DataSettings, shown(but=("config",))],
    out: Annotated[Path | None, typer.Option(callback=writes(REPOSITORY), help="Folder for the repository.")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            help="Configuration to build; repeatable for a benchmark, and divided among torchrun's processes."
        ),
    ] = None,
    follow_links: Annotated[
        bool,
        typer.Option(
            "--follow-links",
            rich_help_panel=MORE,
            help="Also read images that links in the raw folder point to outside it.",
        ),
    ] = False,
    num_proc: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=MORE,
            help="Number of processes that build; more than one helps if cores are free. The default is one.",
            min=1,
        ),
    ] = None,
    format: Annotated[
        Literal["parquet", "webdataset"], typer.Option(help="Format of the files: Parquet, or shards of a WebDataset.")
    ] = "parquet",
    shard_size: Annotated[
        float,
        typer.Option(
            rich_help_panel=MORE, help="Size of a shard of a WebDataset in megabytes; each split has at least 8 shards."
        ),
    ] = 500.0,
    describe: Annotated[
        Path | None,
        typer.Option(
            callback=writes(DECLARATION),
            rich_help_panel=MORE,
            help="Own data: write a first benchmark.toml that declares them, to be corrected by hand.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            callback=writes(CSV),
            rich_help_panel=MORE,
            help="imagenet_ood: write a CSV of every candidate class with what removed it, if anything; needs no raw "
            "files.",
        ),
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            rich_help_panel=MORE, help="For the audit, the order of its filters: 3.2, H, or names with commas."
        ),
    ] = "3.2",
    candidates: Annotated[
        str,
        typer.Option(rich_help_panel=MORE, help="For the audit, its candidates: winter21, fall11, or a file of wnids."),
    ] = "winter21",
    wordnet: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=MORE, help="For the audit: read WordNet 3.0 from this folder, not the facts in oochub."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Builds a benchmark, or own data, into a repository with a card; plain `datasets` loads it.

    Under torchrun each process builds its share of the configurations, whole or not at all, and adds it to the card.
    """
    from oochub.data.load import get_builder_class, is_benchmark, split_name
    from oochub.loading_scripts.build_repository import build_parquet, build_webdataset
    from oochub.repository.write_repository import write_user_repository
    from oochub.repository.write_webdataset import SHARD_SIZE

    if describe is not None:
        if is_benchmark(source) or out is not None or audit is not None:
            raise OochubError(
                "--describe writes a declaration of own data: give a folder or file, and leave out --out."
            )
        from oochub.data.describe_data import describe_data
        from oochub.storage.files import write_whole

        text = describe_data(source, describe, settings=data)
        with write_whole(describe, kind=DECLARATION) as draft:
            draft.write_text(text, "utf-8")
        print_result({"declaration": str(describe)}, as_json)
        return
    if out is None and audit is None:
        raise OochubError(
            "Nothing to build: give --out FOLDER for the repository, --describe benchmark.toml, or --audit FILE.csv."
        )
    if audit is None and (order, candidates, wordnet) != ("3.2", "winter21", None):
        raise OochubError("--order, --candidates and --wordnet belong to the audit: add --audit FILE.csv.")
    if format == "parquet" and shard_size != SHARD_SIZE:
        raise OochubError("--shard-size only applies to shards: add --format webdataset.")
    written: dict[str, Any] = {}
    here = Ranks.here()
    if audit is not None and here.is_first:
        written |= _audit_classes(source, audit, as_json, order=order, candidates=candidates, wordnet=wordnet)
    if out is not None:
        options = {**(data.options or {}), **({"follow_links": True} if follow_links else {})}
        if is_benchmark(source):
            if data.named or data.usual:
                raise OochubError(f"{source} is built with its own columns: leave out the column options.")
            names = list(dict.fromkeys(f"{source}/{each}" for each in config or ())) or [source]
            for benchmark, each in map(split_name, names):
                get_builder_class(benchmark).checked_config(each or None)
            repository: Callable[..., Path] = build_parquet
            if format == "webdataset":
                repository = partial(build_webdataset, shard_size=shard_size)
            for name in names[here.number :: here.count]:
                path = repository(name, out, data_dir=data.data_dir, options=options, num_proc=num_proc)
                written["repository"] = str(path)
        elif config and len(config) > 1:
            raise OochubError(f"Own data are built one configuration at a time, got {', '.join(config)}.")
        elif here.is_first:
            only = config[0] if config else None
            path = write_user_repository(
                source,
                out,
                settings=replace(data, config=only, options=options),
                num_proc=num_proc,
                shard_size=shard_size if format == "webdataset" else None,
            )
            written["repository"] = str(path)
    if written:
        print_result(written, as_json)


def _audit_classes(benchmark: str, path: Path, as_json: bool, **parameters: Any) -> dict[str, Any]:
    from oochub import catalog
    from oochub.data.load import split_name
    from oochub.storage.artifacts import format_csv
    from oochub.storage.files import write_whole

    name, able = split_name(benchmark)[0], catalog.find_functions("class_audit")
    if name not in able:
        raise OochubError(f"{name} has no choice of classes to audit; {', '.join(able) or 'none'} has.")
    classes = able[name](**parameters)
    with write_whole(path, kind=CSV) as draft:
        draft.write_text(format_csv(classes), "utf-8")
    removed = classes["removed_by"].value_counts(sort=False)
    published = classes.loc[classes["published"], "removed_by"].value_counts(sort=False)
    left, left_published = len(classes) - removed.cumsum(), int(classes["published"].sum()) - published.cumsum()
    if not as_json:
        table = Table("filter", box=None)
        for title in ("removes", "left", "of the published", "left"):
            table.add_column(title, justify="right")
        for each in removed.index:
            numbers = (removed[each], left[each], published[each], left_published[each])
            table.add_row(str(each), *(f"{number:,}" for number in numbers))
        out_console.print(table)
        out_console.print(f"{int(classes['kept'].sum()):,} of {len(classes):,} candidate classes are kept.")
    return {"audit": str(path), "candidates": len(classes), "left": {str(each): int(n) for each, n in left.items()}}
