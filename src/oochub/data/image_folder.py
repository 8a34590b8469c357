"""The rows of a folder, or zip archive, of images: class folders, or metadata files that say a line for each image.

The rows are those of imagefolder of `datasets`, read from one listing of the files, with these differences: the folders
at the top decide the splits (`divide_folder`); classes are told over all splits; CSV columns of names are text
(`csv_rows`); a metadata file above the folders of splits describes the images of all; and a file may be named as
Windows or macOS spell it. What else imagefolder can read (a column of lists, several columns of files) is left to it.
"""

import posixpath
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import datasets
import pyarrow as pa
from datasets.packaged_modules.imagefolder.imagefolder import ImageFolder

from oochub.data.file_rows import FileRows, digest_files
from oochub.data.folder_splits import METADATA, FolderSplits
from oochub.data.table_rows import CsvFile, read_csv_schema, read_csv_tables
from oochub.errors import OochubError
from oochub.storage.reading import ZipFiles

_PLAIN = re.compile(r"(large_)?string|bool|u?int\d+|float(32|64)|null")
_OUT = re.compile(r"/|\w:|\.\.(/|$)|.*/\.\.(/|$)|.*://", re.DOTALL)
_FAULTS = (OSError, ValueError, TypeError, AttributeError, LookupError, pa.ArrowException)
_ROWS = 200  # of a table with the bytes of images in it


class _NotPlainError(Exception):
    """The folder is for imagefolder."""


@dataclass(frozen=True)
class ImageFiles:
    """The files of a folder or of zip archives.

    Attributes:
        place: The folder, or the first archive.
        paths: Path of every file below it.
        archives: The archives; None for a folder.
    """

    place: Path
    paths: Sequence[str]
    archives: ZipFiles | None = None

    def open(self, path: str) -> str | IO[bytes]:
        """A file, as readers take it."""
        return f"{self.place}/{path}" if self.archives is None else self.archives.open(path)

    def make_images(self, paths: Sequence[str]) -> pa.Array:
        """A column of images, as `datasets` stores it; those of an archive with their bytes."""
        content: Sequence[bytes | None] = [None] * len(paths)
        if self.archives is None:
            paths = [f"{self.place}/{path}" for path in paths]
        else:
            content = list(self.archives.read_all(paths))
        arrays = [pa.array(content, pa.binary()), pa.array(paths, pa.string())]
        return pa.StructArray.from_arrays(arrays, fields=list(datasets.Image().pa_type))

    def find(self, path: str) -> str:
        r"""The file that a path means, also as Windows and macOS spell it; the path itself where there is none.

        >>> ImageFiles(Path("x"), ["a/\u00e9.jpg"]).find("A\\e\u0301.jpg") == "a/\u00e9.jpg"
        True
        """
        if path in self._known:
            return path
        plain = posixpath.normpath(path.replace("\\", "/"))
        if plain in self._known:
            return plain
        for spell, paths_of in self._spelled.items():
            paths = paths_of.get(spell(plain), ())
            if len(paths) == 1:
                return paths[0]
        return plain if "\\" not in path else path

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.paths)

    @cached_property
    def _spelled(self) -> Mapping[Callable[[str], str], Mapping[str, list[str]]]:
        spelled: dict[Callable[[str], str], dict[str, list[str]]] = {_compose: {}, _fold: {}}
        for spell, paths_of in spelled.items():
            for path in self.paths:
                paths_of.setdefault(spell(path), []).append(path)
        return spelled


