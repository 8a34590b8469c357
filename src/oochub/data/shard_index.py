"""What lies in the shards of a built WebDataset: `index.json`, laid out as webdataset's wids-shard-index-v1."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Features, Image, LargeList, List, Value

from oochub.data.features_of_json import features_of_json
from oochub.errors import OochubError, either, unknown_name
from oochub.records.schema import Count, from_json, optional, to_json
from oochub.storage.reading import read_json

INDEX = "index.json"
"""Its name."""
_WIDS = {"__kind__": "wids-shard-index-v1", "wids_version": 1}
_NAME = re.compile(r"\w+(\.\w+)*")
_AGAIN = "Copy it again, or build again with `oochub build --format webdataset`."


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A tar archive of samples.

    Attributes:
        url: Its name beside the index.
        nsamples: Its samples.
        filesize: Its bytes.
        sha256: Of all its bytes.
    """

    url: str
    nsamples: Count
    filesize: Count
    sha256: str

    def present(self, folder: Path) -> Path:
        """The archive, after a look at its size.

        Raises:
            OochubError: It is not there, or of another size.
        """
        path = folder / self.url
        if not path.is_file():
            raise OochubError(f"The shard {path} is missing, and {INDEX} beside it lists it. {_AGAIN}")
        size = path.stat().st_size
        if size != self.filesize:
            raise OochubError(
                f"The shard {path} has {size:,} bytes, and {INDEX} beside it says {self.filesize:,}: it is cut short, "
                f"or of another build. {_AGAIN}"
            )
        return path

    def check(self, folder: Path) -> Path:
        """The archive, after comparing every byte with the index.

        Raises:
            OochubError: It is not there, cut short, damaged or of another build.
        """
        path = self.present(folder)
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if digest != self.sha256:
            raise OochubError(
                f"The shard {path} was damaged, or is of another build: its bytes do not fit {INDEX} beside it. "
                f"{_AGAIN}"
            )
        return path


@dataclass(frozen=True, kw_only=True)
class SplitShards:
    """The shards of a split, in order.

    Attributes:
        name: Of the split.
        shardlist: Its shards; sample keys are the row numbers of the split, which go on from shard to shard.
    """

    name: str
    shardlist: tuple[Shard, ...]


@dataclass(frozen=True, kw_only=True)
class ShardIndex:
    """What the shards of a configuration hold.

    Attributes:
        name: Of the configuration.
        datasets: Its splits.
        columns: The features of a row, as `datasets.Features.to_dict` gives them.
        extension: Of the member with a row's picture, such as "jpg"; None for rows without pictures.
    """

    name: str
    datasets: tuple[SplitShards, ...]
    columns: Mapping[str, Any]
    extension: str | None = optional()

    @property
    def features(self) -> Features:
        """Of the rows.

        Raises:
            OochubError: `columns` says something else.
        """
        return features_of_json(self.columns, name=f"{INDEX} of {self.name}", again=_AGAIN)

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
        found = from_json(cls, read_json(path), what=str(path))
        names = [split.name for split in found.datasets]
        for name in (found.name, *names):
            if not _NAME.fullmatch(name):
                raise OochubError(f"{path}: a name must be of letters, digits and '_', got {name!r}. {_AGAIN}")
        if not names or len(set(names)) < len(names):
            raise OochubError(f"{path}: each split must stand there once, got {', '.join(names) or 'none'}. {_AGAIN}")
        for shard in (each for split in found.datasets for each in split.shardlist):
            if Path(shard.url).name != shard.url:
                raise OochubError(f"{path}: url must be the name of a file beside it, got {shard.url!r}. {_AGAIN}")
        return found

    def digest(self) -> str:
        """Of all that it says, the digests of the shards among it."""
        return hashlib.sha256(json.dumps(to_json(self), sort_keys=True).encode()).hexdigest()


_SHARD = re.compile(r".+-\d{5}-[0-9a-f]{12}\.tar")


def shard_folder(place: Path, config: str | None) -> Path | None:
    """The folder of shards that a source means: the source itself, or one of its configurations; None for neither.

    Args:
        place: A folder, or anything else.
        config: The configuration, where there are several.

    Raises:
        OochubError: Several configurations and none is named, or one that is not there; an index that is wrong.
    """
    if _holds_shards(place):
        return place
    found = {ShardIndex.load(folder).name: folder for folder in place.glob("*/") if _holds_shards(folder)}
    if not found:
        return None
    if config is None and len(found) > 1:
        named = either("config=", "--config")
        raise OochubError(f"{place} has several configurations: {', '.join(sorted(found))}. Name one with {named}.")
    if config is not None and config not in found:
        raise unknown_name(f"configuration of {place}", config, found)
    return found[config] if config is not None else next(iter(found.values()))


def _holds_shards(folder: Path) -> bool:
    return (folder / INDEX).is_file() and any(_SHARD.fullmatch(path.name) for path in folder.glob("*.tar"))


def picture_column(features: Mapping[str, Any]) -> str | None:
    """The column of pictures that the rows of shards have; None where there is none.

    Raises:
        OochubError: A column that JSON does not hold exactly, or a second one of pictures.

    >>> picture_column({"image": Image(), "label": Value("int64")})
    'image'
    """
    pictures = [name for name, feature in features.items() if isinstance(feature, Image)]
    if len(pictures) > 1:
        raise OochubError(
            f"A WebDataset of ours holds one picture a row, and the rows have {', '.join(pictures)}. Drop the others, "
            "or build Parquet."
        )
    for name, feature in features.items():
        if name not in pictures and not _is_json(feature):
            raise OochubError(f"The column {name} is {feature}, which JSON does not hold exactly. Build Parquet.")
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
