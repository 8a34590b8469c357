"""Opens a user's files: which of them are the rows of which split, and what reads them.

No path is taken for a pattern: `datasets` gets lists of files. What is left out, and what stands in several rows, is
counted for a note.
"""

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import datasets
import pyarrow as pa
from datasets.data_files import DataFilesList
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard

from oochub.data.file_rows import FileRows, digest_files
from oochub.data.folder_splits import METADATA, FolderSplits, divide_folder, find_file_kind
from oochub.data.image_folder import ImageFiles, find_folder_rows
from oochub.data.table_rows import CsvFile, check_class_names, find_arrow_rows, read_csv_schema, read_csv_tables
from oochub.data.tar_rows import find_tar_rows
from oochub.errors import OochubWarning
from oochub.storage.cache_folder import describe_state
from oochub.storage.reading import ZipFiles

_SEPARATORS = ("sep", "delimiter")
_ARROW = ("Parquet file", "Arrow file")
_SHOWN = 3


class UserFiles(NamedTuple):
    """A user's files, opened.

    Attributes:
        builder: What `datasets` builds the rows with.
        splits: The files of each split, and what was left out.
        place: What their paths are below.
    """

    builder: datasets.DatasetBuilder
    splits: FolderSplits
    place: Path

    def notes(self, loaded: Mapping[str, datasets.Dataset]) -> tuple[str, ...]:
        """What a reader of the report must know of the files and their rows; each is also a warning."""
        notes = (*self.splits.notes, *self._note_images(loaded))
        for note in notes:
            warnings.warn(f"{note[0].upper()}{note[1:]}.", OochubWarning, stacklevel=4)
        return notes

    def _note_images(self, loaded: Mapping[str, datasets.Dataset]) -> list[str]:
        """Images that no row shows, and those that several rows show."""
        features = next(iter(loaded.values())).features
        columns = [name for name, kind in features.items() if isinstance(kind, datasets.Image)]
        if self.splits.kind != "image" or len(columns) != 1:
            return []
        counts: Counter[str] = Counter()
        for part in loaded.values():
            for chunk in part.select_columns(columns).with_format("arrow")[:].column(columns[0]).chunks:
                counts.update(path for path in chunk.field("path").to_pylist() if path)
        root = f"{self.place}/" if self.place.is_dir() else ""
        files = [path for own in self.splits.files.values() for path in own if path.rpartition("/")[2] not in METADATA]
        missing = [path for path in files if not counts[root + path] and not counts[path]]
        doubled = [path.removeprefix(root) for path, count in counts.items() if count > 1]
        notes = []
        if missing:
            are = "is" if len(missing) == 1 else "are"
            notes.append(
                f"{len(missing):,} of {len(files):,} images {are} left out, because no line of the metadata names "
                f"{'it' if len(missing) == 1 else 'them'}: {_list(missing)}"
            )
        if doubled:
            stand = "image stands" if len(doubled) == 1 else "images stand"
            notes.append(f"{len(doubled):,} {stand} in several rows, as the metadata say: {_list(doubled)}")
        return notes


