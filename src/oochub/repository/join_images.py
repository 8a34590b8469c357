"""A repository without its images, and a user's own images put back into it, each checked by its bytes.

Without them it holds ids, labels and context columns, and a digest in the place of each image.
"""

import dataclasses
import hashlib
import re
import shutil
from collections.abc import Callable, Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from datasets.arrow_writer import ParquetWriter

from oochub.data.build_file import ConfigFiles, read_record, store_record
from oochub.errors import OochubError
from oochub.records.build_record import BUILD_COLUMN, BuildRecord, drop_build_column
from oochub.repository.repository_card import LICENSES, RepositoryCard
from oochub.storage.parquet_file import seal
from oochub.storage.reading import read_bytes, read_text

_AFTER = " are left out; oochub.join_images puts your own back"  # older notes begin with another word
NOTE = f"the images{_AFTER}"
"""The note in a build record."""
DIGEST = "_sha256"
"""What the column of digests is called after the name of its column of images."""
_ROWS = 100  # that are held at a time
_SHOWN = 5  # ids in an error
_Find = Callable[[str, str], tuple[bytes, str] | None]


def join_images(data: Any, pictures: Any, *, column: str = "image") -> Any:
    r"""Puts images of your own in the place of their digests, by example id.

    An image counts only with the bytes that the digest was made of. Rows, their order and the other columns stay.

    Args:
        data: A Dataset or a DatasetDict with the columns `example_id` and `image_sha256`, as `oochub push
            --without-images` leaves them.
        pictures: A folder: an image is the file below it that is named like the example id (with or without the
            folders of the id), else the file with the right bytes; or data with the columns `example_id` and
            `image`, such as `oochub.load` makes of your raw folder.
        column: The column of images.

    Returns:
        The data with the column of images where its digests stood.

    Raises:
        OochubError: No column of digests; an image that is missing or another one: the first of them are named.

    >>> import hashlib, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "7.png").write_bytes(b"\x89PNG\r\n\x1a\n...")
    >>> digest = hashlib.sha256(b"\x89PNG\r\n\x1a\n...").hexdigest()
    >>> rows = datasets.Dataset.from_dict({"example_id": ["7"], "image_sha256": [digest], "label": [1]})
    >>> join_images(rows, folder).features["image"]
    Image(mode=None, decode=True)
    """
    if isinstance(data, Mapping):
        find_image = _make_finder(pictures, column)
        return datasets.DatasetDict({split: _join(part, find_image, column) for split, part in data.items()})
    return _join(data, _make_finder(pictures, column), column)


def _join(given: Any, find: _Find, column: str) -> Any:
    part = drop_build_column(given)
    digests = f"{column}{DIGEST}"
    for name in ("example_id", digests):
        if name not in part.column_names:
            raise OochubError(
                f"The data have no column {name!r}, only {', '.join(part.column_names)}. Join what `oochub push "
                "--without-images` pushed, and name its column of images with column=."
            )
    _check(part, find, digests)
    features = datasets.Features(
        {column if name == digests else name: part.features[name] for name in part.column_names}
        | {column: datasets.Image()}
    )

    def images_of(batch: dict[str, list[str]]) -> dict[str, list[Any]]:
        return {column: [_check_stored(find, *row) for row in zip(batch["example_id"], batch[digests], strict=True)]}

    joined = part.map(
        images_of,
        batched=True,
        batch_size=64,
        remove_columns=[digests],
        features=datasets.Features({**{n: f for n, f in features.items() if n != column}, column: features[column]}),
        desc="joining images",
        load_from_cache_file=False,  # the files may be others now
    ).select_columns(list(features))
    record = BuildRecord.of(joined.info)
    if record is not None:
        record = dataclasses.replace(record, notes=tuple(note for note in record.notes if not note.endswith(_AFTER)))
        joined.info.description = record.describe((joined.info.description or "").partition("\n")[0])
    return joined


def _check(part: Any, find: _Find, digests: str) -> None:
    """Looks at every image before one is written."""
    rows = part.select_columns(["example_id", digests])
    wrong = [row["example_id"] for row in rows if row[digests] and find(row["example_id"], row[digests]) is None]
    if wrong:
        shown = ", ".join(wrong[:_SHOWN]) + (f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else "")
        raise OochubError(
            f"{len(wrong):,} of {len(part):,} images are missing, or differ from those that the rows were made from "
            f"(their bytes have another SHA-256): {shown}. Pass the untouched files."
        )


def _check_stored(find: _Find, example: str, digest: str | None) -> dict[str, Any] | None:
    if digest is None:
        return None
    image = find(example, digest)
    if image is None:
        raise OochubError(f"The image of {example} changed while it was joined. Join again.")
    return {"bytes": image[0], "path": image[1]}


def _make_finder(pictures: Any, column: str) -> _Find:
    if isinstance(pictures, str | PathLike):
        return _InFolder(Path(pictures).expanduser()).find
    parts = list(pictures.values()) if isinstance(pictures, Mapping) else [pictures]
    return _InData(parts, column).find


