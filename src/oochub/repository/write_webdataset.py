"""Writes splits as a WebDataset: shards, tar archives of images and JSON, named by their content, and an index."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import pyarrow as pa

from oochub.data.shards import Shard, ShardIndex, SplitShards, find_image_column
from oochub.errors import OochubError, choose_wording
from oochub.storage.picture_file import open_picture

SHARD_SIZE = 500.0
"""Megabytes after which a new shard begins."""
ABOUT_SHARDS = """
## Shards

A sample holds its image and, in `json`, all columns. `oochub.load` gives them as columns; so does plain `datasets`:

```python
rows = datasets.load_dataset(folder, config, split="test").flatten().remove_columns("json.image")
rows = rows.rename_columns({name: name.removeprefix("json.") if "json." in name else "image" for name in rows.features})
```
"""
"""What a card says of them."""
_LEAST = 8  # shards of a split that has as many rows: readers share out whole shards
_SUFFIXES = {"JPEG": "jpg", "TIFF": "tif"}


class SplitRows(NamedTuple):
    """The rows of a split that are to be written: how many, and tables of them in order, images as their bytes."""

    number: int
    tables: Callable[[], Iterable[pa.Table]]


class WrittenSplits(NamedTuple):
    """The files of each split, and the features that plain `datasets` reads from them."""

    files: dict[str, list[str]]
    features: datasets.Features


def write_webdataset(
    splits: Mapping[str, SplitRows],
    folder: Path,
    *,
    name: str,
    features: datasets.Features,
    shard_size: float = SHARD_SIZE,
) -> WrittenSplits:
    """Writes `<split>-<number>-<hash>.tar` and `index.json`.

    A sample is `<row>.<extension>`, its image untouched, and `<row>.json` with every column; that of the images holds
    the name that an image's file had. The extension says what the first image is, for all images: a decoder relies on
    the content.

    Args:
        splits: Rows of each split, by name.
        folder: An empty one, which nobody reads yet.
        name: Name of the configuration.
        features: Features of the rows.
        shard_size: Megabytes after which a new shard begins; there are 8 or more where there are as many rows.

    Raises:
        OochubError: Columns that JSON does not hold exactly, a row without an image, a size that is not above 0.
    """
    check_shard_size(shard_size)
    picture = find_image_column(features)
    extension = None if picture is None else _find_extension(splits, picture)
    listed = []
    for split, rows in splits.items():
        most = max(1, rows.number // _LEAST)
        samples = _iterate_samples(rows, split, picture=picture, extension=extension)
        listed.append(SplitShards(name=split, shardlist=_write_shards(samples, folder, split, most, shard_size * 1e6)))
    ShardIndex(name=name, datasets=tuple(listed), columns=features.to_dict(), extension=extension).save(folder)
    values = {name: datasets.Value("string") if name == picture else feature for name, feature in features.items()}
    pictures = {} if picture is None else {str(extension): features[picture]}
    files = {split.name: [shard.url for shard in split.shardlist] for split in listed}
    return WrittenSplits(files, datasets.Features({**pictures, "json": values}))


def check_shard_size(shard_size: float) -> None:
    """Checks a size in megabytes.

    Raises:
        OochubError: The size is not above 0.
    """
    if not shard_size > 0:
        named = choose_wording("shard_size", "--shard-size")
        raise OochubError(
            f"{named} must be in megabytes, above 0, got {shard_size}. The usual value is {SHARD_SIZE:g}."
        )


def _find_extension(splits: Mapping[str, SplitRows], picture: str) -> str:
    """The extension for all images, by the format of the first."""
    for split, rows in splits.items():
        for table in rows.tables():
            for stored in table.column(picture).slice(0, 1).to_pylist():
                content = _read_bytes(stored, f"row 0 of {split}", picture)
                kind = str(open_picture(content, name=f"row 0 of {split}").format)
                return _SUFFIXES.get(kind, kind.lower())
    return "jpg"


def _iterate_samples(
    rows: SplitRows, split: str, *, picture: str | None, extension: str | None
) -> Iterator[dict[str, bytes]]:
    """The members of each row by their names."""
    number = 0
    for table in rows.tables():
        for record in table.to_pylist():
            members = {}
            if picture is not None:
                stored = record[picture]
                members[f"{number:09d}.{extension}"] = _read_bytes(stored, f"row {number} of {split}", picture)
                record[picture] = stored["path"]
            members[f"{number:09d}.json"] = json.dumps(record, separators=(",", ":")).encode()
            yield members
            number += 1


def _read_bytes(stored: Mapping[str, Any] | None, where: str, picture: str) -> bytes:
    if stored is None or stored["bytes"] is None:
        raise OochubError(f"There is no image in {picture} of {where}. Drop the row, or build Parquet.")
    return bytes(stored["bytes"])


def _write_shards(
    samples: Iterator[dict[str, bytes]], folder: Path, split: str, most: int, size: float
) -> tuple[Shard, ...]:
    """Writes the samples, at most `most` and about `size` bytes per shard; the same rows give the same bytes."""
    written: list[Shard] = []
    sample = next(samples, None)
    while sample is not None or not written:
        draft, count, filled = folder / "draft", 0, 0
        with tarfile.open(draft, "w", format=tarfile.USTAR_FORMAT) as archive:
            while sample is not None and count < most and filled < size:
                for name, content in sample.items():
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
                    filled += len(content)
                sample, count = next(samples, None), count + 1
        with draft.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        path = draft.rename(folder / f"{split}-{len(written):05d}-{digest[:12]}.tar")
        written.append(Shard(url=path.name, nsamples=count, filesize=path.stat().st_size, sha256=digest))
    return tuple(written)
