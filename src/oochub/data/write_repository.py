"""Writes a data set as a Parquet repository with its card, whole or not at all; plain `datasets` reads it."""

import hashlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import datasets
import pyarrow as pa
from datasets.arrow_writer import ParquetWriter
from datasets.table import embed_table_storage
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCardData
from tqdm import tqdm

from oochub.data.size_category import size_category
from oochub.data.stored_record import RECORDS, store_record
from oochub.data.write_webdataset import ABOUT_SHARDS, SplitRows, write_webdataset
from oochub.data.written_files import WrittenFiles
from oochub.errors import OochubError
from oochub.records.build_record import BUILD_COLUMN, BuildRecord
from oochub.storage.files import check_writable, folder_written_whole
from oochub.storage.parquet_file import seal
from oochub.storage.reading import read_text

_DATA_FILE = re.compile(r".+-\d{5}-[0-9a-f]{12}\.(parquet|tar)|index\.json")
_ROWS = 100  # of a table for shards
_FILE = 500_000_000  # bytes after which a new file begins, as `datasets` does


def write_repository(
    target: Path,
    dataset: datasets.DatasetDict,
    record: BuildRecord,
    text: str,
    *,
    tag: str,
    shard_size: float | None = None,
) -> None:
    """Writes `target/data/<split>-<number>-<hash>.parquet`, `target/README.md` and `target/build.json`.

    Pictures keep their bytes; those that the data only point to are copied into the files.

    Args:
        target: A folder that `check_replaceable` passed.
        dataset: The splits.
        record: Of the data; it stands in build.json, and in the column `build` of each row.
        text: The card below its metadata.
        tag: What the Hub finds it by, besides "out-of-context".
        shard_size: Write shards of a WebDataset of so many megabytes, not Parquet.

    Raises:
        OochubError: It cannot be written.
    """
    with folder_written_whole(target) as draft:
        (draft / "data").mkdir()
        features = record.beside(next(iter(dataset.values())).features)
        if shard_size is None:
            files = {name: _write(part, draft / "data", name, record) for name, part in dataset.items()}
        else:
            splits = {name: SplitRows(len(part), partial(_tables, part, record)) for name, part in dataset.items()}
            files, features = write_webdataset(
                splits, draft / "data", name="default", features=features, shard_size=shard_size
            )
            text += ABOUT_SHARDS
        first = next(iter(dataset.values())).features
        is_classified = "image" in first and isinstance(first.get("label"), datasets.ClassLabel)
        data = DatasetCardData(
            tags=["out-of-context", tag],
            size_categories=[size_category(sum(map(len, dataset.values())))],
            task_categories=["image-classification"] if is_classified else None,
        )
        written = {split: [f"data/{name}" for name in names] for split, names in files.items()}
        paths = [{"split": split, "path": names} for split, names in written.items()]
        MetadataConfigs({"default": {"data_files": paths}}).to_dataset_card_data(data)
        info = datasets.DatasetInfo(features=features)
        datasets.info.DatasetInfosDict({"default": info}).to_dataset_card_data(data)
        store_record(draft, "default", record, WrittenFiles.of(draft, written, features))
        (draft / "README.md").write_text(f"---\n{data.to_yaml()}\n---\n\n{text}", "utf-8")


def check_replaceable(out: str | Path, *, title: str, what: str) -> Path:
    """The folder of a repository, checked to be new, empty, or an earlier repository of the same kind.

    Args:
        out: The folder.
        title: What stands in the card of such a repository.
        what: Its kind, for the error ("a challenge set").

    Raises:
        OochubError: It holds something else, or cannot be written.
    """
    target = check_writable(out)
    if target.exists() and not (target.is_dir() and _is_replaceable(target, title)):
        raise OochubError(
            f"{target} exists and is not an empty folder, nor {what} and nothing else. Choose another one, or "
            "remove it first."
        )
    return target


def _is_replaceable(folder: Path, title: str) -> bool:
    """Whether a folder is empty or holds a repository of ours and no file of anyone else."""
    names = {path.name for path in folder.iterdir()}
    return not names or (
        names - {RECORDS} == {"README.md", "data"}
        and title in read_text(folder / "README.md")
        and all(_DATA_FILE.fullmatch(path.name) for path in (folder / "data").iterdir())
    )


def _tables(part: datasets.Dataset, record: BuildRecord) -> Iterator[pa.Table]:
    for start in range(0, len(part), _ROWS):
        rows = embed_table_storage(part.with_format("arrow")[start : start + _ROWS])
        yield rows.append_column(BUILD_COLUMN, pa.repeat(pa.scalar(record.text), len(rows)))


def _write(part: datasets.Dataset, folder: Path, split: str, record: BuildRecord) -> list[str]:
    """Writes one split and returns its files, named by content: `datasets` caches by name."""
    names: list[str] = []
    rows = part.with_format("arrow")
    bar = tqdm(total=len(part), desc=split, unit=" rows", disable=None)
    start = 0
    while start < len(part) or not names:
        draft = folder / "draft"
        writer = ParquetWriter(path=str(draft), features=record.beside(part.features), embed_local_files=True)
        while start < len(part) and draft.stat().st_size < _FILE:
            end = min(start + writer.writer_batch_size, len(part))  # 100 rows with pictures, else 1,000
            text = pa.repeat(pa.scalar(record.text), end - start)
            writer.write_table(rows[start:end].append_column(BUILD_COLUMN, text))
            bar.update(end - start)
            start = end
        writer.finalize()
        seal(draft)
        with draft.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()[:12]
        names.append(draft.rename(folder / f"{split}-{len(names):05d}-{digest}.parquet").name)
    bar.close()
    return names
