"""The base of every benchmark's `datasets` builder: names checked early, caches that notice changed raw data."""

import hashlib
import inspect
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import datasets
import multiprocess
import numpy as np
import pyarrow as pa
from datasets.builder import Key
from datasets.exceptions import DatasetGenerationError
from datasets.features.features import to_pyarrow_listarray

from oochub.benchmark import Benchmark, find_data_folder
from oochub.errors import OochubError, choose_wording, list_causes, unknown_name
from oochub.records.build_record import BuildFacts, BuildRecord
from oochub.records.typed_values import check_parameters
from oochub.storage.files import make_scratch_folder
from oochub.storage.picture_file import check_inside, read_picture

_ARRAYS = (datasets.Array2D, datasets.Array3D, datasets.Array4D, datasets.Array5D)
_ROWS = 64  # in a table: at 65 kB an image, 4 MB held at a time
_ROWS_WITHOUT_FILES = 4_096
_BYTES = 1 << 24  # of arrays in a table
_OF_DATASETS = (*inspect.signature(datasets.DatasetBuilder.__init__).parameters, "version", "description")
_TOY_RECORD = "toy_world.json"  # the renderers of toy worlds leave it
_TOY_NOTE = "a drawn toy world, not the benchmark's images"


def make_features(**columns: Any) -> datasets.Features:
    """Features of rows, `example_id` first, told in short: "int32" for a value of that type, names for classes.

    >>> make_features(year="int32", label=["normal", "tumor"])
    {'example_id': Value('string'), 'year': Value('int32'), 'label': ClassLabel(names=['normal', 'tumor'])}
    """

    def make(kind: Any) -> Any:
        if isinstance(kind, str):
            return datasets.Value(kind)
        is_plain = isinstance(kind, dict) or not isinstance(kind, Iterable)
        return kind if is_plain else datasets.ClassLabel(names=list(kind))

    return datasets.Features({name: make(kind) for name, kind in {"example_id": "string", **columns}.items()})


