"""Reads a built WebDataset back: rows and features as they were, every shard compared with the index."""

import hashlib
import json
import tarfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
from datasets.builder import Key
from datasets.exceptions import DatasetGenerationError

from oochub.data.shard_index import Shard, ShardIndex, picture_column
from oochub.errors import OochubError
from oochub.storage.reading import parse_json
from oochub.storage.tar_member import TarMember

_ROWS = 100  # of a table: with pictures of 65 kB, 7 MB
_BROKEN = (tarfile.TarError, OSError, ValueError, IndexError, OverflowError, MemoryError, RecursionError)
_AGAIN = "Build the shards again with `oochub build --format webdataset`."


@dataclass
class ShardConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """Which shards are read, and how.

    Attributes:
        folder: Of the shards and their index.
        in_place: Leave the pictures in the shards: the rows say where each lies, see `oochub.storage.tar_member`.
    """

    folder: str = ""
    in_place: bool = False


class ShardRows(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """The rows of a configuration that `oochub build --format webdataset` wrote, as `datasets` builds and caches them.

    Args:
        folder: Of the shards and their index.
        in_place: See `ShardConfig`.

    Raises:
        OochubError: An index that is wrong, a shard that is missing, cut short or of another build; when the rows are
            read, a sample that is not what the index says. The shard is named.
    """

    BUILDER_CONFIG_CLASS = ShardConfig

    def __init__(self, folder: Path, *, in_place: bool = False) -> None:
        self._index, self._folder = ShardIndex.load(folder), folder
        self._features = self._index.features
        self._schema = self._features.arrow_schema  # which takes as long as some tables, where there are many classes
        self._picture = picture_column(self._features)
        state = [self._index.digest()]
        for shard in (each for split in self._index.datasets for each in split.shardlist):
            state.append(str(shard.present(folder).stat().st_mtime_ns))
        super().__init__(
            dataset_name=folder.parent.name,
            config_name=self._index.name,
            hash=hashlib.sha256(" ".join(state).encode()).hexdigest(),
            folder=str(folder),
            in_place=in_place,
        )

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=self._features)

    def download_and_prepare(self, *args: Any, **kwargs: Any) -> None:
        """Reads all rows; see `datasets.DatasetBuilder.download_and_prepare`."""
        try:
            super().download_and_prepare(*args, **kwargs)
        except DatasetGenerationError as error:
            if isinstance(error.__cause__, OochubError):
                raise error.__cause__ from None
            for split in self._split_generators(None):  # another process lost the words: the fault is met again here
                deque(self._generate_tables(**split.gen_kwargs), maxlen=0)
            raise

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        generators = []
        for split in self._index.datasets:
            starts, row = [], 0
            for shard in split.shardlist:
                starts.append((row, shard))
                row += shard.nsamples
            generators.append(datasets.SplitGenerator(name=split.name, gen_kwargs={"shards": starts}))
        return generators

    def _generate_tables(self, shards: list[tuple[int, Shard]]) -> Iterator[tuple[Key, pa.Table]]:
        for number, (first, shard) in enumerate(shards):
            path = shard.check(self._folder)
            rows: list[dict[str, Any]] = []
            tables = 0
            with _named(path):
                for row in self._rows(path, first, shard.nsamples):
                    rows.append(row)
                    if len(rows) == _ROWS:
                        yield Key(number, tables), self._table(rows)
                        rows, tables = [], tables + 1
                if rows or not shard.nsamples:
                    yield Key(number, tables), self._table(rows)

    def _rows(self, path: Path, first: int, count: int) -> Iterator[dict[str, Any]]:
        """The rows of a shard, whose keys are the numbers from `first`."""
        extension = self._index.extension
        wanted = ("json",) if self._picture is None else (extension, "json")
        with tarfile.open(path, "r:") as archive:
            for row in range(first, first + count):
                members: dict[str | None, tarfile.TarInfo] = {}
                for suffix in wanted:
                    member = archive.next()
                    name = "nothing" if member is None else repr(member.name)
                    if member is None or not member.isreg() or member.name != f"{row:09d}.{suffix}":
                        raise OochubError(
                            f"The shard {path} should have the file {row:09d}.{suffix} after {len(members)} others of "
                            f"that sample, and has {name}. {_AGAIN}"
                        )
                    members[suffix] = member
                yield self._row(archive, members, path)
            if (member := archive.next()) is not None:
                raise OochubError(f"The shard {path} has {member.name!r} after its last sample. {_AGAIN}")

    def _row(self, archive: tarfile.TarFile, members: dict[str | None, tarfile.TarInfo], path: Path) -> dict[str, Any]:
        member = members["json"]
        row = parse_json(_content(archive, member), name=f"{member.name} in the shard {path}")
        if not isinstance(row, dict) or set(row) != set(self._features):
            found = sorted({*row} ^ {*self._features}) if isinstance(row, dict) else []
            raise OochubError(
                f"{member.name} in the shard {path} must have each of the columns {', '.join(self._features)} and no "
                f"other: {', '.join(found) or 'no object'}. {_AGAIN}"
            )
        if self._picture is not None:
            picture = members[self._index.extension]
            row[self._picture] = (
                {"bytes": None, "path": TarMember(str(path), picture.offset_data, picture.size).address}
                if self.config.in_place
                else {"bytes": _content(archive, picture), "path": row[self._picture]}
            )
        return row

    def _table(self, rows: list[dict[str, Any]]) -> pa.Table:
        table = pa.Table.from_pylist(rows, schema=self._schema)
        read = table.drop_columns([] if self._picture is None else [self._picture]).to_pylist()
        for own, stored in zip(read, rows, strict=True):
            for name, value in own.items():  # Arrow makes 1 of 1.5 without a word
                if value != stored[name] and json.dumps(value) != json.dumps(stored[name]):
                    raise ValueError(f"{name} is {json.dumps(stored[name])[:60]}, which is no {self._features[name]}")
        return table


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    content = b"" if file is None else file.read()
    if len(content) < member.size:
        raise OochubError(f"{member.name} is cut short.")
    return content


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of what a shard holds name the shard."""
    try:
        yield
    except OochubError:
        raise
    except (*_BROKEN, pa.ArrowException, TypeError) as error:
        raise OochubError(f"The shard {path} holds what its index does not say: {error}. {_AGAIN}") from error
