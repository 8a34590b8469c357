"""Reads a data set from where it is: a folder of pictures, Parquet, CSV, JSON, WebDataset, `save_to_disk`, the Hub."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tarfile import TarError
from typing import Any

import datasets
from datasets.exceptions import DatasetGenerationError
from huggingface_hub.errors import HfHubHTTPError
from yaml import YAMLError

from oochub import catalog
from oochub.build_record import BuildRecord, without_build_column
from oochub.data.shard_index import shard_folder
from oochub.data.shard_rows import ShardRows
from oochub.data.stored_record import stored_record
from oochub.errors import OochubError, either
from oochub.hub.check_source import check_source
from oochub.hub.connection_fault import connection_fault
from oochub.hub.hub_data_set import HubDataSet
from oochub.hub.patiently import patiently
from oochub.parquet_file import check_seal
from oochub.unpacked_samples import unpacked_samples

_HTTPError: type[Exception] = HfHubHTTPError.__bases__[0]  # of httpx or httpx2, as the version of its clients has it


def open_source(
    source: str,
    *,
    config: str | None = None,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    check: Callable[[Mapping[str, Any]], None] | None = None,
    in_place: bool = False,
) -> datasets.DatasetDict:
    """The splits of data that are no benchmark, with the columns that they have.

    Args:
        source: A file or folder here, else an id on the Hub.
        config: The configuration, where a repository has several.
        data_dir: As `load_dataset` takes it: a folder inside the source.
        options: What else `load_dataset` takes.
        num_proc: Processes to read with.
        check: Is given the features where they are known before the data are read.
        in_place: Leave the pictures in the shards of a built WebDataset: what reads them goes by `picture_bytes`.

    Raises:
        OochubError: Nothing is there, or it cannot be read; what `check` raises.
    """
    known = ", ".join(catalog.names("benchmark"))
    hint = f"Give benchmark/config ({known}), a folder of pictures, a Parquet, CSV, JSON or .tar file, or a Hub id."
    if not source.strip():
        raise OochubError(f"No dataset is named. {hint}")
    check_source(source, kind="dataset", hint=hint, also=catalog.names("benchmark"))
    place = Path(source).expanduser().absolute()
    path, given = str(place) if place.is_dir() else source, dict(options or {})
    if config is not None:
        given["name"] = config
    if place.is_file():
        path, given = str(place.parent), {"data_files": place.name} | given
    origin: HubDataSet | None = None
    try:
        for file in _parquet_files(place):
            check_seal(file)
        if any((place / name).is_file() for name in ("dataset_dict.json", "state.json")):
            loaded = datasets.load_from_disk(path)
        else:
            shards = None if options or data_dir else shard_folder(place, config)
            if shards is None:
                builder = patiently(lambda: datasets.load_dataset_builder(path, data_dir=data_dir, **given))
            else:
                builder = ShardRows(shards, in_place=in_place)
            built = partial(built_splits, builder, num_proc=num_proc, check=check)
            loaded = patiently(built, wrapped=(DatasetGenerationError,))
            origin = HubDataSet(id=builder.repo_id, revision=str(builder.hash)) if builder.repo_id else None
    except OochubError:
        raise
    except (_HTTPError, ValueError, TypeError, KeyError, OSError, TarError, DatasetGenerationError, YAMLError) as error:
        fault = None if place.exists() else connection_fault(error)
        if fault is not None:
            raise OochubError(
                f"Could not load {source}: the Hub could not be reached, or did not answer as it should ({fault}). "
                "Check the connection and try again: what has come is not fetched again."
            ) from error
        cause = error.__cause__ if isinstance(error, DatasetGenerationError) and error.__cause__ else error
        passes = either("options= passes", "--option passes")
        raise OochubError(
            f"Could not load {source}: {str(cause).strip().rstrip('.')}. It is read as datasets.load_dataset reads it, "
            f"and {passes} on what that takes. {'Correct the file.' if place.is_file() else hint}"
        ) from error
    if isinstance(loaded, datasets.Dataset):
        loaded = datasets.DatasetDict({str(loaded.split or "train"): loaded})
    if not sum(loaded.num_rows.values()):
        raise OochubError(f"{source} holds no row. {hint}")
    loaded = without_build_column(unpacked_samples(loaded))
    if origin is not None:
        for part in loaded.values():
            origin.note(part.info)
    info = next(iter(loaded.values())).info
    record = None if BuildRecord.of(info) else stored_record(place, info.config_name or "default")
    if record is not None:
        for part in loaded.values():
            part.info.description = record.describe(info.description or source_name(source))
    return loaded


def source_name(source: str) -> str:
    """What a source is called without the place where it stands: the name of a folder or file, or its name on the Hub.

    >>> source_name("/somewhere/birds.csv"), source_name("someone/birds"), source_name("nooch/ce_car")
    ('birds', 'someone/birds', 'nooch/ce_car')
    """
    place = Path(source).expanduser().absolute()
    if source.partition("/")[0] in catalog.names("benchmark") or not (place.exists() or source.startswith("/")):
        return source
    return place.name if place.is_dir() else place.stem


def built_splits(
    builder: datasets.DatasetBuilder, *, num_proc: int | None, check: Callable[[Mapping[str, Any]], None] | None
) -> Any:
    """What a builder of `datasets` makes, after a look at its features where they are known before the data are read.

    Args:
        builder: Of `datasets.load_dataset_builder`.
        num_proc: Processes to build with.
        check: Is given the features.
    """
    if check is not None and builder.info.features:
        check(builder.info.features)
    builder.download_and_prepare(num_proc=num_proc)
    return builder.as_dataset()


def _parquet_files(place: Path) -> list[Path]:
    """The Parquet files of a source, none where it is no place on this disk."""
    if place.suffix == ".parquet" and place.is_file():
        return [place]
    return [*place.glob("[!.]*.parquet"), *place.glob("*/[!.]*.parquet")]
