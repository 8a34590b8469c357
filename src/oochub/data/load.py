"""Loads a benchmark by the command line's short name, `benchmark/config`."""

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

import datasets

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.builder import BenchmarkBuilder
from oochub.errors import unknown_name


def load(
    name: str,
    *,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    num_proc: int | None = None,
) -> datasets.DatasetDict:
    """The splits of `benchmark/config`, as `datasets.load_dataset(benchmark, config, data_dir=...)` gives them.

    Args:
        name: "nooch/ce_car", or the benchmark alone where it has one config.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder, as `load_dataset` takes them.
        num_proc: Processes to build with.

    Raises:
        OochubError: An unknown benchmark, config or option; raw data that are missing or broken.
    """
    benchmark, config = split_name(name)
    check_options(benchmark, options or {})
    loaded = datasets.load_dataset(benchmark, config or None, data_dir=data_dir, num_proc=num_proc, **(options or {}))
    assert isinstance(loaded, datasets.DatasetDict)  # noqa: S101  no split was asked for
    return loaded


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
    module = import_module(catalog.module_name("benchmark", benchmark))
    builders = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BenchmarkBuilder) and value.__module__ == module.__name__
    ]
    return builders[0].BUILDER_CONFIG_CLASS


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
