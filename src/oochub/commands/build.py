"""The command `oochub build`."""

from collections.abc import Callable, Sequence
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

_Describe = Annotated[
    Path | None,
    typer.Option(
        callback=writes(DECLARATION),
        rich_help_panel=MORE,
        help="Custom data: write a draft benchmark.toml that describes the data, for you to edit.",
    ),
]
_Audit = Annotated[
    Path | None,
    typer.Option(
        callback=writes(CSV),
        rich_help_panel=MORE,
        help="imagenet_ood: write a CSV that lists each candidate class and the filter that removed it, if any. "
        "Needs no raw files.",
    ),
]
_Order = Annotated[
    str,
    typer.Option(rich_help_panel=MORE, help="With --audit: order of the filters: 3.2, H, or comma-separated names."),
]
_Candidates = Annotated[
    str,
    typer.Option(rich_help_panel=MORE, help="With --audit: candidate classes: winter21, fall11, or a file of wnids."),
]
_WordNet = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=MORE, help="With --audit: read WordNet 3.0 from this folder instead of the facts in oochub."
    ),
]


def build(
    source: Source,
    data: Annotated[DataSettings, shown(but=("config",))],
    out: Annotated[Path | None, typer.Option(callback=writes(REPOSITORY), help="Folder for the repository.")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            help="Config to build. Can be repeated for a benchmark; configs are distributed over torchrun processes."
        ),
    ] = None,
    follow_links: Annotated[
        bool,
        typer.Option(
            "--follow-links",
            rich_help_panel=MORE,
            help="Follow symbolic links that point outside the raw data folder.",
        ),
    ] = False,
    num_proc: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=MORE,
            help="Number of processes (default: 1).",
            min=1,
        ),
    ] = None,
    format: Annotated[
        Literal["parquet", "webdataset"], typer.Option(help="File format: Parquet, or WebDataset shards.")
    ] = "parquet",
    shard_size: Annotated[
        float,
        typer.Option(
            rich_help_panel=MORE, help="Size of a WebDataset shard in megabytes; each split has at least 8 shards."
        ),
    ] = 500.0,
    describe: _Describe = None,
    audit: _Audit = None,
    order: _Order = "3.2",
    candidates: _Candidates = "winter21",
    wordnet: _WordNet = None,
    as_json: AsJson = False,
) -> None:
    """Build a benchmark or your own data into a dataset with a card that plain `datasets` can load.

    Under torchrun, each process builds some of the configs and adds them to the card. A config is written completely or
    not at all.
    """
    from oochub.data.load import is_benchmark
    from oochub.repository.write_webdataset import SHARD_SIZE

    if describe is not None:
        if is_benchmark(source) or out is not None or audit is not None:
            raise OochubError(
                "--describe writes a declaration of your own data: pass a folder or file, and remove --out."
            )
        _write_declaration(source, describe, data)
        print_result({"declaration": str(describe)}, as_json)
        return
    if out is None and audit is None:
        raise OochubError("Nothing to do. Pass --out FOLDER, --describe benchmark.toml or --audit FILE.csv.")
    if audit is None and (order, candidates, wordnet) != ("3.2", "winter21", None):
        raise OochubError("--order, --candidates and --wordnet belong to the audit: add --audit FILE.csv.")
    if format == "parquet" and shard_size != SHARD_SIZE:
        raise OochubError("--shard-size only applies to shards: add --format webdataset.")
    written: dict[str, Any] = {}
    if audit is not None and Ranks.here().is_first:
        written |= _audit_classes(source, audit, as_json, order=order, candidates=candidates, wordnet=wordnet)
    if out is not None:
        options = {**(data.options or {}), **({"follow_links": True} if follow_links else {})}
        build_here = _build_benchmark if is_benchmark(source) else _build_own_data
        path = build_here(
            source,
            out,
            replace(data, options=options),
            config or [],
            num_proc=num_proc,
            shard_size=shard_size if format == "webdataset" else None,
        )
        written |= {} if path is None else {"repository": str(path)}
    if written:
        print_result(written, as_json)


def _write_declaration(source: str, file: Path, data: DataSettings) -> None:
    """Writes a first benchmark.toml of own data."""
    from oochub.data.describe_data import describe_data
    from oochub.storage.files import write_whole

    text = describe_data(source, file, settings=data)
    with write_whole(file, kind=DECLARATION) as draft:
        draft.write_text(text, "utf-8")


def _build_benchmark(
    source: str,
    out: Path,
    data: DataSettings,
    configs: Sequence[str],
    *,
    num_proc: int | None,
    shard_size: float | None,
) -> Path | None:
    """Builds the configurations of a benchmark that are this process's; None where none is."""
    from oochub.data.load import get_builder_class, split_name
    from oochub.loading_scripts.build_repository import build_parquet, build_webdataset

    if data.named or data.usual:
        raise OochubError(f"{source} is built with its own columns: remove the column options.")
    names = list(dict.fromkeys(f"{source}/{config}" for config in configs)) or [source]
    for benchmark, config_named in map(split_name, names):
        get_builder_class(benchmark).checked_config(config_named or None)
    repository: Callable[..., Path] = build_parquet
    if shard_size is not None:
        repository = partial(build_webdataset, shard_size=shard_size)
    here, path = Ranks.here(), None
    for name in names[here.number :: here.count]:
        path = repository(name, out, data_dir=data.data_dir, options=data.options, num_proc=num_proc)
    return path


def _build_own_data(
    source: str,
    out: Path,
    data: DataSettings,
    configs: Sequence[str],
    *,
    num_proc: int | None,
    shard_size: float | None,
) -> Path | None:
    """Builds own data, in the first process."""
    from oochub.repository.write_repository import write_user_repository

    if len(configs) > 1:
        raise OochubError(f"Custom data must be built one config at a time; got {', '.join(configs)}.")
    if not Ranks.here().is_first:
        return None
    settings = replace(data, config=configs[0] if configs else None)
    return write_user_repository(source, out, settings=settings, num_proc=num_proc, shard_size=shard_size)


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
        for reason in removed.index:
            numbers = (removed[reason], left[reason], published[reason], left_published[reason])
            table.add_row(str(reason), *(f"{number:,}" for number in numbers))
        out_console.print(table)
        out_console.print(f"{int(classes['kept'].sum()):,} of {len(classes):,} candidate classes are kept.")
    return {"audit": str(path), "candidates": len(classes), "left": {str(reason): int(n) for reason, n in left.items()}}
