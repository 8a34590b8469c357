"""Builds one config of a benchmark into a repository of WebDataset shards, which `webdataset` and `datasets` read."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from oochub.data.write_webdataset import (
    ABOUT_SHARDS,
    SHARD_SIZE,
    SplitRows,
    WrittenSplits,
    check_shard_size,
    write_webdataset,
)
from oochub.loading_scripts.built_repository import built_files, built_repository

_ROWS = 100  # held at once


def webdataset_repository(
    name: str,
    out: str | Path,
    *,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    shard_size: float = SHARD_SIZE,
) -> Path:
    """Writes `out/<config>/<split>-<number>-<hash>.tar`, an index beside them, README.md and build.json.

    Args:
        name: "nooch/ce_car".
        out: The folder of the repository; configs that are there already, shards as well, stay.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder.
        num_proc: Processes to build with.
        shard_size: Megabytes after which a new shard begins; see `write_webdataset`.

    Returns:
        The folder.

    Raises:
        OochubError: See `parquet_repository`; a size that is not above 0, a folder with Parquet configs.
    """
    check_shard_size(shard_size)
    write = partial(_sharded, shard_size=shard_size)
    given: dict[str, Any] = {"data_dir": data_dir, "options": options, "num_proc": num_proc}
    return built_repository(name, out, write, suffix=".tar", text=ABOUT_SHARDS, **given)


def _sharded(built: Path, target: Path, builder: Any, *, shard_size: float) -> WrittenSplits:
    splits = {
        split: SplitRows(info.num_examples, partial(_tables, built_files(built, builder, split)))
        for split, info in builder.info.splits.items()
    }
    return write_webdataset(
        splits, target, name=builder.config.name, features=builder.info.features, shard_size=shard_size
    )


def _tables(files: list[Path]) -> Iterator[pa.Table]:
    for file in files:
        with pq.ParquetFile(file) as content:
            for rows in content.iter_batches(_ROWS):
                yield pa.Table.from_batches([rows])