def _compose(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _fold(path: str) -> str:
    return _compose(_compose(path).casefold())


def find_folder_rows(
    files: ImageFiles, splits: FolderSplits, *, name: str, named: Mapping[str, str]
) -> FileRows | None:
    """The rows of images; None if they are for imagefolder, which reads or refuses them.

    Args:
        files: The files.
        splits: Those of each split, as `divide_folder` gives them.
        name: What the data are called.
        named: Role to column, as the user named them.

    Raises:
        OochubError: A metadata file that is no table, two that describe one image, or an archive that is damaged.
    """
    images = {split: [path for path in paths if not _is_metadata(path)] for split, paths in splits.files.items()}
    metadata = {split: [path for path in paths if _is_metadata(path)] for split, paths in splits.files.items()}
    try:
        if any(metadata.values()):
            features, tables = _read_metadata(files, images, metadata, splits.tops, named)
        else:
            features, tables = _list_images(files, images, splits)
    except OochubError:
        raise
    except (_NotPlainError, *_FAULTS):
        return None
    read = sorted({path for paths in splits.files.values() for path in paths})
    state = files.archives.archives if files.archives else [f"{files.place}/{path}" for path in read]
    how = (named, [(split, list(paths)) for split, paths in splits.files.items()] if files.archives else list(images))
    return FileRows(name, "imagefolder", features, tables, state=digest_files(state, *how))


def _is_metadata(path: str) -> bool:
    return path.rpartition("/")[2] in METADATA


_Tables = dict[str, Callable[[], Iterable[pa.Table]]]


def _get_folder(path: str, tops: Collection[str]) -> str:
    """The folder of an image, below that of its split."""
    top, _, rest = path.partition("/")
    return (rest if top in tops else path).rpartition("/")[0]


def _list_images(
    files: ImageFiles, images: Mapping[str, Sequence[str]], splits: FolderSplits
) -> tuple[datasets.Features, _Tables]:
    """The rows of splits without metadata: the images, and their folders as classes.

    The folders are classes if there are two or more in all splits together, all at one depth.
    """
    folders = {split: [_get_folder(path, splits.tops) for path in paths] for split, paths in images.items()}
    distinct = {folder for of_split in folders.values() for folder in of_split}
    classes = {folder.rpartition("/")[2] for folder in distinct}
    features = datasets.Features({"image": datasets.Image()})
    if len(classes) > 1 and len({folder.count("/") for folder in distinct}) == 1 and "" not in classes:
        features["label"] = datasets.ClassLabel(names=sorted(classes))
    numbers = {name: number for number, name in enumerate(sorted(classes))}

    def tables(split: str) -> Iterator[pa.Table]:
        paths, labels = images[split], [numbers[folder.rpartition("/")[2]] for folder in folders[split]]
        step = _ROWS if files.archives else max(len(paths), 1)
        for start in range(0, len(paths), step):
            columns = [files.make_images(paths[start : start + step])]
            if "label" in features:
                columns.append(pa.array(labels[start : start + step], pa.int64()))
            yield pa.Table.from_arrays(columns, schema=features.arrow_schema)

    return features, {split: partial(tables, split) for split in images}


def _read_metadata(
    files: ImageFiles,
    images: Mapping[str, Sequence[str]],
    metadata: Mapping[str, Sequence[str]],
    tops: Collection[str],
    named: Mapping[str, str],
) -> tuple[datasets.Features, _Tables]:
    """The rows of splits with metadata files: their columns, with the images in the place of their names.

    Raises:
        _NotPlainError: Files of several forms or columns, or none in one split; a column that is no text, number or
            truth value; no column of names, or several; a name that is missing, or leads out of the folder.
    """
    every = sorted({path for paths in metadata.values() for path in paths})
    if not all(metadata.values()) or len({Path(path).suffix for path in every}) > 1:
        raise _NotPlainError
    tables = dict(_read_tables(files, every, named))
    first = next(iter(tables.values())).schema
    if any(not table.schema.equals(first, check_metadata=True) for table in tables.values()):
        raise _NotPlainError
    features = datasets.Features.from_arrow_schema(first)
    column = _find_name_column(features)
    image = "image" if column == "file_name" else column.removesuffix("_file_name")
    paths: dict[str, list[str]] = {}
    for path, table in tables.items():
        names = table.column(column).to_pylist()
        if None in names or any(_OUT.match(name.replace("\\", "/")) for name in names):
            raise _NotPlainError
        folder = path[: path.rfind("/") + 1]
        paths[path] = [files.find(folder + name) for name in names]
    described: dict[str, str] = {}
    for path, image_of in ((path, path_named) for path, own in paths.items() for path_named in own):
        if (other := described.setdefault(image_of, path)) != path:  # neither is believed more
            raise OochubError(
                f"{image_of} in {files.place} is described by {other} and by {path}. Describe each image in one "
                "of them."
            )
    renamed = datasets.Features({image if name == column else name: feature for name, feature in features.items()})
    renamed[image] = datasets.Image()
    split_of = {path: split for split, own in images.items() for path in own}
    existing = frozenset(files.paths)
    first, *_ = images
    rows: dict[str, list[tuple[str, list[int]]]] = {}
    for split in images:
        rows[split] = []
        for path in metadata[split]:
            is_above = bool(tops) and path.partition("/")[0] not in tops  # it describes the images of all splits
            lost = split if split == first else ""  # a file that is not there is said when the images are opened
            own = [split_of.get(image_path, "" if image_path in existing else lost) for image_path in paths[path]]
            rows[split].append((path, [row for row, row_split in enumerate(own) if not is_above or row_split == split]))

    rows = {split: own for split, own in rows.items() if any(chosen for _, chosen in own)}
    if not rows:
        raise _NotPlainError

    def generate(split: str) -> Iterator[pa.Table]:
        for path, chosen in rows[split]:
            step = _ROWS if files.archives else max(len(chosen), 1)
            for start in range(0, len(chosen), step):
                some = chosen[start : start + step]
                table = tables[path].take(pa.array(some, pa.int64())).combine_chunks()
                columns = dict(zip(table.column_names, table.columns, strict=True))
                images_of = [paths[path][row] for row in some]
                if files.archives is not None and (
                    missing := [image_path for image_path in images_of if image_path not in existing]
                ):
                    raise OochubError(
                        f"The archive {files.place} has no file {missing[0]!r}, but its metadata name it. Add it."
                    )
                columns[column] = files.make_images(images_of)
                yield pa.Table.from_arrays(list(columns.values()), schema=renamed.arrow_schema)

    return renamed, {split: partial(generate, split) for split in rows}


def _read_tables(files: ImageFiles, paths: Sequence[str], named: Mapping[str, str]) -> Iterator[tuple[str, pa.Table]]:
    """The table of each metadata file."""
    if paths[0].endswith(".csv"):
        tables = [CsvFile(f"{files.place}/{path}", partial(files.open, path)) for path in paths]
        schema = read_csv_schema(tables, named=named)
        for path, table in zip(paths, tables, strict=True):
            parts = list(read_csv_tables(table, schema)) if schema.names else [schema.empty_table()]
            if schema.names and not any(map(len, parts)):
                raise _NotPlainError
            yield path, pa.concat_tables(parts)
        return
    if files.archives is not None and not paths[0].endswith(".jsonl"):
        raise OochubError(f"{files.place} contains {paths[0]}, which is read from a folder only. Unpack the archive.")
    reader = SimpleNamespace(config=SimpleNamespace(filters=None, features=None))
    for path in paths:
        if files.archives is not None:
            import pyarrow.json as pj

            yield path, pj.read_json(files.open(path))
            continue
        parts = list(ImageFolder._read_metadata(reader, f"{files.place}/{path}", metadata_ext=Path(path).suffix))
        if any(part.schema.types != parts[0].schema.types for part in parts):
            raise _NotPlainError
        yield path, pa.concat_tables(parts)


def _find_name_column(features: datasets.Features) -> str:
    """The column of the names of files."""
    is_plain = all(
        isinstance(feature, datasets.Value) and _PLAIN.fullmatch(feature.dtype) for feature in features.values()
    )
    file_columns = [name for name in features if re.fullmatch(r"(.*_)?file_names?", name)]
    column = file_columns[0] if len(file_columns) == 1 else ""
    image = "image" if column == "file_name" else column.removesuffix("_file_name")
    if not is_plain or image in ("", column, *(set(features) - {column})) or "string" not in features[column].dtype:
        raise _NotPlainError
    return column
