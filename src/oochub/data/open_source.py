"""Reads a data set from where it is: a folder of images, Parquet, CSV, JSON, WebDataset, `save_to_disk`, the Hub.

It looks first whether what somebody wrote into the card of a data set makes it read files from elsewhere, and at what
lies in a folder of the user's before `datasets` opens it (pipes, and metadata that changed); then whether each class
number of the loaded data is one of its classes.

No path of a user's files is taken for a pattern, since `datasets` gets lists of files. What is left out, and what
stands in several rows, is counted for a note.
"""

import glob
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from tarfile import TarError
from typing import Any, NamedTuple

import datasets
import pyarrow as pa
import pyarrow.compute as pc
from datasets.data_files import DataFilesList
from datasets.exceptions import DatasetGenerationError, DatasetsError
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard, metadata_load
from huggingface_hub.errors import HfHubHTTPError
from yaml import YAMLError

from oochub import catalog
from oochub.data.build_file import NOTE, RepositoryFiles, chooses_files, read_record
from oochub.data.data_source import DataSource
from oochub.data.file_rows import FileRows, digest_files
from oochub.data.folder_splits import METADATA, FolderSplits, divide_folder, find_file_kind, list_some
from oochub.data.image_folder import ImageFiles, find_folder_rows
from oochub.data.shards import ShardRows, find_shard_folder
from oochub.data.table_rows import CsvFile, check_class_names, find_arrow_rows, read_csv_schema, read_csv_tables
from oochub.data.tar_rows import find_tar_rows
from oochub.errors import OochubError, OochubWarning, choose_wording, unknown_name
from oochub.records.build_record import OWN, BuildRecord, drop_build_column, unpack_samples
from oochub.records.metadata import HubDataSet
from oochub.remote.check_source import check_source, name_revision, split_revision
from oochub.remote.guard import hide_token
from oochub.remote.hub_errors import ODD_ANSWERS, explain_connection_fault, retry
from oochub.settings.data_settings import DataSettings
from oochub.storage.cache import describe_state
from oochub.storage.parquet_file import check_seal
from oochub.storage.reading import ZipFiles, check_regular_file, read_json

_SEPARATORS = ("sep", "delimiter")
_ARROW = ("Parquet file", "Arrow file")
_HTTPError: type[Exception] = HfHubHTTPError.__bases__[0]  # of httpx or httpx2, as the version of its clients has it
_FAULTS = (_HTTPError, *ODD_ANSWERS, RuntimeError, OSError, TarError, DatasetsError, YAMLError)