@dataclass
class BenchmarkConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """The option that every benchmark of images has.

    Attributes:
        follow_links: Read what links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    follow_links: bool = False

    @classmethod
    def list_of(cls, benchmark: Benchmark, descriptions: Mapping[str, str]) -> list[Self]:
        """The configs of a benchmark, each of its version, with their descriptions by name."""
        version = datasets.Version(benchmark.version)
        return [cls(name=name, version=version, description=words) for name, words in descriptions.items()]


class BenchmarkBuilder(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """An ArrowBasedBuilder that takes its raw data from `data_dir` or `$OOCHUB_DATA/<benchmark>`.

    A subclass sets `BENCHMARK` and `BUILDER_CONFIGS` and implements `_features`, the columns, and `_split_generators`,
    as for `datasets`; `_splits` makes what that gives back: its `gen_kwargs` are a folder `root` and `shards` of rows,
    of a table or of a list of rows' columns by name, with the place of an image below `root` as `file`. `_watched` is
    overridden where the raw data are more than single files.

    Attributes:
        declaration: What the benchmark declares for this config.
        stores_record: Whether the features hold the build record, as those of a built repository do; set before
            `download_and_prepare`.

    Raises:
        OochubError: No configuration where one is needed, an unknown one, an option that is unknown or of another
            type, or raw data that are missing or broken. It reaches the caller as it is, not wrapped in a
            DatasetGenerationError.
    """

    BENCHMARK: ClassVar[Benchmark]
    BUILDER_CONFIG_CLASS = BenchmarkConfig
    stores_record = False

    def __init__(
        self,
        *args: Any,
        config_name: str | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        data_files: Any = None,
        hash: str | None = None,
        **kwargs: Any,
    ) -> None:
        if data_files:
            raise OochubError(
                f"{self.BENCHMARK.name} reads one raw folder, not single files: pass data_dir= instead of data_files=."
            )
        if not isinstance(data_dir, str | os.PathLike | None):
            raise OochubError(f"data_dir must be a folder, as text or a Path, got {data_dir!r:.80}.")
        data_dir = None if data_dir is None else os.fspath(data_dir)
        kwargs |= self.checked_options({name: kwargs[name] for name in kwargs if name not in _OF_DATASETS})
        config_name = self.checked_config(config_name)
        self.config_name = config_name  # `_watched` is asked before there is a config
        self.declaration = self.BENCHMARK.of(config_name)
        key = self._with_raw_data(hash or "", data_dir)
        try:
            super().__init__(*args, config_name=config_name, data_dir=data_dir, data_files=None, hash=key, **kwargs)
        except OSError as error:
            raise OochubError(
                f"The cache of `datasets` cannot be written: {error}. Set HF_DATASETS_CACHE (or HF_HOME) to a folder "
                f"that you can write{choose_wording(', or give cache_dir=', '')}."
            ) from error

    @classmethod
    def checked_options(cls, options: Any) -> dict[str, Any]:
        """Options of the builder as its configuration takes them; see `parse_builder_options`."""
        return parse_builder_options(cls.BUILDER_CONFIG_CLASS, options, benchmark=cls.BENCHMARK.name)

    @classmethod
    def checked_config(cls, name: str | None) -> str:
        """The config of that name, or the only one where none is named.

        Raises:
            OochubError: No name where there are several, or an unknown one.
        """
        allowed = list(cls.builder_configs) or ["default"]
        benchmark = cls.BENCHMARK.name
        if name is None and (cls.DEFAULT_CONFIG_NAME or len(allowed) == 1):
            return str(cls.DEFAULT_CONFIG_NAME or allowed[0])
        if name is None:
            shown = ", ".join(allowed[:12]) + (f", ... ({len(allowed)} in all)" if len(allowed) > 12 else "")
            raise OochubError(
                f"Missing config name: {benchmark} has several configs. Choose one, for example "
                + choose_wording(f'load_dataset("{benchmark}", "{allowed[0]}")', f"{benchmark}/{allowed[0]}")
                + f". Allowed: {shown}."
            )
        if name not in allowed:
            hint = f"`oochub show benchmark {benchmark}` describes them."
            raise unknown_name(f"config of {benchmark}", name, allowed, hint)
        return name

    def _with_raw_data(self, code: str, data_dir: str | None) -> str:
        """The cache key: the builder's code and the state of the raw files, so new raw data are built anew."""
        try:
            folder = find_data_folder(self.declaration, data_dir)
        except OochubError:
            return code  # said again, with the folder tree, when the data are needed
        digest = hashlib.sha256(code.encode())
        for path in sorted(self._watched(folder)):
            state = path.stat() if path.exists() else path.lstat()  # a link to nothing is said when it is read
            name = os.fsencode(path.relative_to(folder))
            digest.update(name + f" {state.st_size} {state.st_mtime_ns}\n".encode())
        return digest.hexdigest()

    def _info(self) -> datasets.DatasetInfo:
        declared = self.declaration
        return datasets.DatasetInfo(
            description=declared.summary,
            homepage=declared.homepage,
            citation=declared.citation,
            license=declared.images_license,
            features=self._features(),
        )

    def _features(self) -> datasets.Features | None:
        """The columns of the rows; None where the raw data say them, and `_split_generators` sets them."""
        return None

    def _watched(self, folder: Path) -> Iterable[Path]:
        """Files and folders whose size or time changes when the raw data change."""
        return [path for raw in self.declaration.raw_files if (path := raw.find(folder)) is not None]

    def _folder(self) -> Path:
        """The checked raw folder; what of it is a folder of images is no link that leads out of it."""
        folder = find_data_folder(self.declaration, self.config.data_dir)
        for raw in self.declaration.raw_files if self._within else ():
            place = raw.find(folder)
            if raw.required and raw.path.endswith("/") and place is not None:
                check_inside(place, root=folder)
        return folder

    @cached_property
    def _within(self) -> Path | None:
        """The folder that no link may lead out of; None where links are followed."""
        follows = getattr(self.config, "follow_links", False)  # a plug-in may have a config class of its own
        return None if follows else find_data_folder(self.declaration, self.config.data_dir)

    def _generate_tables(self, root: Path, shards: list[Any]) -> Iterator[tuple[Key, pa.Table]]:
        # Whole tables: encoding row by row costs as much as reading and writing the images.
        schema = self.info.features.arrow_schema
        count = _count_rows_at_once(self.info.features) if self._file_columns else _ROWS_WITHOUT_FILES
        for number, shard in enumerate(shards):
            rows = pa.ipc.open_stream(shard).read_all() if isinstance(shard, pa.Buffer) else shard
            for start in range(0, len(rows), count):
                columns = self._columns_of(root, rows[start : start + count])
                yield Key(number, start), pa.Table.from_pydict(columns, schema=schema)

    def _columns_of(self, root: Path, rows: pa.Table | list[Any]) -> dict[str, Any]:
        """The columns of some rows of a shard; a table's own are taken as they are."""
        if isinstance(rows, pa.Table) and ("file" in rows.column_names or not self._file_columns):
            files = [root / file for file in rows.column("file").to_pylist()] if self._file_columns else []
            columns: dict[str, Any] = {name: rows.column(name) for name in rows.column_names}
            columns |= {name: [read(file) for file in files] for name, read in self._file_columns.items()}
        else:
            listed = rows.to_pylist() if isinstance(rows, pa.Table) else rows
            records = [self._columns(root, row) for row in listed]
            columns = {name: [record[name] for record in records] for name in self.info.features}
        return {name: _build_column(feature, columns[name]) for name, feature in self.info.features.items()}

    def _columns(self, root: Path, row: Any) -> dict[str, Any]:
        """The columns of a row by name, images as their bytes; overridden where a row is something else."""
        return {**row, **{name: read(root / row["file"]) for name, read in self._file_columns.items()}}

    @property
    def _file_columns(self) -> dict[str, Callable[[Path], Any]]:
        """The columns that are read from a row's `file`, and how."""
        features = self.info.features.items()
        return {name: self._picture for name, feature in features if isinstance(feature, datasets.Image)}

    def _picture(self, file: Path) -> dict[str, Any]:
        """The untouched bytes: an opened image would leave only its path in the Arrow file."""
        content = read_picture(file, root=self._within or file.parent, follow_links=self._within is None)
        return {"bytes": content, "path": file.name}

    def _splits(
        self, root: Path, rows: Mapping[str, Any], facts: BuildFacts, notes: Iterable[str] = ()
    ) -> list[datasets.SplitGenerator]:
        """What `_split_generators` gives back of the rows of each split, after `_record`."""
        counts = {split: len(part) for split, part in rows.items()}
        self._check_filled(root, counts)
        self._record(notes, replace(facts, rows=counts))
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"root": root, "shards": cut_rows(part)})
            for split, part in rows.items()
        ]

    def _check_filled(self, root: Path, counts: Mapping[str, int]) -> None:
        """Refuses a split without a row, which `datasets` would only meet as an instruction without data."""
        if empty := [split for split, count in counts.items() if not count]:
            raise OochubError(
                f"{self.BENCHMARK.name}/{self.config.name} has no row in {', '.join(empty)}, of "
                f"{sum(counts.values()):,} in all: nothing of it was found in {root}. Download it again, or take a "
                f"larger part; `oochub show benchmark {self.BENCHMARK.name}` describes the folder."
            )

    @staticmethod
    def _partial(rows: Mapping[str, Sized], published: Mapping[str, int]) -> list[str]:
        """A note on the splits that have not as many rows as were published; none where all have."""
        counts = {split: len(rows[split]) for split in published}
        others = [split for split, of in published.items() if counts[split] != of]
        gaps = [f"{counts[split]:,} of {published[split]:,} rows in {split}" for split in others]
        return [f"partial: {', '.join(gaps)}"] if gaps else []

    def _check_whole(self, fault: str, gaps: Sequence[str]) -> None:
        """Refuses raw data with gaps where the option `strict` says so."""
        if gaps and self.config.strict:
            raise OochubError(f"strict=True, but {fault}: {'; '.join(gaps)}.")

    def _record(self, notes: Iterable[str], facts: BuildFacts) -> BuildRecord:
        """Writes what the build found into the dataset's description and returns it."""
        notes = [*([_TOY_NOTE] if self._is_drawn() else []), *notes]
        name, version = self.BENCHMARK.name, self.declaration.version
        record = BuildRecord(benchmark=name, config=self.config.name, version=version, notes=tuple(notes), facts=facts)
        self.info.description = record.describe(self.declaration.summary)
        if self.stores_record:
            self.info.features = record.mark(self.info.features)
        return record

    def _is_drawn(self) -> bool:
        """Whether a renderer of toy worlds left its record in the raw folder, or between it and one of the raw files.

        WILDS' data sets lie one folder below `data_dir` if that holds several.
        """
        root = self._folder()
        places = filter(None, (raw.find(root) for raw in self.declaration.raw_files))
        folders = {above for place in places for above in place.parents if root in above.parents}
        return any((folder / _TOY_RECORD).is_file() for folder in {root, *folders})

    def download_and_prepare(self, *args: Any, **kwargs: Any) -> None:
        """Builds the data set; see `datasets.DatasetBuilder.download_and_prepare`."""
        try:
            with build_sockets():
                super().download_and_prepare(*args, **kwargs)
        except (DatasetGenerationError, OSError) as error:
            for cause in list_causes(error):
                if isinstance(cause, OochubError):
                    raise cause from None
            for cause in list_causes(error):
                if isinstance(cause, OSError):
                    raise OochubError(
                        f"{self.BENCHMARK.name} could not be built in {self._output_dir}: {cause}. No partial files "
                        "were left behind. Free disk space, or choose another location with "
                        f"{choose_wording('cache_dir= or ', '')}HF_DATASETS_CACHE."
                    ) from error
            raise
        splits = self.info.splits or {}
        self._check_filled(self._folder(), {name: split.num_examples for name, split in splits.items()})


