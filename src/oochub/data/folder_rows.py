"""The rows of a plain folder of images, as imagefolder of `datasets` gives them, from one listing of its files.

imagefolder lists a folder 66 times, once for each pattern that a split may be named by, and then handles image by
image. A folder is plain if its splits hold images and at most one metadata file each, with columns of text, numbers and
truth values. Whatever else lies there (archives, a card, several metadata files in one split, files of other kinds in
the majority) is left to imagefolder itself, and so is everything that imagefolder refuses.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import datasets
import pyarrow as pa
import pyarrow.compute as pc
from datasets.builder import Key

try:
    from datasets.data_files import FILES_TO_IGNORE, _get_data_files_patterns
    from datasets.packaged_modules import (
        _ALL_ALLOWED_EXTENSIONS,
        _ALL_METADATA_FILENAMES,
        _EXTENSION_TO_MODULE,
        _MODULE_TO_EXTENSIONS,
    )
    from datasets.packaged_modules.imagefolder.imagefolder import ImageFolder
    from fsspec.utils import glob_translate

    _IS_KNOWN = True
except ImportError:  # names that a later version may not have; then imagefolder itself reads every folder
    _IS_KNOWN = False

_VERSION = "1"
"""Part of the name in the cache: to be raised with any change of the rows."""
_OTHERS = ("README.md", ".huggingface.yaml", "dataset_infos.json")
_MAGIC = re.compile(r"[*?\[\]\n]|::|://")
_ODD_PATH = r"(^|/)\.{0,2}(/|$)|://|\\|\n"
_PLAIN = re.compile(r"(large_)?string|bool|u?int\d+|float(32|64)|null")
_FAULTS = (OSError, ValueError, TypeError, AttributeError, LookupError, pa.ArrowException)


class _NotPlainError(Exception):
    """The folder is for imagefolder."""


@dataclass(frozen=True)
class _Split:
    """A split of a folder.

    Attributes:
        name: Name of the split.
        images: Images in the order of the rows, by their paths below the folder; one is listed twice if two patterns
            of its split find it.
        metadata: The metadata file by the same kind of path; None if there is none.
    """

    name: str
    images: Sequence[str]
    metadata: str | None


class FolderRows(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """The rows of a plain folder of images, as `datasets` builds and caches them; see `find`.

    Args:
        folder: The folder.
        tables: Rows of each split, with the features of `datasets` in their schema.
        state: What the cache goes by: paths, sizes and times of all files.
    """

    BUILDER_CONFIG_CLASS = datasets.BuilderConfig

    def __init__(self, folder: Path, tables: Mapping[str, pa.Table], *, state: str) -> None:
        self._tables = tables
        super().__init__(dataset_name=folder.name, config_name="default", hash=state)
        self.info.builder_name = "imagefolder"

    @classmethod
    def find(cls, folder: Path, entries: Sequence["os.DirEntry[str]"]) -> "FolderRows | None":
        """The rows of a folder; None if it is not plain, or if imagefolder would refuse it.

        Args:
            folder: The folder, as an absolute path.
            entries: Every file below it, without hidden ones.
        """
        place = os.path.realpath(folder)  # as `datasets` has it
        is_odd = _MAGIC.search(place) or folder == folder.parent
        scripts = [folder / f"{folder.name.removesuffix('.py')}.py"]
        if not _IS_KNOWN or is_odd or any(each.exists() for each in (*scripts, *(folder / name for name in _OTHERS))):
            return None
        try:
            files = _Files.of(folder, entries)
            splits = _divide(files)
            tables = _read_metadata(place, splits) if splits[0].metadata else _list_images(place, splits)
            return cls(folder, tables, state=files.digest(splits))
        except (_NotPlainError, *_FAULTS):
            return None

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo()  # without features, which imagefolder learns when it reads

    def download_and_prepare(self, *args: object, num_proc: int | None = None, **kwargs: object) -> None:
        """Writes all rows; see `datasets.DatasetBuilder.download_and_prepare`. One process is enough."""
        super().download_and_prepare(*args, **kwargs)

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        self.info.features = datasets.Features.from_arrow_schema(next(iter(self._tables.values())).schema)
        return [datasets.SplitGenerator(name=name, gen_kwargs={"split": name}) for name in self._tables]

    def _generate_tables(self, split: str) -> Iterator[tuple[Key, pa.Table]]:
        yield Key(0, 0), self._tables[split]


@dataclass(frozen=True)
class _Files:
    """The files of a folder that `datasets` looks at.

    Attributes:
        paths: Path of each below the folder, sorted.
        entries: What the disk says of each, by path.
    """

    paths: Sequence[str]
    entries: Mapping[str, "os.DirEntry[str]"] = field(repr=False)

    @classmethod
    def of(cls, folder: Path, entries: Sequence["os.DirEntry[str]"]) -> "_Files":
        """The files of a folder.

        Raises:
            _NotPlainError: A name that is no text, or holds the end of a line.
        """
        start, by_path = len(str(folder)) + 1, {}
        for entry in entries:
            path = entry.path[start:]
            is_special = "__" in path and any(part.startswith("__") for part in path.split("/")[:-1])
            if not is_special and entry.name not in FILES_TO_IGNORE and entry.is_file():
                by_path[path] = entry
        files = cls(sorted(by_path), by_path)
        files._text.encode()
        if files._text.count("\n") != len(by_path) - 1:
            raise _NotPlainError
        return files

    @cached_property
    def _text(self) -> str:
        return "\n".join(self.paths)

    @cached_property
    def _folders(self) -> Mapping[str, Sequence[str]]:
        """The files of each folder, which is "" or ends with a slash."""
        by_folder: dict[str, list[str]] = {}
        for path in self.paths:
            by_folder.setdefault(path[: path.rfind("/") + 1], []).append(path)
        return by_folder

    def match(self, pattern: str) -> Sequence[str]:
        """The files that a pattern finds, as `glob` of fsspec does it.

        The longest word of the pattern is looked for in all paths at once, since few folders hold the word for a split.

        Raises:
            FileNotFoundError: The pattern finds none, as `datasets` expects it to be said.
        """
        word = max(re.split(r"\[[^\]]*\]|[*?/]", pattern), key=len)
        fits, found = re.compile(glob_translate(pattern)).match, self.paths
        if word not in self._text:
            found = []
        elif pattern.endswith("/**"):  # it says something of the folders alone
            found = sorted(path for folder, paths in self._folders.items() if fits(folder) for path in paths)
        elif pattern != "**":
            found = [path for path in self.paths if word in path and fits(path)]
        if not found:
            raise FileNotFoundError(pattern)
        return found

    def digest(self, splits: Sequence[_Split]) -> str:
        """A digest of the paths, sizes and times of what the rows are read from."""
        digest = hashlib.sha256(_VERSION.encode())
        for split in splits:
            states = [split.name]
            for path in split.images:
                about = self.entries[path].stat()
                states.append(f"{path} {about.st_size} {about.st_mtime_ns}")
            if split.metadata is not None:
                about = self.entries[split.metadata].stat()
                states.append(f"{split.metadata} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}")
            digest.update("\n".join(states).encode() + b"\n\n")
        return digest.hexdigest()


def _divide(files: _Files) -> list[_Split]:
    """The splits of a folder, which all have one metadata file or none.

    Raises:
        _NotPlainError: Most files of a split are no images; archives; several metadata files in a split.
    """
    splits = []
    for name, patterns in _get_data_files_patterns(files.match).items():
        paths = [path for pattern in patterns for path in _match_any(files, pattern)]
        endings = [path[path.rfind("/") + 1 :].partition(".")[2] for path in paths]
        is_image = {ending: _is_image(ending) for ending in set(endings)}
        images = [path for path, ending in zip(paths, endings, strict=True) if is_image[ending]]
        others = [path for path, ending in zip(paths, endings, strict=True) if not is_image[ending]]
        metadata = {path for path in others if path.rpartition("/")[2] in ImageFolder.METADATA_FILENAMES}
        if len(metadata) > 1:  # imagefolder takes them in the order of a set
            raise _NotPlainError
        about = [path.rpartition("/")[2] for path in others]
        _check_kind(
            Counter(endings) - Counter(each.partition(".")[2] for each in about if each in _ALL_METADATA_FILENAMES)
        )
        splits.append(_Split(str(name), images, next(iter(metadata), None)))
    if len({split.metadata is None for split in splits}) > 1:
        raise _NotPlainError
    return splits


def _match_any(files: _Files, pattern: str) -> Sequence[str]:
    try:
        return files.match(pattern)
    except FileNotFoundError:
        return ()


def _is_image(ending: str) -> bool:
    """Whether files are images, by what stands behind the first dot of their names.

    Raises:
        _NotPlainError: Archives, compressed images, or an ending such as `.Jpg`, which is read in company only.
    """
    suffixes = [f".{each}" for each in ending.split(".")]
    if not any(each in _ALL_ALLOWED_EXTENSIONS for each in suffixes):
        return False
    last, before = suffixes[-1], suffixes[-2] if len(suffixes) > 1 else ""
    if last.lower() != ".zip" and last in _MODULE_TO_EXTENSIONS["imagefolder"]:
        return True
    if not {last.lower(), before.lower()}.isdisjoint([".zip", *ImageFolder.EXTENSIONS]):
        raise _NotPlainError
    return False


def _check_kind(endings: Mapping[str, int]) -> None:
    """Checks that `datasets` takes a split for images: the most frequent suffix that it knows is one of images.

    Args:
        endings: What stands behind the first dot of the names, without metadata files, and how often.

    Raises:
        _NotPlainError: Another kind of file is as frequent.
    """
    counts: Counter[str] = Counter()
    for ending, count in endings.items():
        suffixes = ending.split(".")
        if any(f".{each}" in _ALL_ALLOWED_EXTENSIONS for each in suffixes):
            for each in suffixes:
                counts[f".{each.lower()}"] += count
    known = {suffix: count for suffix, count in counts.items() if suffix in _EXTENSION_TO_MODULE or suffix == ".zip"}
    most = max(known.values(), default=0)
    kinds = {_EXTENSION_TO_MODULE.get(suffix, ("", {}))[0] for suffix, count in known.items() if count == most}
    if kinds != {"imagefolder"}:
        raise _NotPlainError


def _list_images(place: str, splits: Sequence[_Split]) -> dict[str, pa.Table]:
    """The rows of splits without metadata: the images, and their folders as classes.

    The folders are classes if there are two or more, all at one depth. `datasets` decides so split by split, by what it
    has seen until then, and a split that comes before the second class has no label.
    """
    folders: dict[str, list[str]] = {}
    classes: set[str] = set()
    depths: set[int] = set()
    has_labels: dict[str, bool] = {}
    for split in splits:
        folders[split.name] = [path[: path.rfind("/") + 1] for path in split.images]
        distinct = set(folders[split.name])
        classes |= {Path(place, folder).name for folder in distinct}
        depths |= {folder.count("/") for folder in distinct}
        has_labels[split.name] = len(classes) > 1 and len(depths) == 1
    features = datasets.Features({"image": datasets.Image()})
    if has_labels[splits[-1].name]:
        features["label"] = datasets.ClassLabel(names=sorted(classes))
    elif any(has_labels.values()):
        raise _NotPlainError
    tables = {}
    for split in splits:
        columns = [_make_images(pa.array([f"{place}/{path}" for path in split.images], pa.string()))]
        if "label" in features and has_labels[split.name]:
            numbers = {
                folder: features["label"].str2int(Path(place, folder).name) for folder in set(folders[split.name])
            }
            columns.append(pa.array([numbers[folder] for folder in folders[split.name]], pa.int64()))
        elif "label" in features:
            columns.append(pa.nulls(len(split.images), pa.int64()))
        tables[split.name] = pa.Table.from_arrays(columns, schema=features.arrow_schema)
    return tables


def _read_metadata(place: str, splits: Sequence[_Split]) -> dict[str, pa.Table]:
    """The rows of splits with a metadata file each: its columns, with the images in the place of their names.

    Raises:
        _NotPlainError: Files of several forms or columns; a column that is no text, number or truth value; no column of
            names, or several; a name that is missing, or does not lead straight down.
    """
    reader = SimpleNamespace(config=SimpleNamespace(filters=None, features=None))
    tables: dict[str, pa.Table] = {}
    for split in splits:
        path = Path(place, str(split.metadata))
        parts = list(ImageFolder._read_metadata(reader, str(path), metadata_ext=path.suffix))
        if any(part.schema.types != parts[0].schema.types for part in parts):
            raise _NotPlainError
        tables[split.name] = _open_images(pa.concat_tables(parts).combine_chunks(), str(path.parent))
    forms = {Path(str(split.metadata)).suffix for split in splits}
    first = next(iter(tables.values())).schema
    if len(forms) > 1 or any(not table.schema.equals(first, check_metadata=True) for table in tables.values()):
        raise _NotPlainError
    return tables


def _open_images(table: pa.Table, folder: str) -> pa.Table:
    """The rows of a metadata file, with images in the place of their names, which are relative to its folder."""
    features = dict(datasets.Features.from_arrow_schema(table.schema))
    is_plain = all(isinstance(each, datasets.Value) and _PLAIN.fullmatch(each.dtype) for each in features.values())
    named = [name for name in features if re.fullmatch(r"(.*_)?file_names?", name)]
    column = named[0] if len(named) == 1 else ""
    image = "image" if column == "file_name" else column.removesuffix("_file_name")
    if not is_plain or image in ("", column, *(set(features) - {column})) or "string" not in features[column].dtype:
        raise _NotPlainError
    names = table.column(column).combine_chunks().cast(pa.string())
    if names.null_count or pc.any(pc.match_substring_regex(names, _ODD_PATH)).as_py():
        raise _NotPlainError
    columns = dict(zip(table.column_names, table.columns, strict=True))
    columns[column] = _make_images(pc.binary_join_element_wise(folder, names, "/"))
    features = {image if name == column else name: feature for name, feature in features.items()}
    features[image] = datasets.Image()
    return pa.Table.from_arrays(list(columns.values()), schema=datasets.Features(features).arrow_schema)


def _make_images(paths: pa.Array) -> pa.StructArray:
    """A column of images, as `datasets` stores it."""
    kind = datasets.Image().pa_type
    return pa.StructArray.from_arrays([pa.nulls(len(paths), pa.binary()), paths], fields=list(kind))