def open_source(
    source: str,
    settings: DataSettings,
    *,
    num_proc: int | None = None,
    in_place: bool = False,
    check: Callable[[Mapping[str, Any]], None] | None = None,
) -> DataSource:
    """Data that are no benchmark, with the columns that they have.

    Args:
        source: A file or folder here, else an id on the Hub.
        settings: Configuration; columns, which are checked before the data are read where they are known, and those of
            names are read as text; `data_dir` and `options` as `load_dataset` takes them. For a repository that oochub
            wrote, the option `verification_mode` says what is compared with the digests in build.json: "basic_checks"
            labels and contexts, and every byte of a file whose size or times are new; "all_checks" every byte;
            "no_checks" nothing, which a note says.
        num_proc: Processes to read with.
        in_place: Leave the images in the shards of a built WebDataset: what reads them goes by `read_picture_bytes`.
        check: Function that is called with the features, if they are known before the data are read.

    Raises:
        OochubError: Nothing is there, or it cannot be read; a repository that is not as it was written; a class
            number outside its classes; what `check` raises.
    """
    benchmarks = ", ".join(catalog.names("benchmark"))
    hint = f"Pass BENCHMARK/CONFIG ({benchmarks}), a folder of images, a Parquet, CSV, JSON or .tar file, or a Hub id."
    if not source.strip():
        raise OochubError(f"No dataset is named. {hint}")
    given = dict(settings.options or {})
    source = name_revision(source, settings.revision)
    check_source(source, kind="dataset", hint=hint, also=catalog.names("benchmark"))
    source, revision = split_revision(name_revision(source, given.pop("revision", None)))
    place, config = Path(source).expanduser().absolute(), settings.config
    if revision is not None:
        given["revision"] = revision
    given.pop("follow_links", None)  # for what copies images: here they are read from where they are
    if config is not None:
        given["name"] = config
    entries = list(_list_entries(place)) if place.is_dir() else []
    for entry in entries:
        if not (_is(entry.is_file) or _is(entry.is_dir)) and Path(entry.path).exists():
            check_regular_file(Path(entry.path))  # opening a pipe waits forever
    if place.exists() and not place.is_dir():
        check_regular_file(place)
    mode, modes = given.pop("verification_mode", "basic_checks"), [choice.value for choice in datasets.VerificationMode]
    if mode not in modes:
        raise unknown_name("verification_mode", mode, modes)
    try:
        opened = _open_splits(
            *(source, place, given, settings),
            entries=entries,
            mode=mode,
            build=partial(build_splits, num_proc=num_proc, check=check),
            in_place=in_place,
        )
    except OochubError:
        raise
    except _FAULTS as error:
        # of the Hub's faults the chain shows what the server sent
        raise _explain_fault(error, source, place, hint) from (error if place.exists() else None)
    loaded = opened.splits
    if isinstance(loaded, datasets.Dataset):
        loaded = datasets.DatasetDict({str(loaded.split or "train"): loaded})
    if not sum(loaded.num_rows.values()):
        raise OochubError(f"{source} contains no rows. {hint}")
    loaded = drop_build_column(unpack_samples(loaded))
    if opened.origin is not None:
        for part in loaded.values():
            opened.origin.note(part.info)
    _check_class_numbers(loaded)
    name = name_source(source).rpartition("/")[2]
    name = name if config is None else f"{name}-{config}"
    info = next(iter(loaded.values())).info
    in_rows = BuildRecord.of(info)
    record = in_rows or read_record(place, info.config_name or "default")
    if record is None and opened.notes:
        record = BuildRecord(benchmark=OWN, config=name, version=str(info.version or "0.0.0"), notes=opened.notes)
        for part in loaded.values():
            part.info.description = record.describe(f"{name}, own data.")
    elif record is not None:
        noted = [] if opened.is_saved else [NOTE] if opened.repository is None else [opened.repository.note_of_card()]
        new = (note for note in (*noted, *opened.notes) if note and note not in record.notes)
        record = replace(record, notes=(*record.notes, *new))
        for part in loaded.values():
            description = part.info.description or ""
            part.info.description = record.describe(
                description.partition("\n")[0] if in_rows else description or name_source(source)
            )
    folder = (place if place.is_dir() else place.parent) if place.exists() else None
    return DataSource(given=source, rows=loaded, name=name, folder=folder)


class _Opened(NamedTuple):
    """The splits of a source (or one), the repository or data set of the Hub that it is, and notes on its files."""

    splits: Any
    repository: RepositoryFiles | None
    is_saved: bool
    notes: tuple[str, ...] = ()
    origin: HubDataSet | None = None


