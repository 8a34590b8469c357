"""Loads a benchmark by its short name, `benchmark/config`, and any other data in the same form.

Columns of class numbers may come as text, so that `row["challenge"] == "easy"` says what it seems to say.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from typing import Any

import datasets
import pyarrow as pa

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.builder import BenchmarkBuilder
from oochub.data.benchmark_file import BenchmarkFile
from oochub.data.data_source import DataSource
from oochub.data.open_source import build_splits, open_source
from oochub.data.user_data import drop_features, make_user_data
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.prediction.prediction_data import check_data_set
from oochub.records.build_record import BuildRecord
from oochub.records.typed_values import check_parameters
from oochub.registration import hash_source
from oochub.settings import with_options
from oochub.settings.data_settings import DataSettings


@with_options("load")
def load(
    source: str | PathLike[str],
    *,
    data: DataSettings,
    split: str | None = None,
    num_proc: int | None = None,
    text_columns: bool | str | Sequence[str] = False,
) -> datasets.DatasetDict:
    r"""The splits of a benchmark, or of your own data in the form of one.

    Your own data are what `datasets` reads: a folder of images (class folders, or a metadata.csv or .jsonl with
    `file_name`; folders train and test are splits), Parquet, CSV or JSON files or a folder of them, WebDataset shards,
    a folder of `save_to_disk`, an id on the Hub; also what `oochub build` and `oochub challenge` wrote. Their rows get
    `example_id`, `label` (text becomes classes, sorted by name over all splits), and of a label and a context `group`
    (label/context) and `challenge`: easy where the context is usual for the class, by the criterion `mismatch`. See
    `oochub.data.user_data`.

    If nothing says which column holds the label, or the context, and exactly one column can (classes or text, few
    values, no ids; a context crosses the classes), it is taken, with a warning and a note in the build record.

    The usual contexts of a class are those that are clearly more frequent with it than without it in the training
    split, or over all rows where there is no other split, by the interval of the ratio; a note and the facts of the
    build record say which. A row in a context that is neither usual nor unusual for its class has no challenge (-1).

    Args:
        source: "nooch/ce_car", or the benchmark alone where it has one config; a folder or file; an id on the Hub. A
            benchmark comes before a folder of the same name.
        data: The options of `DataSettings`.
        split: The one split to keep.
        num_proc: Processes to build with.
        text_columns: True gives the columns of class numbers, all but `label`, as the names that the numbers stand
            for, so that `row["challenge"] == "easy"` holds; or the names of such columns. See `use_text_columns`.

    Raises:
        OochubError: Nothing is there; an unknown config, option, column or split; data that are missing or broken; a
            column that does not hold what it should.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "birds.csv"
    >>> _ = file.write_text("bird,place\n" + "gull,sea\n" * 9 + "wren,land\n" * 9 + "wren,sea\n")
    >>> data = load(file, label="bird", context="place", text_columns=True)
    >>> data["train"]["challenge"][-3:]
    ['easy', 'easy', 'hard_positive']
    """
    if not isinstance(source, str | PathLike):
        raise OochubError(
            f"load takes the name of a benchmark, a path, or an id on the Hub, got a {type(source).__name__}, "
            f"{source!r:.60}. Pass a dataset that is already loaded straight to oochub.predict or oochub.audit."
        )
    check_parameters(load, {"num_proc": num_proc}, kind="argument of load")
    loaded = open_data(source, data, num_proc=num_proc, guess=("label", "context")).rows
    if split is not None:
        if not isinstance(split, str) or split not in loaded:
            raise unknown_name("split", split, loaded)
        loaded = datasets.DatasetDict({split: loaded[split]})
    return use_text_columns(loaded, text_columns)


def open_data(
    given: Any,
    settings: DataSettings,
    *,
    num_proc: int | None = None,
    in_place: bool = False,
    guess: Collection[str] = (),
    check: Callable[[Mapping[str, Any]], None] | None = None,
) -> DataSource:
    """Opens the data that a user gave; those of a name or path get what `load` gives them, all splits.

    Args:
        given: A name, path or id, see `load`, or a data set that is loaded already.
        settings: Configuration of the source, and which of its columns are what.
        num_proc: Processes to build with.
        in_place: Leave images in the shards of a built WebDataset, for what reads them by `read_picture_bytes` alone.
        guess: Which of "label" and "context" may be guessed, see `make_user_data`.
        check: Function that is called with the features of a benchmark before it is built.

    Raises:
        OochubError: See `load`; a setting for data that are loaded already; what is no data set.
    """
    if not isinstance(given, str | PathLike):
        unread = next(iter(settings.given()), None)
        if unread is not None:
            raise OochubError(f"{unread}= applies only if source is a path or a name; this dataset is already loaded.")
        return DataSource(given=given, rows=check_data_set(given))
    name = str(given)
    if is_benchmark(name):
        if settings.revision is not None:
            option = choose_wording("revision=")
            raise OochubError(f"{name} is built from raw data, which has no revisions on the Hub. Remove {option}.")
        taken = [role for role in settings.named if role != "context"]
        if taken:
            words = choose_wording(f"{taken[0]}=", f"--{taken[0]}-column")
            raise OochubError(f"{name} defines its own {taken[0]}. Remove {words}; it only applies to custom data.")
        source = DataSource(given=name, rows=load_benchmark(name, settings, num_proc=num_proc, check=check), name=name)
        is_whole = not settings.context and not settings.usual
        return source if is_whole else make_user_data(source, settings, guess=guess)
    own = BenchmarkFile.find(name)
    if own is not None:
        name, settings = own.source, own.merge(settings)
    source = open_source(name, settings, num_proc=num_proc, in_place=in_place)
    if not source.is_benchmark or settings.named or settings.usual:
        source = make_user_data(source, settings, guess=guess)
    return source if own is None else replace(source, rows=own.declare(source.rows))


def load_benchmark(
    source: str,
    settings: DataSettings,
    *,
    num_proc: int | None = None,
    check: Callable[[Mapping[str, Any]], None] | None = None,
) -> datasets.DatasetDict:
    """The splits of a benchmark as its builder makes them.

    Raises:
        OochubError: An unknown config or option; raw data that are missing or broken.
    """
    config, options = settings.config, settings.options or {}
    benchmark, named = split_name(source)
    if config is not None and named and config != named:
        raise OochubError(f"{source} names the config {named}, but config is {config!r}. Pass one of them.")
    get_builder_class(benchmark).checked_options(options)
    chosen = get_builder_class(benchmark).checked_config(config or named or None)  # a name alone might mean a folder
    builder = make_benchmark_builder(benchmark, chosen, data_dir=settings.data_dir, options=options)
    loaded = build_splits(builder, num_proc=num_proc, check=check)
    assert isinstance(loaded, datasets.DatasetDict)  # noqa: S101  no split was asked for
    return loaded


def is_benchmark(source: str) -> bool:
    """Whether a source names a benchmark, which comes before a folder of its name.

    >>> is_benchmark("nooch/ce_car"), is_benchmark("./nooch")
    (True, False)
    """
    return source.partition("/")[0] in catalog.names("benchmark")


def split_name(name: str) -> tuple[str, str]:
    """Benchmark and config ("" where none is named) of "benchmark/config".

    Raises:
        OochubError: An unknown benchmark; the config is checked by its builder.

    >>> split_name("nooch/ce_car")
    ('nooch', 'ce_car')
    """
    benchmark, _, config = name.partition("/")
    if benchmark not in catalog.names("benchmark"):
        hint = "Write it as benchmark/config, for example nooch/ce_car."
        raise unknown_name("benchmark", benchmark, catalog.names("benchmark"), hint)
    return benchmark, config


def get_declaration(name: str) -> Benchmark:
    """What holds for "benchmark/config", or for the benchmark alone where it has one config.

    Raises:
        OochubError: An unknown benchmark; the config is checked by its builder.

    >>> get_declaration("nooch/all").output
    'labels'
    """
    benchmark, config = split_name(name)
    declared: Benchmark = catalog.get("benchmark", benchmark)
    return declared.of(config)


def find_data_declaration(data: Mapping[str, Any]) -> Benchmark | None:
    """What holds for the benchmark whose build record loaded data carry; None of own data.

    Args:
        data: The splits, as `load` gives them.
    """
    record = BuildRecord.of(next(iter(data.values())).info)
    return get_declaration(f"{record.benchmark}/{record.config}") if record and is_benchmark(record.benchmark) else None


def get_builder_class(benchmark: str) -> type[BenchmarkBuilder]:
    """The class that builds a benchmark, of `datasets`' kind.

    >>> get_builder_class("nooch").checked_config("ce_car")
    'ce_car'
    """
    module = import_module(catalog.module_name("benchmark", benchmark))
    own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]
    return next(value for value in own if issubclass(value, BenchmarkBuilder))


def make_benchmark_builder(
    benchmark: str, config: str | None, *, data_dir: str | None = None, options: Mapping[str, Any] | None = None
) -> BenchmarkBuilder:
    """The builder that `datasets.load_dataset_builder` gives, by public names of `datasets` alone.

    What it builds lies in the same cache as that of `load_dataset`, which knows a benchmark only as long as the private
    names of `datasets` that `oochub.registration` changes are there.

    Args:
        benchmark: Name of the benchmark.
        config: Name of one of its configs; None if it has only one.
        data_dir: The raw folder.
        options: Options of the builder, by name.

    Raises:
        OochubError: An unknown config or option; raw data that are missing.
    """
    fingerprint = hash_source(catalog.module_name("benchmark", benchmark))
    names = {"dataset_name": benchmark, "config_name": config, "data_dir": data_dir, "hash": fingerprint}
    return get_builder_class(benchmark)(**names, **(options or {}))


def use_text_columns(data: Any, columns: bool | str | Sequence[str] = True) -> Any:
    """The data with class names in place of the class numbers of `columns`; images are neither read nor copied.

    A ClassLabel column holds numbers, so a comparison with a name is False in every row. As text, filters read as they
    are meant; training and prediction take both.

    Args:
        data: A Dataset or DatasetDict; features of a text column become Value("string"), or a List of it.
        columns: Names of ClassLabel columns, or Lists of ClassLabel; True takes all, False none. The truth (`label`,
            `labels`, ...) is not among them: models need its numbers. A class of -1, outside the set, becomes None.

    Raises:
        OochubError: Data of another kind, or a column that holds no class numbers.

    >>> features = datasets.Features({"challenge": datasets.ClassLabel(names=["easy", "hard"])})
    >>> data = datasets.Dataset.from_dict({"challenge": [0, 1, 1]}, features)
    >>> len(data.filter(lambda row: row["challenge"] != "easy"))  # every row: a number is no name
    3
    >>> len(use_text_columns(data).filter(lambda row: row["challenge"] != "easy"))
    2
    """
    if columns is False:
        return data
    if isinstance(data, datasets.DatasetDict):
        return datasets.DatasetDict({split: use_text_columns(part, columns) for split, part in data.items()})
    if not isinstance(data, datasets.Dataset):
        raise OochubError(
            f"text_columns needs a Dataset or DatasetDict, got {type(data).__name__}. Load without streaming=True, "
            "or compare with features[column].str2int(name)."
        )
    if not isinstance(columns, bool | str | Sequence):
        raise OochubError(f"text_columns must be True, the name of a column or a list of them, got {columns!r:.80}.")
    truth = {catalog.get("output", name).label_column for name in catalog.names("output")}
    features = {
        column: feature.feature if isinstance(feature, datasets.List) else feature
        for column, feature in data.features.items()
    }
    names = {
        column: list(feature.names)
        for column, feature in features.items()
        if column not in truth and isinstance(feature, datasets.ClassLabel)
    }
    chosen = [columns] if isinstance(columns, str) else list(names if columns is True else columns or ())
    for column in chosen:
        if column not in names:
            hint = "The truth stays numbers, which models need: compare with features[column].str2int(name)."
            raise unknown_name("column of class numbers", column, names, hint)
    numbers = data.select_columns(chosen).with_format("arrow")[:]
    text = datasets.Dataset(
        pa.table({column: _name_numbers(numbers.column(column), names[column]) for column in chosen})
    )
    parts = [data.remove_columns(chosen), text]
    joined = datasets.concatenate_datasets(parts, info=drop_features(data.info), split=data.split, axis=1)
    return joined.select_columns(data.column_names)


def _name_numbers(numbers: pa.ChunkedArray, names: list[str]) -> pa.Array:
    def name(number: Any) -> Any:
        if isinstance(number, list):
            return [name(row) for row in number]
        return None if number is None or number < 0 else names[number]

    is_list = pa.types.is_list(numbers.type)
    return pa.array([name(number) for number in numbers.to_pylist()], pa.list_(pa.string()) if is_list else pa.string())
