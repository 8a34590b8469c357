"""The shards of a built WebDataset: their index, and the rows that are read back from them.

The index, `index.json`, says what lies in them, laid out as webdataset's wids-shard-index-v1. Rows and features are
read back as they were, every shard compared with the index.
"""

import hashlib
import json
import re
import tarfile
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
from datasets import ClassLabel, Features, Image, LargeList, List, Value
from datasets.builder import Key
from datasets.exceptions import DatasetGenerationError

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.records.schema import from_json, optional, to_json
from oochub.records.typed_values import Count
from oochub.storage.reading import TarMember, parse_json, read_json

INDEX = "index.json"
"""Its name."""
_WIDS = {"__kind__": "wids-shard-index-v1", "wids_version": 1}
_NAME = re.compile(r"\w+(\.\w+)*")
_SHARD = re.compile(r".+-\d{5}-[0-9a-f]{12}\.tar")
_AGAIN = "Copy it again, or build again with `oochub build --format webdataset`."


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A tar archive of samples.

    Attributes:
        url: File name beside the index.
        nsamples: Number of samples.
        filesize: Size in bytes.
        sha256: SHA-256 of all its bytes.
    """

    url: str
    nsamples: Count
    filesize: Count
    sha256: str

    def present(self, folder: Path) -> Path:
        """The archive, after a look at its size.

        Raises:
            OochubError: The archive is missing, or of another size.
        """
        path = folder / self.url
        if not path.is_file():
            raise OochubError(f"The shard {path} is missing, but {INDEX} beside it lists it. {_AGAIN}")
        size = path.stat().st_size
        if size != self.filesize:
            raise OochubError(
                f"The shard {path} has {size:,} bytes, and {INDEX} beside it says {self.filesize:,}: it is truncated "
                f"or belongs to another build. {_AGAIN}"
            )
        return path

    def check(self, folder: Path) -> Path:
        """The archive, after comparing every byte with the index.

        Raises:
            OochubError: The archive is missing, cut short, damaged or of another build.
        """
        path = self.present(folder)
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if digest != self.sha256:
            raise OochubError(
                f"The shard {path} is corrupted, or belongs to another build: its checksum does not match {INDEX}. "
                f"{_AGAIN}"
            )
        return path


@dataclass(frozen=True, kw_only=True)
class SplitShards:
    """The shards of a split, in order.

    Attributes:
        name: Name of the split.
        shardlist: Shards of the split; sample keys are the row numbers of the split, which go on from shard to shard.
    """

    name: str
    shardlist: tuple[Shard, ...]


@dataclass(frozen=True, kw_only=True)
class ShardIndex:
    """What the shards of a configuration hold.

    Attributes:
        name: Name of the configuration.
        datasets: Shards of each split.
        columns: The features of a row, as `datasets.Features.to_dict` gives them.
        extension: Extension of the member with a row's image, such as "jpg"; None for rows without images.
    """

    name: str
    datasets: tuple[SplitShards, ...]
    columns: Mapping[str, Any]
    extension: str | None = optional()

    @property
    def features(self) -> Features:
        """The features of the rows.

        Raises:
            OochubError: `columns` says something else.
        """
        return read_features(self.columns, name=f"{INDEX} of {self.name}", again=_AGAIN)

    def save(self, folder: Path) -> None:
        """Writes `index.json` into a folder that nobody reads yet."""
        (folder / INDEX).write_text(json.dumps(_WIDS | to_json(self), indent=1), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ShardIndex":
        """The index in a folder of shards.

        Raises:
            OochubError: There is none, or one that is wrong; the field is named.
        """
        path = folder / INDEX
        index = from_json(cls, read_json(path), what=str(path))
        names = [split.name for split in index.datasets]
        for name in (index.name, *names):
            if not _NAME.fullmatch(name):
                raise OochubError(f"{path}: a name must consist of letters, digits and '_', got {name!r}. {_AGAIN}")
        if not names or len(set(names)) < len(names):
            raise OochubError(f"{path}: each split must be listed once, got {', '.join(names) or 'none'}. {_AGAIN}")
        for shard in (shard_of_split for split in index.datasets for shard_of_split in split.shardlist):
            if Path(shard.url).name != shard.url:
                raise OochubError(f"{path}: url must be the name of a file beside it, got {shard.url!r}. {_AGAIN}")
        return index

    def digest(self) -> str:
        """A digest of all that the index says, the digests of the shards included."""
        return hashlib.sha256(json.dumps(to_json(self), sort_keys=True).encode()).hexdigest()


def find_shard_folder(place: Path, config: str | None) -> Path | None:
    """The folder of shards that a source means: the source itself, or one of its configurations; None for neither.

    Args:
        place: A folder, or anything else.
        config: The configuration, where there are several.

    Raises:
        OochubError: Several configurations and none is named, or one that is not there; an index that is wrong.
    """
    if _holds_shards(place):
        return place
    folders = {ShardIndex.load(folder).name: folder for folder in place.glob("*/") if _holds_shards(folder)}
    if not folders:
        return None
    if config is None and len(folders) > 1:
        named = choose_wording("config=")
        raise OochubError(f"{place} has several configs: {', '.join(sorted(folders))}. Choose one with {named}.")
    if config is not None and config not in folders:
        raise unknown_name(f"configuration of {place}", config, folders)
    return folders[config] if config is not None else next(iter(folders.values()))


def _holds_shards(folder: Path) -> bool:
    return (folder / INDEX).is_file() and any(_SHARD.fullmatch(path.name) for path in folder.glob("*.tar"))


def find_image_column(features: Mapping[str, Any]) -> str | None:
    """The column of images that the rows of shards have; None where there is none.

    Raises:
        OochubError: A column that JSON does not hold exactly, or a second one of images.

    >>> find_image_column({"image": Image(), "label": Value("int64")})
    'image'
    """
    pictures = [name for name, feature in features.items() if isinstance(feature, Image)]
    if len(pictures) > 1:
        raise OochubError(
            f"A WebDataset of oochub holds one image per row, but the rows have {', '.join(pictures)}. Drop the "
            "others, or build Parquet."
        )
    for name, feature in features.items():
        if name not in pictures and not _is_json(feature):
            raise OochubError(f"The column {name} is {feature}, which JSON cannot hold exactly. Build Parquet.")
    return pictures[0] if pictures else None


_EXACT = ("string", "large_string", "bool", "null", "float16", "float32", "float64")


def _is_json(feature: Any) -> bool:
    """Whether values come back from JSON as they were."""
    if isinstance(feature, dict):
        return all(map(_is_json, feature.values()))
    if isinstance(feature, List | LargeList):
        return _is_json(feature.feature)
    if isinstance(feature, ClassLabel):
        return True
    return isinstance(feature, Value) and (feature.dtype in _EXACT or feature.dtype.startswith(("int", "uint")))


def read_features(columns: Mapping[str, Any], *, name: str, again: str) -> Features:
    """The features.

    Args:
        columns: Columns as `Features.to_dict` gives them.
        name: What errors call it.
        again: What to do where it is broken.

    Raises:
        OochubError: `columns` says something else.

    >>> read_features({"n": {"dtype": "int64", "_type": "Value"}}, name="index.json", again="Copy it again.")
    {'n': Value('int64')}
    """
    try:
        read = Features.from_dict(dict(columns))
        read.arrow_schema  # noqa: B018  it finds types that Arrow has not
        _check_names(read)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise OochubError(f"{name}: columns hold no features ({error}). {again}") from error
    return read


def _check_names(feature: Any) -> None:
    if isinstance(feature, dict):
        for inner in feature.values():
            _check_names(inner)
    elif isinstance(feature, List | LargeList):
        _check_names(feature.feature)
    elif isinstance(feature, ClassLabel) and not all(isinstance(name, str) for name in feature.names or ()):
        raise TypeError("a name of a class is not a text")


_ROWS = 100  # of a table: with images of 65 kB, 7 MB
_BROKEN = (tarfile.TarError, OSError, ValueError, IndexError, OverflowError, MemoryError, RecursionError)
_BUILD_AGAIN = "Build the shards again with `oochub build --format webdataset`."


@dataclass
class ShardConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """Which shards are read, and how.

    Attributes:
        folder: Folder of the shards and their index.
        in_place: Leave the images in the shards: the rows say where each lies, see `oochub.storage.reading`.
    """

    folder: str = ""
    in_place: bool = False


class ShardRows(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """The rows of a configuration that `oochub build --format webdataset` wrote, as `datasets` builds and caches them.

    Args:
        folder: Folder of the shards and their index.
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
        self._picture = find_image_column(self._features)
        state = [self._index.digest()]
        for shard in (listed for split in self._index.datasets for listed in split.shardlist):
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
            try:
                for row in self._read_rows(path, first, shard.nsamples):
                    rows.append(row)
                    if len(rows) == _ROWS:
                        yield Key(number, tables), self._build_table(rows)
                        rows, tables = [], tables + 1
                if rows or not shard.nsamples:
                    yield Key(number, tables), self._build_table(rows)
            except (*_BROKEN, pa.ArrowException, TypeError) as error:
                if isinstance(error, OochubError):
                    raise
                raise OochubError(f"The shard {path} does not match its index: {error}. {_BUILD_AGAIN}") from error

    def _read_rows(self, path: Path, first: int, count: int) -> Iterator[dict[str, Any]]:
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
                            f"The shard {path} should have the file {row:09d}.{suffix} after {len(members)} others "
                            f"of that sample, but has {name}. {_BUILD_AGAIN}"
                        )
                    members[suffix] = member
                yield self._read_row(archive, members, path)
            if (member := archive.next()) is not None:
                raise OochubError(f"The shard {path} has {member.name!r} after its last sample. {_BUILD_AGAIN}")

    def _read_row(
        self, archive: tarfile.TarFile, members: dict[str | None, tarfile.TarInfo], path: Path
    ) -> dict[str, Any]:
        member = members["json"]
        row = parse_json(_read_content(archive, member), name=f"{member.name} in the shard {path}")
        if not isinstance(row, dict) or set(row) != set(self._features):
            differing = sorted({*row} ^ {*self._features}) if isinstance(row, dict) else []
            raise OochubError(
                f"{member.name} in the shard {path} must have exactly the columns {', '.join(self._features)}: "
                f"{', '.join(differing) or 'no object'}. {_BUILD_AGAIN}"
            )
        if self._picture is not None:
            picture = members[self._index.extension]
            row[self._picture] = (
                {"bytes": None, "path": TarMember(str(path), picture.offset_data, picture.size).address}
                if self.config.in_place
                else {"bytes": _read_content(archive, picture), "path": row[self._picture]}
            )
        return row

    def _build_table(self, rows: list[dict[str, Any]]) -> pa.Table:
        table = pa.Table.from_pylist(rows, schema=self._schema)
        read = table.drop_columns([] if self._picture is None else [self._picture]).to_pylist()
        for own, stored in zip(read, rows, strict=True):
            for name, value in own.items():  # Arrow makes 1 of 1.5 without a word
                if value != stored[name] and json.dumps(value) != json.dumps(stored[name]):
                    raise ValueError(
                        f"{name} is {json.dumps(stored[name])[:60]}, which is not a {self._features[name]}"
                    )
        return table


def _read_content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    content = b"" if file is None else file.read()
    if len(content) < member.size:
        raise OochubError(f"{member.name} is truncated.")
    return content