def _open_splits(
    source: str,
    place: Path,
    given: Mapping[str, Any],
    settings: DataSettings,
    *,
    entries: Sequence["os.DirEntry[str]"],
    mode: str,
    build: Callable[..., Any],
    in_place: bool,
) -> _Opened:
    """Reads the splits after a look at what the card, the seals and the digests say; see `open_source`.

    `place` is where the source would be on this disk, `entries` what lies in it, `build` makes the splits of a builder.
    """
    configs, config, data_dir = None, settings.config, settings.data_dir
    if mode != "no_checks" and not place.is_file():
        if place.exists():
            configs = RepositoryFiles.find(place, config)
        elif not chooses_files(given, data_dir):
            configs = RepositoryFiles.on_hub(source, config, given)
    if configs is None and mode != "no_checks":
        is_parquet = place.suffix == ".parquet" and place.is_file()
        for file in [place] if is_parquet else [*place.glob("[!.]*.parquet"), *place.glob("*/[!.]*.parquet")]:
            check_seal(file)
    if any((place / name).is_file() for name in ("dataset_dict.json", "state.json")):
        _check_saved_names(place)
        return _Opened(datasets.load_from_disk(str(place)), configs, is_saved=True)
    is_named = data_dir is not None or "data_files" in given
    shards = None if given.keys() - {"name"} or data_dir else find_shard_folder(place, config)
    if shards is None and not is_named:
        _check_card_paths(place)
    if configs is not None and configs.hub is None:
        configs.check(whole=mode == "all_checks")
    is_chosen = configs is None and not is_named and shards is None and place.exists() and not _names_files(place)
    files = _open_user_files(place, entries, given=given, named=settings.named) if is_chosen else None
    builder: Any
    if shards is not None:
        builder = ShardRows(shards, in_place=in_place)
    elif files is not None:
        builder = files.builder
    elif configs is None or chooses_files(given, data_dir):
        builder = _find_builder(source, place, config, given, data_dir, entries)
    else:
        builder = configs.builder(str(place) if place.is_dir() else source, given)
        if not is_named:
            _check_data_files(builder, place)
        if configs.hub is not None:
            configs.check(whole=mode == "all_checks", is_cached=Path(builder.cache_dir).is_dir())
    if builder.info.features:
        settings.check({**builder.info.features, **datasets.Features(builder.info.features).flatten()})
    loaded = retry(partial(build, builder), wrapped=(DatasetGenerationError,))
    return _Opened(
        loaded,
        configs,
        is_saved=False,
        notes=() if files is None else files.notes(loaded),
        origin=HubDataSet(id=builder.repo_id, revision=str(builder.hash)) if builder.repo_id else None,
    )


def _find_builder(
    source: str,
    place: Path,
    config: str | None,
    given: Mapping[str, Any],
    data_dir: str | None,
    entries: Sequence["os.DirEntry[str]"],
) -> datasets.DatasetBuilder:
    """The builder that `datasets` has for a source, whose cache holds while its files stay as they are."""
    path, given = str(place) if place.is_dir() else source, dict(given)
    is_named = data_dir is not None or "data_files" in given
    if place.is_file():
        path, given = str(place.parent), {"data_files": glob.escape(place.name)} | given
    if place.is_dir() and not given.keys() - {"name"} and not (place / "README.md").is_file():
        # the cache of `datasets` goes by their names and times of change, which a copy may keep
        metadata = sorted(entry.path for entry in entries if entry.name in METADATA and _is(entry.is_file))
        state = f"metadata of {digest_files(metadata)}"
        given |= {"name": config or "default", "description": state} if metadata else {}
    builder: datasets.DatasetBuilder = retry(lambda: datasets.load_dataset_builder(path, data_dir=data_dir, **given))
    if not is_named:
        _check_data_files(builder, place)
    if (place / "README.md").is_file():
        # for a folder with a card, the cache of `datasets` uses names; a card may name an address
        files = [file for files in (builder.config.data_files or {}).values() for file in files if Path(file).exists()]
        given |= {"name": builder.config.name, "description": f"files of {digest_files(files)}"}
        builder = datasets.load_dataset_builder(path, data_dir=data_dir, **given)
    return builder


def _explain_fault(error: BaseException, source: str, place: Path, hint: str) -> OochubError:
    """What went wrong where a source was read, and what to do."""
    fault = None if place.exists() else explain_connection_fault(error)
    if fault is not None:
        return OochubError(
            f"Could not load {source}: the Hub could not be reached or returned an unexpected response "
            f"({hide_token(fault)}). Check the connection and try again: finished downloads are kept."
        )
    cause = error.__cause__ if isinstance(error, DatasetGenerationError) and error.__cause__ else error
    why = hide_token(str(cause) or type(cause).__name__).strip().rstrip(".")
    passes = choose_wording("options= passes", "--option passes")
    return OochubError(
        f"Could not load {source}: {why}. It is read as datasets.load_dataset reads it, and {passes} on what that "
        f"takes. {'Fix the file.' if place.is_file() else hint}"
    )


