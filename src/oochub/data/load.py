"""Loads a benchmark by the command line's short name, `benchmark/config`."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import datasets
from datasets.load import import_main_class

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.builder import BenchmarkBuilder
from oochub.data.with_text_columns import with_text_columns
from oochub.errors import unknown_name


def load(
    name: str,
    *,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
    text_columns: bool | str | Sequence[str] = False,
) -> datasets.DatasetDict:
    """The splits of `benchmark/config`, as `datasets.load_dataset(benchmark, config, data_dir=...)` gives them.

    Args:
        name: "nooch/ce_car", or the benchmark alone where it has one config.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder, as `load_dataset` takes them.
        num_proc: Processes to build with.
        text_columns: True gives the columns of class numbers, all but `label`, as the names that the numbers stand
            for, so that `row["challenge"] == "easy"` holds; or the names of such columns. See `with_text_columns`.

    Raises:
        OochubError: An unknown benchmark, config, option or text column; raw data that are missing or broken.
    """
    benchmark, config = split_name(name)
    check_options(benchmark, options or {})
    config = builder_class(benchmark).checked_config(config or None)  # a name alone might mean a folder of that name
    loaded = datasets.load_dataset(benchmark, config, data_dir=data_dir, num_proc=num_proc, **(options or {}))
    assert isinstance(loaded, datasets.DatasetDict)  # noqa: S101  no split was asked for
    return with_text_columns(loaded, text_columns)


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


def declaration_of(name: str) -> Benchmark:
    """What holds for "benchmark/config", or for the benchmark alone where it has one config.

    Raises:
        OochubError: An unknown benchmark; the config is checked by its builder.

    >>> declaration_of("nooch/all").output
    'labels'
    """
    benchmark, config = split_name(name)
    declared: Benchmark = catalog.get("benchmark", benchmark)
    return declared.of(config)


def config_class(benchmark: str) -> Any:
    """The class of a benchmark's configurations: its fields are the builder's options, its docstring says what they do.

    >>> config_class("nooch").__name__
    'NoochConfig'
    """
    return builder_class(benchmark).BUILDER_CONFIG_CLASS


def builder_class(benchmark: str) -> type[BenchmarkBuilder]:
    """The class that builds a benchmark, of `datasets`' kind.

    >>> builder_class("nooch").checked_config("ce_car")
    'ce_car'
    """
    builder: type[BenchmarkBuilder] = import_main_class(catalog.module_name("benchmark", benchmark))
    return builder


def check_options(benchmark: str, options: Mapping[str, Any]) -> None:
    """Checks the names of builder options before anything is read.

    Raises:
        OochubError: A name that the benchmark's builder does not have.
    """
    common = {field.name for field in fields(datasets.BuilderConfig)}
    allowed = [field.name for field in fields(config_class(benchmark)) if field.name not in common]
    for name in options:
        if name not in allowed:
            raise unknown_name(f"option of {benchmark}", name, allowed)