class _InFolder:
    """Finds images below a folder: by their names, else by their bytes."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise OochubError(f"Image folder not found: {folder}.")
        self._files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
        self._named: dict[str, list[Path]] = {}
        self._by_digest: dict[str, Path] | None = None
        for path in self._files:
            for name in {path.stem, path.name, str(path.relative_to(folder).with_suffix(""))}:
                self._named.setdefault(name, []).append(path)

    def find(self, example: str, digest: str) -> tuple[bytes, str] | None:
        for path in self._named.get(example, ()):
            content = read_bytes(path)
            if hashlib.sha256(content).hexdigest() == digest:
                return content, path.name
        if self._by_digest is None:
            self._by_digest = {hashlib.sha256(read_bytes(path)).hexdigest(): path for path in self._files}
        image = self._by_digest.get(digest)
        return None if image is None else (read_bytes(image), image.name)


class _InData:
    """Finds images in the rows of data."""

    def __init__(self, parts: list[Any], column: str) -> None:
        for part in parts:
            names = getattr(part, "column_names", None) or ()
            if "example_id" not in names or column not in names:
                raise OochubError(
                    f"The images must be a folder, or data with the columns example_id and {column}, got "
                    f"{', '.join(names) or type(part).__name__}."
                )
        self._parts = [part.cast_column(column, datasets.Image(decode=False)) for part in parts]
        self._column = column
        self._rows: dict[str, list[tuple[int, int]]] = {}
        for number, part in enumerate(parts):
            for row, example in enumerate(part["example_id"][:]):
                self._rows.setdefault(str(example), []).append((number, row))

    def find(self, example: str, digest: str) -> tuple[bytes, str] | None:
        for number, row in self._rows.get(example, ()):
            stored = self._parts[number][row][self._column]
            content = stored["bytes"] if stored["bytes"] is not None else read_bytes(Path(stored["path"]))
            if hashlib.sha256(content).hexdigest() == digest:
                return content, Path(stored["path"] or "").name
        return None


def remove_images(source: Path, out: Path, *, configs: Collection[str] = ()) -> Path:
    """Writes a repository anew without images; card and record say so.

    In the place of a column `image` stands `image_sha256`, the SHA-256 of the bytes of each image.

    Args:
        source: A Parquet repository.
        out: A new folder.
        configs: Some of its configurations; all where none is named.

    Returns:
        The new folder.

    Raises:
        OochubError: The repository has no images, or is no Parquet repository.
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
                f"Images can be left out of Parquet only, but {source} contains {other}. Build it as Parquet."
            )
        first = next(path for paths in splits.values() for path in paths)
        info = infos.get(config)
        features = info.features if info else datasets.Features.from_arrow_schema(pq.read_schema(source / first))
        if not list_image_columns(features):
            raise OochubError(f"{config} of {source} has no images to leave out. Push it as it is.")
        record = read_record(source, config)
        if record is not None:
            record = dataclasses.replace(record, notes=(*record.notes, NOTE))
        bare = _drop_features(features, record)
        if info:
            info.features = bare
        for path in (path for paths in splits.values() for path in paths):
            renamed[path] = _rewrite_file(source / path, out / path, features, bare, record)
        if record is not None:
            written = {split: [renamed[path] for path in paths] for split, paths in splits.items()}
            store_record(out, config, record, ConfigFiles.of(out, written, bare))
    if (source / LICENSES).is_file():
        shutil.copyfile(source / LICENSES, out / LICENSES)
    (out / "README.md").write_text(str(card.renamed(renamed, infos, note=NOTE)), "utf-8")
    return out


def list_image_columns(features: Mapping[str, object]) -> list[str]:
    """The columns of images."""
    return [name for name, feature in features.items() if isinstance(feature, datasets.Image)]


def _drop_features(features: datasets.Features, record: BuildRecord | None) -> datasets.Features:
    pictures = list_image_columns(features)
    bare = {
        f"{name}{DIGEST}" if name in pictures else name: datasets.Value("string") if name in pictures else feature
        for name, feature in features.items()
    }
    if record is None:
        return datasets.Features(bare)
    if BUILD_COLUMN in bare:  # of an earlier version
        return datasets.Features(bare | {BUILD_COLUMN: record.feature})
    return record.mark(bare)


def _rewrite_file(
    source: Path, target: Path, features: datasets.Features, bare: datasets.Features, record: BuildRecord | None
) -> str:
    """Writes one file anew, and returns its path with the digest of its content, as `datasets` caches by name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetFile(source) as file:
        writer = ParquetWriter(path=str(target), features=bare)
        for batch in file.iter_batches(batch_size=_ROWS):
            columns = {name: batch.column(name) for name in features}
            for name in list_image_columns(features):
                contents = columns.pop(name).field("bytes").to_pylist()
                columns[f"{name}{DIGEST}"] = pa.array([_compute_digest(content) for content in contents], pa.string())
            if record is not None and BUILD_COLUMN in columns:
                columns[BUILD_COLUMN] = pa.array([record.text] * len(batch), pa.string())
            writer.write_table(pa.Table.from_pydict({name: columns[name] for name in bare}))
        writer.finalize()
    seal(target)
    with target.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()[:12]
    name = re.sub(r"-[0-9a-f]{12}(?=[-.])", f"-{digest}", target.name, count=1)
    return str(target.rename(target.with_name(name)).relative_to(target.parents[1]))


def _compute_digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