def _names_files(place: Path) -> bool:
    """Whether the card of a folder says which files its splits are read from.

    Raises:
        OochubError: It does, by patterns, and the folder's own name would be taken for one.
    """
    if not place.is_dir() or not any((place / name).exists() for name in _CARDS):
        return False
    try:
        configs = _read_configs(place)
    except _CARD_FAULTS:
        return True  # `datasets` says what is wrong
    is_told = bool(configs) or any((place / name).exists() for name in _CARDS[1:])
    if is_told and glob.has_magic(os.path.realpath(place)):
        raise OochubError(
            f"The card of {place} names its files by patterns, and the brackets, * or ? in the path of the folder "
            "would be a part of them. Rename the folder."
        )
    return is_told


def _read_configs(folder: Path) -> Any:
    """The configurations that the card of a folder declares; None without a card."""
    card = metadata_load(folder / "README.md") if (folder / "README.md").is_file() else None
    return (card or {}).get("configs")


def _check_saved_names(place: Path) -> None:
    """Checks that all parts of a folder of `save_to_disk` have the same class names."""
    infos: dict[str, dict[str, object]] = {}
    for file in (*place.glob("dataset_info.json"), *place.glob("*/dataset_info.json")):
        content = read_json(file)
        features = content.get("features") if isinstance(content, dict) else None
        infos |= {str(file): features} if isinstance(features, dict) else {}
    check_class_names(sorted((*place.glob("*.arrow"), *place.glob("*/*.arrow"))), said=infos)


def name_source(source: str) -> str:
    """What a source is called without the place where it stands: the name of a folder or file, or its name on the Hub.

    >>> name_source("/somewhere/birds.csv"), name_source("someone/birds"), name_source("nooch/ce_car")
    ('birds', 'someone/birds', 'nooch/ce_car')
    """
    source = split_revision(source)[0]
    place = Path(source).expanduser().absolute()
    if source.partition("/")[0] in catalog.names("benchmark") or not (place.exists() or source.startswith("/")):
        return source
    return place.name if place.is_dir() else place.stem


def build_splits(
    builder: datasets.DatasetBuilder, *, num_proc: int | None, check: Callable[[Mapping[str, Any]], None] | None
) -> Any:
    """What a builder of `datasets` makes, after a look at its features where they are known before the data are read.

    Args:
        builder: A builder from `datasets.load_dataset_builder`.
        num_proc: Processes to build with.
        check: Function that is called with the features, if they are known.
    """
    if check is not None and builder.info.features:
        check(builder.info.features)
    builder.download_and_prepare(num_proc=num_proc)
    return builder.as_dataset()


_CARDS = ("README.md", ".huggingface.yaml", "dataset_infos.json")
_KEYS = ("data_files", "data_dir", "path")
_CARD_FAULTS = (ValueError, YAMLError, RecursionError, TypeError, AttributeError)


def _check_card_paths(folder: Path) -> None:
    """Refuses addresses, and paths out of the folder, in the card of a folder before anything looks for them."""
    try:
        configs = _read_configs(folder)
    except _CARD_FAULTS:
        return  # whoever loads it says what is wrong
    for path in _collect_paths(configs):
        is_absolute = PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()
        if is_absolute or "://" in path or ".." in path.replace("\\", "/").split("/"):
            raise _points_elsewhere(str(folder), path)


