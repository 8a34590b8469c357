"""A repository without its pictures: ids, labels and context columns, and a digest in the place of each picture."""

import dataclasses
import hashlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from datasets.arrow_writer import ParquetWriter

from oochub.data.repository_card import RepositoryCard
from oochub.data.stored_record import store_record, stored_record
from oochub.data.written_files import WrittenFiles
from oochub.errors import OochubError
from oochub.records.build_record import BUILD_COLUMN, BuildRecord
from oochub.storage.parquet_file import seal
from oochub.storage.reading import read_text

NOTE = "the pictures are left out; oochub.join_images puts your own back"
"""Of a build record."""
DIGEST = "_sha256"
"""What the column of digests is called after the name of its column of pictures."""
_ROWS = 100  # that are held at a time


def without_pictures(source: Path, out: Path, *, configs: Collection[str] = ()) -> Path:
    """Writes a repository anew without pictures; card and record say so.

    In the place of a column `image` stands `image_sha256`, the SHA-256 of the bytes of each picture.

    Args:
        source: A Parquet repository.
        out: A new folder.
        configs: Some of its configurations; all where none is named.

    Returns:
        The new folder.

    Raises:
        OochubError: It has no pictures, or is no Parquet repository.
    """
    place = str(source / "README.md")
    card = RepositoryCard.read(read_text(source / "README.md"), place=place).of(configs)
    infos = dict(card.infos)
    renamed: dict[str, str] = {}
    out.mkdir(parents=True)
    for config, splits in card.files.items():
        other = next((path for paths in splits.values() for path in paths if not path.endswith(".parquet")), None)
        if other is not None:
            raise OochubError(
                f"Pictures are left out of Parquet alone, and {source} holds {other}. Build it as Parquet."
            )
        features = infos[config].features if config in infos else None
        if features is None or not pictures_of(features):
            raise OochubError(f"{config} of {source} has no pictures that could be left out. Push it as it is.")
        record = stored_record(source, config)
        if record is not None:
            record = dataclasses.replace(record, notes=(*record.notes, NOTE))
        infos[config].features = bare = _without(features, record)
        for path in (path for paths in splits.values() for path in paths):
            renamed[path] = _written(source / path, out / path, features, bare, record)
        if record is not None:
            written = {split: [renamed[path] for path in paths] for split, paths in splits.items()}
            store_record(out, config, record, WrittenFiles.of(out, written, bare))
    (out / "README.md").write_text(str(card.renamed(renamed, infos, note=NOTE)), "utf-8")
    return out


def pictures_of(features: Mapping[str, object]) -> list[str]:
    """The columns of pictures."""
    return [name for name, feature in features.items() if isinstance(feature, datasets.Image)]


def _without(features: datasets.Features, record: BuildRecord | None) -> datasets.Features:
    pictures = pictures_of(features)
    bare = {
        f"{name}{DIGEST}" if name in pictures else name: datasets.Value("string") if name in pictures else feature
        for name, feature in features.items()
    }
    if record is not None and BUILD_COLUMN in bare:
        bare[BUILD_COLUMN] = record.feature
    return datasets.Features(bare)


def _written(
    source: Path, target: Path, features: datasets.Features, bare: datasets.Features, record: BuildRecord | None
) -> str:
    """Writes one file anew, and returns its path with the digest of its content, as `datasets` caches by name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetFile(source) as file:
        writer = ParquetWriter(path=str(target), features=bare)
        for batch in file.iter_batches(batch_size=_ROWS):
            columns = {name: batch.column(name) for name in features}
            for name in pictures_of(features):
                contents = columns.pop(name).field("bytes").to_pylist()
                columns[f"{name}{DIGEST}"] = pa.array([_digest(content) for content in contents], pa.string())
            if record is not None and BUILD_COLUMN in columns:
                columns[BUILD_COLUMN] = pa.array([record.text] * len(batch), pa.string())
            writer.write_table(pa.Table.from_pydict({name: columns[name] for name in bare}))
        writer.finalize()
    seal(target)
    with target.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()[:12]
    name = re.sub(r"-[0-9a-f]{12}(?=[-.])", f"-{digest}", target.name, count=1)
    return str(target.rename(target.with_name(name)).relative_to(target.parents[1]))


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