def _count_rows_at_once(features: datasets.Features) -> int:
    """How many rows are held at a time: large arrays are fewer."""
    arrays = [feature for feature in features.values() if isinstance(feature, _ARRAYS)]
    size = sum(math.prod(n or 1 for n in array.shape) * np.dtype(array.dtype).itemsize for array in arrays)
    return max(1, min(_ROWS, _BYTES // max(1, int(size))))


def _build_column(feature: Any, values: Any) -> Any:
    """The values of a column, class numbers in place of names, images as one array."""
    if isinstance(feature, datasets.Image):
        return _join_images(values)
    if isinstance(feature, _ARRAYS):
        kind = feature()
        return pa.ExtensionArray.from_storage(kind, to_pyarrow_listarray(values, kind))
    if not isinstance(feature, datasets.ClassLabel):
        return values
    listed = values.to_pylist() if isinstance(values, pa.ChunkedArray) else values
    return feature.str2int(listed) if isinstance(listed[0], str) else values


_COMMON = {field.name for field in fields(datasets.BuilderConfig)}


def parse_builder_options(kind: Any, given: Any, *, benchmark: str) -> dict[str, Any]:
    """The options of a builder, paths as text, without those that are None: they keep their defaults.

    Args:
        kind: The class of its configurations, whose fields are the options.
        given: Options by name.
        benchmark: Name of the benchmark, for errors.

    Raises:
        OochubError: No options by name; a name that the builder does not have, a value of another type.

    >>> from dataclasses import make_dataclass
    >>> kind = make_dataclass("Config", [("alpha", float, 0.05)])
    >>> parse_builder_options(kind, {"alpha": "x"}, benchmark="nooch")
    Traceback (most recent call last):
    oochub.errors.OochubError: The option of nooch alpha must be a finite number, got 'x'.
    """
    if not isinstance(given, Mapping):
        raise OochubError(f"Options of {benchmark} must be given by name, as in {{'strict': True}}, got {given!r:.80}.")
    allowed = [field.name for field in fields(kind) if field.name not in _COMMON]
    options = {}
    for name, value in given.items():
        if name not in allowed:
            raise unknown_name(f"option of {benchmark}", name, allowed)
        if value is not None:
            options[name] = os.fspath(value) if isinstance(value, os.PathLike) else value
    check_parameters(kind, options, kind=f"option of {benchmark}")
    return options


_LONGEST_FOLDER = 88  # bytes: a socket's whole path may have 107


@contextmanager
def build_sockets() -> Iterator[None]:
    """Puts the socket of `num_proc=` not into TMPDIR/pymp-* but into a folder that a later build sweeps."""
    settings = multiprocess.current_process()._config
    earlier = settings.get("tempdir")
    with make_scratch_folder() as folder:
        if len(os.fsencode(folder)) <= _LONGEST_FOLDER:
            settings["tempdir"] = str(folder)
        try:
            yield
        finally:
            settings["tempdir"] = earlier


def cut_rows(rows: Any, *, at_most: int = 64) -> list[Any]:
    """Cuts rows into the parts, near equal, that `num_proc=` and streaming workers share out; at least one.

    Args:
        rows: A list, or a `pyarrow.Table`, whose parts are bytes of its own format: they reach the processes 20 times
            as fast.
        at_most: Maximum number of parts.

    >>> cut_rows([{"i": 0}, {"i": 1}, {"i": 2}], at_most=2)
    [[{'i': 0}, {'i': 1}], [{'i': 2}]]
    >>> [pa.ipc.open_stream(part).read_all().num_rows for part in cut_rows(pa.table({"i": [0, 1, 2]}), at_most=2)]
    [2, 1]
    """
    size = max(1, -(-len(rows) // at_most))
    starts = range(0, len(rows), size) or [0]
    if isinstance(rows, pa.Table):
        return [_serialize_rows(rows.slice(start, size)) for start in starts]
    return [rows[start : start + size] for start in starts]


def _serialize_rows(rows: pa.Table) -> pa.Buffer:
    """The rows as bytes: a table would be sent as thousands of objects, a slice with all of its table."""
    size = pa.MockOutputStream()
    with pa.ipc.new_stream(size, rows.schema) as stream:
        stream.write_table(rows)
    buffer = pa.allocate_buffer(size.size())  # a growing one would hold up to twice as much
    with pa.ipc.new_stream(pa.FixedSizeBufferWriter(buffer), rows.schema) as stream:
        stream.write_table(rows)
    return buffer


_LARGEST = 2**31 - 1  # bytes that one array of Arrow's `binary` holds


def _join_images(pictures: Sequence[Any]) -> pa.StructArray | Sequence[Any]:
    """The images as an array of `datasets.Image`, without the copies of an array that grows while it is filled.

    Args:
        pictures: The images, each with its `bytes` and its `path`, which is a name or None.

    Returns:
        The array; the images as they were given where one has no bytes, or all have 2 GiB or more.

    >>> _join_images([{"bytes": b"one", "path": "1.jpg"}, {"bytes": b"two", "path": None}]).to_pylist()
    [{'bytes': b'one', 'path': '1.jpg'}, {'bytes': b'two', 'path': None}]
    """
    if not all(isinstance(picture, dict) and isinstance(picture.get("bytes"), bytes) for picture in pictures):
        return pictures
    contents = [picture["bytes"] for picture in pictures]
    ends = np.cumsum([0, *map(len, contents)], dtype=np.int64)
    if ends[-1] > _LARGEST:
        return pictures
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(contents))]
    content = pa.Array.from_buffers(pa.binary(), len(contents), buffers)
    names = pa.array([picture.get("path") for picture in pictures], pa.string())
    return pa.StructArray.from_arrays([content, names], ["bytes", "path"])