def _check_data_files(builder: Any, folder: Path) -> None:
    """Refuses files that a builder found by the card outside the folder, or outside the repository on the Hub."""
    places = (os.path.normpath(folder), os.path.realpath(folder))  # a folder that is a link itself is followed
    for files in (builder.config.data_files or {}).values():
        for file in map(str, files):
            if builder.repo_id:
                is_own = file.startswith(f"hf://datasets/{builder.repo_id}@")
            else:
                is_own = not folder.is_dir() or any(Path(file).is_relative_to(place) for place in places)
            if not is_own or ".." in file.split("/"):
                raise _points_elsewhere(builder.repo_id or str(folder), file)


def _collect_paths(value: Any) -> Iterator[str]:
    """The paths in the configurations of a card."""
    if isinstance(value, list):
        for element in value:
            yield from _collect_paths(element)
    elif isinstance(value, dict):
        for key, element in value.items():
            if key in _KEYS:
                yield from _collect_texts(element)


def _collect_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for element in value.values() if isinstance(value, dict) else value:
            yield from _collect_texts(element)


def _points_elsewhere(source: str, path: str) -> OochubError:
    return OochubError(
        f"The card of {source} names data from elsewhere, {path[:200]!r}, which are not read. Load them by their own "
        "path, or fix the card."
    )


def _check_class_numbers(data: Mapping[str, datasets.Dataset]) -> None:
    """Checks the class numbers of every split, those in lists and records too; -1 and None are no class.

    Args:
        data: The splits; images are not read.

    Raises:
        OochubError: A number outside the classes; column, row and split are named.

    >>> features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog"])})
    >>> _check_class_numbers({"test": datasets.Dataset.from_dict({"label": [0, 1, -1]}, features)})
    """
    for split, part in data.items():
        names = [name for name, feature in part.features.items() if _holds_classes(feature)]
        if not names:
            continue
        table = part.select_columns(names).with_format("arrow")[:]
        for name in names:
            for feature, numbers in _collect_numbers(table.column(name).combine_chunks(), part.features[name]):
                wrong = pc.or_(pc.less(numbers, -1), pc.greater_equal(numbers, feature.num_classes))
                if pc.any(wrong).as_py():
                    number = numbers[pc.index(wrong, True).as_py()]
                    is_plain = isinstance(part.features[name], datasets.ClassLabel)
                    row = f"row {pc.index(table.column(name), number.as_py()).as_py()} of " if is_plain else ""
                    raise OochubError(
                        f"{name} is {number.as_py()} in {row}split {split}, but there are {feature.num_classes} "
                        "classes, numbered from 0. Fix the value or remove the row; -1 means no class."
                    )


def _holds_classes(feature: Any) -> bool:
    if isinstance(feature, dict):
        return any(map(_holds_classes, feature.values()))
    if isinstance(feature, datasets.List | datasets.LargeList):
        return _holds_classes(feature.feature)
    return isinstance(feature, datasets.ClassLabel)


def _collect_numbers(array: Any, feature: Any) -> Iterator[tuple[datasets.ClassLabel, Any]]:
    """The class numbers of a column, each kind of class for itself."""
    if isinstance(feature, datasets.ClassLabel):
        yield feature, array
    elif isinstance(feature, dict):
        for name, inner in feature.items():
            if _holds_classes(inner):
                yield from _collect_numbers(pc.struct_field(array, name), inner)
    elif isinstance(feature, datasets.List | datasets.LargeList) and _holds_classes(feature.feature):
        yield from _collect_numbers(pc.list_flatten(array), feature.feature)


def _is(kind: Callable[[], bool]) -> bool:
    """What an entry is asked for; a link that leads round in a circle is nothing."""
    try:
        return kind()
    except OSError:
        return False