def open_user_files(
    place: Path, entries: Sequence["os.DirEntry[str]"], *, given: Mapping[str, object], named: Mapping[str, str]
) -> UserFiles | None:
    """The files of a source; None where `datasets` itself must find them.

    Args:
        place: A folder or a file; an absolute path.
        entries: Every file below a folder, without hidden ones.
        given: Options of `load_dataset`.
        named: Role to column, as the user named them.

    Raises:
        OochubError: Files that cannot be read as one data set.
    """
    root = place if place.is_dir() else place.parent
    paths = _list_paths(place, entries) if place.is_dir() else [place.name]
    splits = divide_folder(paths) if place.is_dir() else _name_one(place.name)
    if not splits.files:
        return None
    path = Path(os.path.realpath(root))
    separator = next((str(given[name]) for name in _SEPARATORS if given.get(name)), None)
    is_plain = not given.keys() - {"name", *(_SEPARATORS if splits.kind == "CSV file" else ())}
    builder: datasets.DatasetBuilder | None = None
    name = place.name if place.is_dir() else place.stem
    card = _read_card(root, str(given.get("name") or "default")) if place.is_dir() else datasets.DatasetInfo()
    told = None if "features" in given else card.features
    files: dict[str, list[Path]] = {}
    if splits.kind != "image":  # of which there may be many
        files = {split: [path / each for each in own] for split, own in splits.files.items()}
    if splits.kind in _ARROW:
        every = [each for own in files.values() for each in own]
        check_class_names(every, said={} if told is None else {str(root / "README.md"): told.to_dict()})
    if is_plain and told is None:
        if splits.kind == "image":
            builder = find_folder_rows(ImageFiles(path, paths), splits, name=name, named=named)
        elif splits.kind == "archive":
            found = _open_archives(splits, path, name, named)
            if found is not None:
                return found
        elif splits.kind == "CSV file":
            builder = _open_csv(name, files, named, separator)
        elif splits.kind in _ARROW:
            builder = find_arrow_rows(name, files)
        elif splits.kind == "shard":
            builder, notes = find_tar_rows(name, files)
            splits = splits._replace(notes=(*splits.notes, *notes))
    if builder is None:
        listed = {}
        for split, own in splits.files.items():
            names = [f"{path}/{each}" for each in own]
            listed[split] = DataFilesList(names, [(describe_state(each),) for each in names])
        state = digest_files([each for own in listed.values() for each in own])
        more = {"name": "default", "description": f"files of {state}", **given}
        more |= {} if told is None else {"features": told}
        builder = datasets.load_dataset_builder(str(root), data_files=listed, **more)
    if card.splits:
        builder.info.splits = card.splits  # with which `datasets` compares what it reads
    return UserFiles(builder, splits, path)


def _name_one(name: str) -> FolderSplits:
    """One file as the split train, whatever it is called."""
    kind = find_file_kind(name)
    return FolderSplits(kind, {"train": [name]} if kind else {})


def _list_paths(folder: Path, entries: Sequence["os.DirEntry[str]"]) -> list[str]:
    """The path of each file below a folder, without folders that begin with two underscores."""
    start = len(str(folder)) + 1
    paths = [entry.path[start:] for entry in entries if _is_file(entry)]
    return [path for path in paths if "__" not in path or not _is_special(path)]


def _is_special(path: str) -> bool:
    return any(part.startswith("__") for part in path.split("/")[:-1])


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads round in a circle
        return False


def _read_card(folder: Path, config: str) -> datasets.DatasetInfo:
    """What the card of a folder says of its columns and splits, which may be nothing."""
    card = folder / "README.md"
    if not card.is_file():
        return datasets.DatasetInfo()
    try:
        infos = DatasetInfosDict.from_dataset_card_data(DatasetCard.load(card).data)
    except Exception:  # of any kind: `datasets` says what is wrong with a card
        infos = {}
    found = infos.get(config) or (next(iter(infos.values())) if len(infos) == 1 else None)
    return datasets.DatasetInfo() if found is None else found


def _open_archives(splits: FolderSplits, root: Path, name: str, named: Mapping[str, str]) -> UserFiles | None:
    """The rows of zip archives of images; None where they hold something else."""
    archives = [root / each for own in splits.files.values() for each in own]
    inside = ZipFiles.find(archives)
    divided = divide_folder(list(inside.members))
    if divided.kind != "image":
        return None
    files = ImageFiles(archives[0], list(inside.members), inside)
    builder = find_folder_rows(files, divided, name=name, named=named)
    notes = (*splits.notes, *divided.notes)
    return None if builder is None else UserFiles(builder, divided._replace(notes=notes), archives[0])


def _open_csv(
    name: str, splits: Mapping[str, Sequence[Path]], named: Mapping[str, str], separator: str | None
) -> FileRows | None:
    files = {split: [CsvFile(str(each), partial(str, each)) for each in own] for split, own in splits.items()}
    schema = read_csv_schema([each for own in files.values() for each in own], named=named, separator=separator)

    def tables(split: str) -> Iterator[pa.Table]:
        for each in files[split]:
            yield from read_csv_tables(each, schema, separator=separator)

    every = [each for own in splits.values() for each in own]
    state = digest_files(every, list(splits), sorted(named.items()), separator)
    features = datasets.Features.from_arrow_schema(schema)
    return FileRows(name, "csv", features, {split: partial(tables, split) for split in splits}, state=state)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