def _list_entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """All below a folder that is no folder itself."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _list_entries(Path(entry.path))
            else:
                yield entry


class _UserFiles(NamedTuple):
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
                f"{'it' if len(missing) == 1 else 'them'}: {list_some(missing)}"
            )
        if doubled:
            stand = "image stands" if len(doubled) == 1 else "images stand"
            notes.append(f"{len(doubled):,} {stand} in several rows, as the metadata say: {list_some(doubled)}")
        return notes


def _open_user_files(
    place: Path, entries: Sequence["os.DirEntry[str]"], *, given: Mapping[str, object], named: Mapping[str, str]
) -> _UserFiles | None:
    """The files of a folder or file, by an absolute path; None where `datasets` itself must find them."""
    root = place if place.is_dir() else place.parent
    paths, start = [place.name], len(str(place)) + 1
    if place.is_dir():  # without folders that begin with two underscores
        paths = [entry.path[start:] for entry in entries if _is(entry.is_file)]
        paths = [
            path_named for path_named in paths if not any(part.startswith("__") for part in path_named.split("/")[:-1])
        ]
    kind = find_file_kind(place.name)  # one file is the split train, whatever it is called
    splits = divide_folder(paths) if place.is_dir() else FolderSplits(kind, {"train": paths} if kind else {})
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
        files = {split: [path / file for file in own] for split, own in splits.files.items()}
    if splits.kind in _ARROW:
        every = [file for own in files.values() for file in own]
        check_class_names(every, said={} if told is None else {str(root / "README.md"): told.to_dict()})
    if is_plain and told is None:
        if splits.kind == "image":
            builder = find_folder_rows(ImageFiles(path, paths), splits, name=name, named=named)
        elif splits.kind == "archive":
            archives = _open_archives(splits, path, name, named)
            if archives is not None:
                return archives
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
            names = [f"{path}/{file}" for file in own]
            listed[split] = DataFilesList(names, [(describe_state(file),) for file in names])
        state = digest_files([file for own in listed.values() for file in own])
        more = {"name": "default", "description": f"files of {state}", **given}
        more |= {} if told is None else {"features": told}
        builder = datasets.load_dataset_builder(str(root), data_files=listed, **more)
    if card.splits:
        builder.info.splits = card.splits  # with which `datasets` compares what it reads
    return _UserFiles(builder, splits, path)


def _read_card(folder: Path, config: str) -> datasets.DatasetInfo:
    """What the card of a folder says of its columns and splits, which may be nothing."""
    card = folder / "README.md"
    if not card.is_file():
        return datasets.DatasetInfo()
    try:
        infos = DatasetInfosDict.from_dataset_card_data(DatasetCard.load(card).data)
    except Exception:  # of any kind: `datasets` says what is wrong with a card
        infos = {}
    info = infos.get(config) or (next(iter(infos.values())) if len(infos) == 1 else None)
    return datasets.DatasetInfo() if info is None else info


def _open_archives(splits: FolderSplits, root: Path, name: str, named: Mapping[str, str]) -> _UserFiles | None:
    """The rows of zip archives of images; None where they hold something else."""
    archives = [root / file for own in splits.files.values() for file in own]
    inside = ZipFiles.find(archives)
    divided = divide_folder(list(inside.members))
    if divided.kind != "image":
        return None
    files = ImageFiles(archives[0], list(inside.members), inside)
    builder = find_folder_rows(files, divided, name=name, named=named)
    notes = (*splits.notes, *divided.notes)
    return None if builder is None else _UserFiles(builder, divided._replace(notes=notes), archives[0])


def _open_csv(
    name: str, splits: Mapping[str, Sequence[Path]], named: Mapping[str, str], separator: str | None
) -> FileRows | None:
    files = {split: [CsvFile(str(file), partial(str, file)) for file in own] for split, own in splits.items()}
    schema = read_csv_schema([file for own in files.values() for file in own], named=named, separator=separator)

    def tables(split: str) -> Iterator[pa.Table]:
        for file in files[split]:
            yield from read_csv_tables(file, schema, separator=separator)

    every = [file for own in splits.values() for file in own]
    state = digest_files(every, list(splits), sorted(named.items()), separator)
    features = datasets.Features.from_arrow_schema(schema)
    return FileRows(name, "csv", features, {split: partial(tables, split) for split in splits}, state=state)
